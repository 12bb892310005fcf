//! The names of the files of a log.

/// The folder of the log within the folder of a table.
pub(in crate::delta) const FOLDER: &str = "_delta_log";

/// The end of the names of compacted commits.
pub(super) const COMPACTION_END: &str = ".compacted.json";

/// A file of the log, by its name. Other files (checksums, temporary files) have no meaning for readers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LogFile {
    /// The actions of one commit.
    Commit(i64),
    /// The reconciled actions of the commits from the first version to the last.
    Compaction(i64, i64),
    /// All actions up to a version.
    Checkpoint { version: i64, part: Part },
}

/// The part of a checkpoint that a file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it, or (format 2) all that is not in its sidecars.
    Whole,
    /// One of several, counted from 1.
    Of { number: u32, count: u32 },
}

impl LogFile {
    pub(super) fn parse(name: &str) -> Option<Self> {
        let parts: Vec<&str> = name.split('.').collect();
        let version = parse_version(parts.first()?)?;
        match parts[1..] {
            ["json"] => Some(Self::Commit(version)),
            [last, "compacted", "json"] => Some(Self::Compaction(version, parse_version(last)?)),
            ["checkpoint", "parquet"] => Some(Self::Checkpoint { version, part: Part::Whole }),
            ["checkpoint", number, count, "parquet"] => {
                let part = Part::Of { number: parse_part(number)?, count: parse_part(count)? };
                Some(Self::Checkpoint { version, part })
            }
            ["checkpoint", id, "parquet" | "json"] if !id.is_empty() => {
                Some(Self::Checkpoint { version, part: Part::Whole })
            }
            _ => None,
        }
    }
}

/// The name of the file of a commit.
pub(in crate::delta) fn commit_name(version: i64) -> String {
    format!("{version:020}.json")
}

/// The version of the commit in a file of the log; `None` for other files.
pub(in crate::delta) fn commit_version(name: &str) -> Option<i64> {
    match LogFile::parse(name)? {
        LogFile::Commit(version) => Some(version),
        _ => None,
    }
}

fn parse_version(text: &str) -> Option<i64> {
    (text.len() == 20 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn parse_part(text: &str) -> Option<u32> {
    let number = (text.len() == 10).then(|| text.parse().ok()).flatten()?;
    (number > 0).then_some(number)
}

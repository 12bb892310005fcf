//! Selects the files of a log that together describe a version.

use std::collections::BTreeMap;

use lath_parquet::{Error, Result};

use super::names::{LogFile, Part, commit_name};
use crate::storage::Entry;

/// The files that describe a version of a table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) version: i64,
    /// The latest version of the table.
    pub(super) latest: i64,
    /// The version of the checkpoint, and the names of its files.
    pub(super) checkpoint: Option<(i64, Vec<String>)>,
    /// Commits and compactions after the checkpoint, oldest first.
    pub(super) commits: Vec<String>,
}

/// The files of a log.
#[derive(Debug, Default)]
pub(super) struct Listing {
    commits: BTreeMap<i64, Entry>,
    /// By first version: last version and name, the longest compaction that was found.
    compactions: BTreeMap<i64, Vec<(i64, String)>>,
    /// By version, the names of a complete checkpoint.
    checkpoints: BTreeMap<i64, Vec<String>>,
}

impl Listing {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        let mut listing = Self::default();
        let mut parts: BTreeMap<(i64, u32), BTreeMap<u32, String>> = BTreeMap::new();
        for entry in entries {
            match LogFile::parse(&entry.name) {
                Some(LogFile::Commit(version)) => {
                    listing.commits.insert(version, entry);
                }
                Some(LogFile::Compaction(first, last)) if first <= last => {
                    listing.compactions.entry(first).or_default().push((last, entry.name));
                }
                Some(LogFile::Checkpoint { version, part: Part::Whole }) => {
                    listing.checkpoints.insert(version, vec![entry.name]);
                }
                Some(LogFile::Checkpoint { version, part: Part::Of { number, count } }) => {
                    parts.entry((version, count)).or_default().insert(number, entry.name);
                }
                Some(LogFile::Compaction(..)) | None => {}
            }
        }
        for ((version, count), names) in parts {
            // A writer that was interrupted leaves some of the parts.
            if names.len() == count as usize && names.keys().copied().eq(1..=count) {
                listing.checkpoints.entry(version).or_insert_with(|| names.into_values().collect());
            }
        }
        listing
    }

    /// Commits in the order of their versions.
    pub(super) fn commits(&self) -> impl DoubleEndedIterator<Item = (i64, &Entry)> {
        self.commits.iter().map(|(version, entry)| (*version, entry))
    }

    /// Whether there is a complete checkpoint of this version.
    pub(super) fn has_checkpoint(&self, version: i64) -> bool {
        self.checkpoints.contains_key(&version)
    }

    /// The latest version of the table.
    pub(super) fn latest(&self) -> Option<i64> {
        let last = |map: Option<&i64>| map.copied();
        last(self.commits.keys().next_back()).max(last(self.checkpoints.keys().next_back()))
    }

    /// The files that describe `version`, or the latest version.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such version, or it cannot be read any more; [`Error::Corrupt`] if a commit between the
    /// checkpoint and the version is missing.
    pub(super) fn segment(&self, version: Option<i64>) -> Result<Segment> {
        let latest =
            self.latest().ok_or_else(|| Error::corrupt("the log has neither a commit nor a whole checkpoint"))?;
        let version = version.unwrap_or(latest);
        if version > latest || version < 0 {
            return Err(Error::invalid(format!("there is no version {version}: the latest version is {latest}")));
        }
        let checkpoint = self.checkpoints.range(..=version).next_back();
        let mut next = checkpoint.map_or(0, |(at, _)| at + 1);
        let mut commits = Vec::new();
        while next <= version {
            let compactions = self.compactions.get(&next).map_or(&[][..], Vec::as_slice);
            let longest = compactions.iter().filter(|(last, _)| *last <= version && *last > next).max();
            match (longest, self.commits.get(&next)) {
                (Some((last, name)), _) => {
                    commits.push(name.clone());
                    next = last + 1;
                }
                (None, Some(entry)) => {
                    commits.push(entry.name.clone());
                    next += 1;
                }
                (None, None) => return Err(self.missing(next, version, checkpoint.is_some())),
            }
        }
        Ok(Segment { version, latest, checkpoint: checkpoint.map(|(at, names)| (*at, names.clone())), commits })
    }

    /// The error for a commit that is needed and missing.
    fn missing(&self, commit: i64, version: i64, has_checkpoint: bool) -> Error {
        let first = self.checkpoints.keys().next();
        match first {
            Some(first) if !has_checkpoint && *first > version => Error::invalid(format!(
                "version {version} cannot be read any more, because commits before it were removed from the log; the first version that \
                 can be read is {first}"
            )),
            _ => Error::corrupt(format!(
                "the log lacks {}, without which version {version} is not known",
                commit_name(commit)
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(names: &[&str]) -> Listing {
        let name = |name: &str| match name.split_once(' ') {
            None => format!("{:020}.json", name.parse::<i64>().unwrap()),
            Some((version, "c")) => format!("{:020}.checkpoint.parquet", version.parse::<i64>().unwrap()),
            Some((version, rest)) => format!("{:020}.{rest}", version.parse::<i64>().unwrap()),
        };
        Listing::new(names.iter().map(|text| Entry { name: name(text), modified: None }).collect())
    }

    /// The checkpoint's version, and the first digits of each commit without zeros.
    fn segment(names: &[&str], version: Option<i64>) -> Result<(i64, i64, Vec<String>), String> {
        let segment = listing(names).segment(version).map_err(|error| error.to_string())?;
        let short = |name: &String| {
            let parts = name.split('.').filter_map(|part| part.parse::<i64>().ok());
            parts.map(|part| part.to_string()).collect::<Vec<_>>().join("-")
        };
        let checkpoint = segment.checkpoint.map_or(-1, |(version, _)| version);
        Ok((segment.version, checkpoint, segment.commits.iter().map(short).collect()))
    }

    fn of(version: i64, checkpoint: i64, commits: &[&str]) -> Result<(i64, i64, Vec<String>), String> {
        Ok((version, checkpoint, commits.iter().map(ToString::to_string).collect()))
    }

    #[test]
    fn the_newest_checkpoint_and_later_commits_describe_a_version() {
        let names = ["0", "1", "2", "2 c", "3", "4"];
        assert_eq!(segment(&names, None), of(4, 2, &["3", "4"]));
        assert_eq!(segment(&names, Some(2)), of(2, 2, &[]));
        assert_eq!(segment(&names, Some(1)), of(1, -1, &["0", "1"]));
        assert!(segment(&names, Some(5)).unwrap_err().contains("the latest version is 4"));
        // Files that readers do not know.
        assert_eq!(segment(&["0", "0 crc", "0 checkpoint.parquet.tmp", "0 json.tmp"], None), of(0, -1, &["0"]));
    }

    #[test]
    fn parts_of_a_checkpoint_count_only_together() {
        let part = |number: u32, count: u32| format!("3 checkpoint.{number:010}.{count:010}.parquet");
        let (one, two) = (part(1, 2), part(2, 2));
        let (other, zero) = (part(2, 3), part(0, 2));
        assert_eq!(segment(&["0", "1", "2", "3", &one], None), of(3, -1, &["0", "1", "2", "3"]));
        assert_eq!(segment(&["0", "1", "2", "3", &one, &other, &zero], None), of(3, -1, &["0", "1", "2", "3"]));
        assert_eq!(segment(&["3", &one, &two], None), of(3, 3, &[]));
        assert_eq!(segment(&["3 checkpoint.80a083e8-7026.json", "4"], None), of(4, 3, &["4"]));
        assert_eq!(segment(&["3 checkpoint.80a083e8-7026.parquet"], None), of(3, 3, &[]));
    }

    #[test]
    fn a_compaction_replaces_the_commits_that_it_has() {
        let compacted = |last: i64| format!("{last:020}.compacted.json");
        let (to_two, to_three) = (format!("1 {}", compacted(2)), format!("1 {}", compacted(3)));
        let names = ["0", "1", "2", "3", "4", &to_two, &to_three];
        assert_eq!(segment(&names, None), of(4, -1, &["0", "1-3", "4"]));
        assert_eq!(segment(&names, Some(2)), of(2, -1, &["0", "1-2"]));
        assert_eq!(segment(&names, Some(1)), of(1, -1, &["0", "1"]));
        // It begins before the checkpoint ends.
        assert_eq!(segment(&["1", "1 c", "2", "3", &to_three], None), of(3, 1, &["2", "3"]));
    }

    #[test]
    fn a_missing_commit_is_an_error() {
        assert!(segment(&["0", "1", "3"], None).unwrap_err().contains("00000000000000000002.json"));
        assert!(segment(&["1", "2"], None).unwrap_err().contains("00000000000000000000.json"));
        assert!(segment(&["2 c", "4"], None).unwrap_err().contains("00000000000000000003.json"));
        let removed = segment(&["3", "4", "4 c", "5"], Some(3)).unwrap_err();
        assert!(removed.contains("the first version that can be read is 4"), "{removed}");
        assert!(segment(&[], None).is_err());
    }
}

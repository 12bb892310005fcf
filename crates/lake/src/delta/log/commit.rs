//! Reads the actions of commits, of compacted commits and of checkpoints in JSON.

use bytes::Bytes;
use lath_parquet::{Error, Result};

use super::names::COMPACTION_END;
use crate::delta::actions::{Action, Settings};
use crate::storage::Folder;

/// The starts of lines that have no settings of the table, and are most lines of a log.
const FILE_ACTIONS: [&[u8]; 3] = [b"{\"add\":", b"{\"remove\":", b"{\"cdc\":"];

/// A commit, perhaps with its bytes.
#[derive(Debug, Clone)]
pub(super) struct Commit {
    pub(super) location: String,
    pub(super) bytes: Option<Bytes>,
}

impl Commit {
    pub(super) fn bytes(&self, folder: &Folder) -> Result<Bytes> {
        self.bytes.clone().map_or_else(|| folder.read(&self.location), Ok)
    }

    /// The bytes, which are not kept.
    pub(super) fn take_bytes(&mut self, folder: &Folder) -> Result<Bytes> {
        self.bytes.take().map_or_else(|| folder.read(&self.location), Ok)
    }

    /// Adds protocol and metadata of the commit, unless there are newer ones.
    pub(super) fn settings(&self, bytes: &[u8], settings: &mut Settings) -> Result<()> {
        self.for_each(bytes, false, |action| {
            settings.add(action.protocol, action.metadata);
            Ok(())
        })
    }

    /// Calls `each` with the actions, of which an earlier one replaces a later one.
    pub(super) fn actions(&self, bytes: &[u8], each: impl FnMut(Action) -> Result<()>) -> Result<()> {
        self.for_each(bytes, true, each)
    }

    /// Calls `each` with the actions, the newest first: all, or without the lines of files.
    fn for_each(&self, bytes: &[u8], has_files: bool, mut each: impl FnMut(Action) -> Result<()>) -> Result<()> {
        let location = &self.location;
        if location.ends_with(COMPACTION_END) {
            let mut actions = parse(location, bytes)?;
            // Its actions are in no order, and some writers keep the `add` of a file that a later commit removed.
            actions.sort_by_key(|action| action.remove.is_none());
            return actions.into_iter().try_for_each(each);
        }
        // Within a commit, too, a later action replaces an earlier one.
        if !has_whole_lines(bytes) {
            return parse(location, bytes)?.into_iter().rev().try_for_each(each);
        }
        for line in lines(bytes).rev() {
            let is_of_files = FILE_ACTIONS.iter().any(|start| line.starts_with(start));
            if is_of_files && !has_files {
                continue;
            }
            for action in parse(location, line)?.into_iter().rev() {
                if is_of_files && (action.protocol.is_some() || action.metadata.is_some()) {
                    return Err(located(location, Error::corrupt("a line with actions of several kinds")));
                }
                each(action)?;
            }
        }
        Ok(())
    }
}

/// The lines that are not empty.
fn lines(bytes: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty())
}

/// Whether no action spans lines: what follows the end of an object within another never is a `{`.
fn has_whole_lines(bytes: &[u8]) -> bool {
    let mut lines = lines(bytes).peekable();
    lines.peek().is_some() && lines.all(|line| line.starts_with(b"{") && line.ends_with(b"}"))
}

/// The actions of a file. Most have one on each line, but actions may also span lines.
pub(super) fn parse(location: &str, bytes: &[u8]) -> Result<Vec<Action>> {
    let mut actions = Vec::new();
    for action in serde_json::Deserializer::from_slice(bytes).into_iter() {
        let malformed = |error| located(location, Error::corrupt(format!("expected actions of Delta Lake: {error}")));
        actions.push(action.map_err(malformed)?);
    }
    if actions.is_empty() {
        return Err(located(location, Error::corrupt("a commit without actions")));
    }
    Ok(actions)
}

fn located(location: &str, error: Error) -> Error {
    error.locate(|at| at.file = Some(location.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths of the files that a commit adds, and the number of its columns of partitions.
    fn read(text: &str) -> Result<(Vec<String>, Option<usize>), String> {
        let commit = Commit { location: "00000000000000000007.json".to_owned(), bytes: None };
        let (mut paths, mut settings) = (Vec::new(), Settings::default());
        let read = commit.settings(text.as_bytes(), &mut settings).and_then(|()| {
            commit.actions(text.as_bytes(), |action| {
                paths.extend(action.add.map(|add| add.path));
                Ok(())
            })
        });
        read.map_err(|error| error.to_string())?;
        Ok((paths, settings.metadata.map(|metadata| metadata.partition_columns.len())))
    }

    #[test]
    fn actions_are_read_from_the_last_to_the_first() {
        let expected = Ok((vec!["b".to_owned(), "a".to_owned()], Some(1)));
        for text in [
            "{\"metaData\":{\"partitionColumns\":[\"x\"]}}\n{\"add\":{\"path\":\"a\"}}\n\n{\"add\":{\"path\":\"b\"}}\r\n",
            "{\"metaData\":{\"partitionColumns\":[\"x\"]}} {\"add\":{\"path\":\"a\"}}{\"add\":{\"path\":\"b\"}}",
            "{\"add\":{\"path\":\"a\"}}\n{\"metaData\":{\"partitionColumns\":\n[\"x\"]}}\n{\"add\":\n{\"path\":\"b\"\n}\n}",
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for bad in
            ["", "\n", "{\"add\":{\"path\":\"a\"}}\n{\"add\":{\"path\":\"b\"}", "{\"add\":{\"path\":\"a\"}}\n}", "7"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
        for odd in ["{\"add\":{\"path\":\"a\"},\"metaData\":{}}", "{\"add\":{\"path\":\"a\"}}{\"metaData\":{}}"] {
            assert!(read(odd).unwrap_err().contains("several kinds"), "{odd}");
        }
    }
}

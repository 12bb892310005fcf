//! The files of one commit.

use std::sync::Arc;

use lath_store::Tree;

use super::layout::{FileEntry, file_number};
use crate::error::{Error, Result};
use crate::row::key::KeyRange;

/// The files of a commit, from the oldest to the newest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Manifest {
    files: Vec<Arc<FileEntry>>,
}

impl Manifest {
    pub(crate) fn read(tree: Option<Tree<'_>>) -> Result<Self> {
        let Some(tree) = tree else { return Ok(Self::default()) };
        let mut files = Vec::new();
        for entry in tree.iter() {
            let (key, value) = entry?;
            files.push(Arc::new(FileEntry::from_bytes(file_number(&key)?, value)?));
        }
        Ok(Self { files })
    }

    pub(crate) fn files(&self) -> &[Arc<FileEntry>] {
        &self.files
    }

    /// The file with this number, which has rows to delete.
    pub(crate) fn file(&self, number: u64) -> Result<&Arc<FileEntry>> {
        let file = self.files.iter().find(|file| file.number == number);
        file.ok_or_else(|| Error::internal(format!("file {number} has rows to delete, and is gone")))
    }

    /// The files that may have keys of a range.
    pub(crate) fn in_range(&self, range: &KeyRange) -> Vec<Arc<FileEntry>> {
        let may_have = |file: &&Arc<FileEntry>| !range.is_empty() && range.overlaps(&file.min, &file.max);
        self.files.iter().filter(may_have).cloned().collect()
    }

    /// Whether a file may have a row with this key.
    pub(crate) fn may_have(&self, key: &[u8]) -> bool {
        self.files.iter().any(|file| file.may_have(key))
    }

    /// Adds a file, which is newer than all others.
    pub(crate) fn push(&mut self, entry: FileEntry) {
        self.files.push(Arc::new(entry));
    }

    /// Removes a file.
    pub(crate) fn remove(&mut self, number: u64) {
        self.files.retain(|file| file.number != number);
    }

    /// Replaces the entry of a file.
    pub(crate) fn replace(&mut self, entry: FileEntry) {
        if let Some(file) = self.files.iter_mut().find(|file| file.number == entry.number) {
            *file = Arc::new(entry);
        }
    }
}

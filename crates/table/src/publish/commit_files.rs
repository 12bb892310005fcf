//! The files of a commit whose hot rows are in files, too.

use std::collections::HashMap;
use std::sync::Arc;

use lath_parquet::DeleteMask;

use crate::error::Result;
use crate::records::FileEntry;
use crate::row::TableSchema;
use crate::view::{Commit, View, read_mask};

/// The files of a commit, and the rows of them that do not count.
#[derive(Debug)]
pub(crate) struct CommitFiles<'f> {
    commit: Arc<Commit>,
    files: Vec<Arc<FileEntry>>,
    /// By number of the file: rows that hot rows and tombstones of the commit replace, which its masks do not have.
    replaced: HashMap<u64, &'f DeleteMask>,
}

impl<'f> CommitFiles<'f> {
    /// The files of a commit and those `flushed` from its hot rows; `replaced` are the rows of older files that these replace.
    pub(crate) fn new(commit: Arc<Commit>, flushed: &[&FileEntry], replaced: &'f [(u64, DeleteMask)]) -> Self {
        let flushed = flushed.iter().map(|entry| Arc::new((*entry).clone()));
        let files = View::manifest(&commit).files().iter().cloned().chain(flushed).collect();
        let replaced = replaced.iter().map(|(number, rows)| (*number, rows)).collect();
        Self { commit, files, replaced }
    }

    /// The number of the store's commit.
    pub(super) fn commit(&self) -> u64 {
        self.commit.snapshot().sequence()
    }

    /// The version of the table.
    pub(super) fn version(&self) -> u64 {
        self.commit.stamp()
    }

    pub(super) fn schema(&self) -> &Arc<TableSchema> {
        View::schema(&self.commit)
    }

    /// The numbers of the columns by which new files are sorted before the key.
    pub(super) fn cluster(&self) -> &[u32] {
        &self.commit.state().cluster
    }

    pub(super) fn files(&self) -> &[Arc<FileEntry>] {
        &self.files
    }

    /// Number of rows of a file that do not count.
    pub(super) fn deleted_count(&self, entry: &FileEntry) -> u64 {
        entry.masked + self.replaced.get(&entry.number).map_or(0, |rows| rows.len())
    }

    /// The rows of a file that do not count.
    pub(super) fn deleted(&self, entry: &FileEntry) -> Result<DeleteMask> {
        let mut rows = read_mask(&mut Arc::clone(&self.commit), entry.number)?;
        if let Some(replaced) = self.replaced.get(&entry.number) {
            rows |= replaced;
        }
        Ok(rows)
    }
}

//! Makes a whole copy of a source: the first one, or one that replaces a copy which cannot go on.

use std::fs;
use std::io;
use std::path::Path;

use lath_store::Snapshot;

use super::data_files::{FetchCounts, FileFetcher, FileSource, files_of_commit};
use super::side_files::{SmallFiles, write_consumers, write_sequences};
use crate::error::{Error, Result};
use crate::file::{create_folders, sync_folder};
use crate::follower_marker::Marker;
use crate::records::{TreeNames, all_trees};

/// A commit, and what belongs to it outside of the store.
pub(crate) struct WholeCommit<'s> {
    pub(crate) snapshot: &'s Snapshot,
    pub(crate) consumers: &'s SmallFiles,
    pub(crate) sequences: &'s SmallFiles,
    /// The name of the store's file.
    pub(crate) store_name: &'s str,
}

impl WholeCommit<'_> {
    /// Makes a copy in a folder that does not exist, durably. The store comes last.
    pub(crate) fn copy(&self, files: &dyn FileSource, folder: &Path, marker: &Marker) -> Result<FetchCounts> {
        create_folders(folder)?;
        marker.write(folder)?;
        let mut fetcher = FileFetcher::new(folder);
        for table in all_trees(self.snapshot)?.iter().filter_map(TreeNames::number) {
            fetcher.create_table_folder(Some(table))?;
        }
        for (file, bytes) in files_of_commit(self.snapshot)? {
            match fetcher.fetch(files, &file, bytes) {
                // It was dropped, and nothing needs it any more.
                Err(Error::Io { source, .. }) if bytes.is_none() && source.kind() == io::ErrorKind::NotFound => {}
                fetched => fetched?,
            }
        }
        fetcher.sync()?;
        write_sequences(folder, self.sequences)?;
        self.snapshot.replicate(folder.join(self.store_name))?;
        write_consumers(folder, self.consumers)?;
        sync_folder(folder)?;
        Ok(fetcher.fetched)
    }
}

/// Whether a folder is empty, or not there.
pub(crate) fn is_empty(folder: &Path) -> Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Error::io("list", folder)(error)),
    }
}

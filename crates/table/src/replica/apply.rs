//! Applies changes to the store of a copy.

use std::path::Path;

use lath_store::{Store, Transaction};

use super::change_sink::{ChangeSink, Step};
use super::data_files::{FetchCounts, FileFetcher, FileSource, file_in_tree, table_with_files};
use crate::error::{Error, Result};
use crate::records::{TABLES_DROPPED, table_number};

/// Applies changes, each step as one commit. A file is there before the commit that names it.
pub(crate) struct ApplyChanges<'a> {
    store: &'a Store,
    /// The source and the target of files; `None` for a copy of the store alone.
    files: Option<(&'a dyn FileSource, FileFetcher<'a>)>,
    transaction: Option<Transaction>,
    commit: u64,
    /// Whether files may no longer be needed.
    pub(crate) has_dropped_files: bool,
}

impl<'a> ApplyChanges<'a> {
    /// Changes a copy of a store and its files.
    pub(crate) fn with_files(store: &'a Store, folder: &'a Path, source: &'a dyn FileSource) -> Self {
        Self { files: Some((source, FileFetcher::new(folder))), ..Self::store_alone(store) }
    }

    /// Changes a copy of a store.
    pub(crate) fn store_alone(store: &'a Store) -> Self {
        Self { store, files: None, transaction: None, commit: 0, has_dropped_files: false }
    }

    /// The files that were fetched.
    pub(crate) fn fetched(&self) -> FetchCounts {
        self.files.as_ref().map(|(_, fetcher)| fetcher.fetched).unwrap_or_default()
    }

    fn transaction(&mut self) -> Result<&mut Transaction> {
        self.transaction.as_mut().ok_or_else(|| Error::internal("a change outside of a step"))
    }
}

impl ChangeSink for ApplyChanges<'_> {
    fn begin(&mut self, step: &Step) -> Result<()> {
        let mut transaction = self.store.begin()?;
        for name in &step.dropped {
            transaction.drop_snapshot(name)?;
            self.has_dropped_files = true;
        }
        for name in &step.kept {
            transaction.keep_snapshot(name)?;
        }
        self.transaction = Some(transaction);
        self.commit = step.commit;
        Ok(())
    }

    fn create_tree(&mut self, tree: &str) -> Result<()> {
        if let (Some((_, fetcher)), Some(number)) = (&mut self.files, table_number(tree)) {
            fetcher.create_table_folder(Some(number))?;
        }
        self.transaction()?.tree(tree)?;
        Ok(())
    }

    fn drop_tree(&mut self, tree: &str) -> Result<()> {
        self.has_dropped_files = true;
        self.transaction()?.drop_tree(tree)?;
        Ok(())
    }

    fn put(&mut self, tree: &str, key: &[u8], value: &[u8]) -> Result<()> {
        if let (Some((source, fetcher)), Some(table)) = (&mut self.files, table_with_files(tree)) {
            let (file, bytes) = file_in_tree(table, key, value)?;
            fetcher.fetch(*source, &file, Some(bytes))?;
        }
        Ok(self.transaction()?.tree(tree)?.put(key, value)?)
    }

    fn remove(&mut self, tree: &str, key: &[u8]) -> Result<()> {
        if tree.ends_with("/dropped") || tree.ends_with("/files") || tree == TABLES_DROPPED {
            self.has_dropped_files = true;
        }
        self.transaction()?.tree(tree)?.remove(key)?;
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        if let Some((_, fetcher)) = &mut self.files {
            fetcher.sync()?;
        }
        let commit = self.commit;
        let transaction = self.transaction.take().ok_or_else(|| Error::internal("the end of no step"))?;
        Ok(transaction.commit_numbered(commit)?)
    }
}

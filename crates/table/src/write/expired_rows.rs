//! Removes rows that have expired. The change feed has no record of that.

use std::sync::Arc;

use lath_parquet::DeleteMask;

use super::open_write::OpenWrite;
use super::rows_where::rows_where;
use crate::error::Result;
use crate::file::keys_of_rows;
use crate::records::FileEntry;
use crate::view::{Commit, Engine, Expiry, dead_rows};

/// Expired rows of one file.
#[derive(Debug)]
pub(crate) struct ExpiredRows {
    pub(crate) file: u64,
    pub(crate) rows: DeleteMask,
}

impl ExpiredRows {
    /// The rows of these files that have expired, without dead ones. Only the column with their times is read, and only of row groups and pages that
    /// may have expired rows.
    pub(crate) fn find(
        engine: &Engine,
        pinned: &mut Arc<Commit>,
        expiry: &Expiry,
        files: &[Arc<FileEntry>],
    ) -> Result<Vec<Self>> {
        let dead = dead_rows(engine, pinned, files)?;
        let mut found = Vec::new();
        for (entry, dead) in files.iter().zip(dead) {
            let file = engine.cold(pinned, entry)?;
            let rows = rows_where(&file, &dead, &expiry.expired())?;
            if !rows.is_empty() {
                found.push(Self { file: entry.number, rows });
            }
        }
        Ok(found)
    }
}

impl OpenWrite {
    /// Removes all rows that have expired, and returns their number.
    pub(crate) fn remove_all_expired(&mut self) -> Result<u64> {
        let Some(expired) = self.expiry().map(Expiry::expired) else { return Ok(0) };
        let mut count = self.remove_expired_hot()?;
        for (file, rows) in self.cold_rows_where(&expired)? {
            count += self.remove_expired_rows(&ExpiredRows { file, rows })?;
        }
        Ok(count)
    }

    /// Removes the hot rows that have expired, and returns their number.
    pub(crate) fn remove_expired_hot(&mut self) -> Result<u64> {
        let Some(expired) = self.expiry().map(Expiry::expired) else { return Ok(0) };
        let keys = self.hot_keys_where(&expired)?;
        if keys.len() > 0 {
            self.delete_keys(&keys)?;
        }
        Ok(keys.len() as u64)
    }

    /// Masks expired rows of a file, if it is still there, and returns their number. Rows that died meanwhile are not counted.
    pub(crate) fn remove_expired_rows(&mut self, expired: &ExpiredRows) -> Result<u64> {
        self.write_pending()?;
        let manifest = Arc::clone(self.manifest());
        let Some(entry) = manifest.files().iter().find(|entry| entry.number == expired.file) else { return Ok(0) };
        let mut rows = expired.rows.clone();
        if !self.indexes().is_empty() {
            let engine = Arc::clone(self.engine());
            let mut view = self.view()?;
            // The entries of a row that died belong to the row that has replaced it.
            for dead in dead_rows(&engine, &mut view, std::slice::from_ref(entry))? {
                rows -= &*dead;
            }
            let cold = engine.cold(&mut view, entry)?;
            let numbers: Vec<u64> = rows.iter().collect();
            let keys = keys_of_rows(&cold, &numbers)?;
            self.unindex_rows(&cold, &numbers, &keys)?;
        }
        self.add_to_mask(expired.file, &rows)?;
        Ok(rows.len())
    }
}

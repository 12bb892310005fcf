//! Encoded rows that are decoded together.

use std::collections::BTreeSet;

use arrow_array::{Array, ArrayRef};

use super::byte_list::ByteList;
use super::categories::interleave_rows;
use super::value_columns::ValueColumns;
use crate::error::{Error, Result};

/// Encoded value columns, each row in the version of the schema in which it was written.
#[derive(Debug, Default)]
pub(crate) struct StoredRows {
    rows: ByteList,
    versions: Vec<u32>,
}

impl StoredRows {
    /// Adds a row, of which `columns` will be decoded.
    pub(crate) fn push(&mut self, version: u32, row: &[u8], columns: &ValueColumns) -> Result<()> {
        match columns.cut(version) {
            Some(cut) => {
                let pushed = self.rows.push_with(|taken| cut.take(row, taken));
                pushed.ok_or_else(|| Error::corrupt("a row does not have the columns of its schema"))?;
            }
            None => self.rows.push(row),
        }
        self.versions.push(version);
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.versions.len()
    }

    /// The columns with which the rows were added.
    pub(crate) fn decode(&self, columns: &ValueColumns) -> Result<Vec<ArrayRef>> {
        let first = self.versions.first().copied().unwrap_or(columns.schema().version());
        if self.versions.iter().all(|&version| version == first) {
            return columns.decode(first, self.rows.iter(), self.len());
        }
        let mut pieces = Vec::new();
        // For each row, its piece and its row there.
        let mut order = vec![(0, 0); self.len()];
        for version in self.versions.iter().copied().collect::<BTreeSet<_>>() {
            let places: Vec<usize> = (0..self.len()).filter(|&at| self.versions[at] == version).collect();
            places.iter().enumerate().for_each(|(row, &at)| order[at] = (pieces.len(), row));
            let rows = places.iter().map(|&at| self.rows.get(at));
            pieces.push(columns.decode(version, rows, places.len())?);
        }
        let column = |at: usize| {
            let arrays: Vec<&dyn Array> = pieces.iter().map(|piece| &*piece[at]).collect();
            interleave_rows(&arrays, &order)
        };
        (0..columns.len()).map(column).collect()
    }
}

//! Filters that no file has: made of a row group's values, in memory.
//!
//! A filter lets some keys pass that are not there, and many files have none. Where a row group was read for keys in vain more than
//! once, that is going to happen again: its values are then read once more, and a filter of them is kept with the file's footer, as
//! filters of the file are. Where the file has a filter, the one that is made takes other hashes ([`second_hash`]) and is asked
//! of what that lets pass; what both let pass is the product of their shares. Files without filters get one after the first
//! reads in vain, and a second if that lets too much pass.

use std::sync::Arc;

use arrow_array::Array;
use lath_kernels::bloom::{self, BLOCK_LEN};

use super::keys::{KeyKind, hashes_of, second_hash};
use crate::error::Result;
use crate::file::ParquetFile;
use crate::filters::{Claim, ColumnFilters, FilterMemory, Known};

/// Rows for each block of 256 bits: 2.5 % of the keys that are not there pass then.
const ROWS_PER_BLOCK: u64 = 32;

/// A filter in the making: of all values of a column chunk, once they have been added. One that is dropped before it is finished
/// may be made another time.
pub(crate) struct Making<'a> {
    filters: &'a ColumnFilters,
    row_group: usize,
    kind: KeyKind,
    /// It is the only one of the chunk, and takes the hashes that filters of files take.
    is_only: bool,
    bitset: Vec<u8>,
    claim: Option<Claim>,
    /// Whether a filter may be made another time.
    again: bool,
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.filters.end_making(self.row_group, self.again);
    }
}

impl<'a> Making<'a> {
    /// After a row group was read for keys of a leaf in vain, if a filter is to be made now and `memory` has room for it.
    pub(crate) fn after_reading_in_vain(
        file: &'a ParquetFile,
        leaf: usize,
        kind: KeyKind,
        row_group: usize,
        memory: &Arc<FilterMemory>,
    ) -> Option<Self> {
        let metadata = file.metadata();
        let filters = file.filters().column(leaf, metadata.column_count(), metadata.row_group_count())?;
        if !filters.note_in_vain(row_group) {
            return None;
        }
        let is_only = filters.kept(row_group).is_none() && {
            let chunk = metadata.chunk(row_group, leaf).ok()?;
            chunk.bloom_filter().is_none() || filters.known(row_group) == Known::Unusable
        };
        let mut making = Self { filters, row_group, kind, is_only, bitset: Vec::new(), claim: None, again: true };
        let rows = file.row_group_row_counts().get(row_group)?;
        let len = rows.div_ceil(ROWS_PER_BLOCK).max(1).checked_mul(BLOCK_LEN as u64)?;
        making.claim = Some(memory.claim(len)?);
        making.bitset = vec![0; usize::try_from(len).ok()?];
        Some(making)
    }

    /// Adds the next values. Returns whether they can be: no filter is made of others.
    pub(crate) fn add(&mut self, values: &dyn Array) -> Result<bool> {
        let Some(mut hashes) = hashes_of(self.kind, values) else {
            self.again = false;
            return Ok(false);
        };
        if !self.is_only {
            hashes.iter_mut().for_each(|hash| *hash = second_hash(*hash));
        }
        bloom::insert_many(&mut self.bitset, &hashes)?;
        Ok(true)
    }

    /// Keeps the filter, after all values have been added.
    pub(crate) fn finish(mut self) {
        if let Some(claim) = self.claim.take() {
            let bitset = std::mem::take(&mut self.bitset);
            self.filters.keep_made(self.row_group, bitset.into(), claim, self.is_only);
            // A second one if it lets too much pass.
            self.again = self.is_only;
        }
    }
}

//! Computed filters: Bloom filters in memory that Lath computes from a row group's values.
//!
//! A file may have no filter, or a filter with false positives. A row group that was scanned for keys more than once without a
//! match will probably be scanned for others. Its values are then read once more, and a filter of them is cached with the file's
//! footer, like filters of the file. If the file has a filter, the computed one uses other hashes ([`second_hash`]) and is probed
//! for keys that pass the first; the false positive rates multiply. If the file has none, the computed filter replaces it, and a
//! second one is computed if the first has too many false positives.

use std::sync::Arc;

use arrow_array::Array;
use lath_kernels::bloom::{self, BLOCK_LEN};

use super::super::thresholds::ROWS_PER_BLOCK;
use super::keys::{KeyKind, array_hashes, second_hash};
use crate::error::Result;
use crate::file::ParquetFile;
use crate::filters::{ColumnFilters, FilterMemory, HeaderState, Reservation};

/// A filter that is being computed from all values of a column chunk. If it is dropped unfinished, it may be computed later.
pub(crate) struct ComputedFilter<'a> {
    filters: &'a ColumnFilters,
    row_group: usize,
    kind: KeyKind,
    /// Whether the chunk has no other filter: this one then has the hashes of the format.
    is_only: bool,
    bitset: Vec<u8>,
    reservation: Option<Reservation>,
    /// Whether a filter may be computed later.
    again: bool,
}

impl Drop for ComputedFilter<'_> {
    fn drop(&mut self) {
        self.filters.end_computing(self.row_group, self.again);
    }
}

impl<'a> ComputedFilter<'a> {
    /// Counts a scan of a row group for keys of a leaf without a match. Starts a filter after enough such scans if `memory` has
    /// space.
    pub(crate) fn after_empty_scan(
        file: &'a ParquetFile,
        leaf: usize,
        kind: KeyKind,
        row_group: usize,
        memory: &Arc<FilterMemory>,
    ) -> Option<Self> {
        let metadata = file.metadata();
        let filters = file.filters().column(leaf, metadata.column_count(), metadata.row_group_count())?;
        if !filters.count_empty_scan(row_group) {
            return None;
        }
        let is_only = filters.cached(row_group).is_none() && {
            let chunk = metadata.chunk(row_group, leaf).ok()?;
            chunk.bloom_filter().is_none() || filters.header(row_group) == HeaderState::Unusable
        };
        let mut filter = Self { filters, row_group, kind, is_only, bitset: Vec::new(), reservation: None, again: true };
        let rows = file.row_group_row_counts().get(row_group)?;
        let len = rows.div_ceil(ROWS_PER_BLOCK).max(1).checked_mul(BLOCK_LEN as u64)?;
        filter.reservation = Some(memory.reserve(len)?);
        filter.bitset = vec![0; usize::try_from(len).ok()?];
        Some(filter)
    }

    /// Adds the next values. Returns whether values of this type have hashes: if not, the filter has to be dropped.
    pub(crate) fn add(&mut self, values: &dyn Array) -> Result<bool> {
        let Some(mut hashes) = array_hashes(self.kind, values) else {
            self.again = false;
            return Ok(false);
        };
        if !self.is_only {
            hashes.iter_mut().for_each(|hash| *hash = second_hash(*hash));
        }
        bloom::insert_many(&mut self.bitset, &hashes)?;
        Ok(true)
    }

    /// Caches the filter, after all values have been added.
    pub(crate) fn finish(mut self) {
        if let Some(reservation) = self.reservation.take() {
            let bitset = std::mem::take(&mut self.bitset);
            self.filters.cache_computed(self.row_group, bitset.into(), reservation, self.is_only);
            // A second filter follows if this one has too many false positives.
            self.again = self.is_only;
        }
    }
}

//! The Bloom filters of a file: read headers and cached filters, so that a probe of an open file reads only blocks.

mod column;
mod header;
mod memory;
mod thresholds;

use std::fmt;
use std::sync::{Arc, OnceLock};

pub(crate) use self::column::{ColumnFilters, HeaderState};
pub(crate) use self::header::FilterHeader;
pub use self::memory::FilterMemory;
pub(crate) use self::memory::Reservation;
pub(crate) use self::thresholds::MAX_HEADER_LEN;

/// The filters of a file, column by column; nothing is allocated for columns that are not probed.
#[derive(Default)]
pub(crate) struct FilterStore {
    columns: OnceLock<Box<[OnceLock<ColumnFilters>]>>,
    memory: OnceLock<Arc<FilterMemory>>,
}

impl FilterStore {
    /// Sets the memory in which filters that are probed often are cached, unless a query sets another.
    pub(crate) fn cache_in(&self, memory: &Arc<FilterMemory>) {
        self.memory.get_or_init(|| Arc::clone(memory));
    }

    /// The memory in which filters that are probed often are cached.
    pub(crate) fn memory(&self) -> Option<&Arc<FilterMemory>> {
        self.memory.get()
    }

    /// The filters of a leaf, if any of them are in memory.
    pub(crate) fn cached_column(&self, leaf: usize) -> Option<&ColumnFilters> {
        self.columns.get()?.get(leaf)?.get().filter(|column| column.has_cached())
    }

    /// Bytes of the filters that are in memory.
    pub(crate) fn cached_bytes(&self) -> u64 {
        let columns = self.columns.get().into_iter().flatten().filter_map(OnceLock::get);
        columns.map(ColumnFilters::cached_bytes).sum()
    }

    /// The filters of a leaf; `None` if the file has no such leaf.
    pub(crate) fn column(&self, leaf: usize, leaf_count: usize, row_groups: usize) -> Option<&ColumnFilters> {
        let columns = self.columns.get_or_init(|| (0..leaf_count).map(|_| OnceLock::new()).collect());
        Some(columns.get(leaf)?.get_or_init(|| ColumnFilters::new(row_groups)))
    }
}

impl fmt::Debug for FilterStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterStore").finish_non_exhaustive()
    }
}

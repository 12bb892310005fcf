//! The Bloom filters of one column: their location in the file, and the cached ones.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use bytes::Bytes;

use super::header::FilterHeader;
use super::memory::Reservation;
use super::thresholds::{EMPTY_SCANS_BEFORE_COMPUTING, MAX_READ_COST, MIN_HUGE_PAGE_BYTES};
use crate::huge_pages::HugePages;

/// The filters of one column, row group by row group.
pub(crate) struct ColumnFilters {
    /// The state of each header and the cost of reading blocks so far, packed.
    headers: Box<[AtomicU64]>,
    /// Filters of the file, and computed ones of chunks without a filter.
    cached: OnceLock<Box<[OnceLock<CachedBitset>]>>,
    computed: OnceLock<Box<[RowGroupState]>>,
}

/// A bitset in memory.
#[derive(Debug)]
struct CachedBitset {
    bitset: Bytes,
    _reservation: Reservation,
}

/// State that decides whether a filter of a row group is computed.
#[derive(Debug, Default)]
struct RowGroupState {
    /// Number of scans for keys without a match, or [`COMPUTING`], or [`NEVER_AGAIN`].
    empty_scans: AtomicU8,
    /// A filter with other hashes, which is probed for keys that pass the first.
    second: OnceLock<CachedBitset>,
}

/// In place of a count: a thread computes the filter.
const COMPUTING: u8 = u8::MAX - 1;
/// In place of a count: there are two filters, or none can be computed.
const NEVER_AGAIN: u8 = u8::MAX;

/// Packed: the header has not been read.
const UNREAD: u64 = 0;
/// Packed: the filter cannot be used.
const UNUSABLE: u64 = u64::MAX;
/// Packed: bits of the header. The bits above have the read cost.
const HEADER_BITS: u32 = 40;

/// State of the header of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderState {
    Unread,
    Unusable,
    Read(FilterHeader),
}

impl ColumnFilters {
    pub(super) fn new(row_groups: usize) -> Self {
        let headers = (0..row_groups).map(|_| AtomicU64::new(UNREAD)).collect();
        Self { headers, cached: OnceLock::new(), computed: OnceLock::new() }
    }

    pub(crate) fn header(&self, row_group: usize) -> HeaderState {
        match self.packed(row_group) {
            UNREAD => HeaderState::Unread,
            UNUSABLE => HeaderState::Unusable,
            packed => HeaderState::Read(FilterHeader { header_len: (packed >> 32) as u8, bitset_len: packed as u32 }),
        }
    }

    /// Remembers a header: `None` if the filter cannot be used.
    pub(crate) fn set_header(&self, row_group: usize, header: Option<FilterHeader>) {
        let pack = |header: FilterHeader| u64::from(header.header_len) << 32 | u64::from(header.bitset_len);
        if let Some(slot) = self.headers.get(row_group) {
            slot.store(header.map_or(UNUSABLE, pack), Ordering::Relaxed);
        }
    }

    /// The cost of reading parts of the filter so far, in blocks.
    pub(crate) fn read_cost(&self, row_group: usize) -> u64 {
        match self.packed(row_group) {
            UNUSABLE => 0,
            packed => packed >> HEADER_BITS,
        }
    }

    /// Adds to the read cost. If threads add at the same time, some of the cost may be lost, which only delays caching.
    pub(crate) fn add_read_cost(&self, row_group: usize, blocks: u64) {
        let Some(slot) = self.headers.get(row_group) else { return };
        let packed = slot.load(Ordering::Relaxed);
        if packed != UNREAD && packed != UNUSABLE {
            let cost = (packed >> HEADER_BITS).saturating_add(blocks).min(MAX_READ_COST);
            slot.store(cost << HEADER_BITS | packed & ((1 << HEADER_BITS) - 1), Ordering::Relaxed);
        }
    }

    fn packed(&self, row_group: usize) -> u64 {
        self.headers.get(row_group).map_or(UNUSABLE, |header| header.load(Ordering::Relaxed))
    }

    pub(super) fn cached_bytes(&self) -> u64 {
        let cached = self.cached.get().into_iter().flatten().filter_map(OnceLock::get);
        let second = self.computed.get().into_iter().flatten().filter_map(|state| state.second.get());
        cached.chain(second).map(|cached| cached.bitset.len() as u64).sum()
    }

    /// Whether any bitset is in memory.
    pub(crate) fn has_cached(&self) -> bool {
        self.cached.get().is_some()
    }

    /// The bitset, if it is in memory.
    pub(crate) fn cached(&self, row_group: usize) -> Option<&Bytes> {
        Some(&self.cached.get()?.get(row_group)?.get()?.bitset)
    }

    pub(crate) fn cache(&self, row_group: usize, bitset: Bytes, reservation: Reservation) {
        let cached = self.cached.get_or_init(|| (0..self.headers.len()).map(|_| OnceLock::new()).collect());
        if let Some(slot) = cached.get(row_group) {
            // A bitset that another thread has cached in the meantime is the same.
            let _ = slot.set(CachedBitset { bitset: in_huge_pages(bitset), _reservation: reservation });
        }
    }

    /// Whether any row group may have a second filter.
    pub(crate) fn has_second(&self) -> bool {
        self.computed.get().is_some()
    }

    /// The second filter, if one was computed.
    pub(crate) fn second(&self, row_group: usize) -> Option<&Bytes> {
        Some(&self.computed.get()?.get(row_group)?.second.get()?.bitset)
    }

    /// Counts a scan of the row group for keys without a match. Returns whether the caller is to compute a filter; no other
    /// caller is, until [`ColumnFilters::end_computing`].
    pub(crate) fn count_empty_scan(&self, row_group: usize) -> bool {
        let computed =
            self.computed.get_or_init(|| (0..self.headers.len()).map(|_| RowGroupState::default()).collect());
        let Some(state) = computed.get(row_group) else { return false };
        let add_one = |count| match count {
            COMPUTING | NEVER_AGAIN => None,
            count if count + 1 >= EMPTY_SCANS_BEFORE_COMPUTING => Some(COMPUTING),
            count => Some(count + 1),
        };
        let before = state.empty_scans.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add_one);
        before.is_ok_and(|count| count + 1 >= EMPTY_SCANS_BEFORE_COMPUTING)
    }

    /// Caches a computed filter: as the only one of a chunk without a usable filter, else as the second.
    pub(crate) fn cache_computed(&self, row_group: usize, bitset: Bytes, reservation: Reservation, is_only: bool) {
        if is_only {
            self.cache(row_group, bitset, reservation);
        } else if let Some(state) = self.computed.get().and_then(|computed| computed.get(row_group)) {
            let _ = state.second.set(CachedBitset { bitset: in_huge_pages(bitset), _reservation: reservation });
        }
    }

    /// Ends a computation that [`ColumnFilters::count_empty_scan`] began. With `again`, a filter may be computed later.
    pub(crate) fn end_computing(&self, row_group: usize, again: bool) {
        if let Some(state) = self.computed.get().and_then(|computed| computed.get(row_group)) {
            state.empty_scans.store(if again { 0 } else { NEVER_AGAIN }, Ordering::Relaxed);
        }
    }
}

/// The bitset in huge pages if it is large: probes hit random places, each of which would need another page table entry.
fn in_huge_pages(bitset: Bytes) -> Bytes {
    if bitset.len() < MIN_HUGE_PAGE_BYTES {
        return bitset;
    }
    match HugePages::zeroed(bitset.len()) {
        Ok(mut memory) => {
            memory.copy_from_slice(&bitset);
            Bytes::from_owner(memory)
        }
        Err(_) => bitset,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::filters::{FilterMemory, FilterStore};

    #[test]
    fn headers_and_read_costs_are_remembered_by_row_group() {
        let store = FilterStore::default();
        let column = store.column(1, 2, 3).unwrap();
        assert_eq!(column.header(0), HeaderState::Unread);
        let header = FilterHeader { header_len: 17, bitset_len: 1 << 27 };
        column.set_header(0, Some(header));
        column.set_header(1, None);
        (0..4).for_each(|row_group| column.add_read_cost(row_group, 3));
        assert_eq!([0, 1, 2, 3].map(|row_group| column.read_cost(row_group)), [3, 0, 0, 0]);
        column.add_read_cost(0, u64::MAX);
        assert_eq!(column.read_cost(0), MAX_READ_COST);
        let column = store.column(1, 2, 3).unwrap();
        let states = [HeaderState::Read(header), HeaderState::Unusable, HeaderState::Unread, HeaderState::Unusable];
        assert_eq!([0, 1, 2, 3].map(|row_group| column.header(row_group)), states);
        assert!(store.column(2, 2, 3).is_none());
    }

    #[test]
    fn a_filter_is_computed_after_two_empty_scans_and_a_second_after_two_more() {
        let memory = Arc::new(FilterMemory::new(u64::MAX));
        let store = FilterStore::default();
        let column = store.column(0, 1, 2).unwrap();
        let cache = |is_only| {
            column.cache_computed(1, Bytes::from_static(&[7; 32]), memory.reserve(32).unwrap(), is_only);
            column.end_computing(1, is_only);
        };
        assert_eq!([0, 1, 2].map(|row_group| column.count_empty_scan(row_group)), [false; 3]);
        assert_eq!([1, 1, 1].map(|row_group| column.count_empty_scan(row_group)), [true, false, false]);
        column.end_computing(1, true);
        assert_eq!([1, 1].map(|row_group| column.count_empty_scan(row_group)), [false, true]);
        cache(true);
        assert!(column.cached(1).is_some() && column.second(1).is_none());
        assert_eq!([1, 1].map(|row_group| column.count_empty_scan(row_group)), [false, true]);
        cache(false);
        assert!(column.second(1).is_some() && column.second(0).is_none());
        assert_eq!([1, 1, 1].map(|row_group| column.count_empty_scan(row_group)), [false; 3]);
        assert_eq!((store.cached_bytes(), memory.used()), (64, 64));
        column.count_empty_scan(0);
        column.end_computing(0, false);
        assert_eq!([0, 0].map(|row_group| column.count_empty_scan(row_group)), [false; 2]);
    }

    #[test]
    fn large_bitsets_are_cached_byte_for_byte() {
        let memory = Arc::new(FilterMemory::new(u64::MAX));
        let store = FilterStore::default();
        let column = store.column(0, 1, 1).unwrap();
        let bitset: Vec<u8> = (0..MIN_HUGE_PAGE_BYTES + 32).map(|i| (i / 7) as u8).collect();
        column.cache(0, bitset.clone().into(), memory.reserve(bitset.len() as u64).unwrap());
        assert!(column.cached(0).unwrap() == &bitset);
    }

    #[test]
    fn memory_is_released_with_the_file() {
        let memory = Arc::new(FilterMemory::new(100));
        let store = FilterStore::default();
        let column = store.column(0, 1, 2).unwrap();
        column.cache(1, Bytes::from_static(&[7; 60]), memory.reserve(60).unwrap());
        assert_eq!((column.cached(1).unwrap().len(), store.cached_bytes()), (60, 60));
        assert!(column.cached(0).is_none());
        assert!(memory.reserve(41).is_none() && memory.reserve(u64::MAX).is_none());
        assert_eq!(memory.used(), 60);
        drop(store);
        assert_eq!(memory.used(), 0);
    }
}

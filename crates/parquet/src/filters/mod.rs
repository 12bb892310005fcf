//! What is remembered of a file's filters, so that a probe of an open file reads blocks and nothing else.

mod header;

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

pub(crate) use self::header::{MAX_HEADER_LEN, Place};
use crate::huge_pages::HugePages;

/// Memory for whole Bloom filters, shared by any number of files: a filter that is needed is read whole and kept with its
/// file as long as the budget has room, so that later probes read nothing.
///
/// ```
/// use std::sync::Arc;
///
/// use lath_parquet::{FilterMemory, Pruning};
///
/// let mut pruning = Pruning::default();
/// pruning.filter_memory = Some(Arc::new(FilterMemory::new(256 << 20)));
/// ```
#[derive(Debug)]
pub struct FilterMemory {
    budget: AtomicU64,
    used: AtomicU64,
}

impl FilterMemory {
    /// Memory of at most `budget` bytes.
    pub fn new(budget: u64) -> Self {
        Self { budget: AtomicU64::new(budget), used: AtomicU64::new(0) }
    }

    /// Bytes of the filters that are kept. They are let go when the last handle of their file is dropped.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Changes the budget. What is kept already stays.
    pub(crate) fn set_budget(&self, budget: u64) {
        self.budget.store(budget, Ordering::Relaxed);
    }

    /// Takes `len` bytes, if there are so many left.
    pub(crate) fn claim(self: &Arc<Self>, len: u64) -> Option<Claim> {
        let budget = self.budget.load(Ordering::Relaxed);
        let within = |used: u64| used.checked_add(len).filter(|used| *used <= budget);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within).ok()?;
        Some(Claim { memory: Arc::clone(self), len })
    }
}

/// Bytes of a [`FilterMemory`], given back when they are dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    memory: Arc<FilterMemory>,
    len: u64,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.len, Ordering::Relaxed);
    }
}

/// A bitset in memory.
#[derive(Debug)]
struct Kept {
    bitset: Bytes,
    _claim: Claim,
}

/// The filters of a file, column by column; nothing is allocated for columns that are not asked for.
#[derive(Default)]
pub(crate) struct FilterStore {
    columns: OnceLock<Box<[OnceLock<ColumnFilters>]>>,
    memory: OnceLock<Arc<FilterMemory>>,
}

impl FilterStore {
    /// Sets where filters are kept that are asked again and again, unless a query says where to keep them.
    pub(crate) fn keep_in(&self, memory: &Arc<FilterMemory>) {
        self.memory.get_or_init(|| Arc::clone(memory));
    }

    /// Where filters are kept that are asked again and again.
    pub(crate) fn memory(&self) -> Option<&Arc<FilterMemory>> {
        self.memory.get()
    }

    /// Those of a leaf, if any of them are in memory.
    pub(crate) fn kept_column(&self, leaf: usize) -> Option<&ColumnFilters> {
        self.columns.get()?.get(leaf)?.get().filter(|column| column.keeps_any())
    }

    /// Bytes of the filters that are in memory.
    pub(crate) fn kept_bytes(&self) -> u64 {
        let columns = self.columns.get().into_iter().flatten().filter_map(OnceLock::get);
        columns.map(ColumnFilters::kept_bytes).sum()
    }

    /// Those of a leaf; `None` where the file has no such leaf.
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

/// The filters of one column, row group by row group.
pub(crate) struct ColumnFilters {
    /// What the headers that have been read say, packed.
    places: Box<[AtomicU64]>,
    /// Filters of the file, and those made in place of such as it lacks.
    kept: OnceLock<Box<[OnceLock<Kept>]>>,
    made: OnceLock<Box<[Made]>>,
}

/// What is known of a row group beyond its filter.
#[derive(Debug, Default)]
struct Made {
    /// How often the row group was read for keys that it has not, or [`BEING_MADE`], or [`GIVEN_UP`].
    in_vain: AtomicU8,
    /// Asked of the keys that the filter lets pass.
    second: OnceLock<Kept>,
}

/// A filter is made of a row group's values once it was read for keys in vain so many times: making it takes about as long as two
/// such reads, so that at no time has more than twice as much been spent as had been best.
const OFTEN_IN_VAIN: u8 = 2;
/// In place of a count: someone is at it.
const BEING_MADE: u8 = u8::MAX - 1;
/// In place of a count: there are two filters, or none can be made.
const GIVEN_UP: u8 = u8::MAX;

/// Packed: nothing has been read.
const UNREAD: u64 = 0;
/// Packed: what was read is no filter that can be used.
const UNUSABLE: u64 = u64::MAX;
/// Packed: what the place takes of the bits. Those above say what was spent.
const PLACE_BITS: u32 = 40;
/// Most blocks that are counted.
const MOST_SPENT: u64 = (1 << 20) - 1;

/// What is known of where a filter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Nothing yet.
    Nothing,
    /// That it cannot be used.
    Unusable,
    At(Place),
}

impl ColumnFilters {
    fn new(row_groups: usize) -> Self {
        let places = (0..row_groups).map(|_| AtomicU64::new(UNREAD)).collect();
        Self { places, kept: OnceLock::new(), made: OnceLock::new() }
    }

    pub(crate) fn known(&self, row_group: usize) -> Known {
        match self.places.get(row_group).map_or(UNUSABLE, |place| place.load(Ordering::Relaxed)) {
            UNREAD => Known::Nothing,
            UNUSABLE => Known::Unusable,
            packed => Known::At(Place { header_len: (packed >> 32) as u8, len: packed as u32 }),
        }
    }

    /// What reading parts of the filter has cost, in blocks, as far as that was counted.
    pub(crate) fn spent(&self, row_group: usize) -> u64 {
        match self.places.get(row_group).map_or(UNUSABLE, |place| place.load(Ordering::Relaxed)) {
            UNUSABLE => 0,
            packed => packed >> PLACE_BITS,
        }
    }

    /// Adds what reading cost. That threads which count at the same time may count only one of theirs does no harm.
    pub(crate) fn add_spent(&self, row_group: usize, blocks: u64) {
        let Some(slot) = self.places.get(row_group) else { return };
        let packed = slot.load(Ordering::Relaxed);
        if packed != UNREAD && packed != UNUSABLE {
            let spent = (packed >> PLACE_BITS).saturating_add(blocks).min(MOST_SPENT);
            slot.store(spent << PLACE_BITS | packed & ((1 << PLACE_BITS) - 1), Ordering::Relaxed);
        }
    }

    /// Remembers what a header says: `None` if the filter cannot be used.
    pub(crate) fn learn(&self, row_group: usize, place: Option<Place>) {
        let packed = place.map_or(UNUSABLE, |place| u64::from(place.header_len) << 32 | u64::from(place.len));
        if let Some(slot) = self.places.get(row_group) {
            slot.store(packed, Ordering::Relaxed);
        }
    }

    fn kept_bytes(&self) -> u64 {
        let kept = self.kept.get().into_iter().flatten().filter_map(OnceLock::get);
        let second = self.made.get().into_iter().flatten().filter_map(|made| made.second.get());
        kept.chain(second).map(|kept| kept.bitset.len() as u64).sum()
    }

    /// Whether any bitset is in memory.
    pub(crate) fn keeps_any(&self) -> bool {
        self.kept.get().is_some()
    }

    /// The bitset, if it is in memory.
    pub(crate) fn kept(&self, row_group: usize) -> Option<&Bytes> {
        Some(&self.kept.get()?.get(row_group)?.get()?.bitset)
    }

    pub(crate) fn keep(&self, row_group: usize, bitset: Bytes, claim: Claim) {
        let kept = self.kept.get_or_init(|| (0..self.places.len()).map(|_| OnceLock::new()).collect());
        if let Some(slot) = kept.get(row_group) {
            // One that another thread has kept in the meantime is the same.
            let _ = slot.set(Kept { bitset: settled(bitset), _claim: claim });
        }
    }

    /// Whether any row group may have a second filter.
    pub(crate) fn has_second(&self) -> bool {
        self.made.get().is_some()
    }

    /// The second filter, if one was made.
    pub(crate) fn second(&self, row_group: usize) -> Option<&Bytes> {
        Some(&self.made.get()?.get(row_group)?.second.get()?.bitset)
    }

    /// Takes note that the row group was read for keys that it has not. Returns whether a filter is to be made of its values, in
    /// which case nobody else is told so before [`ColumnFilters::keep_made`] or [`ColumnFilters::end_making`].
    pub(crate) fn note_in_vain(&self, row_group: usize) -> bool {
        let made = self.made.get_or_init(|| (0..self.places.len()).map(|_| Made::default()).collect());
        let Some(made) = made.get(row_group) else { return false };
        let one_more = |count| match count {
            BEING_MADE | GIVEN_UP => None,
            count if count + 1 >= OFTEN_IN_VAIN => Some(BEING_MADE),
            count => Some(count + 1),
        };
        let before = made.in_vain.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        before.is_ok_and(|count| count + 1 >= OFTEN_IN_VAIN)
    }

    /// Keeps the filter that was made: the only one of a chunk without filter, else the second.
    pub(crate) fn keep_made(&self, row_group: usize, bitset: Bytes, claim: Claim, is_only: bool) {
        if is_only {
            self.keep(row_group, bitset, claim);
        } else if let Some(made) = self.made.get().and_then(|made| made.get(row_group)) {
            let _ = made.second.set(Kept { bitset: settled(bitset), _claim: claim });
        }
    }

    /// That no filter is being made any more; `again` if one may be later.
    pub(crate) fn end_making(&self, row_group: usize, again: bool) {
        if let Some(made) = self.made.get().and_then(|made| made.get(row_group)) {
            made.in_vain.store(if again { 0 } else { GIVEN_UP }, Ordering::Relaxed);
        }
    }
}

/// Filters from so many bytes on are worth huge pages of their own.
const LARGE: usize = 4 << 20;

/// The bitset where probes of it are cheapest.
fn settled(bitset: Bytes) -> Bytes {
    if bitset.len() < LARGE {
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
    use super::*;

    #[test]
    fn places_and_bitsets_are_remembered_row_group_by_row_group() {
        let store = FilterStore::default();
        let column = store.column(1, 2, 3).unwrap();
        assert_eq!(column.known(0), Known::Nothing);
        let place = Place { header_len: 17, len: 1 << 27 };
        column.learn(0, Some(place));
        column.learn(1, None);
        (0..4).for_each(|row_group| column.add_spent(row_group, 3));
        assert_eq!([0, 1, 2, 3].map(|row_group| column.spent(row_group)), [3, 0, 0, 0]);
        column.add_spent(0, u64::MAX);
        assert_eq!(column.spent(0), MOST_SPENT);
        let column = store.column(1, 2, 3).unwrap();
        let known = [Known::At(place), Known::Unusable, Known::Nothing, Known::Unusable];
        assert_eq!([0, 1, 2, 3].map(|row_group| column.known(row_group)), known);
        assert!(store.column(2, 2, 3).is_none());
    }

    #[test]
    fn a_filter_is_made_after_two_reads_in_vain_and_a_second_after_two_more() {
        let memory = Arc::new(FilterMemory::new(u64::MAX));
        let store = FilterStore::default();
        let column = store.column(0, 1, 2).unwrap();
        let keep = |is_only| {
            column.keep_made(1, Bytes::from_static(&[7; 32]), memory.claim(32).unwrap(), is_only);
            column.end_making(1, is_only);
        };
        assert_eq!([0, 1, 2].map(|row_group| column.note_in_vain(row_group)), [false; 3]);
        assert_eq!([1, 1, 1].map(|row_group| column.note_in_vain(row_group)), [true, false, false]);
        column.end_making(1, true);
        assert_eq!([1, 1].map(|row_group| column.note_in_vain(row_group)), [false, true]);
        keep(true);
        assert!(column.kept(1).is_some() && column.second(1).is_none());
        assert_eq!([1, 1].map(|row_group| column.note_in_vain(row_group)), [false, true]);
        keep(false);
        assert!(column.second(1).is_some() && column.second(0).is_none());
        assert_eq!([1, 1, 1].map(|row_group| column.note_in_vain(row_group)), [false; 3]);
        assert_eq!((store.kept_bytes(), memory.used()), (64, 64));
        column.note_in_vain(0);
        column.end_making(0, false);
        assert_eq!([0, 0].map(|row_group| column.note_in_vain(row_group)), [false; 2]);
    }

    #[test]
    fn large_bitsets_are_kept_byte_for_byte() {
        let memory = Arc::new(FilterMemory::new(u64::MAX));
        let store = FilterStore::default();
        let column = store.column(0, 1, 1).unwrap();
        let bitset: Vec<u8> = (0..LARGE + 32).map(|i| (i / 7) as u8).collect();
        column.keep(0, bitset.clone().into(), memory.claim(bitset.len() as u64).unwrap());
        assert!(column.kept(0).unwrap() == &bitset);
    }

    #[test]
    fn memory_is_given_back_with_the_file() {
        let memory = Arc::new(FilterMemory::new(100));
        let store = FilterStore::default();
        let column = store.column(0, 1, 2).unwrap();
        column.keep(1, Bytes::from_static(&[7; 60]), memory.claim(60).unwrap());
        assert_eq!((column.kept(1).unwrap().len(), store.kept_bytes()), (60, 60));
        assert!(column.kept(0).is_none());
        assert!(memory.claim(41).is_none() && memory.claim(u64::MAX).is_none());
        assert_eq!(memory.used(), 60);
        drop(store);
        assert_eq!(memory.used(), 0);
    }
}

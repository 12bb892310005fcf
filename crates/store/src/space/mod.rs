//! The space map: tracks used units, allocates nodes, and frees the units of retired nodes.
//!
//! The map is a bitmap in memory, a bit per unit, divided into regions of 2 MiB. The writer fills one region after
//! another, always the one in which most units became free since it was last filled. Within a region each request gets
//! the hole that fits best. So nodes that are written together lie within 2 MiB, and short holes are left over.
//! Leftovers that are still unused do not count for the choice of the next region: otherwise regions with little but
//! leftovers would be chosen again and again.
//!
//! Each of three classes of nodes has its own current region. Nodes of more than 16 units are the upper nodes of a
//! trie; they live for one transaction and leave long holes to each other. Nodes of up to four units are the inner
//! nodes above leaves, which every search visits: close together they take fewer TLB entries, and a search among 20
//! million random keys takes 6 % less time.
//!
//! The `simulation` module contains the workload that this was tuned for, and the figures.

mod bits;
mod difference;
mod holes;
pub(crate) mod reclaim;
pub(crate) mod regions;
mod saved;
mod spanning;

use crate::extent::Extent;
use bits::ClearRuns;
use holes::Holes;
use regions::{REGION, Region, Regions};
use saved::SavedMap;

/// Words of a region's bitmap.
const REGION_WORDS: usize = REGION as usize / 64;

/// Nodes of up to this many units are small: the inner nodes above leaves.
const SMALL_MAX: u32 = 4;

/// Nodes of up to this many units are medium: the leaves.
const MEDIUM_MAX: u32 = 16;

/// Larger requests are only searched for across regions.
const WITHIN_REGION_MAX: u32 = REGION / 4;

/// A region is filled only if one in this many of its units is free; otherwise the file grows. With 10 a file is 2 %
/// smaller and a transaction dirties a sixth more pages; with 5 it is 4 % larger and dirties an eighth fewer.
const SPARSE: u32 = 7;

/// The number of regions that are tried without success before the file grows.
const TRIES: usize = 8;

/// Classes of nodes by size. Nodes of one class share regions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Small,
    Medium,
    Large,
}

const CLASSES: usize = 3;

impl Class {
    #[inline]
    fn for_units(units: u32) -> Self {
        if units <= SMALL_MAX {
            Self::Small
        } else if units <= MEDIUM_MAX {
            Self::Medium
        } else {
            Self::Large
        }
    }
}

/// The units of the data area, used and free. Owned by the writer.
#[derive(Debug)]
pub(crate) struct Space {
    /// A set bit is a used unit, one before `first`, or one from `end` on. There is one more word than the regions
    /// have.
    words: Vec<u64>,
    regions: Regions,
    /// The saved map with the regions that are not loaded yet.
    saved: Option<SavedMap>,
    first: u64,
    end: u64,
    free: u64,
    ceiling: Option<u64>,
    /// The holes of the regions that are being filled, one for each class.
    holes: [Holes; CLASSES],
    runs: ClearRuns,
    freed_twice: u64,
    /// The start of the next search across regions, if it does not cover all of them.
    spanning_from: usize,
    /// The extents released since the arena last asked for them, which it overwrites.
    #[cfg(any(feature = "poison", debug_assertions))]
    released: Vec<Extent>,
}

/// Splits the units from `start` to `end` by region.
fn by_region(start: u64, end: u64) -> impl Iterator<Item = (usize, u64, u32)> {
    let mut at = start;
    std::iter::from_fn(move || {
        let (region, start) = (at / u64::from(REGION), at);
        at = end.min((region + 1) * u64::from(REGION));
        (start < end).then(|| (region as usize, start, (at - start) as u32))
    })
}

impl Space {
    /// A map of the units from `first` to before `end`, all free.
    pub(crate) fn new(first: u64, end: u64) -> Self {
        let mut space = Self::empty(first);
        space.grow(end);
        space
    }

    fn empty(first: u64) -> Self {
        let mut space = Self {
            words: Vec::new(),
            regions: Regions::default(),
            saved: None,
            first,
            end: first,
            free: 0,
            ceiling: None,
            holes: std::array::from_fn(|_| Holes::new()),
            runs: ClearRuns::new(REGION_WORDS),
            freed_twice: 0,
            spanning_from: 0,
            #[cfg(any(feature = "poison", debug_assertions))]
            released: Vec::new(),
        };
        space.add_regions(first);
        space
    }

    fn add_regions(&mut self, end: u64) {
        let count = end.div_ceil(REGION.into()) as usize;
        if count > self.regions.len() || self.words.is_empty() {
            self.words.resize(count * REGION_WORDS + 1, u64::MAX);
        }
        while self.regions.len() < count {
            self.regions.push(Region { free: 0, left: 0, longest: 0, loaded: true, class: Class::Medium });
        }
    }

    /// The end of the area: the unit after the last.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn free_units(&self) -> u64 {
        self.free
    }

    pub(crate) fn used_units(&self) -> u64 {
        self.end - self.first - self.free
    }

    /// Allocates `units` adjacent units, and returns the first. `None` if the file should [`grow`](Self::grow) by at least `units`
    /// before another call.
    #[inline]
    pub(crate) fn allocate(&mut self, units: u32) -> Option<u64> {
        debug_assert!(units > 0, "a node takes at least one unit");
        match self.take_hole(units) {
            Some(start) => Some(start),
            None => self.allocate_elsewhere(units, self.ceiling.is_some()),
        }
    }

    /// Like [`allocate`](Self::allocate), but searches everywhere before it returns `None`, for when the file cannot
    /// grow. While there is a [ceiling](Self::set_ceiling), `allocate` does the same.
    pub(crate) fn allocate_anywhere(&mut self, units: u32) -> Option<u64> {
        self.allocate_elsewhere(units, true)
    }

    #[inline]
    fn take_hole(&mut self, units: u32) -> Option<u64> {
        if units > WITHIN_REGION_MAX {
            return None;
        }
        let holes = &mut self.holes[Class::for_units(units) as usize];
        let first = holes.region as u64 * u64::from(REGION);
        while let Some(at) = holes.take(units) {
            let start = first + u64::from(at);
            if bits::set_if_clear(&mut self.words, start, units) {
                self.regions.take(holes.region, units);
                self.free -= u64::from(units);
                return Some(start);
            }
        }
        None
    }

    /// The unit at which the next small or medium node of this size will probably be allocated.
    #[inline]
    pub(crate) fn expect(&self, units: u32) -> Option<u64> {
        let class = Class::for_units(units);
        if class == Class::Large {
            return None;
        }
        let holes = &self.holes[class as usize];
        Some(holes.region as u64 * u64::from(REGION) + u64::from(holes.peek(units)?))
    }

    /// Like [`allocate_anywhere`](Self::allocate_anywhere), below `limit`.
    pub(crate) fn allocate_below(&mut self, units: u32, limit: u64) -> Option<u64> {
        let ceiling = self.ceiling;
        self.set_ceiling(Some(limit));
        let start = self.allocate_anywhere(units);
        self.set_ceiling(ceiling);
        start
    }

    #[cold]
    fn allocate_elsewhere(&mut self, units: u32, thorough: bool) -> Option<u64> {
        if units <= WITHIN_REGION_MAX {
            let mut tries = 0;
            while (tries < TRIES || thorough) && self.next_region(units, thorough) {
                if let Some(start) = self.take_hole(units) {
                    return Some(start);
                }
                tries += 1;
            }
            // A hole across two regions is worth a search only for rare sizes.
            if units <= 64 && !thorough {
                return None;
            }
        }
        let start = self.find_spanning(units, thorough)?;
        for (region, start, units) in by_region(start, start + u64::from(units)) {
            self.load(region);
            bits::set_all(&mut self.words, true, start, units.into());
            self.regions.take(region, units);
        }
        self.free -= u64::from(units);
        Some(start)
    }

    /// All allocations end before this unit.
    fn limit(&self) -> u64 {
        self.ceiling.map_or(self.end, |ceiling| ceiling.min(self.end))
    }

    /// Lists the holes of the region to be filled next.
    fn next_region(&mut self, units: u32, thorough: bool) -> bool {
        let limit = self.limit();
        let end = limit.div_ceil(REGION.into()) as usize;
        let class = Class::for_units(units);
        // A small file counts as dense by the same fraction as a region.
        let whole = (self.end - self.first).min(REGION.into()) as u32;
        let small_file = self.regions.len() <= 4;
        // Large nodes prefer regions that large nodes filled last, because medium ones leave few holes for them. If
        // there is none, any sparse region is used before the file grows: after a checkpoint a fifth of each region may
        // be free.
        let (own, other) = match (thorough, class) {
            (true, _) => (units, units),
            (false, Class::Large) if !small_file => (whole / 4, whole / SPARSE),
            (false, _) => (whole / SPARSE, whole / SPARSE),
        };
        let suits = |region: &Region, least: u32| region.free >= least.max(units) && u32::from(region.longest) >= units;
        let suits_best = |region: &Region| suits(region, own) && (region.class == class || region.free == REGION);
        let found = if self.ceiling.is_some() {
            // The space above is to become free, so take the region nearest to the start.
            self.regions.first(end, units, |region| suits(region, units))
        } else {
            self.regions
                .freest(end, class, thorough, suits_best)
                .or_else(|| self.regions.freest(end, class, thorough, |region| suits(region, other)))
        };
        let Some(region) = found else { return false };
        // Small nodes can use every hole.
        if class != Class::Small {
            self.regions.mark_full(self.holes[class as usize].region);
        }
        self.load(region);
        self.regions.set_class(region, class);
        let holes = &mut self.holes[class as usize];
        holes.clear();
        holes.region = region;
        let below = (limit - region as u64 * u64::from(REGION)).min(REGION.into()) as u32;
        let words = &self.words[region * REGION_WORDS..][..REGION_WORDS];
        // Shorter holes are of no use for the class. A region of leaves has two thousand holes, and a tenth of them fit
        // a leaf.
        let (least, runs) = match class {
            Class::Small => (1, self.runs.list::<1>(words)),
            Class::Medium => (SMALL_MAX + 1, self.runs.list::<{ SMALL_MAX + 1 }>(words)),
            Class::Large => (MEDIUM_MAX + 1, self.runs.list::<{ MEDIUM_MAX + 1 }>(words)),
        };
        let mut longest = least - 1;
        for &[start, end] in runs {
            let (start, end) = (u32::from(start), u32::from(end));
            if start < below {
                let len = end.min(below) - start;
                longest = longest.max(len);
                holes.add(start, len);
            }
        }
        self.regions.set_longest(region, longest);
        true
    }

    /// Frees the units of a node. Units that are free already are [counted](Self::freed_twice), and units outside of
    /// the area are ignored: both can be the result of damaged nodes.
    #[inline]
    pub(crate) fn release(&mut self, extent: Extent) {
        if extent.start < self.first || extent.end() > self.end {
            return;
        }
        let mut count = 0;
        for (region, start, units) in by_region(extent.start, extent.end()) {
            self.load(region);
            let cleared = bits::clear(&mut self.words, start, units);
            self.regions.give(region, cleared);
            count += cleared;
        }
        self.free += u64::from(count);
        self.freed_twice += u64::from(extent.units - count);
        #[cfg(any(feature = "poison", debug_assertions))]
        self.released.push(extent);
    }

    /// The number of units that were released while free: 0 unless the store is damaged or the writer has a bug.
    pub(crate) fn freed_twice(&self) -> u64 {
        self.freed_twice
    }

    /// Releases many extents. They lie anywhere, so the words of several are loaded before any is changed, and the
    /// loads overlap. That takes 21 instead of 47 ns for each in an area of 8 GiB, and 6.9 instead of 7.5 in one of 512
    /// MiB, whose bitmap fits the cache.
    pub(crate) fn release_all(&mut self, extents: impl Iterator<Item = Extent> + Clone) {
        const AHEAD: usize = 16;
        let mut some = extents;
        loop {
            let mut touched = 0;
            let mut count = 0;
            for extent in some.clone().take(AHEAD) {
                touched |= self.words.get((extent.start / 64) as usize).copied().unwrap_or(0);
                count += 1;
            }
            std::hint::black_box(touched);
            for extent in some.by_ref().take(AHEAD) {
                self.release(extent);
            }
            if count < AHEAD {
                return;
            }
        }
    }

    /// Returns the extents that were released since the last call.
    #[cfg(any(feature = "poison", debug_assertions))]
    pub(crate) fn take_released(&mut self) -> Vec<Extent> {
        std::mem::take(&mut self.released)
    }

    /// Marks the units of a node that was found by visiting trees. Returns `false`, and marks nothing, if any of them
    /// is already used or outside of the area: then two references lead to them, or a reference is wrong.
    pub(crate) fn mark_used(&mut self, extent: Extent) -> bool {
        if extent.units == 0 || self.is_used(extent) {
            return false;
        }
        for (region, start, units) in by_region(extent.start, extent.end()) {
            bits::set_all(&mut self.words, true, start, units.into());
            self.regions.take(region, units);
        }
        self.free -= u64::from(extent.units);
        true
    }

    /// Returns whether any of these units is used or outside of the area.
    pub(crate) fn is_used(&mut self, extent: Extent) -> bool {
        extent.start < self.first
            || extent.end() > self.end
            || by_region(extent.start, extent.end()).any(|(region, start, units)| {
                self.load(region);
                bits::is_any_set(&self.words, start, units.into())
            })
    }

    /// Makes the units up to `end` available.
    pub(crate) fn grow(&mut self, end: u64) {
        self.add_regions(end);
        for (region, start, units) in by_region(self.end, end) {
            // Bits past the end are set, so these units are freed like others.
            self.load(region);
            bits::clear(&mut self.words, start, units);
            self.regions.give(region, units);
            self.free += u64::from(units);
        }
        self.end = self.end.max(end);
    }

    /// The unit before which all allocations end, if there is such a limit.
    pub(crate) fn ceiling(&self) -> Option<u64> {
        self.ceiling
    }

    /// Limits allocations to units before this one, in the first region that has room. `None` lifts the limit.
    pub(crate) fn set_ceiling(&mut self, ceiling: Option<u64>) {
        if self.ceiling == ceiling {
            return;
        }
        self.ceiling = ceiling;
        self.holes.iter_mut().for_each(Holes::clear);
        self.regions.reset_longest();
    }

    /// The number of used units from this one on.
    pub(crate) fn used_from(&mut self, unit: u64) -> u64 {
        let mut free = 0;
        for (region, start, units) in by_region(unit.max(self.first), self.end) {
            if start % u64::from(REGION) == 0 && units == REGION {
                free += u64::from(self.regions.get(region).free);
            } else {
                self.load(region);
                free += bits::count_clear(&self.words, start, units.into());
            }
        }
        self.end.saturating_sub(unit.max(self.first)) - free
    }

    /// The length of the run of free units at the end.
    pub(crate) fn trailing_free_units(&mut self) -> u64 {
        for region in (0..self.regions.len()).rev() {
            let first = region as u64 * u64::from(REGION);
            if self.regions.get(region).free < REGION {
                self.load(region);
                let words = &self.words[region * REGION_WORDS..][..REGION_WORDS];
                if let Some(last) = bits::last_set(words, (self.end - first).min(REGION.into())) {
                    return self.end - (first + last + 1).max(self.first);
                }
            }
        }
        self.end - self.first
    }

    /// Drops the units from `end` on. Returns `false`, and drops nothing, if one of them is used.
    pub(crate) fn shrink(&mut self, end: u64) -> bool {
        let end = end.max(self.first);
        if end >= self.end {
            return true;
        }
        if self.end - end > self.trailing_free_units() {
            return false;
        }
        self.free -= self.end - end;
        for (region, start, units) in by_region(end, self.end) {
            self.load(region);
            bits::set_all(&mut self.words, true, start, units.into());
            self.regions.take(region, units);
        }
        self.end = end;
        let count = end.div_ceil(REGION.into()) as usize;
        self.regions.truncate(count);
        self.words.truncate(count * REGION_WORDS + 1);
        self.holes.iter_mut().for_each(Holes::clear);
        true
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

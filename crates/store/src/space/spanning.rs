//! Searches for long runs, which may cross regions.

use super::{REGION, REGION_WORDS, Space, bits};

/// The number of regions that one search covers, unless it is thorough: 8 GiB of the file, 60 µs to a millisecond.
const SEARCHED: usize = 4096;

impl Space {
    /// Finds `units` adjacent free units, and returns the first.
    pub(super) fn find_spanning(&mut self, units: u32, thorough: bool) -> Option<u64> {
        let limit = self.limit();
        let count = limit.div_ceil(REGION.into()) as usize;
        let (mut from, mut searched) = (0, count);
        if count > SEARCHED && !thorough {
            (from, searched) = (self.spanning_from % count, SEARCHED);
            self.spanning_from = from + SEARCHED;
        }
        let units = u64::from(units);
        // The start of the free run that ends at the current region.
        let mut open: Option<u64> = None;
        for region in (from..from + searched).map(|at| at % count) {
            let first = region as u64 * u64::from(REGION);
            let below = (limit - first).min(REGION.into());
            if region == 0 {
                open = None;
            }
            let free = self.regions.get(region).free;
            if free == REGION {
                open = open.or(Some(first));
            } else if free == 0 {
                open = None;
            } else {
                self.load(region);
                let words = &self.words[region * REGION_WORDS..][..REGION_WORDS];
                let head = bits::first_set(words).unwrap_or(below).min(below);
                if let Some(start) = open.filter(|start| first + head - start >= units) {
                    return Some(start);
                }
                if let Some(start) = self.find_within(region, units, below) {
                    return Some(first + start);
                }
                let words = &self.words[region * REGION_WORDS..][..REGION_WORDS];
                match bits::last_set(words, below) {
                    Some(last) => open = (last + 1 < below).then_some(first + last + 1),
                    None => open = open.or(Some(first)),
                }
            }
            if let Some(start) = open.filter(|start| first + below - start >= units) {
                return Some(start);
            }
        }
        None
    }

    fn find_within(&mut self, region: usize, units: u64, below: u64) -> Option<u64> {
        let entry = self.regions.get(region);
        if u64::from(entry.longest) < units || u64::from(entry.free) < units {
            return None;
        }
        let words = &self.words[region * REGION_WORDS..][..REGION_WORDS];
        let mut longest = 0;
        let mut found = None;
        for &[start, end] in self.runs.list::<1>(words) {
            let len = u64::from(end).min(below).saturating_sub(start.into());
            longest = longest.max(len as u32);
            if len >= units && found.is_none() {
                found = Some(start.into());
            }
        }
        self.regions.set_longest(region, longest);
        found
    }
}

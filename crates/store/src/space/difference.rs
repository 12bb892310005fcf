//! Compares two maps.

use super::{REGION, REGION_WORDS, Space, bits};
use crate::extent::Extent;

impl Space {
    /// Counts the units that are used here and not in `other`, and lists the first `limit` runs of them, cut at
    /// regions.
    pub(crate) fn used_outside(&mut self, other: &mut Self, limit: usize) -> (u64, Vec<Extent>) {
        let (mut total, mut runs) = (0, Vec::new());
        for region in 0..self.regions.len() {
            self.load(region);
            let at = region * REGION_WORDS;
            let mut words = [u64::MAX; REGION_WORDS];
            if region < other.regions.len() {
                other.load(region);
                for ((word, here), there) in words.iter_mut().zip(&self.words[at..]).zip(&other.words[at..]) {
                    *word = !here | there;
                }
            } else {
                for (word, here) in words.iter_mut().zip(&self.words[at..]) {
                    *word = !here;
                }
            }
            let (low, high) = self.range(region);
            bits::set_all(&mut words, true, 0, low);
            bits::set_all(&mut words, true, high, u64::from(REGION) - high);
            for &[start, end] in self.runs.list::<1>(&words) {
                let (start, end) = (u32::from(start), u32::from(end));
                total += u64::from(end - start);
                if runs.len() < limit {
                    let first = region as u64 * u64::from(REGION) + u64::from(start);
                    runs.push(Extent { start: first, units: end - start });
                }
            }
        }
        (total, runs)
    }
}

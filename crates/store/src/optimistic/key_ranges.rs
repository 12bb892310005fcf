//! Sets of keys, as ranges that neither overlap nor touch.

use std::collections::BTreeMap;
use std::ops::Bound;

/// A set of keys: the first key of each range, and the key before which it ends, `None` for the end of the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct KeyRanges(BTreeMap<Vec<u8>, Option<Vec<u8>>>);

/// The change that an [addition](KeyRanges::add) made.
#[derive(Debug)]
pub(super) struct Addition {
    low: Vec<u8>,
    replaced: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

/// Whether a range that ends before `end` has all keys of one that ends before `other`.
fn reaches(end: Option<&[u8]>, other: Option<&[u8]>) -> bool {
    match (end, other) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(end), Some(other)) => end >= other,
    }
}

impl KeyRanges {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of ranges.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The ranges, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.0.iter().map(|(low, high)| (&low[..], high.as_deref()))
    }

    /// The last range that begins at `key` or before.
    fn last_from(&self, key: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
        let (low, high) = self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back()?;
        Some((low, high.as_deref()))
    }

    /// The range that has `key`.
    pub(super) fn find(&self, key: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
        self.last_from(key).filter(|(_, high)| high.is_none_or(|high| key < high))
    }

    /// Adds the keys from `low` up to but not including `high`, if given. `None` if they were all there.
    pub(super) fn add(&mut self, low: &[u8], high: Option<&[u8]>) -> Option<Addition> {
        if high.is_some_and(|high| high <= low) {
            return None;
        }
        let before = self.last_from(low).filter(|(_, end)| end.is_none_or(|end| end >= low));
        if before.is_some_and(|(_, end)| reaches(end, high)) {
            return None;
        }
        let low = before.map_or(low, |(low, _)| low).to_vec();
        let touched =
            self.0.range::<[u8], _>((Bound::Included(&low[..]), high.map_or(Bound::Unbounded, Bound::Included)));
        let touched: Vec<Vec<u8>> = touched.map(|(low, _)| low.clone()).collect();
        let replaced: Vec<_> = touched.into_iter().filter_map(|low| self.0.remove_entry(&low)).collect();
        let last = replaced.last().map(|(_, end)| end.as_deref());
        let end = last.filter(|last| reaches(*last, high)).unwrap_or(high).map(<[u8]>::to_vec);
        self.0.insert(low.clone(), end);
        Some(Addition { low, replaced })
    }

    /// Undoes the last addition.
    pub(super) fn undo(&mut self, addition: Addition) {
        self.0.remove(&addition.low);
        self.0.extend(addition.replaced);
    }

    /// Joins each run of `count` neighbouring ranges to one, which also has the keys between them.
    pub(super) fn coarsen(&mut self, count: usize) {
        let ranges: Vec<_> = std::mem::take(&mut self.0).into_iter().collect();
        for run in ranges.chunks(count.max(1)) {
            if let [(low, high)] | [(low, _), .., (_, high)] = run {
                self.0.insert(low.clone(), high.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn keys(ranges: &KeyRanges) -> BTreeSet<u8> {
        (0..=u8::MAX).filter(|key| ranges.find(&[*key]).is_some()).collect()
    }

    #[test]
    fn ranges_are_the_ones_of_a_set() {
        let mut random = fastrand::Rng::with_seed(7);
        for _ in 0..200 {
            let (mut ranges, mut set, mut steps) = (KeyRanges::default(), BTreeSet::new(), Vec::new());
            for _ in 0..random.usize(..60) {
                let (low, high) = (random.u8(..), (random.u8(..9) > 0).then(|| random.u8(..)));
                steps.push((ranges.clone(), ranges.add(&[low], high.as_ref().map(std::slice::from_ref))));
                match high {
                    Some(high) => set.extend(low..high.max(low)),
                    None => set.extend(low..=u8::MAX),
                }
                assert_eq!(keys(&ranges), set);
                let list: Vec<_> = ranges.iter().collect();
                assert!(list.windows(2).all(|pair| pair[0].1.is_some_and(|end| end < pair[1].0)), "{list:?}");
            }
            let mut coarse = ranges.clone();
            coarse.coarsen(4);
            assert!(keys(&coarse).is_superset(&set));
            assert_eq!(coarse.len(), ranges.len().div_ceil(4));
            while let Some((before, addition)) = steps.pop() {
                if let Some(addition) = addition {
                    ranges.undo(addition);
                }
                assert_eq!(ranges, before);
            }
        }
    }
}

//! Ranges of encoded keys.

use std::ops::Bound;

use lath_store::prefix_range;

/// The encoded keys from `low` on, up to but not including `high` if there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) low: Vec<u8>,
    pub(crate) high: Option<Vec<u8>>,
}

impl KeyRange {
    /// The keys between bounds that are prefixes of keys. A key that begins with an included bound is in the range, and with an excluded
    /// one it is not.
    pub(crate) fn from_prefixes(low: Bound<Vec<u8>>, high: Bound<Vec<u8>>) -> Self {
        let low = match low {
            Bound::Unbounded => Some(Vec::new()),
            Bound::Included(prefix) => Some(prefix),
            Bound::Excluded(prefix) => behind(&prefix),
        };
        let high = match high {
            Bound::Unbounded => None,
            Bound::Included(prefix) => behind(&prefix),
            Bound::Excluded(prefix) => Some(prefix),
        };
        match low {
            Some(low) => Self { low, high },
            // Nothing is behind the prefix.
            None => Self { low: Vec::new(), high: Some(Vec::new()) },
        }
    }

    pub(crate) fn is_below_end(&self, key: &[u8]) -> bool {
        self.high.as_ref().is_none_or(|high| key < &high[..])
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        &self.low[..] <= key && self.is_below_end(key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high <= self.low)
    }

    /// Whether keys from `min` to `max` may be in the range.
    pub(crate) fn overlaps(&self, min: &[u8], max: &[u8]) -> bool {
        &self.low[..] <= max && self.is_below_end(min)
    }
}

/// The first byte string behind all that begin with `prefix`, if there is one.
fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    match prefix_range(prefix).1 {
        Bound::Excluded(end) => Some(end),
        Bound::Included(_) | Bound::Unbounded => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_are_prefixes_have_all_keys_that_begin_with_them() {
        let range = |low: Bound<&[u8]>, high: Bound<&[u8]>| {
            KeyRange::from_prefixes(low.map(<[u8]>::to_vec), high.map(<[u8]>::to_vec))
        };
        let within = |range: &KeyRange, key: &[u8]| range.overlaps(key, key);
        let all = range(Bound::Unbounded, Bound::Unbounded);
        assert!(within(&all, b"") && within(&all, &[255; 3]));
        let included = range(Bound::Included(b"b"), Bound::Included(b"c"));
        assert!([b"b".as_slice(), b"bz", b"c", b"cz"].iter().all(|key| within(&included, key)));
        assert!([b"a".as_slice(), b"d"].iter().all(|key| !within(&included, key)));
        let excluded = range(Bound::Excluded(b"b"), Bound::Excluded(b"d"));
        assert!([b"c".as_slice(), b"cz"].iter().all(|key| within(&excluded, key)));
        assert!([b"b".as_slice(), b"bz", b"d"].iter().all(|key| !within(&excluded, key)));
        assert!(range(Bound::Excluded(&[255]), Bound::Unbounded).is_empty());
    }
}

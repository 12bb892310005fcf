//! Rows as sorted, disjoint ranges.

use std::ops::Range;

/// The rows that are in both lists of sorted, disjoint ranges.
pub(in crate::scan) fn intersection(left: &[Range<u64>], right: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut both = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (left.get(i), right.get(j)) {
        let range = a.start.max(b.start)..a.end.min(b.end);
        if !range.is_empty() {
            both.push(range);
        }
        if a.end < b.end { i += 1 } else { j += 1 }
    }
    both
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
    fn ranges_intersect() {
        assert_eq!(intersection(&[0..10, 20..30], &[5..25, 29..40]), [5..10, 20..25, 29..30]);
        assert_eq!(intersection(&[0..10], &[10..20]), []);
        assert_eq!(intersection(&[3..4], &[0..100]), [3..4]);
    }
}

//! Rows selected by number, for each row group.

use std::ops::Range;

use crate::error::{Error, Result};

/// The selected rows of one row group: sorted, disjoint, non-empty ranges counted from the row group's first row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::scan) struct RowGroupRows {
    pub(in crate::scan) row_group: usize,
    pub(in crate::scan) ranges: Vec<Range<u64>>,
}

/// Cuts absolute row `ranges` at the borders of the selected row groups. `row_counts` has the counts of all row groups of the
/// file; row groups without a selected row are left out.
pub(in crate::scan) fn split_selection(
    row_counts: &[u64],
    row_groups: Option<&[usize]>,
    ranges: Option<&[Range<u64>]>,
) -> Result<Vec<RowGroupRows>> {
    if let Some(ranges) = ranges {
        let in_order = ranges.windows(2).all(|pair| pair[0].end <= pair[1].start);
        if !in_order || ranges.iter().any(|range| range.start > range.end) {
            return Err(Error::invalid("row ranges must be sorted and must not overlap"));
        }
    }
    let mut starts = Vec::with_capacity(row_counts.len());
    let mut total = 0u64;
    for count in row_counts {
        starts.push(total);
        total = total.checked_add(*count).ok_or_else(|| Error::corrupt("row counts that overflow 64 bits"))?;
    }
    let all: Vec<usize>;
    let chosen = match row_groups {
        Some(chosen) => chosen,
        None => {
            all = (0..row_counts.len()).collect();
            &all
        }
    };
    let mut result = Vec::with_capacity(chosen.len());
    for &row_group in chosen {
        let Some(&row_count) = row_counts.get(row_group) else {
            let count = row_counts.len();
            return Err(Error::invalid(format!(
                "there is no row group {row_group}; the file has {count}, counted from 0"
            )));
        };
        let start = starts[row_group];
        let whole = 0..row_count;
        let ranges: Vec<Range<u64>> = match ranges {
            None => vec![whole],
            Some(ranges) => ranges
                .iter()
                .map(|range| range.start.saturating_sub(start)..range.end.saturating_sub(start).min(row_count))
                .collect(),
        };
        let ranges: Vec<Range<u64>> = ranges.into_iter().filter(|range| range.start < range.end).collect();
        if !ranges.is_empty() {
            result.push(RowGroupRows { row_group, ranges });
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_row_group_borders() {
        let rows = split_selection(&[10, 0, 10], None, Some(&[2..4, 8..12, 13..14])).expect("sorted ranges");
        assert_eq!(
            rows,
            [
                RowGroupRows { row_group: 0, ranges: vec![2..4, 8..10] },
                RowGroupRows { row_group: 2, ranges: vec![0..2, 3..4] }
            ]
        );
    }

    #[test]
    fn row_groups_come_in_the_order_asked_for() {
        let rows = split_selection(&[5, 6], Some(&[1, 0]), None).expect("row groups that exist");
        assert_eq!(rows.iter().map(|rows| rows.row_group).collect::<Vec<_>>(), [1, 0]);
        assert!(split_selection(&[5, 6], Some(&[2]), None).is_err());
    }

    #[test]
    fn unsorted_or_overlapping_ranges_are_refused() {
        assert!(split_selection(&[10], None, Some(&[4..6, 2..3])).is_err());
        assert!(split_selection(&[10], None, Some(&[4..6, 5..8])).is_err());
    }
}

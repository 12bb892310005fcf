//! Rows selected by number, for each file and row group.

use std::collections::BTreeMap;
use std::ops::{Range, RangeFrom};

use crate::error::{Error, Result};

/// The rows of files that a scan reads, by number: see [`Scan::rows`](crate::Scan::rows).
///
/// Rows are numbered from 0 over a whole file. Ranges must be sorted and must not overlap; parts past the end of a file are ignored.
///
/// ```
/// use lath_parquet::RowSelection;
///
/// // Of every file: rows 10 to 19; rows from 10; two ranges.
/// let selections: [RowSelection; 3] = [(10..20).into(), (10..).into(), [0..5, 10..20].into()];
/// // Of file 2 only.
/// let rows = RowSelection::in_files([(2, vec![0..5, 10..20])]);
/// # drop((selections, rows));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSelection(Ranges);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Ranges {
    EveryFile(Vec<Range<u64>>),
    ByFile(BTreeMap<usize, Vec<Range<u64>>>),
}

impl RowSelection {
    /// Rows of some files, by their index in [`Dataset::files`](crate::Dataset::files). A scan does not open other files.
    pub fn in_files(rows: impl IntoIterator<Item = (usize, Vec<Range<u64>>)>) -> Self {
        Self(Ranges::ByFile(rows.into_iter().collect()))
    }

    /// Whether the selection has rows of a file.
    pub(in crate::scan) fn includes(&self, file: usize) -> bool {
        match &self.0 {
            Ranges::EveryFile(_) => true,
            Ranges::ByFile(files) => files.contains_key(&file),
        }
    }

    /// The ranges in a file.
    pub(in crate::scan) fn ranges(&self, file: usize) -> &[Range<u64>] {
        match &self.0 {
            Ranges::EveryFile(ranges) => ranges,
            Ranges::ByFile(files) => files.get(&file).map_or(&[], Vec::as_slice),
        }
    }

    /// The largest index of a file, if files are selected.
    pub(in crate::scan) fn last_file(&self) -> Option<usize> {
        match &self.0 {
            Ranges::EveryFile(_) => None,
            Ranges::ByFile(files) => files.last_key_value().map(|(&last, _)| last),
        }
    }
}

impl From<Range<u64>> for RowSelection {
    fn from(rows: Range<u64>) -> Self {
        vec![rows].into()
    }
}

impl From<RangeFrom<u64>> for RowSelection {
    fn from(rows: RangeFrom<u64>) -> Self {
        (rows.start..u64::MAX).into()
    }
}

impl From<Vec<Range<u64>>> for RowSelection {
    fn from(ranges: Vec<Range<u64>>) -> Self {
        Self(Ranges::EveryFile(ranges))
    }
}

impl<const N: usize> From<[Range<u64>; N]> for RowSelection {
    fn from(ranges: [Range<u64>; N]) -> Self {
        ranges.to_vec().into()
    }
}

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

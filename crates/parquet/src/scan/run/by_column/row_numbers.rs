use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::Int64Array;

use crate::scan::rows::RowGroupRows;

/// Numbers within the file of the remaining rows.
#[derive(Debug)]
pub(super) struct RowNumbers(VecDeque<Range<u64>>);

impl RowNumbers {
    /// The numbers of `rows` in a file whose row groups have `row_counts` rows.
    pub(super) fn new(rows: &[RowGroupRows], row_counts: &[u64]) -> Self {
        let first_row = |row_group: usize| row_counts.iter().take(row_group).sum::<u64>();
        let of_row_group = |rows: &RowGroupRows| {
            let first = first_row(rows.row_group);
            rows.ranges.iter().map(|range| first + range.start..first + range.end).collect::<Vec<_>>()
        };
        Self(rows.iter().flat_map(of_row_group).collect())
    }

    /// The next `count` numbers.
    pub(super) fn take(&mut self, count: usize) -> Int64Array {
        let mut numbers = Vec::with_capacity(count);
        while numbers.len() < count
            && let Some(range) = self.0.front_mut()
        {
            let end = range.end.min(range.start + (count - numbers.len()) as u64);
            numbers.extend((range.start..end).map(u64::cast_signed));
            range.start = end;
            if range.is_empty() {
                self.0.pop_front();
            }
        }
        numbers.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbered_within_the_file() {
        let rows = [
            RowGroupRows { row_group: 1, ranges: vec![0..2, 4..5] },
            RowGroupRows { row_group: 0, ranges: vec![7..8, 8..10] },
        ];
        let mut numbers = RowNumbers::new(&rows, &[10, 10]);
        assert_eq!(numbers.take(4).values(), &[10, 11, 14, 7]);
        assert_eq!(numbers.take(8192).values(), &[8, 9]);
    }
}

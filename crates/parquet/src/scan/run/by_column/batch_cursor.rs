//! Cuts the rows of a row group into batches.

use crate::scan::rows::RowGroupRows;

/// Rows to skip, then rows to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) skip: usize,
    pub(super) read: usize,
}

/// Walks over the ranges of one row group, one batch at a time.
#[derive(Debug, Clone, Default)]
pub(super) struct BatchCursor {
    range: usize,
    /// Next row, counted from the row group's first.
    position: u64,
}

impl BatchCursor {
    /// Fills `steps` with the next batch of at most `batch_size` rows and returns how many rows it has; 0 at the end.
    pub(super) fn next(&mut self, rows: &RowGroupRows, batch_size: usize, steps: &mut Vec<Step>) -> usize {
        steps.clear();
        let mut row_count = 0;
        while row_count < batch_size
            && let Some(range) = rows.ranges.get(self.range)
        {
            let start = range.start.max(self.position);
            let read = (range.end - start).min((batch_size - row_count) as u64);
            steps.push(Step { skip: (start - self.position) as usize, read: read as usize });
            row_count += read as usize;
            self.position = start + read;
            if self.position == range.end {
                self.range += 1;
            }
        }
        row_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_gathers_several_ranges() {
        let rows = RowGroupRows { row_group: 0, ranges: vec![2..4, 8..14] };
        let mut cursor = BatchCursor::default();
        let mut steps = Vec::new();
        assert_eq!(cursor.next(&rows, 5, &mut steps), 5);
        assert_eq!(steps, [Step { skip: 2, read: 2 }, Step { skip: 4, read: 3 }]);
        assert_eq!(cursor.next(&rows, 5, &mut steps), 3);
        assert_eq!(steps, [Step { skip: 0, read: 3 }]);
        assert_eq!(cursor.next(&rows, 5, &mut steps), 0);
    }
}

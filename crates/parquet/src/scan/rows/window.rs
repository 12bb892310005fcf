//! Windows of rows of a row group.

use std::ops::Range;
use std::sync::Arc;

use super::mask::Mask;
use crate::deletes::DeleteMask;
use crate::error::Result;
use crate::scan::thresholds::WHOLE_WINDOW;

/// Rows that are processed together: rows of a row group, renumbered from 0 within the window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::scan) struct Window {
    /// Rows of the row group, sorted and disjoint.
    ranges: Vec<Range<u64>>,
    len: usize,
}

/// Rows of a window to decode: the wanted rows, and rows between them where skipping costs more.
#[derive(Debug, Clone)]
pub(in crate::scan) struct DecodeRanges {
    /// Rows of the row group.
    pub(in crate::scan) ranges: Vec<Range<u64>>,
    /// Numbers of these rows within the window.
    pub(in crate::scan) rows: Arc<Mask>,
}

impl Window {
    /// The rows that are not deleted, in a row group whose first row is `first_row` within the file.
    pub(in crate::scan) fn without_deleted(&self, deleted: &DeleteMask, first_row: u64) -> Mask {
        let mut words = vec![u64::MAX; self.len.div_ceil(64)];
        let mut start = 0;
        for range in &self.ranges {
            let (from, to) = (first_row + range.start, first_row + range.end);
            deleted.for_each_within(from..to, |row| {
                // Within the window, which is in memory.
                let at = start + (row - from) as usize;
                words[at / 64] &= !(1 << (at % 64));
            });
            start += (to - from) as usize;
        }
        Mask::from_words(words, self.len)
    }

    pub(in crate::scan) fn len(&self) -> usize {
        self.len
    }

    /// Rows of the row group.
    pub(in crate::scan) fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// The rows to decode for the rows of `wanted`. Skipping rows takes a few calls, as much as decoding hundreds of values, so
    /// that only long gaps are skipped.
    pub(in crate::scan) fn decode_ranges(&self, wanted: &Mask) -> Result<DecodeRanges> {
        if wanted.is_all() {
            return Ok(DecodeRanges { ranges: self.ranges.clone(), rows: Arc::new(Mask::all(self.len)) });
        }
        let ranges = wanted.joined_ranges();
        if ranges.iter().map(Range::len).sum::<usize>() * WHOLE_WINDOW.1 >= self.len * WHOLE_WINDOW.0 {
            return Ok(DecodeRanges { ranges: self.ranges.clone(), rows: Arc::new(Mask::all(self.len)) });
        }
        let rows = Mask::from_ranges(&ranges, self.len)?;
        Ok(DecodeRanges { ranges: self.rows(&ranges), rows: Arc::new(rows) })
    }

    /// The row group's rows at `ranges` of the window.
    fn rows(&self, ranges: &[Range<usize>]) -> Vec<Range<u64>> {
        let mut rows: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
        let mut own = self.ranges.iter();
        let mut current = 0..0;
        // Position in the window of the first row of `current`.
        let mut start = 0u64;
        for range in ranges {
            let (mut from, to) = (range.start as u64, range.end as u64);
            while from < to {
                let len = current.end - current.start;
                if from >= start + len {
                    start += len;
                    let Some(next) = own.next() else { return rows };
                    current = next.clone();
                    continue;
                }
                let until = to.min(start + len);
                rows.push(current.start + (from - start)..current.start + (until - start));
                from = until;
            }
        }
        rows
    }

    /// The first `max_rows` of the rows.
    pub(in crate::scan) fn first(self, max_rows: usize) -> Self {
        match self.len > max_rows {
            true => Windows::new(self.ranges).next(max_rows).unwrap_or_default(),
            false => self,
        }
    }

    /// Row numbers within the row group of the rows in `mask`.
    pub(in crate::scan) fn row_numbers<'a>(&self, mask: &'a Mask) -> impl Iterator<Item = u64> + use<'a> {
        self.rows(&mask.ranges()).into_iter().flatten()
    }
}

/// Cuts rows of a row group into windows.
#[derive(Debug)]
pub(in crate::scan) struct Windows {
    ranges: std::vec::IntoIter<Range<u64>>,
    current: Range<u64>,
}

impl Windows {
    /// Windows over `ranges`, which are sorted and disjoint.
    pub(in crate::scan) fn new(ranges: Vec<Range<u64>>) -> Self {
        Self { ranges: ranges.into_iter(), current: 0..0 }
    }

    /// The first row of the next window; `None` after the last.
    pub(in crate::scan) fn start(&mut self) -> Option<u64> {
        while self.current.is_empty() {
            self.current = self.ranges.next()?;
        }
        Some(self.current.start)
    }

    /// Skips the rows before `row`; returns their number.
    pub(in crate::scan) fn skip_to(&mut self, row: u64) -> usize {
        let mut skipped = 0;
        while let Some(start) = self.start().filter(|start| *start < row) {
            let end = row.min(self.current.end);
            skipped += (end - start) as usize;
            self.current.start = end;
        }
        skipped
    }

    /// The rows of all remaining windows.
    pub(in crate::scan) fn rest(self) -> Vec<Range<u64>> {
        std::iter::once(self.current).chain(self.ranges).filter(|range| !range.is_empty()).collect()
    }

    /// The next window, of at most `max_rows` rows; `None` after the last.
    pub(in crate::scan) fn next(&mut self, max_rows: usize) -> Option<Window> {
        let mut window = Window { ranges: Vec::new(), len: 0 };
        while window.len < max_rows {
            if self.current.is_empty() {
                let Some(next) = self.ranges.next() else { break };
                self.current = next;
                continue;
            }
            let end = self.current.end.min(self.current.start.saturating_add((max_rows - window.len) as u64));
            window.len += (end - self.current.start) as usize;
            window.ranges.push(self.current.start..end);
            self.current.start = end;
        }
        (window.len > 0).then_some(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
    fn windows_cut_and_gather_ranges() {
        let mut windows = Windows::new(vec![2..4, 4..4, 8..14]);
        let first = windows.next(5).unwrap();
        assert_eq!((first.ranges.as_slice(), first.len()), ([2..4, 8..11].as_slice(), 5));
        assert_eq!(windows.next(5).unwrap().ranges, [11..14]);
        assert_eq!(windows.next(5), None);
    }

    #[test]
    fn rows_before_one_are_skipped() {
        let mut windows = Windows::new(vec![2..4, 8..14, 20..22]);
        assert_eq!((windows.start(), windows.skip_to(1), windows.start()), (Some(2), 0, Some(2)));
        assert_eq!((windows.skip_to(10), windows.start()), (4, Some(10)));
        assert_eq!((windows.skip_to(17), windows.start()), (4, Some(20)));
        assert_eq!((windows.skip_to(30), windows.start()), (2, None));
        assert_eq!(windows.next(5), None);
    }

    #[test]
    fn positions_of_a_window_are_rows_of_the_row_group() {
        let window = Windows::new(vec![2..4, 8..11, 20..1000]).next(900).unwrap();
        let mask = Mask::from_ranges(&[1..3, 4..6, 800..810], 900).unwrap();
        assert_eq!(
            window.row_numbers(&mask).collect::<Vec<_>>(),
            [3, 8, 10, 20].into_iter().chain(815..825).collect::<Vec<_>>()
        );
        let decoded = window.decode_ranges(&mask).unwrap();
        assert_eq!(decoded.ranges, [3..4, 8..11, 20..21, 815..825]);
        assert_eq!(decoded.rows.ranges(), [1..6, 800..810]);
    }

    #[test]
    fn a_window_is_decoded_as_a_whole_if_nine_tenths_of_it_are() {
        let window = Windows::new(vec![2..4, 8..11, 20..1000]).next(900).unwrap();
        let nearly = [Mask::from_ranges(&[40..41, 400..401, 850..851], 900).unwrap(), Mask::all(900)];
        for wanted in nearly {
            let decoded = window.decode_ranges(&wanted).unwrap();
            assert_eq!(decoded.ranges, [2..4, 8..11, 20..915]);
            assert!(decoded.rows.is_all());
        }
        let less = window.decode_ranges(&Mask::from_ranges(&[40..41, 400..401, 848..849], 900).unwrap()).unwrap();
        assert_eq!((less.ranges.len(), less.rows.count()), (1, 809));
    }
}

//! Assigns rows to files when a table is split.

use std::ops::Range;

use lath_parquet::ParquetFile;

/// The size of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Rows(u64),
    RowGroups(usize),
    /// Compressed bytes of pages.
    Bytes(u64),
}

/// The rows of one file, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part(pub(crate) Vec<Piece>);

/// A row group, or some of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The index of the input.
    pub(crate) file: usize,
    pub(crate) row_group: usize,
    /// Row numbers in that input.
    pub(crate) rows: Range<u64>,
    pub(crate) is_whole: bool,
}

impl Part {
    /// Whether no row group is cut.
    pub(crate) fn has_whole_row_groups(&self) -> bool {
        self.0.iter().all(|piece| piece.is_whole)
    }

    /// The rows of each input.
    pub(crate) fn row_ranges(&self) -> Vec<(usize, Vec<Range<u64>>)> {
        let mut all: Vec<(usize, Vec<Range<u64>>)> = Vec::new();
        for piece in &self.0 {
            match all.last_mut().filter(|(file, _)| *file == piece.file) {
                Some((_, ranges)) => ranges.push(piece.rows.clone()),
                None => all.push((piece.file, vec![piece.rows.clone()])),
            }
        }
        all
    }
}

/// A row group of an input.
#[derive(Debug, Clone, Copy)]
struct RowGroup {
    file: usize,
    index: usize,
    first_row: u64,
    rows: u64,
    bytes: u64,
}

/// Assigns the rows of `files` to parts of the given size. Without rows there is one empty part.
pub(crate) fn plan_split(files: &[ParquetFile], size: Size) -> Vec<Part> {
    let mut row_groups = Vec::new();
    for (file, input) in files.iter().enumerate() {
        let mut first_row = 0;
        for (index, row_group) in input.metadata().row_groups().enumerate() {
            let (rows, bytes) = (row_group.num_rows(), row_group.compressed_size());
            row_groups.push(RowGroup { file, index, first_row, rows, bytes });
            first_row += rows;
        }
    }
    plan(&row_groups, size)
}

fn plan(row_groups: &[RowGroup], size: Size) -> Vec<Part> {
    let mut parts = vec![Part::default()];
    // Size of the last part, in the unit of `size`.
    let mut last_size = 0;
    for group in row_groups {
        match size {
            Size::RowGroups(limit) => add(&mut parts, &mut last_size, limit as u64, group, 0..group.rows, 1),
            // As many row groups as fit.
            Size::Bytes(limit) if group.bytes <= limit => {
                let left = limit.saturating_sub(last_size);
                if group.bytes > left {
                    last_size = limit;
                }
                add(&mut parts, &mut last_size, limit, group, 0..group.rows, group.bytes);
            }
            // All rows of a row group count as the same number of bytes.
            Size::Bytes(limit) => {
                let rows_per_file = (u128::from(group.rows) * u128::from(limit) / u128::from(group.bytes)).max(1);
                let rows_per_file = u64::try_from(rows_per_file).unwrap_or(1);
                for start in (0..group.rows).step_by(usize::try_from(rows_per_file).unwrap_or(usize::MAX)) {
                    // A separate part, which is full.
                    last_size = limit;
                    add(&mut parts, &mut last_size, limit, group, start..group.rows.min(start + rows_per_file), limit);
                }
            }
            Size::Rows(limit) => {
                let mut start = 0;
                while start < group.rows {
                    let room = if last_size >= limit { limit } else { limit - last_size };
                    let end = group.rows.min(start + room);
                    add(&mut parts, &mut last_size, limit, group, start..end, end - start);
                    start = end;
                }
            }
        }
    }
    parts
}

/// Adds rows of a row group to the last part, or to a new one if that is full.
fn add(parts: &mut Vec<Part>, last_size: &mut u64, limit: u64, group: &RowGroup, rows: Range<u64>, size: u64) {
    if *last_size >= limit && parts.last().is_some_and(|part| !part.0.is_empty()) {
        parts.push(Part::default());
    }
    if *last_size >= limit {
        *last_size = 0;
    }
    *last_size += size;
    let is_whole = rows == (0..group.rows);
    let rows = group.first_row + rows.start..group.first_row + rows.end;
    if let Some(part) = parts.last_mut() {
        part.0.push(Piece { file: group.file, row_group: group.index, rows, is_whole });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row groups of 10 rows and 100 bytes, 3 in a file of 2 files; the last one has 4 rows and 40 bytes.
    fn row_groups() -> Vec<RowGroup> {
        (0..6)
            .map(|n| RowGroup {
                file: n / 3,
                index: n % 3,
                first_row: (n % 3 * 10) as u64,
                rows: if n == 5 { 4 } else { 10 },
                bytes: if n == 5 { 40 } else { 100 },
            })
            .collect()
    }

    /// Rows and whether row groups are whole, of each part.
    fn shape(size: Size) -> Vec<(Vec<u64>, bool)> {
        let parts = plan(&row_groups(), size);
        let mut next = (0, 0);
        for piece in parts.iter().flat_map(|part| &part.0) {
            if piece.file != next.0 {
                next = (piece.file, 0);
            }
            assert_eq!(piece.rows.start, next.1, "no row is lost or doubled");
            next.1 = piece.rows.end;
        }
        assert_eq!(next, (1, 24));
        let rows = |part: &Part| part.0.iter().map(|piece| piece.rows.end - piece.rows.start).collect();
        parts.iter().map(|part| (rows(part), part.has_whole_row_groups())).collect()
    }

    #[test]
    fn rows_are_counted_exactly() {
        assert_eq!(shape(Size::Rows(25)), [(vec![10, 10, 5], false), (vec![5, 10, 10], false), (vec![4], true)]);
        assert_eq!(shape(Size::Rows(20)), [(vec![10, 10], true), (vec![10, 10], true), (vec![10, 4], true)]);
        assert_eq!(shape(Size::Rows(100)), [(vec![10, 10, 10, 10, 10, 4], true)]);
        assert_eq!(shape(Size::Rows(4)).len(), 14);
    }

    #[test]
    fn row_groups_stay_whole() {
        assert_eq!(shape(Size::RowGroups(4)), [(vec![10, 10, 10, 10], true), (vec![10, 4], true)]);
        assert_eq!(shape(Size::RowGroups(1)).len(), 6);
    }

    #[test]
    fn files_hold_as_many_row_groups_as_fit_their_bytes() {
        assert_eq!(shape(Size::Bytes(250)), [(vec![10, 10], true), (vec![10, 10], true), (vec![10, 4], true)]);
        assert_eq!(shape(Size::Bytes(100)).iter().map(|part| part.0.len()).collect::<Vec<_>>(), [1; 6]);
        assert_eq!(shape(Size::Bytes(1000)).len(), 1);
    }

    #[test]
    fn row_groups_that_do_not_fit_are_cut() {
        let cut = shape(Size::Bytes(50));
        assert_eq!(cut.len(), 11);
        assert_eq!(cut[0], (vec![5], false));
        assert_eq!(cut[10], (vec![4], true));
    }

    #[test]
    fn no_rows_make_one_empty_part() {
        assert_eq!(plan(&[], Size::Rows(5)), [Part::default()]);
    }
}

//! `head`, `tail`, `sample` and `cat`: rows of a table, all or some.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::iter;
use std::ops::Range;

use lath_parquet::{DeleteMask, RowSelection};

use crate::args::{CatArgs, InputArgs, OutputArgs, ReadArgs, RowsArgs, SampleArgs};
use crate::console::watch::Watch;
use crate::failure::{Outcome, Result, scan_failure};
use crate::input::inputs::Inputs;
use crate::input::keyed_input::KeyedInput;
use crate::input::scan::Scan;
use crate::input::table::Table;
use crate::input::table_failure::table_failure;
use crate::output::Output;
use crate::random::Random;

/// Shows the first rows.
pub(super) fn head(args: &RowsArgs) -> Result<Outcome> {
    if let Some(keyed) = KeyedInput::find(&args.inputs.files, &args.inputs.open)? {
        return write_keyed(&keyed, &args.read, &args.output, Some(iter::once(0..args.rows).collect()));
    }
    let stream = Stream::open_for_few_rows(args, Some(args.rows))?;
    let mut left = args.rows;
    let mut rows = Vec::new();
    for index in 0..stream.table.len() {
        let ranges = take_first(stream.row_ranges(index)?, left);
        left -= row_count(&ranges);
        rows.push((index, ranges));
        if left == 0 {
            break;
        }
    }
    stream.write(Some(rows))
}

/// Shows the last rows.
pub(super) fn tail(args: &RowsArgs) -> Result<Outcome> {
    if let Some(keyed) = KeyedInput::find(&args.inputs.files, &args.inputs.open)? {
        let count = keyed.snapshot.count().map_err(table_failure)?;
        let rows = iter::once(count.saturating_sub(args.rows)..count).collect();
        return write_keyed(&keyed, &args.read, &args.output, Some(rows));
    }
    let stream = Stream::open_for_few_rows(args, None)?;
    let mut left = args.rows;
    let mut rows = Vec::new();
    for index in (0..stream.table.len()).rev() {
        let ranges = take_last(stream.row_ranges(index)?, left);
        left -= row_count(&ranges);
        rows.push((index, ranges));
        if left == 0 {
            break;
        }
    }
    stream.write(Some(rows))
}

/// Shows a random sample of the rows.
pub(super) fn sample(args: &SampleArgs) -> Result<Outcome> {
    let SampleArgs { rows: args, seed } = args;
    let seed = seed.unwrap_or_else(|| RandomState::new().hash_one("sample"));
    if let Some(keyed) = KeyedInput::find(&args.inputs.files, &args.inputs.open)? {
        let count = keyed.snapshot.count().map_err(table_failure)?;
        let drawn = draw(count, args.rows, &mut Random::new(seed));
        let rows = drawn.into_iter().map(|row| row..row + 1).collect();
        return write_keyed(&keyed, &args.read, &args.output, Some(rows));
    }
    let stream = Stream::open_for_few_rows(args, None)?;
    let mut files = Vec::new();
    let mut total = 0;
    for index in 0..stream.table.len() {
        let ranges = stream.row_ranges(index)?;
        let start = total;
        total += row_count(&ranges);
        files.push((ranges, start..total));
    }
    let drawn = draw(total, args.rows, &mut Random::new(seed));
    let rows = files.into_iter().enumerate().map(|(index, (ranges, place))| {
        let rows = drawn.range(place.clone()).map(|row| row - place.start);
        (index, rows_within(&ranges, rows))
    });
    stream.write(Some(rows.collect()))
}

/// Writes all rows.
pub(super) fn cat(args: &CatArgs) -> Result<Outcome> {
    if let Some(keyed) = KeyedInput::find(&args.inputs.files, &args.inputs.open)? {
        return write_keyed(&keyed, &args.read, &args.output, None);
    }
    Stream::open(&args.inputs, &args.read, &args.output, None)?.write(None)
}

/// Writes rows of a table with a primary key in the order of their keys: those with these numbers, or all.
fn write_keyed(
    keyed: &KeyedInput,
    read: &ReadArgs,
    output: &OutputArgs,
    rows: Option<Vec<Range<u64>>>,
) -> Result<Outcome> {
    keyed.refuse("--row-groups", read.row_groups.is_some())?;
    let output = Output::new(output)?;
    let columns = read.columns.as_deref();
    let rows = match rows {
        Some(rows) => keyed.rows_at(columns, rows)?,
        None => keyed.rows(columns, None)?,
    };
    let mut sink = output.open(&rows.schema)?;
    for batch in rows.batches {
        sink.write(&batch?)?;
    }
    sink.finish()?;
    Ok(Outcome::Done)
}

/// A table and the output that its rows are written to.
struct Stream<'a> {
    table: Table,
    scan: Scan,
    output: Output<'a>,
}

impl<'a> Stream<'a> {
    /// Opens the inputs; of files that are not Parquet the first `max_rows`.
    fn open(inputs: &InputArgs, read: &ReadArgs, output: &'a OutputArgs, max_rows: Option<u64>) -> Result<Self> {
        let output = Output::new(output)?;
        let scan = Scan::of(read, output.strings(read.decode.strings));
        let mut inputs = Inputs::find(inputs)?.with_text(&read.text, max_rows)?;
        inputs.refuse_for_text("--row-groups", read.row_groups.is_some())?;
        Ok(Self { table: Table::open(&mut inputs, read.table)?, scan, output })
    }

    /// As [`open`](Self::open), for few rows: one thread, because starting more would take longer than they save.
    fn open_for_few_rows(args: &'a RowsArgs, max_rows: Option<u64>) -> Result<Self> {
        let mut stream = Self::open(&args.inputs, &args.read, &args.output, max_rows)?;
        stream.scan.threads = args.read.decode.threads.map_or(1, usize::from);
        Ok(stream)
    }

    /// Row numbers of the chosen row groups of a file, without its deleted rows.
    fn row_ranges(&self, index: usize) -> Result<Vec<Range<u64>>> {
        let ranges = self.scan.chosen_row_ranges(&self.table.file(index)?, self.table.name(index))?;
        match self.table.deleted(index) {
            Some(deleted) => Ok(without(&ranges, deleted.mask().map_err(scan_failure)?)),
            None => Ok(ranges),
        }
    }

    /// Writes `rows`, given by file, or all chosen rows.
    fn write(self, rows: Option<Vec<(usize, Vec<Range<u64>>)>>) -> Result<Outcome> {
        let scan = match rows {
            Some(mut rows) => {
                // The rows are of the chosen row groups already.
                let scan = Scan { row_groups: None, ..self.scan };
                rows.retain(|(_, ranges)| !ranges.is_empty());
                self.table.scan(&scan)?.rows(RowSelection::in_files(rows))
            }
            None => self.table.scan(&self.scan)?,
        };
        let mut batches = scan.build().map_err(scan_failure)?;
        let mut sink = self.output.open(&batches.schema())?;
        let watch = Watch::new(batches.progress(), self.output.is_terminal());
        for batch in batches.by_ref() {
            sink.write(&batch.map_err(scan_failure)?)?;
        }
        drop(watch);
        sink.finish()?;
        Ok(Outcome::Done)
    }
}

/// The rows of `ranges` that are not deleted.
fn without(ranges: &[Range<u64>], deleted: &DeleteMask) -> Vec<Range<u64>> {
    let deleted: Vec<u64> = deleted.iter().collect();
    let mut kept = Vec::new();
    for range in ranges {
        let within = |row: u64| deleted.partition_point(|deleted| *deleted < row);
        let mut start = range.start;
        for &row in &deleted[within(range.start)..within(range.end)] {
            kept.push(start..row);
            start = row + 1;
        }
        kept.push(start..range.end);
    }
    kept.retain(|range| !range.is_empty());
    kept
}

fn row_count(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

fn take_first(mut ranges: Vec<Range<u64>>, count: u64) -> Vec<Range<u64>> {
    let mut left = count;
    for range in &mut ranges {
        range.end = range.end.min(range.start + left.min(range.end - range.start));
        left -= range.end - range.start;
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

fn take_last(mut ranges: Vec<Range<u64>>, count: u64) -> Vec<Range<u64>> {
    let mut left = count;
    for range in ranges.iter_mut().rev() {
        range.start = range.end - left.min(range.end - range.start);
        left -= range.end - range.start;
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// A uniform random set of `count` distinct numbers below `total` (Floyd's algorithm).
fn draw(total: u64, count: u64, random: &mut Random) -> BTreeSet<u64> {
    let mut drawn = BTreeSet::new();
    for last in total.saturating_sub(count)..total {
        let candidate = random.below(last + 1);
        if !drawn.insert(candidate) {
            drawn.insert(last);
        }
    }
    drawn
}

/// The row numbers at the ascending positions `rows` of the concatenated `ranges`.
fn rows_within(ranges: &[Range<u64>], rows: impl Iterator<Item = u64>) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut ranges = ranges.iter();
    let mut current = 0..0;
    let mut before = 0;
    for row in rows {
        while row - before >= current.end - current.start {
            before += current.end - current.start;
            match ranges.next() {
                Some(next) => current = next.clone(),
                None => return found,
            }
        }
        let row = current.start + (row - before);
        match found.last_mut() {
            Some(last) if last.end == row => last.end += 1,
            _ => found.push(row..row + 1),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_rows_are_counted_across_ranges() {
        let ranges = vec![0..10, 20..30];
        assert_eq!(take_first(ranges.clone(), 12), [0..10, 20..22]);
        assert_eq!(take_last(ranges.clone(), 12), [8..10, 20..30]);
        assert_eq!(take_first(ranges.clone(), 0), []);
        assert_eq!(take_last(ranges.clone(), 99), ranges);
    }

    #[test]
    fn deleted_rows_are_cut_out_of_ranges() {
        let deleted = DeleteMask::from_iter([0, 3, 4, 9, 15, 20, 29]);
        assert_eq!(without(&[20..30, 0..10], &deleted), [21..29, 1..3, 5..9]);
        assert_eq!(without(std::slice::from_ref(&(3..5)), &deleted), []);
        assert_eq!(without(&[10..15, 16..16], &deleted), std::slice::from_ref(&(10..15)));
    }

    #[test]
    fn every_row_is_drawn_equally_often() {
        let mut counts = [0u32; 20];
        let mut random = Random::new(1);
        for _ in 0..20_000 {
            let drawn = draw(20, 5, &mut random);
            assert_eq!(drawn.len(), 5);
            for row in drawn {
                counts[row as usize] += 1;
            }
        }
        // Expected 5,000 each; the standard deviation is 61.
        assert!(counts.iter().all(|&count| count.abs_diff(5_000) < 400), "{counts:?}");
    }

    #[test]
    fn drawing_more_than_there_is_gives_everything() {
        assert_eq!(draw(3, 10, &mut Random::new(7)).into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(draw(0, 10, &mut Random::new(7)).is_empty());
    }

    #[test]
    fn positions_become_row_ranges_of_the_file() {
        assert_eq!(rows_within(&[5..8, 20..22], [0, 1, 3, 4].into_iter()), [5..7, 20..22]);
        assert_eq!(rows_within(&[5..8, 20..22, 30..31], [2, 5].into_iter()), [7..8, 30..31]);
    }
}

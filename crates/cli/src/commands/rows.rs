//! `head`, `tail`, `sample` and `cat`: rows as they are.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use lath_parquet::{Batches, ParquetFile};

use crate::args::{CatArgs, InputArgs, OutputArgs, ReadArgs, RowsArgs, SampleArgs};
use crate::failure::{Failure, Outcome, Result};
use crate::inputs::Inputs;
use crate::output::{Output, Rows};
use crate::progress::Progress;
use crate::random::Random;
use crate::scan::{Alignment, Scan};

/// Shows the first rows.
pub(super) fn head(args: &RowsArgs) -> Result<Outcome> {
    let mut stream = Stream::new(&args.inputs, &args.read, &args.output)?.of_few_rows(&args.read);
    let mut left = args.rows;
    for index in 0..stream.inputs.len() {
        let (file, name) = stream.open(index)?;
        let ranges = take_first(stream.scan.row_ranges_of(&file, &name)?, left);
        left -= row_count(&ranges);
        stream.write(&file, &name, Some(ranges))?;
        if left == 0 {
            break;
        }
    }
    stream.finish()
}

/// Shows the last rows.
pub(super) fn tail(args: &RowsArgs) -> Result<Outcome> {
    let mut stream = Stream::new(&args.inputs, &args.read, &args.output)?.of_few_rows(&args.read);
    let mut left = args.rows;
    let mut chosen = Vec::new();
    for index in (0..stream.inputs.len()).rev() {
        let (file, name) = stream.open(index)?;
        let ranges = take_last(stream.scan.row_ranges_of(&file, &name)?, left);
        left -= row_count(&ranges);
        chosen.push((file, name, ranges));
        if left == 0 {
            break;
        }
    }
    for (file, name, ranges) in chosen.into_iter().rev() {
        stream.write(&file, &name, Some(ranges))?;
    }
    stream.finish()
}

/// Shows rows drawn at random.
pub(super) fn sample(args: &SampleArgs) -> Result<Outcome> {
    let SampleArgs { rows: args, seed } = args;
    let mut stream = Stream::new(&args.inputs, &args.read, &args.output)?.of_few_rows(&args.read);
    let mut files = Vec::new();
    let mut total = 0;
    for index in 0..stream.inputs.len() {
        let (file, name) = stream.open(index)?;
        let ranges = stream.scan.row_ranges_of(&file, &name)?;
        let start = total;
        total += row_count(&ranges);
        files.push((file, name, ranges, start..total));
    }
    let seed = seed.unwrap_or_else(|| RandomState::new().hash_one("sample"));
    let drawn = draw(total, args.rows, &mut Random::new(seed));
    for (file, name, ranges, place) in files {
        let rows = drawn.range(place.clone()).map(|row| row - place.start);
        stream.write(&file, &name, Some(rows_within(&ranges, rows)))?;
    }
    stream.finish()
}

/// Writes all rows.
pub(super) fn cat(args: &CatArgs) -> Result<Outcome> {
    let mut stream = Stream::new(&args.inputs, &args.read, &args.output)?;
    for index in 0..stream.inputs.len() {
        let (file, name) = stream.open(index)?;
        stream.write(&file, &name, None)?;
    }
    stream.finish()
}

/// Files on one side, one output on the other.
struct Stream<'a> {
    inputs: Inputs,
    scan: Scan,
    output: Output<'a>,
    sink: Option<(Box<dyn Rows>, Alignment)>,
    progress: Progress,
}

impl<'a> Stream<'a> {
    fn new(inputs: &InputArgs, read: &ReadArgs, output: &'a OutputArgs) -> Result<Self> {
        let output = Output::new(output)?;
        Ok(Self {
            inputs: Inputs::find(inputs)?,
            scan: Scan::of(read, output.strings(read.decode.strings)),
            output,
            sink: None,
            progress: Progress::new("rows", 0, output.is_terminal()),
        })
    }

    /// Where few rows are read, threads cost more than they bring.
    fn of_few_rows(mut self, read: &ReadArgs) -> Self {
        self.scan.threads = read.decode.threads.map_or(1, usize::from);
        self
    }

    fn open(&mut self, index: usize) -> Result<(ParquetFile, String)> {
        Ok((self.inputs.open(index)?, self.inputs.name(index)))
    }

    /// Writes the rows in `ranges` of `file`, or all that were chosen.
    fn write(&mut self, file: &ParquetFile, name: &str, ranges: Option<Vec<Range<u64>>>) -> Result<()> {
        let expected = match &ranges {
            Some(ranges) => row_count(ranges),
            None => row_count(&self.scan.row_ranges_of(file, name)?),
        };
        self.progress.grow(expected);
        let batches = self.scan.read(file, name, ranges)?;
        self.write_batches(batches, name)
    }

    fn write_batches(&mut self, batches: Batches, name: &str) -> Result<()> {
        let schema = batches.schema();
        let (sink, alignment) = match &mut self.sink {
            Some(sink) => sink,
            None => {
                let columns = self.scan.columns.as_deref();
                let alignment = Alignment::new(&schema, columns, name, self.inputs.len() > 1);
                self.sink.insert((self.output.open(alignment.schema())?, alignment))
            }
        };
        let sources = alignment.sources(&schema, name)?;
        for batch in batches {
            let batch = batch.map_err(|error| Failure::reading(name, error))?;
            sink.write(&alignment.align(&batch, &sources)?)?;
            self.progress.advance(batch.num_rows() as u64);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Outcome> {
        self.progress.clear();
        if let Some((sink, _)) = self.sink {
            sink.finish()?;
        }
        Ok(Outcome::Done)
    }
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

/// `count` different numbers below `total`, each set equally likely (Floyd's algorithm).
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

/// The file rows that are at the ascending positions `rows` of `ranges` laid end to end.
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

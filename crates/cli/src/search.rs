//! The rows of one file for which a predicate holds.
//!
//! The columns of the predicate are read first. The others are read for the rows that survive, a row group at a time,
//! so that pages without survivors are never touched.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use arrow_array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::{filter_record_batch, prep_null_mask_filter};
use lath_parquet::{BatchFilter, ParquetFile, Predicate, ReadBuilder};

use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::scan::{Scan, is_at_or_below};

/// What is read of a file to find rows in it.
pub(crate) struct Search<'a> {
    file: &'a ParquetFile,
    name: &'a str,
    scan: &'a Scan,
    predicate: &'a Predicate,
    /// Columns that are read of every row.
    tested: Vec<String>,
    /// Columns of the result, in the order that was asked for.
    selected: Vec<String>,
    /// Those of them that are read of the surviving rows only.
    fetched: Vec<String>,
}

impl<'a> Search<'a> {
    /// Prepares to find rows of `file`, with all of their columns.
    pub(crate) fn new(file: &'a ParquetFile, name: &'a str, predicate: &'a Predicate, scan: &'a Scan) -> Result<Self> {
        let schema = file.schema();
        // A mistake in the expression is reported even if no row is ever read.
        let tested = predicate.filter(schema).map_err(Failure::filtering)?.columns();
        let selected = schema.fields().iter().map(|field| field.name().clone()).collect();
        let mut search = Self { file, name, scan, predicate, tested, selected, fetched: Vec::new() };
        search.split();
        Ok(search)
    }

    /// Chooses the columns of the result.
    pub(crate) fn select(mut self, columns: Option<&[String]>) -> Self {
        if let Some(columns) = columns {
            self.selected = columns.to_vec();
            self.split();
        }
        self
    }

    /// The paths of the result's columns.
    pub(crate) fn selected(&self) -> &[String] {
        &self.selected
    }

    /// Settles which columns of the result have been read already when a row is found.
    fn split(&mut self) {
        let within = |paths: &[String], name: &str| -> BTreeSet<String> {
            paths.iter().filter(|path| is_at_or_below(path, name)).cloned().collect()
        };
        let names: Vec<&String> = self.file.schema().fields().iter().map(|field| field.name()).collect();
        let is_tested = |path: &String| {
            let column = names.iter().find(|name| is_at_or_below(path, name));
            column.is_some_and(|name| within(&self.selected, name) == within(&self.tested, name))
        };
        self.fetched = self.selected.iter().filter(|path| !is_tested(path)).cloned().collect();
    }

    /// The schema of the rows that [`run`](Self::run) hands over.
    pub(crate) fn schema(&self) -> Result<SchemaRef> {
        let tested = self.build(self.builder(&self.tested).row_ranges(Vec::new()))?.schema();
        if self.fetched.is_empty() {
            return Ok(Arc::new(self.kept(&tested)));
        }
        let fetched = self.build(self.builder(&self.fetched).row_ranges(Vec::new()))?.schema();
        Ok(self.joined(&tested, &fetched))
    }

    /// How many rows there are for which the predicate holds.
    pub(crate) fn count(&self, progress: &mut Progress) -> Result<u64> {
        let mut total = 0;
        for row_groups in self.row_groups(progress)?.chunks(self.scan.threads) {
            let counts = self.on_each(row_groups, |row_group, threads| {
                let mut count = 0;
                self.test(row_group, threads, |batch, _, filter| {
                    count += rows(filter, batch)?.true_count() as u64;
                    Ok(true)
                })?;
                Ok(count)
            });
            for (row_group, count) in row_groups.iter().zip(counts) {
                total += count?;
                progress.advance(row_group.rows.end - row_group.rows.start);
            }
        }
        Ok(total)
    }

    /// Hands the rows that are found, at most `limit`, to `take`, in file order. Returns how many there were.
    pub(crate) fn run(
        &self,
        limit: u64,
        progress: &mut Progress,
        mut take: impl FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<u64> {
        let mut found = 0;
        for row_groups in self.row_groups(progress)?.chunks(self.scan.threads) {
            let left = limit - found;
            if left == 0 {
                break;
            }
            let survivors = self.on_each(row_groups, |row_group, threads| {
                let mut survivors = Survivors::default();
                self.test(row_group, threads, |batch, row, filter| {
                    survivors.add(batch, row, &rows(filter, batch)?, left).map_err(|error| self.failed(&error))?;
                    Ok(survivors.count < left)
                })?;
                Ok(survivors)
            });
            for (row_group, survivors) in row_groups.iter().zip(survivors) {
                let mut survivors = survivors?;
                survivors.truncate(limit - found);
                found += survivors.count;
                progress.advance(row_group.rows.end - row_group.rows.start);
                self.fetch(survivors, &mut take)?;
            }
        }
        Ok(found)
    }

    /// The row groups to search.
    fn row_groups(&self, progress: &mut Progress) -> Result<Vec<RowGroup>> {
        let chosen = self.scan.row_groups_of(self.file, self.name)?;
        let indices = chosen.unwrap_or_else(|| (0..self.file.metadata().num_row_groups()).collect());
        let rows = self.scan.row_ranges_of(self.file, self.name)?;
        let row_groups: Vec<RowGroup> =
            indices.into_iter().zip(rows).map(|(index, rows)| RowGroup { index, rows }).collect();
        progress.grow(row_groups.iter().map(|row_group| row_group.rows.end - row_group.rows.start).sum());
        Ok(row_groups)
    }

    /// Does `work` on several row groups at a time, or on one with all the threads.
    fn on_each<T: Send>(
        &self,
        row_groups: &[RowGroup],
        work: impl Fn(&RowGroup, usize) -> Result<T> + Sync,
    ) -> Vec<Result<T>> {
        if let [row_group] = row_groups {
            return vec![work(row_group, self.scan.threads)];
        }
        thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> = row_groups.iter().map(|row_group| scope.spawn(move || work(row_group, 1))).collect();
            let died = |_| Err(Failure::Corrupt(format!("{}: a thread that searched it died", self.name)));
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(died)).collect()
        })
    }

    /// Hands the tested columns of a row group to `take` in batches, each with its first row and the filter, as long as
    /// it asks for more.
    fn test(
        &self,
        row_group: &RowGroup,
        threads: usize,
        mut take: impl FnMut(&RecordBatch, u64, &BatchFilter) -> Result<bool>,
    ) -> Result<()> {
        let batches = self.build(self.builder(&self.tested).row_groups([row_group.index]).threads(threads))?;
        let filter = self.predicate.filter(&batches.schema()).map_err(Failure::filtering)?;
        let mut row = row_group.rows.start;
        for batch in batches {
            let batch = batch.map_err(|error| Failure::reading(self.name, error))?;
            if !take(&batch, row, &filter)? {
                break;
            }
            row += batch.num_rows() as u64;
        }
        Ok(())
    }

    /// Reads what is still missing of the surviving rows, and hands them over.
    fn fetch(&self, survivors: Survivors, take: &mut impl FnMut(&RecordBatch) -> Result<()>) -> Result<()> {
        let Some(first) = survivors.batches.first() else { return Ok(()) };
        let tested = first.schema();
        let kept = self.kept(&tested);
        let kept: Vec<usize> = kept.fields().iter().filter_map(|field| tested.index_of(field.name()).ok()).collect();
        let project = |batch: &RecordBatch| batch.project(&kept).map_err(|error| self.failed(&error));
        if self.fetched.is_empty() {
            return survivors.batches.iter().try_for_each(|batch| take(&project(batch)?));
        }
        let tested = concat_batches(&tested, &survivors.batches).map_err(|error| self.failed(&error))?;
        let tested = project(&tested)?;
        let batches = self.build(self.builder(&self.fetched).row_ranges(survivors.ranges))?;
        let schema = self.joined(&tested.schema(), &batches.schema());
        let mut row = 0;
        for batch in batches {
            let batch = batch.map_err(|error| Failure::reading(self.name, error))?;
            let beside = tested.slice(row, batch.num_rows().min(tested.num_rows() - row));
            row += batch.num_rows();
            let columns = beside.columns().iter().chain(batch.columns()).cloned().collect();
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let joined = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options);
            take(&joined.map_err(|error| self.failed(&error))?)?;
        }
        Ok(())
    }

    /// The columns of the tested ones that the result has.
    fn kept(&self, tested: &Schema) -> Schema {
        let is_kept = |name: &str| {
            let paths: Vec<&String> = self.selected.iter().filter(|path| is_at_or_below(path, name)).collect();
            !paths.is_empty() && !paths.iter().any(|path| self.fetched.contains(path))
        };
        let fields = tested.fields().iter().filter(|field| is_kept(field.name())).cloned();
        Schema::new_with_metadata(fields.collect::<Vec<_>>(), tested.metadata().clone())
    }

    fn joined(&self, tested: &Schema, fetched: &Schema) -> SchemaRef {
        let kept = self.kept(tested);
        let fields: Vec<_> = kept.fields().iter().chain(fetched.fields()).cloned().collect();
        Arc::new(Schema::new_with_metadata(fields, tested.metadata().clone()))
    }

    fn builder(&self, columns: &[String]) -> ReadBuilder {
        self.scan.builder(self.file, Some(columns))
    }

    fn build(&self, builder: ReadBuilder) -> Result<lath_parquet::Batches> {
        builder.build().map_err(|error| Failure::reading(self.name, error))
    }

    fn failed(&self, error: &ArrowError) -> Failure {
        Failure::Corrupt(format!("{}: columns do not fit together: {error}", self.name))
    }
}

/// The rows for which the filter is true, which excludes those for which it is null.
fn rows(filter: &BatchFilter, batch: &RecordBatch) -> Result<BooleanArray> {
    let truths = filter.evaluate(batch).map_err(Failure::filtering)?;
    Ok(if truths.null_count() > 0 { prep_null_mask_filter(&truths) } else { truths })
}

/// A row group to search.
#[derive(Debug)]
struct RowGroup {
    index: usize,
    /// Its row numbers in the file.
    rows: Range<u64>,
}

/// The rows of a row group that have passed.
#[derive(Debug, Default)]
struct Survivors {
    batches: Vec<RecordBatch>,
    /// Their row numbers in the file.
    ranges: Vec<Range<u64>>,
    count: u64,
}

impl Survivors {
    /// Adds the rows of `batch`, which starts at row `start`, for which `rows` is true.
    fn add(&mut self, batch: &RecordBatch, start: u64, rows: &BooleanArray, most: u64) -> Result<(), ArrowError> {
        let count = rows.true_count();
        if count == 0 {
            return Ok(());
        }
        for (first, end) in rows.values().set_slices() {
            let (first, end) = (start + first as u64, start + end as u64);
            match self.ranges.last_mut() {
                Some(last) if last.end == first => last.end = end,
                _ => self.ranges.push(first..end),
            }
        }
        let whole = count == batch.num_rows();
        self.batches.push(if whole { batch.clone() } else { filter_record_batch(batch, rows)? });
        self.count += count as u64;
        self.truncate(most);
        Ok(())
    }

    /// Keeps the first `most` rows.
    fn truncate(&mut self, most: u64) {
        let mut surplus = self.count.saturating_sub(most);
        self.count -= surplus;
        let mut of_batches = surplus;
        while let Some(last) = self.batches.pop_if(|_| of_batches > 0) {
            let kept = (last.num_rows() as u64).saturating_sub(of_batches);
            of_batches -= last.num_rows() as u64 - kept;
            if kept > 0 {
                self.batches.push(last.slice(0, kept as usize));
            }
        }
        while let Some(mut last) = self.ranges.pop_if(|_| surplus > 0) {
            let cut = surplus.min(last.end - last.start);
            surplus -= cut;
            last.end -= cut;
            if !last.is_empty() {
                self.ranges.push(last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array};

    use super::*;

    #[test]
    fn rows_beyond_the_limit_are_dropped_from_the_end() {
        let batch = |values: Vec<i32>| {
            RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(values)) as ArrayRef)]).unwrap()
        };
        let all = || {
            let mut survivors = Survivors::default();
            let rows = BooleanArray::from(vec![true, true, false, true]);
            survivors.add(&batch(vec![0, 1, 2, 3]), 0, &rows, u64::MAX).unwrap();
            survivors.add(&batch(vec![4, 5, 6, 7]), 4, &rows, u64::MAX).unwrap();
            survivors
        };
        assert_eq!(all().ranges, [0..2, 3..6, 7..8]);
        for most in 0..8 {
            let mut survivors = all();
            survivors.truncate(most);
            assert_eq!(survivors.count, most.min(6));
            assert_eq!(survivors.batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>(), most.min(6));
            assert_eq!(survivors.ranges.iter().map(|range| range.end - range.start).sum::<u64>(), most.min(6));
        }
    }
}

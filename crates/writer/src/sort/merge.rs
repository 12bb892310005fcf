//! Merges sorted inputs.

use std::cmp::Ordering;
use std::fmt;

use arrow_array::RecordBatch;
use arrow_row::Rows;
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;
use lath_parquet::{Error, Result};

use super::BATCH_ROWS;
use crate::SortingColumn;
use crate::sort_keys::SortKeys;
use crate::sort_keys::failed;

/// The rows of sorted inputs, in order; for equal keys, rows of earlier inputs come first.
///
/// An input that is not sorted is an error. A run of rows of one input that no other input overlaps is passed on without being
/// copied. One batch of every input is in memory, with the keys of its rows.
pub struct MergedBatches<I> {
    keys: SortKeys,
    schema: SchemaRef,
    inputs: Vec<Input<I>>,
    /// Inputs that have rows left: a heap of indices, the one with the next row first.
    heap: Vec<usize>,
    /// Whether the order of the inputs is checked.
    is_checked: bool,
    has_failed: bool,
}

struct Input<I> {
    batches: I,
    batch: Option<(RecordBatch, Rows)>,
    /// The next row of the batch.
    row: usize,
}

impl<I: Iterator<Item = Result<RecordBatch>>> MergedBatches<I> {
    /// Merges `inputs` of batches of `schema`, each sorted by `columns`.
    ///
    /// # Errors
    /// As [`Sorter::new`](super::Sorter::new), and errors of the inputs' first batches.
    pub fn new(schema: &SchemaRef, columns: &[SortingColumn], inputs: impl IntoIterator<Item = I>) -> Result<Self> {
        Self::start(schema, SortKeys::new(schema, columns)?, inputs, true)
    }

    /// Merges inputs that are known to be sorted.
    pub(super) fn trusting(schema: &SchemaRef, keys: SortKeys, inputs: impl IntoIterator<Item = I>) -> Result<Self> {
        Self::start(schema, keys, inputs, false)
    }

    fn start(
        schema: &SchemaRef,
        keys: SortKeys,
        inputs: impl IntoIterator<Item = I>,
        is_checked: bool,
    ) -> Result<Self> {
        let inputs = inputs.into_iter().map(|batches| Input { batches, batch: None, row: 0 }).collect();
        let schema = SchemaRef::clone(schema);
        let mut merged = Self { keys, schema, inputs, heap: Vec::new(), is_checked, has_failed: false };
        for index in 0..merged.inputs.len() {
            if merged.load(index)? {
                merged.heap.push(index);
            }
        }
        (0..merged.heap.len() / 2).rev().for_each(|place| merged.sift_down(place));
        Ok(merged)
    }

    /// Loads the next batch of an input that has rows. Returns whether there is one.
    fn load(&mut self, index: usize) -> Result<bool> {
        let input = &mut self.inputs[index];
        let previous = input.batch.take();
        input.row = 0;
        loop {
            let Some(batch) = input.batches.next().transpose()? else { return Ok(false) };
            if batch.num_rows() == 0 {
                continue;
            }
            if batch.num_columns() != self.schema.fields().len() {
                return Err(Error::invalid(format!("input {index}: its columns differ from the columns to merge")));
            }
            let rows = self.keys.rows(&batch)?;
            if self.is_checked {
                let first = rows.row(0);
                let follows = previous.as_ref().is_none_or(|(_, rows)| rows.row(rows.num_rows() - 1) <= first);
                if !follows || !rows.iter().is_sorted() {
                    return Err(Error::invalid(format!("input {index} is not sorted")));
                }
            }
            input.batch = Some((batch, rows));
            return Ok(true);
        }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut parts: Vec<RecordBatch> = Vec::new();
        // The part of each input's current batch.
        let mut part_of: Vec<Option<usize>> = vec![None; self.inputs.len()];
        let mut places = Vec::new();
        while places.len() < BATCH_ROWS {
            let Some(&index) = self.heap.first() else { break };
            let count = self.run_len(index);
            let input = &mut self.inputs[index];
            let Some((batch, _)) = &input.batch else { break };
            let is_long = count >= BATCH_ROWS / 2;
            if is_long && !places.is_empty() {
                break;
            }
            let count = count.min(BATCH_ROWS - places.len());
            let start = input.row;
            let is_last = start + count == batch.num_rows();
            let alone = is_long.then(|| batch.slice(start, count));
            if alone.is_none() {
                let part = *part_of[index].get_or_insert_with(|| {
                    parts.push(batch.clone());
                    parts.len() - 1
                });
                places.extend((start..start + count).map(|row| (part, row)));
            }
            input.row += count;
            if is_last {
                part_of[index] = None;
                if !self.load(index)? {
                    self.heap.swap_remove(0);
                }
            }
            self.sift_down(0);
            if alone.is_some() {
                return Ok(alone);
            }
        }
        if places.is_empty() {
            return Ok(None);
        }
        interleave_record_batch(&parts.iter().collect::<Vec<_>>(), &places).map(Some).map_err(failed)
    }

    /// Number of rows of the first input before any row of the others.
    fn run_len(&self, index: usize) -> usize {
        let Some((_, rows)) = &self.inputs[index].batch else { return 0 };
        let (start, end) = (self.inputs[index].row, rows.num_rows());
        let others = [1, 2].into_iter().filter_map(|place| self.heap.get(place).copied());
        let Some(other) = others.min_by(|&a, &b| self.compare(a, b)) else { return end - start };
        let Some((_, others)) = &self.inputs[other].batch else { return end - start };
        let limit = others.row(self.inputs[other].row);
        let precedes = |row: usize| match rows.row(row).cmp(&limit) {
            Ordering::Equal => index < other,
            order => order == Ordering::Less,
        };
        // Galloping: steps that double, then a binary search between the last two. Short runs cost little.
        let (mut known, mut step) = (1, 1);
        while start + known < end && precedes((start + known + step - 1).min(end - 1)) {
            known = (known + step).min(end - start);
            step *= 2;
        }
        let (mut low, mut high) = (known, (known + step).min(end - start));
        while low < high {
            let middle = low.midpoint(high);
            if precedes(start + middle) { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn compare(&self, a: usize, b: usize) -> Ordering {
        let row = |index: usize| {
            let input = &self.inputs[index];
            input.batch.as_ref().map(|(_, rows)| rows.row(input.row))
        };
        row(a).cmp(&row(b)).then(a.cmp(&b))
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let children = [2 * place + 1, 2 * place + 2];
            let children = children.into_iter().filter(|&child| child < self.heap.len());
            let Some(least) = children.min_by(|&a, &b| self.compare(self.heap[a], self.heap[b])) else { return };
            if self.compare(self.heap[place], self.heap[least]) == Ordering::Less {
                return;
            }
            self.heap.swap(place, least);
            place = least;
        }
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for MergedBatches<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let batch = self.next_batch();
        self.has_failed = batch.is_err();
        batch.transpose()
    }
}

impl<I> fmt::Debug for MergedBatches<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergedBatches")
            .field("schema", &self.schema)
            .field("inputs", &self.inputs.len())
            .finish_non_exhaustive()
    }
}

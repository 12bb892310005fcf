//! Rows that a transaction has put, before they are written to a tree or a file.
//!
//! They are sorted in two steps: each batch is sorted separately, on all threads, and then the sorted batches are merged, which reads each
//! of them sequentially. Sorting all rows at once would gather them from random places in memory, which takes longer than encoding them.

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_row::Rows;
use arrow_select::take::take;

use crate::error::{Error, Result};
use crate::row::{ByteList, interleave_rows, slice_bytes};

/// Larger batches are split into batches of this size, which stay in the processor's cache while they are sorted.
pub(crate) const MAX_BATCH_ROWS: usize = 1 << 17;

/// Batches of rows in the order in which they were put. If a key repeats, its last row counts.
#[derive(Debug, Default)]
pub(crate) struct PendingRows {
    batches: Vec<PendingBatch>,
    row_count: usize,
    bytes: u64,
}

/// Rows with all columns of the table, and their encoded keys.
#[derive(Debug)]
pub(crate) struct PendingBatch {
    pub(crate) keys: ByteList,
    pub(crate) columns: Vec<ArrayRef>,
    /// Whether rows are in the order of their keys, each key once.
    is_sorted: bool,
}

/// One row: the first bytes in which keys differ, its batch, and its row there. Rows are ordered by these, unless keys are longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PendingRow {
    prefix: u64,
    batch: u32,
    row: u32,
}

/// Pending rows in the order of their keys, each key once.
#[derive(Debug)]
pub(crate) struct SortedRows<'p> {
    pending: &'p PendingRows,
    order: Vec<(usize, usize)>,
}

impl PendingRows {
    pub(crate) fn push(&mut self, keys: &Rows, columns: Vec<ArrayRef>) {
        if keys.num_rows() == 0 {
            return;
        }
        self.row_count += keys.num_rows();
        self.bytes += (keys.size() + columns.iter().map(slice_bytes).sum::<usize>()) as u64;
        self.batches.push(PendingBatch { keys: keys.iter().collect(), columns, is_sorted: keys.num_rows() < 2 });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Number of rows that were put.
    pub(crate) fn row_count(&self) -> usize {
        self.row_count
    }

    /// Approximate memory of the rows.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn batches(&self) -> &[PendingBatch] {
        &self.batches
    }

    /// The rows in key order. Batches are sorted on `threads` threads.
    pub(crate) fn sort(&mut self, threads: usize) -> Result<SortedRows<'_>> {
        let per_thread = self.batches.len().div_ceil(threads.max(1)).max(1);
        let sort_all = |batches: &mut [PendingBatch]| batches.iter_mut().try_for_each(PendingBatch::sort);
        let mut parts = self.batches.chunks_mut(per_thread);
        let own = parts.next().unwrap_or_default();
        std::thread::scope(|scope| {
            let others: Vec<_> = parts.map(|part| scope.spawn(move || sort_all(part))).collect();
            let sorted = sort_all(own);
            let joined = others.into_iter().map(std::thread::ScopedJoinHandle::join);
            let joined = joined.map(|other| other.unwrap_or_else(|_| Err(Error::internal("sorting rows has failed"))));
            joined.fold(sorted, Result::and)
        })?;
        let pending = &*self;
        let common = pending.common_prefix();
        let mut rows = Vec::with_capacity(pending.row_count);
        for (batch, PendingBatch { keys, .. }) in pending.batches.iter().enumerate() {
            let batch = u32::try_from(batch).map_err(|_| Error::internal("a transaction has too many batches"))?;
            let prefixes = keys.iter().map(|key| first_bytes(&key[common..]));
            rows.extend(prefixes.zip(0..).map(|(prefix, row)| PendingRow { prefix, batch, row }));
        }
        // A stable sort, which detects the sorted runs of the batches. Prefixes usually differ, so that whole keys are not compared.
        rows.sort_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| pending.key(a).cmp(pending.key(b))));
        let is_last = |at: usize| {
            let next = rows.get(at + 1);
            next.is_none_or(|next| next.prefix != rows[at].prefix || pending.key(next) != pending.key(&rows[at]))
        };
        let place = |at: usize| (rows[at].batch as usize, rows[at].row as usize);
        let order = (0..rows.len()).filter(|&at| is_last(at)).map(place).collect();
        Ok(SortedRows { pending, order })
    }

    fn key(&self, row: &PendingRow) -> &[u8] {
        self.batches[row.batch as usize].keys.get(row.row as usize)
    }

    /// Length of the common prefix of all keys, if batches are sorted.
    fn common_prefix(&self) -> usize {
        let ends = |batch: &'_ PendingBatch| [0, batch.keys.len() - 1];
        let mut keys = self.batches.iter().flat_map(|batch| ends(batch).map(|at| batch.keys.get(at)));
        let Some(first) = keys.next() else { return 0 };
        keys.fold(first.len(), |common, key| first.iter().zip(key).take(common).take_while(|(a, b)| a == b).count())
    }
}

impl PendingBatch {
    /// Sorts rows by their keys, and drops rows whose key a later one has.
    fn sort(&mut self) -> Result<()> {
        if self.is_sorted {
            return Ok(());
        }
        let keys = &self.keys;
        let first = keys.get(0);
        let shared = |common: usize, key: &[u8]| match key.get(..common) == first.get(..common) {
            true => common,
            false => first.iter().zip(key).take_while(|(a, b)| a == b).count(),
        };
        let common = keys.iter().fold(first.len(), shared);
        let prefixes = keys.iter().map(|key| first_bytes(&key[common..]));
        let mut rows: Vec<(u64, u32)> = prefixes.zip(0..).collect();
        let key = |row: u32| keys.get(row as usize);
        rows.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| key(a.1).cmp(key(b.1)).then(a.1.cmp(&b.1))));
        let is_last =
            |at: &usize| rows.get(at + 1).is_none_or(|next| next.0 != rows[*at].0 || key(next.1) != key(rows[*at].1));
        let order: Vec<u32> = (0..rows.len()).filter(is_last).map(|at| rows[at].1).collect();
        let sorted: ByteList = order.iter().map(|&row| key(row)).collect();
        let order = UInt32Array::from(order);
        self.columns = self.columns.iter().map(|column| take(column, &order, None)).collect::<Result<_, _>>()?;
        (self.keys, self.is_sorted) = (sorted, true);
        Ok(())
    }
}

/// The first eight bytes as a number with the same order; missing bytes are 0.
fn first_bytes(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first[..bytes.len()].copy_from_slice(bytes);
            u64::from_be_bytes(first)
        }
    }
}

impl SortedRows<'_> {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The keys, in ascending order.
    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.order.iter().map(|&(batch, row)| self.pending.batches[batch].keys.get(row))
    }

    /// Some of the rows: their columns and their keys.
    pub(crate) fn rows(&self, range: std::ops::Range<usize>) -> Result<(Vec<ArrayRef>, ByteList)> {
        let order = &self.order[range];
        let width = self.pending.batches.first().map_or(0, |batch| batch.columns.len());
        let column = |at: usize| {
            let arrays: Vec<&dyn Array> = self.pending.batches.iter().map(|batch| &*batch.columns[at]).collect();
            interleave_rows(&arrays, order)
        };
        let columns = (0..width).map(column).collect::<Result<Vec<_>>>()?;
        let key = |&(batch, row): &(usize, usize)| self.pending.batches[batch].keys.get(row);
        Ok((columns, order.iter().map(key).collect()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::collections::BTreeMap;
    use std::sync::Arc;

    use arrow_array::cast::AsArray;
    use arrow_array::{Int32Array, StringArray};
    use arrow_row::{RowConverter, SortField};
    use lath_testkit::Seeded;

    use super::*;

    #[test]
    fn rows_come_in_the_order_of_their_keys_and_the_last_of_each() {
        let mut random = Seeded::new("pending rows");
        for begin in ["", "the same long beginning of all keys "] {
            let converter = RowConverter::new(vec![SortField::new(arrow_schema::DataType::Utf8)]).unwrap();
            let (mut pending, mut model) = (PendingRows::default(), BTreeMap::new());
            for batch in 0..20 {
                let texts: Vec<String> = (0..random.usize(..300))
                    .map(|_| format!("{begin}{}", "ab".repeat(random.usize(..8)) + &random.u32(..90).to_string()))
                    .collect();
                let numbers: Vec<i32> = (0..texts.len() as i32).map(|row| batch * 1000 + row).collect();
                model.extend(texts.iter().cloned().zip(numbers.iter().copied()));
                let texts: ArrayRef = Arc::new(StringArray::from(texts));
                let keys = converter.convert_columns(&[Arc::clone(&texts)]).unwrap();
                pending.push(&keys, vec![texts, Arc::new(Int32Array::from(numbers))]);
            }
            let sorted = pending.sort(3).unwrap();
            assert_eq!(sorted.len(), model.len());
            let (columns, keys) = sorted.rows(0..sorted.len()).unwrap();
            assert!(keys.iter().eq(sorted.keys()) && sorted.keys().is_sorted());
            let texts = columns[0].as_string::<i32>().iter().flatten().map(str::to_owned);
            let numbers = columns[1].as_primitive::<arrow_array::types::Int32Type>().values().iter().copied();
            assert!(texts.zip(numbers).eq(model));
        }
    }
}

//! Rows that a transaction has put and that are in no tree and no file yet.

use arrow_array::{Array, ArrayRef};
use arrow_row::Rows;
use arrow_select::interleave::interleave;

use crate::byte_list::ByteList;
use crate::error::{Error, Result};

/// Batches of rows, in the order in which they were put: of rows with the same key the last one counts.
#[derive(Debug, Default)]
pub(crate) struct PendingRows {
    batches: Vec<PendingBatch>,
    row_count: usize,
    bytes: u64,
}

/// Rows with all columns of the table, and their encoded keys.
#[derive(Debug)]
pub(crate) struct PendingBatch {
    pub(crate) keys: Rows,
    pub(crate) columns: Vec<ArrayRef>,
}

/// One row: the first bytes in which keys differ, its batch, and its row there. Rows are ordered by these, unless keys are longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    pub(crate) fn push(&mut self, keys: Rows, columns: Vec<ArrayRef>) {
        let slice_bytes = |array: &ArrayRef| {
            array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
        };
        self.row_count += keys.num_rows();
        self.bytes += (keys.size() + columns.iter().map(slice_bytes).sum::<usize>()) as u64;
        self.batches.push(PendingBatch { keys, columns });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    pub(crate) fn row_count(&self) -> usize {
        self.row_count
    }

    /// About how much memory the rows take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn batches(&self) -> &[PendingBatch] {
        &self.batches
    }

    /// The rows in the order of their keys.
    pub(crate) fn sort(&self) -> Result<SortedRows<'_>> {
        let common = self.common_prefix();
        let mut rows = Vec::with_capacity(self.row_count);
        for (batch, PendingBatch { keys, .. }) in self.batches.iter().enumerate() {
            let batch = u32::try_from(batch).map_err(|_| Error::internal("a transaction has too many batches"))?;
            for (row, key) in keys.iter().enumerate() {
                let row = u32::try_from(row).map_err(|_| Error::internal("a batch has too many rows"))?;
                rows.push(PendingRow { prefix: first_bytes(&key.data()[common..]), batch, row });
            }
        }
        // Most often prefixes differ, so that no key is compared.
        let (prefix, rest) = (|row: &PendingRow| row.prefix, |row: &PendingRow| (self.key(row), row.batch, row.row));
        rows.sort_unstable_by(|a, b| prefix(a).cmp(&prefix(b)).then_with(|| rest(a).cmp(&rest(b))));
        let is_last = |at: usize| {
            let next = rows.get(at + 1);
            next.is_none_or(|next| next.prefix != rows[at].prefix || self.key(next) != self.key(&rows[at]))
        };
        let place = |at: usize| (rows[at].batch as usize, rows[at].row as usize);
        let order = (0..rows.len()).filter(|&at| is_last(at)).map(place).collect();
        Ok(SortedRows { pending: self, order })
    }

    fn key(&self, row: &PendingRow) -> &[u8] {
        self.batches[row.batch as usize].keys.row(row.row as usize).data()
    }

    /// How many bytes all keys begin with.
    fn common_prefix(&self) -> usize {
        let mut keys = self.batches.iter().flat_map(|batch| batch.keys.iter()).map(|key| key.data());
        let Some(first) = keys.next() else { return 0 };
        keys.fold(first.len(), |common, key| {
            let is_shared = key.get(..common) == first.get(..common);
            if is_shared { common } else { first.iter().zip(key).take_while(|(a, b)| a == b).count() }
        })
    }
}

/// The first eight bytes as a number that is ordered as they are; those that are missing are 0.
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
        self.order.iter().map(|&(batch, row)| self.pending.batches[batch].keys.row(row).data())
    }

    /// Some of the rows: their columns and their keys.
    pub(crate) fn rows(&self, range: std::ops::Range<usize>) -> Result<(Vec<ArrayRef>, ByteList)> {
        let order = &self.order[range];
        let width = self.pending.batches.first().map_or(0, |batch| batch.columns.len());
        let column = |at: usize| {
            let arrays: Vec<&dyn Array> = self.pending.batches.iter().map(|batch| &*batch.columns[at]).collect();
            Ok(interleave(&arrays, order)?)
        };
        let columns = (0..width).map(column).collect::<Result<Vec<_>>>()?;
        let key = |&(batch, row): &(usize, usize)| self.pending.batches[batch].keys.row(row);
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
                pending.push(keys, vec![texts, Arc::new(Int32Array::from(numbers))]);
            }
            let sorted = pending.sort().unwrap();
            assert_eq!(sorted.len(), model.len());
            let (columns, keys) = sorted.rows(0..sorted.len()).unwrap();
            assert!(keys.iter().eq(sorted.keys()) && sorted.keys().is_sorted());
            let texts = columns[0].as_string::<i32>().iter().flatten().map(str::to_owned);
            let numbers = columns[1].as_primitive::<arrow_array::types::Int32Type>().values().iter().copied();
            assert!(texts.zip(numbers).eq(model));
        }
    }
}

use std::cmp::Ordering;

use arrow_array::RecordBatch;
use arrow_row::Rows;
use arrow_select::interleave::interleave_record_batch;
use lath_parquet::Result;

use super::BATCH_ROWS;
use crate::sort_keys::failed;

/// Rows of batches in memory, in order.
#[derive(Debug)]
pub(super) struct SortedInMemory {
    batches: Vec<RecordBatch>,
    order: std::vec::IntoIter<Place>,
}

/// Place of a row, and the start of its key.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The first eight bytes, as a number that compares like them: most comparisons need only this.
    prefix: u64,
    batch: u32,
    row: u32,
}

impl SortedInMemory {
    pub(super) fn new(batches: Vec<RecordBatch>, rows: Vec<Rows>) -> Self {
        let mut order = Vec::with_capacity(rows.iter().map(Rows::num_rows).sum());
        for (batch, rows) in (0..).zip(&rows) {
            order.extend((0..).zip(rows).map(|(row, key)| Place { prefix: prefix(key.data()), batch, row }));
        }
        let key = |place: &Place| rows[place.batch as usize].row(place.row as usize);
        // The place decides last, so that equal keys keep their order.
        order.sort_unstable_by(|a, b| match a.prefix.cmp(&b.prefix) {
            Ordering::Equal => key(a).cmp(&key(b)).then_with(|| (a.batch, a.row).cmp(&(b.batch, b.row))),
            other => other,
        });
        Self { batches, order: order.into_iter() }
    }
}

impl Iterator for SortedInMemory {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let places: Vec<_> =
            self.order.by_ref().take(BATCH_ROWS).map(|place| (place.batch as usize, place.row as usize)).collect();
        if places.is_empty() {
            return None;
        }
        let batches: Vec<_> = self.batches.iter().collect();
        Some(interleave_record_batch(&batches, &places).map_err(failed))
    }
}

/// Shorter keys are padded with zeros: no key is a prefix of another.
fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(first)
        }
    }
}

//! Verifies the order of rows that a file declares.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, downcast_primitive_array};
use arrow_row::OwnedRow;
use arrow_schema::{DataType, Schema};
use half::f16;
use lath_parquet::Result;
use lath_parquet::internal::has_one_order;

use crate::SortingColumn;
use crate::sort_keys::SortKeys;

/// Compares rows, batch after batch, and finds the first row that is out of order.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use lath_parquet::SortingColumn;
/// use lath_writer::RowOrder;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 3, 2]));
/// let batch = RecordBatch::try_from_iter([("number", numbers)])?;
/// let mut order = RowOrder::new(&batch.schema(), &[SortingColumn::ascending("number")]).expect("a type with an order");
/// assert_eq!(order.first_disorder(&batch)?, Some(2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RowOrder {
    keys: SortKeys,
    /// The only column and its direction, if one pass over its values may suffice.
    only: Option<(usize, bool)>,
    /// The columns of floats.
    floats: Vec<usize>,
    /// The orders that the rows so far follow; one if they follow none.
    candidates: Vec<Candidate>,
    rows: u64,
}

/// An order of floats, and the last row.
#[derive(Debug)]
struct Candidate {
    nans: NanPlace,
    last: Option<OwnedRow>,
}

/// Place of NaN among numbers. Zeros are equal.
#[derive(Debug, Clone, Copy)]
enum NanPlace {
    Last,
    First,
    /// Negative NaNs first, positive ones last, as in IEEE 754's total order.
    BySign,
}

impl RowOrder {
    /// An order by the first of `columns`, up to a column whose values have no order or that `schema` does not have exactly once;
    /// `None` if that is the first. Writers place NaN differently: rows are in order if they follow one of these orders.
    pub fn new(schema: &Schema, columns: &[SortingColumn]) -> Option<Self> {
        let has_order = |data_type: &DataType| has_one_order(data_type) || data_type.is_floating();
        let place = |column: &SortingColumn| {
            let named = schema.fields().iter().enumerate().filter(|(_, field)| *field.name() == column.path);
            let mut named = named.map(|(at, field)| (at, has_order(field.data_type())));
            match (named.next(), named.next()) {
                (Some((at, true)), None) => Some(at),
                _ => None,
            }
        };
        let places: Vec<usize> = columns.iter().map_while(place).collect();
        let columns = &columns[..places.len()];
        let only = match (places.as_slice(), columns) {
            ([at], [column]) => Some((*at, column.descending)),
            _ => None,
        };
        let is_float = |at: &usize| schema.field(*at).data_type().is_floating();
        let floats: Vec<usize> = places.into_iter().filter(is_float).collect();
        let nans = [NanPlace::Last, NanPlace::First, NanPlace::BySign];
        let nans = if floats.is_empty() { &nans[..1] } else { &nans };
        let candidates = nans.iter().map(|&nans| Candidate { nans, last: None }).collect();
        Some(Self { keys: SortKeys::new(schema, columns).ok()?, only, floats, candidates, rows: 0 })
    }

    /// The number of the first row of `batch` that is less than the row before it, counted from the first row of all batches;
    /// `None` if the rows are in order.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the batch has another schema.
    pub fn first_disorder(&mut self, batch: &RecordBatch) -> Result<Option<u64>> {
        let (before, count) = (self.rows, batch.num_rows());
        if count == 0 {
            return Ok(None);
        }
        self.rows += count as u64;
        let is_sorted = self.only.is_some_and(|(at, is_descending)| {
            batch.columns().get(at).is_some_and(|column| is_sorted(column, is_descending))
        });
        let mut first = None;
        let mut disordered = Vec::new();
        for (at, candidate) in self.candidates.iter_mut().enumerate() {
            if let Some(row) = candidate.first_disorder(&self.keys, batch, &self.floats, is_sorted)? {
                first = first.max(Some(before + row as u64));
                disordered.push(at);
            }
        }
        if disordered.len() == self.candidates.len() {
            self.candidates.truncate(1);
            return Ok(first);
        }
        for at in disordered.into_iter().rev() {
            self.candidates.remove(at);
        }
        Ok(None)
    }
}

impl Candidate {
    fn first_disorder(
        &mut self,
        keys: &SortKeys,
        batch: &RecordBatch,
        floats: &[usize],
        is_sorted: bool,
    ) -> Result<Option<usize>> {
        let (count, nans) = (batch.num_rows(), self.nans);
        let rows = |start: usize, count: usize| keys.rows(&nans.placed(&batch.slice(start, count), floats));
        let first = rows(0, 1)?;
        if self.last.as_ref().is_some_and(|last| last.row() > first.row(0)) {
            self.last = Some(rows(count - 1, 1)?.row(0).owned());
            return Ok(Some(0));
        }
        if is_sorted {
            self.last = Some(rows(count - 1, 1)?.row(0).owned());
            return Ok(None);
        }
        let rows = rows(0, count)?;
        self.last = Some(rows.row(count - 1).owned());
        Ok((1..count).find(|&row| rows.row(row - 1) > rows.row(row)))
    }
}

impl NanPlace {
    /// The batch with changed floats in `columns`, whose total order is this order.
    fn placed(self, batch: &RecordBatch, columns: &[usize]) -> RecordBatch {
        if columns.is_empty() {
            return batch.clone();
        }
        let placed = |(at, column): (usize, &ArrayRef)| match columns.contains(&at) {
            true => self.placed_floats(column),
            false => ArrayRef::clone(column),
        };
        let arrays = batch.columns().iter().enumerate().map(placed).collect();
        RecordBatch::try_new(batch.schema(), arrays).unwrap_or_else(|_| batch.clone())
    }

    fn placed_floats(self, array: &ArrayRef) -> ArrayRef {
        let sign = |value: f64| match self {
            Self::Last => 1.0,
            Self::First => -1.0,
            Self::BySign => 1.0_f64.copysign(value),
        };
        macro_rules! placed {
            ($type:ty, $zero:expr, $wide:expr, $narrow:expr) => {
                Arc::new(array.as_primitive::<$type>().unary::<_, $type>(|value| match value {
                    value if value == $zero => $zero,
                    value if value.is_nan() => $narrow(f64::NAN.copysign(sign($wide(value)))),
                    value => value,
                }))
            };
        }
        match array.data_type() {
            DataType::Float16 => placed!(Float16Type, f16::ZERO, f64::from, f16::from_f64),
            DataType::Float32 => placed!(Float32Type, 0.0, f64::from, |value: f64| value as f32),
            DataType::Float64 => placed!(Float64Type, 0.0, |value: f64| value, |value: f64| value),
            _ => ArrayRef::clone(array),
        }
    }
}

/// Whether the values are certainly sorted; there are no nulls among them then.
fn is_sorted(array: &dyn Array, is_descending: bool) -> bool {
    fn follow<T: PartialOrd>(values: &[T], is_descending: bool) -> bool {
        match is_descending {
            false => values.is_sorted(),
            true => values.is_sorted_by(|one, other| one >= other),
        }
    }
    if array.null_count() > 0 {
        return false;
    }
    downcast_primitive_array!(
        array => follow(array.values(), is_descending),
        _ => false
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float16Array, Float32Array, Float64Array, Int32Array, StringArray};

    use super::*;

    fn batch(numbers: &[Option<i32>], texts: &[&str]) -> RecordBatch {
        let columns: [(_, ArrayRef, _); 2] = [
            ("number", Arc::new(Int32Array::from(numbers.to_vec())), true),
            ("text", Arc::new(StringArray::from(texts.to_vec())), true),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    }

    /// The first row out of order in batches of two rows.
    fn disorder(numbers: &[Option<i32>], texts: &[&str], columns: &[&str]) -> Option<u64> {
        let columns: Vec<SortingColumn> = columns.iter().map(|text| text.parse().unwrap()).collect();
        let batch = batch(numbers, texts);
        let mut order = RowOrder::new(&batch.schema(), &columns).unwrap();
        let starts = (0..batch.num_rows()).step_by(2);
        let found = starts.map(|start| batch.slice(start, 2.min(batch.num_rows() - start)));
        found.map(|batch| order.first_disorder(&batch).unwrap()).find_map(|found| found)
    }

    #[test]
    fn the_first_row_that_does_not_follow_is_found_within_and_between_batches() {
        let some = |numbers: &[i32]| numbers.iter().copied().map(Some).collect::<Vec<_>>();
        let texts = ["a", "b", "c", "d", "e"];
        for (numbers, columns, expected) in [
            (some(&[1, 2, 2, 3, 9]), ["number"].as_slice(), None),
            (some(&[1, 2, 3, 2, 9]), &["number"], Some(3)),
            (some(&[1, 2, 1, 2, 9]), &["number"], Some(2)),
            (some(&[9, 3, 3, 2, 1]), &["number:desc"], None),
            (some(&[9, 3, 4, 2, 1]), &["number:desc"], Some(2)),
            (some(&[1, 1, 1, 2, 2]), &["number", "text"], None),
            (some(&[1, 1, 1, 2, 2]), &["number", "text:desc"], Some(1)),
            (vec![Some(1), Some(2), None, None, None], &["number"], None),
            (vec![Some(1), None, Some(2), None, None], &["number"], Some(2)),
            (vec![None, None, Some(2), Some(3), Some(4)], &["number:nulls-first"], None),
            (vec![None, Some(1), None, Some(3), Some(4)], &["number:nulls-first"], Some(2)),
        ] {
            assert_eq!(disorder(&numbers, &texts, columns), expected, "{numbers:?} {columns:?}");
        }
        assert_eq!(disorder(&some(&[5, 4, 3]), &["x", "y", "x"], &["text"]), Some(2));
    }

    #[test]
    fn floats_are_in_order_wherever_their_writer_places_nan() {
        let (zero, nan) = (0.0_f64, f64::NAN.copysign(1.0));
        for (floats, expected) in [
            (vec![-1.0, -zero, zero, -zero, 1.0], None),
            (vec![-1.0, 1.0, zero, nan], Some(2)),
            (vec![-1.0, zero, f64::INFINITY, nan, -nan, nan], None),
            (vec![-nan, nan, f64::NEG_INFINITY, 0.5], None),
            (vec![-nan, -1.0, 2.0, nan], None),
            (vec![-1.0, nan, 2.0, nan], Some(2)),
            (vec![nan, -1.0, 2.0, nan], Some(3)),
            (vec![2.0, 1.0], Some(1)),
        ] {
            for step in 1..=floats.len() {
                let array: ArrayRef = Arc::new(Float64Array::from(floats.clone()));
                let singles: ArrayRef = Arc::new(Float32Array::from_iter_values(floats.iter().map(|&one| one as f32)));
                let halves = Float16Array::from_iter_values(floats.iter().map(|&one| f16::from_f64(one)));
                for array in [array, singles, Arc::new(halves)] {
                    let batch = RecordBatch::try_from_iter([("a", array)]).unwrap();
                    let mut order = RowOrder::new(&batch.schema(), &[SortingColumn::ascending("a")]).unwrap();
                    let starts = (0..batch.num_rows()).step_by(step);
                    let parts = starts.map(|start| batch.slice(start, step.min(batch.num_rows() - start)));
                    let found = parts.map(|part| order.first_disorder(&part).unwrap()).find_map(|found| found);
                    assert_eq!(found, expected, "{floats:?}");
                }
            }
        }
    }

    #[test]
    fn columns_without_an_order_are_not_looked_at() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![2.0, 1.0]));
        let batch = RecordBatch::try_from_iter([("a", floats)]).unwrap();
        assert!(RowOrder::new(&batch.schema(), &[SortingColumn::ascending("b")]).is_none());
    }
}

//! Whether rows come in the order that a file says of them.

use arrow_array::{Array, RecordBatch, downcast_primitive_array};
use arrow_row::OwnedRow;
use arrow_schema::{DataType, Schema};

use crate::error::Result;
use crate::write::SortingColumn;
use crate::write::sort_keys::SortKeys;

/// Looks at rows, batch after batch, and finds the first that does not follow the one before it.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use lath_parquet::{RowOrder, SortingColumn};
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
    /// The only column and its direction, where a pass over its values may suffice.
    only: Option<(usize, bool)>,
    last: Option<OwnedRow>,
    rows: u64,
}

impl RowOrder {
    /// An order by the first of `columns`, up to one whose values can be sorted in several ways (floats) or that `schema` does not have
    /// exactly once; `None` if that is the first.
    pub fn new(schema: &Schema, columns: &[SortingColumn]) -> Option<Self> {
        let place = |column: &SortingColumn| {
            let named = schema.fields().iter().enumerate().filter(|(_, field)| *field.name() == column.path);
            let mut named = named.map(|(at, field)| (at, has_one_order(field.data_type())));
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
        Some(Self { keys: SortKeys::new(schema, columns).ok()?, only, last: None, rows: 0 })
    }

    /// The number of the first row of `batch` that does not follow the row before it, counted from the first row of all batches; `None`
    /// if all do.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the batch has another schema.
    pub fn first_disorder(&mut self, batch: &RecordBatch) -> Result<Option<u64>> {
        let (before, count) = (self.rows, batch.num_rows());
        if count == 0 {
            return Ok(None);
        }
        self.rows += count as u64;
        let first = self.keys.rows(&batch.slice(0, 1))?;
        if self.last.as_ref().is_some_and(|last| last.row() > first.row(0)) {
            return Ok(Some(before));
        }
        let is_sorted = self.only.is_some_and(|(at, is_descending)| {
            batch.columns().get(at).is_some_and(|column| is_sorted(column, is_descending))
        });
        if is_sorted {
            self.last = Some(self.keys.rows(&batch.slice(count - 1, 1))?.row(0).owned());
            return Ok(None);
        }
        let rows = self.keys.rows(batch)?;
        self.last = Some(rows.row(count - 1).owned());
        let disorder = (1..count).find(|&row| rows.row(row - 1) > rows.row(row));
        Ok(disorder.map(|row| before + row as u64))
    }
}

/// Whether the values are known to be sorted; there are no nulls among them then.
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

/// Whether everyone sorts values of a type in the same way: zeros and NaNs of floats have several orders.
pub(crate) fn has_one_order(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean => true,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => true,
        DataType::Interval(_) => false,
        other => other.is_integer() || other.is_temporal() || other.is_decimal(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int32Array, StringArray};

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
    fn columns_that_have_several_orders_are_not_looked_at() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![2.0, 1.0]));
        let batch = RecordBatch::try_from_iter([("a", floats)]).unwrap();
        assert!(RowOrder::new(&batch.schema(), &[SortingColumn::ascending("a")]).is_none());
        assert!(RowOrder::new(&batch.schema(), &[SortingColumn::ascending("b")]).is_none());
    }
}

//! The keys of the rows that a statement has changed.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Schema};
use datafusion::common::{Result, exec_err};
use datafusion::execution::memory_pool::MemoryReservation;

/// Memory that an entry of the set takes besides the key's bytes.
const ENTRY_LEN: usize = 32;

/// A set of encoded keys.
#[derive(Debug)]
pub(super) struct KeySet {
    converter: RowConverter,
    keys: HashSet<Box<[u8]>>,
}

impl KeySet {
    /// Creates an empty set of keys with these columns.
    pub(super) fn new(columns: &Schema) -> Result<Self> {
        let fields = columns.fields().iter().map(|field| SortField::new(field.data_type().clone())).collect();
        Ok(Self { converter: RowConverter::new(fields)?, keys: HashSet::new() })
    }

    /// Adds the keys of rows and returns for each whether it is new.
    pub(super) fn add(&mut self, keys: &RecordBatch, memory: &MemoryReservation) -> Result<Vec<bool>> {
        let keys: Vec<ArrayRef> = keys.columns().iter().map(with_one_zero).collect();
        let rows = self.converter.convert_columns(&keys)?;
        let mut are_new = Vec::with_capacity(rows.num_rows());
        let mut bytes = 0;
        for row in &rows {
            let is_new = self.keys.insert(row.data().into());
            bytes += if is_new { row.data().len() + ENTRY_LEN } else { 0 };
            are_new.push(is_new);
        }
        memory.try_grow(bytes)?;
        Ok(are_new)
    }

    /// The encoded key of each row; none if it has a null.
    pub(super) fn encode(&self, keys: &RecordBatch) -> Result<Vec<Option<Box<[u8]>>>> {
        let columns: Vec<ArrayRef> = keys.columns().iter().map(with_one_zero).collect();
        let rows = self.converter.convert_columns(&columns)?;
        let has_null = |row: usize| columns.iter().any(|column| column.is_null(row));
        Ok((0..keys.num_rows()).map(|row| (!has_null(row)).then(|| rows.row(row).data().into())).collect())
    }

    /// Adds the keys of rows; a key that is not new is an error.
    pub(super) fn add_once(&mut self, keys: &RecordBatch, memory: &MemoryReservation) -> Result<()> {
        match self.add(keys, memory)?.iter().position(|is_new| !is_new) {
            None => Ok(()),
            Some(row) => exec_err!(
                "several source rows match the row with {}, so nothing was changed; make the source rows unique",
                described(keys, row)?
            ),
        }
    }
}

/// Maps floats to one zero and one NaN, as in keys of tables.
fn with_one_zero(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float64 => {
            let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(column.as_primitive::<Float64Type>().unary::<_, Float64Type>(one))
        }
        DataType::Float32 => {
            let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(column.as_primitive::<Float32Type>().unary::<_, Float32Type>(one))
        }
        _ => Arc::clone(column),
    }
}

/// Formats a row as names and values.
fn described(batch: &RecordBatch, row: usize) -> Result<String> {
    let options = FormatOptions::default();
    let schema = batch.schema_ref();
    let column = |(at, array)| {
        let value = ArrayFormatter::try_new(array, &options)?.value(row).to_string();
        Ok(format!("{} = {value}", schema.field(at).name()))
    };
    Ok(batch.columns().iter().map(AsRef::as_ref).enumerate().map(column).collect::<Result<Vec<_>>>()?.join(", "))
}

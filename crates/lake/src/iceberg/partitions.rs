//! Columns that have one value in a whole file, because the table is partitioned by them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::FieldRef;
use arrow_select::concat::concat;
use lath_iceberg::{Literal, TableMetadata, Transform};
use lath_parquet::{DatasetFile, Error, PartitionColumn, Result};

use super::columns::TableColumns;
use super::manifests::Entry;
use super::values::literal_array;

/// The values of identity partitions.
pub(super) struct PartitionValues {
    columns: Vec<Column>,
}

/// A column, to which several threads add values.
struct Column {
    /// The number of the column.
    id: i32,
    field: FieldRef,
    values: Mutex<Values>,
}

#[derive(Default)]
struct Values {
    /// Arrays of one value.
    arrays: Vec<ArrayRef>,
    rows: HashMap<Vec<u8>, u32>,
}

impl PartitionValues {
    /// The columns by which some of the files are partitioned, without values so far. Fields within structs are read from files.
    pub(super) fn new(columns: &TableColumns, metadata: &TableMetadata) -> Self {
        let mut found: Vec<Column> = Vec::new();
        for spec in &metadata.partition_specs {
            for field in &spec.fields {
                let [id] = field.source_ids[..] else { continue };
                if field.transform != Transform::Identity || found.iter().any(|column| column.id == id) {
                    continue;
                }
                let is_it = |field: &&FieldRef| columns.at(&[field.name().clone()]).is_some_and(|(own, _)| *own == id);
                if let Some(field) = columns.schema.fields().iter().find(is_it) {
                    found.push(Column { id, field: Arc::clone(field), values: Mutex::default() });
                }
            }
        }
        Self { columns: found }
    }

    /// The rows of a file's values; [`DatasetFile::NO_CONSTANT`] if the file is not partitioned by a column.
    pub(super) fn rows(&self, entry: &Entry) -> Result<Vec<u32>> {
        self.columns.iter().map(|column| column.row(entry)).collect()
    }

    /// The columns with their values.
    pub(super) fn finish(self) -> Result<Vec<PartitionColumn>> {
        let column = |column: Column| {
            let data_type = column.field.data_type();
            let values = column.values.into_inner().unwrap_or_else(PoisonError::into_inner);
            let values: Vec<&dyn Array> = values.arrays.iter().map(|value| &**value).collect();
            let values = match values.is_empty() {
                true => new_null_array(data_type, 0),
                false => concat(&values).map_err(|error| Error::internal(error.to_string()))?,
            };
            Ok(PartitionColumn::new(column.field, values))
        };
        self.columns.into_iter().map(column).collect()
    }
}

impl Column {
    fn row(&self, entry: &Entry) -> Result<u32> {
        let is_own = |field: &&lath_iceberg::PartitionField| {
            field.source_ids == [self.id] && field.transform == Transform::Identity
        };
        let Some(own) = entry.spec.fields.iter().find(is_own) else { return Ok(DatasetFile::NO_CONSTANT) };
        let Some((_, value)) = entry.file.partition.iter().find(|(id, _)| *id == own.field_id) else {
            return Ok(DatasetFile::NO_CONSTANT);
        };
        let key = value_key(value.as_ref());
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&row) = values.rows.get(&key) {
            return Ok(row);
        }
        let value = match value {
            Some(value) => literal_array(value, self.field.data_type())
                .map_err(|error| Error::corrupt(format!("{}: {error}", entry.file.file_path)))?,
            None => new_null_array(self.field.data_type(), 1),
        };
        let row = u32::try_from(values.arrays.len()).ok().filter(|row| *row != DatasetFile::NO_CONSTANT);
        let row = row.ok_or_else(|| Error::invalid("more partitions than a table can have"))?;
        values.arrays.push(value);
        values.rows.insert(key, row);
        Ok(row)
    }
}

/// Bytes that are the same for the same value alone.
pub(super) fn value_key(value: Option<&Literal>) -> Vec<u8> {
    match value {
        None => Vec::new(),
        Some(value) => {
            let mut key = vec![1];
            // A column that was widened has values of both types.
            match value {
                Literal::Int(value) => key.extend(i64::from(*value).to_le_bytes()),
                Literal::Float(value) => key.extend(f64::from(*value).to_le_bytes()),
                value => key.extend(value.to_bytes()),
            }
            key
        }
    }
}

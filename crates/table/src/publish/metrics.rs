//! Counts and bounds of a file's columns, from its footer.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{FieldRef, Schema};
use lath_iceberg::{DataFile as IcebergFile, FileContent, Literal, PrimitiveType};
use lath_parquet::Precision;

use super::schema::iceberg_schema;
use super::single_value::literal;
use crate::error::{Error, Result};
use crate::file::DataFile;
use crate::records::FileEntry;
use crate::row::{TableSchema, field_id, nested_ids};
use crate::view::{Commit, Engine};

/// Longer upper bounds of text and bytes are left out: a cut one is no upper bound.
const MAX_BOUND_BYTES: usize = 64;

/// The entry of a data file at `path`. A file that cannot be verified has no counts and bounds of columns: damage could hide rows.
pub(super) fn data_file(
    engine: &Engine,
    newest: &Arc<Commit>,
    schema: &Arc<TableSchema>,
    entry: &FileEntry,
    path: String,
    map_types: bool,
) -> Result<IcebergFile> {
    let mut described = IcebergFile::new(FileContent::Data, path, entry.rows, entry.bytes);
    let checksums = engine.checksums(&mut Arc::clone(newest), entry).unwrap_or_default();
    let is_verified = checksums.is_some();
    let stored = schema.with_version(entry.schema)?;
    let file = DataFile::without_keys(&engine.files, entry, schema, checksums)?.file().open()?;
    check_numbers(file.schema(), &stored, entry)?;
    if !is_verified {
        return Ok(described);
    }
    let types = iceberg_schema(&stored, map_types)?;
    let statistics = file.statistics()?;
    for (field, column) in types.fields.iter().zip(&statistics.columns) {
        let Some(primitive) = field.field_type.as_primitive() else { continue };
        if let Precision::Exact(bytes) = column.byte_count {
            described.column_sizes.push((field.id, bytes.cast_signed()));
        }
        let Precision::Exact(nulls) = column.null_count else { continue };
        described.value_counts.push((field.id, entry.rows.cast_signed()));
        described.null_value_counts.push((field.id, nulls.cast_signed()));
        if matches!(primitive, PrimitiveType::Float | PrimitiveType::Double) {
            let Precision::Exact(nans) = column.nan_count else { continue };
            described.nan_value_counts.push((field.id, nans.cast_signed()));
            // Engines do not agree on whether NaN is above all numbers.
            if nans > 0 {
                continue;
            }
        }
        let bound = |bound: &Precision<ArrayRef>| match bound.value() {
            Some(array) => literal(array, primitive),
            None => Ok(None),
        };
        if let (Some(low), Some(high)) = (bound(&column.min)?, bound(&column.max)?) {
            let (low, high) = (below(low).to_bytes(), above(high).to_bytes());
            if high.len() <= MAX_BOUND_BYTES {
                described.upper_bounds.push((field.id, high));
            }
            if low.len() <= MAX_BOUND_BYTES {
                described.lower_bounds.push((field.id, low));
            }
        }
    }
    Ok(described)
}

/// Whether the columns of a file have the numbers of its schema.
pub(super) fn has_numbers(
    engine: &Engine,
    newest: &Arc<Commit>,
    schema: &Arc<TableSchema>,
    entry: &FileEntry,
) -> Result<bool> {
    let checksums = engine.checksums(&mut Arc::clone(newest), entry).unwrap_or_default();
    let file = DataFile::without_keys(&engine.files, entry, schema, checksums)?.file().open()?;
    Ok(check_numbers(file.schema(), &*schema.with_version(entry.schema)?, entry).is_ok())
}

/// Refuses a file without numbers of columns, as versions before this one wrote for types that Arrow lacks: readers would find nulls.
fn check_numbers(found: &Schema, stored: &TableSchema, entry: &FileEntry) -> Result<()> {
    for (column, field) in stored.arrow().fields().iter().enumerate() {
        let numbers = |field: &FieldRef| (field_id(field).ok(), nested_ids(field));
        let numbered = stored.file_schema().fields().get(column).map(numbers);
        if found.fields().get(column).map(numbers) != numbered {
            let (column, file) = (field.name(), &entry.name);
            let what = "has no number there, so that readers of Iceberg would find nulls: lath table publish --as iceberg writes it again";
            return Err(Error::publish(format!("column {column} of {file} {what}")));
        }
    }
    Ok(())
}

/// A lower bound that is not above either zero.
fn below(value: Literal) -> Literal {
    match value {
        Literal::Float(0.0) => Literal::Float(-0.0),
        Literal::Double(0.0) => Literal::Double(-0.0),
        other => other,
    }
}

/// An upper bound that is not below either zero: the sum of both is the positive one.
fn above(value: Literal) -> Literal {
    match value {
        Literal::Float(value) => Literal::Float(value + 0.0),
        Literal::Double(value) => Literal::Double(value + 0.0),
        other => other,
    }
}

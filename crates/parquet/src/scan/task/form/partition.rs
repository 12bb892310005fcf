//! The values of a file's partition columns, as a batch of one row.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, FieldRef, Schema};
use arrow_select::concat::concat;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lath_format::schema::guard;

use super::decode_base64;
use crate::dataset::{DatasetFile, PartitionColumn};
use crate::error::{Error, Result};

/// For each partition column of a file, the row of its value.
type ValueRows = Box<[u32]>;

/// The partition columns of files, and for each file the rows of their values. `files` has their serialized values; a file may
/// lack some of the columns.
pub(super) fn partitions<'a>(
    files: impl Iterator<Item = Option<&'a str>>,
) -> Result<(Vec<PartitionColumn>, Vec<ValueRows>)> {
    let rows = files.map(|values| values.map(decode_row).transpose());
    let rows = rows.collect::<Result<Vec<Option<RecordBatch>>>>()?;
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut columns: Vec<(FieldRef, Vec<&dyn Array>)> = Vec::new();
    let mut places_of_files = vec![Vec::new(); rows.len()];
    for (row, of_file) in rows.iter().zip(&mut places_of_files) {
        let Some(row) = row else { continue };
        for (field, value) in row.schema_ref().fields().iter().zip(row.columns()) {
            let place = *places.entry(field.name().clone()).or_insert(columns.len());
            if place == columns.len() {
                columns.push((Arc::clone(field), Vec::new()));
            }
            let (known, values) = &mut columns[place];
            if known != field {
                return Err(Error::invalid("files with different partition columns"));
            }
            // A text holds fewer than 2³² of them.
            of_file.push((place, values.len() as u32));
            values.push(value.as_ref());
        }
    }
    let rows = places_of_files.into_iter().map(|of_file| {
        let mut rows = vec![DatasetFile::NO_CONSTANT; columns.len()];
        of_file.into_iter().for_each(|(place, row)| rows[place] = row);
        rows.into_boxed_slice()
    });
    let rows = rows.collect();
    let columns = columns.into_iter().map(|(field, values)| {
        let values = concat(&values).map_err(|error| Error::from_arrow(&error))?;
        Ok(PartitionColumn::new(field, values))
    });
    Ok((columns.collect::<Result<_>>()?, rows))
}

/// A copy of a value whose buffers hold no other values.
pub(super) fn compact(value: &ArrayRef) -> ArrayRef {
    match value.data_type() {
        DataType::Utf8View => Arc::new(value.as_string_view().gc()),
        DataType::BinaryView => Arc::new(value.as_binary_view().gc()),
        _ => Arc::clone(value),
    }
}

/// A batch of one row, as an Arrow stream in base64.
pub(super) fn encode_row(values: Vec<(&FieldRef, ArrayRef)>) -> Result<String> {
    let (fields, values): (Vec<_>, Vec<_>) =
        values.into_iter().map(|(field, value)| (Arc::clone(field), value)).unzip();
    let schema = Arc::new(Schema::new(fields));
    let write = || {
        let row = RecordBatch::try_new(Arc::clone(&schema), values)?;
        let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
        writer.write(&row)?;
        writer.into_inner()
    };
    write().map(|bytes| BASE64_STANDARD.encode(bytes)).map_err(|error| Error::from_arrow(&error))
}

pub(super) fn decode_row(text: &str) -> Result<RecordBatch> {
    let bytes = decode_base64(text)?;
    // Arrow's stream reader panics on some malformed input.
    let row = guard(|| {
        let mut batches = StreamReader::try_new(bytes.as_slice(), None)?;
        Ok(batches.next().transpose()?)
    });
    let row = row.map_err(|error| Error::invalid(format!("values of partition columns: {error}")))?;
    row.filter(|row| row.num_rows() == 1).ok_or_else(|| Error::invalid("values of partition columns: expected one row"))
}

//! The values of a file's partition columns, as a batch of one row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, FieldRef, Schema};
use arrow_select::concat::concat_batches;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lath_format::schema::guard;

use super::decode_base64;
use crate::dataset::PartitionColumn;
use crate::error::{Error, Result};

/// For each partition column of a file, the row of its value.
type ValueRows = Box<[u32]>;

/// The partition columns of files, and for each file the rows of their values. `files` has their serialized values.
pub(super) fn partitions<'a>(
    files: impl Iterator<Item = Option<&'a str>>,
) -> Result<(Vec<PartitionColumn>, Vec<ValueRows>)> {
    let rows = files.map(|values| values.map(decode_row).transpose());
    let rows = rows.collect::<Result<Vec<Option<RecordBatch>>>>()?;
    let Some(Some(first)) = rows.first() else {
        return match rows.iter().any(Option::is_some) {
            true => Err(Error::invalid("files with and without partition columns")),
            false => Ok((Vec::new(), vec![Box::default(); rows.len()])),
        };
    };
    let schema = first.schema();
    let all: Option<Vec<&RecordBatch>> = rows.iter().map(Option::as_ref).collect();
    let all = all.filter(|rows| rows.iter().all(|row| row.schema() == schema));
    let all = all.ok_or_else(|| Error::invalid("files with different partition columns"))?;
    let file_count = all.len();
    let values = concat_batches(&schema, all).map_err(|error| Error::from_arrow(&error))?;
    let columns = schema.fields().iter().zip(values.columns());
    let columns: Vec<_> =
        columns.map(|(field, values)| PartitionColumn::new(Arc::clone(field), Arc::clone(values))).collect();
    // A text holds fewer than 2³² of them.
    let rows = (0..file_count).map(|row| vec![row as u32; columns.len()].into()).collect();
    Ok((columns, rows))
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

fn decode_row(text: &str) -> Result<RecordBatch> {
    let bytes = decode_base64(text)?;
    // Arrow's stream reader panics on some malformed input.
    let row = guard(|| {
        let mut batches = StreamReader::try_new(bytes.as_slice(), None)?;
        Ok(batches.next().transpose()?)
    });
    let row = row.map_err(|error| Error::invalid(format!("values of partition columns: {error}")))?;
    row.filter(|row| row.num_rows() == 1).ok_or_else(|| Error::invalid("values of partition columns: expected one row"))
}

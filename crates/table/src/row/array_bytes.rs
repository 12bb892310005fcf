//! Encodes arrays in records: defaults and categories of columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;

use crate::error::{Error, Result};

/// An array as an Arrow IPC stream.
pub(super) fn array_to_bytes(array: &ArrayRef) -> Result<Vec<u8>> {
    let batch = RecordBatch::try_from_iter_with_nullable([("default", Arc::clone(array), true)])?;
    let mut ipc = Vec::new();
    let mut writer = StreamWriter::try_new(&mut ipc, batch.schema_ref())?;
    writer.write(&batch)?;
    writer.finish()?;
    drop(writer);
    Ok(ipc)
}

/// The array in an Arrow IPC stream of one column.
pub(super) fn array_from_bytes(bytes: &[u8]) -> Result<ArrayRef> {
    match StreamReader::try_new(bytes, None)?.next().transpose()? {
        Some(batch) if batch.num_columns() == 1 => Ok(Arc::clone(batch.column(0))),
        _ => Err(Error::corrupt("a record has not one column of values")),
    }
}

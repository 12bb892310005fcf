//! Encodes schemas and arrays as Arrow IPC streams.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{FieldRef, Schema, SchemaRef};

use crate::error::{Error, Result};

pub(crate) fn schema_to_bytes(schema: &Schema) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    StreamWriter::try_new(&mut bytes, schema)?.finish()?;
    Ok(bytes)
}

pub(crate) fn schema_from_bytes(bytes: &[u8]) -> Result<SchemaRef> {
    Ok(StreamReader::try_new(bytes, None)?.schema())
}

pub(crate) fn array_to_bytes(field: &FieldRef, array: &ArrayRef) -> Result<Vec<u8>> {
    let schema = Arc::new(Schema::new(vec![Arc::clone(field)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(array)])?;
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &schema)?;
    writer.write(&batch)?;
    writer.finish()?;
    drop(writer);
    Ok(bytes)
}

pub(crate) fn array_from_bytes(bytes: &[u8]) -> Result<(FieldRef, ArrayRef)> {
    let mut reader = StreamReader::try_new(bytes, None)?;
    let batch = reader.next().transpose()?.filter(|batch| batch.num_columns() == 1);
    let batch = batch.ok_or_else(|| Error::corrupt("expected an array in one batch of one column"))?;
    Ok((Arc::clone(&batch.schema().fields()[0]), Arc::clone(batch.column(0))))
}

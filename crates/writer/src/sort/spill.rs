//! Sorted rows in a temporary file, as an Arrow IPC stream.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use lath_parquet::{Error, Result};

use std::sync::Arc;

use crate::sort_keys::failed;

const BUFFER_BYTES: usize = 256 << 10;

/// A file of sorted rows.
#[derive(Debug)]
pub(super) struct Run {
    file: File,
}

/// The batches of a run.
pub(super) struct RunReader {
    reader: StreamReader<BufReader<File>>,
}

impl Run {
    /// Writes sorted rows to a file without a name in `folder`; `None` if there are no rows.
    pub(super) fn write(
        schema: &SchemaRef,
        folder: Option<&Path>,
        sorted: impl Iterator<Item = Result<RecordBatch>>,
    ) -> Result<Option<Self>> {
        let mut sorted = sorted.peekable();
        if sorted.peek().is_none() {
            return Ok(None);
        }
        let file = match folder {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        };
        let file = file.map_err(|error| Error::io("create a temporary file", error))?;
        let mut writer =
            StreamWriter::try_new(BufWriter::with_capacity(BUFFER_BYTES, file), schema).map_err(writing)?;
        for batch in sorted {
            writer.write(&compact_batch(&batch?)?).map_err(writing)?;
        }
        let buffer = writer.into_inner().map_err(writing)?;
        let file = buffer.into_inner().map_err(|error| Error::io("write a temporary file", error.into_error()))?;
        Ok(Some(Self { file }))
    }

    /// Reads the rows back.
    pub(super) fn read(mut self) -> Result<RunReader> {
        self.file.rewind().map_err(|error| Error::io("read a temporary file", error))?;
        let reader = BufReader::with_capacity(BUFFER_BYTES, self.file);
        Ok(RunReader { reader: StreamReader::try_new(reader, None).map_err(failed)? })
    }
}

impl Iterator for RunReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.reader.next().map(|batch| batch.map_err(failed))
    }
}

fn writing(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::io("write a temporary file", error),
        other => failed(other),
    }
}

/// Copies rows without bytes that views do not refer to: IPC writes whole buffers, and the batches share the buffers of all
/// sorted rows.
fn compact_batch(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(compact).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).map_err(failed)
}

fn compact(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Utf8View => Ok(Arc::new(array.as_string_view().gc())),
        DataType::BinaryView => Ok(Arc::new(array.as_binary_view().gc())),
        data_type if has_nested_views(data_type) => {
            let data = array.to_data();
            let children = data.child_data().iter().map(|child| Ok(compact(&make_array(child.clone()))?.to_data()));
            let children = children.collect::<Result<_>>()?;
            Ok(make_array(data.into_builder().child_data(children).build().map_err(failed)?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn has_nested_views(data_type: &DataType) -> bool {
    let has_views = |data_type: &DataType| {
        matches!(data_type, DataType::Utf8View | DataType::BinaryView) || has_nested_views(data_type)
    };
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| has_views(field.data_type())),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::RunEndEncoded(_, item)
        | DataType::Map(item, _) => has_views(item.data_type()),
        DataType::Dictionary(_, values) => has_views(values),
        _ => false,
    }
}

//! Arrow IPC: a stream for standard output, a file for `-o`.

mod dictionary;
mod file;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, Schema};
use lath_writer::WriteSummary;

use self::dictionary::has_dictionaries;
use self::file::DictionaryFileWriter;
use super::RowSink;
use crate::failure::{Failure, Result};
use crate::target::Target;

/// Rows as an IPC stream.
pub(super) struct StreamSink(StreamWriter<Target>);

/// Rows as an IPC file.
pub(super) struct FileSink {
    writer: Writer,
    name: String,
}

enum Writer {
    Plain(Box<FileWriter<Target>>),
    /// The library's writer of files takes one dictionary a column, the same in every batch.
    Dictionaries(Box<DictionaryFileWriter<Target>>),
}

impl StreamSink {
    pub(super) fn new(target: Target, schema: &Schema) -> Result<Self> {
        let name = target.name().to_owned();
        StreamWriter::try_new(target, schema).map(Self).map_err(|error| Failure::encoding(&name, error))
    }
}

impl FileSink {
    pub(super) fn new(target: Target, schema: &Schema) -> Result<Self> {
        let name = target.name().to_owned();
        let writer = if schema.fields().iter().any(|field| has_dictionaries(field.data_type())) {
            DictionaryFileWriter::new(target, schema).map(|writer| Writer::Dictionaries(Box::new(writer)))
        } else {
            FileWriter::try_new(target, schema).map(|writer| Writer::Plain(Box::new(writer)))
        };
        Ok(Self { writer: writer.map_err(|error| Failure::encoding(&name, error))?, name })
    }
}

impl Writer {
    fn write(&mut self, batch: &RecordBatch) -> std::result::Result<(), ArrowError> {
        match self {
            Self::Plain(writer) => writer.write(batch),
            Self::Dictionaries(writer) => writer.write(batch),
        }
    }

    fn into_inner(self) -> std::result::Result<Target, ArrowError> {
        match self {
            Self::Plain(writer) => writer.into_inner(),
            Self::Dictionaries(writer) => writer.into_inner(),
        }
    }
}

impl RowSink for StreamSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(|error| Failure::encoding(self.0.get_ref().name(), error))
    }

    fn finish(self: Box<Self>) -> Result<Option<WriteSummary>> {
        let name = self.0.get_ref().name().to_owned();
        self.0.into_inner().map_err(|error| Failure::encoding(&name, error))?.finish()?;
        Ok(None)
    }
}

impl RowSink for FileSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|error| Failure::encoding(&self.name, error))
    }

    fn finish(self: Box<Self>) -> Result<Option<WriteSummary>> {
        self.writer.into_inner().map_err(|error| Failure::encoding(&self.name, error))?.finish()?;
        Ok(None)
    }
}

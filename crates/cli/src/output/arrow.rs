//! Arrow IPC: a stream where the output is read from its start to its end, a file where it can be read anywhere.

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::Schema;
use lath_parquet::WriteSummary;

use super::Rows;
use super::target::Target;
use crate::failure::{Failure, Result};

/// Rows as an IPC stream.
pub(super) struct StreamRows(StreamWriter<Target>);

/// Rows as an IPC file.
pub(super) struct FileRows(FileWriter<Target>);

impl StreamRows {
    pub(super) fn new(target: Target, schema: &Schema) -> Result<Self> {
        let name = target.name().to_owned();
        StreamWriter::try_new(target, schema).map(Self).map_err(|error| Failure::encoding(&name, error))
    }
}

impl FileRows {
    pub(super) fn new(target: Target, schema: &Schema) -> Result<Self> {
        let name = target.name().to_owned();
        FileWriter::try_new(target, schema).map(Self).map_err(|error| Failure::encoding(&name, error))
    }
}

impl Rows for StreamRows {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(|error| Failure::encoding(self.0.get_ref().name(), error))
    }

    fn finish(self: Box<Self>) -> Result<Option<WriteSummary>> {
        let name = self.0.get_ref().name().to_owned();
        self.0.into_inner().map_err(|error| Failure::encoding(&name, error))?.finish()?;
        Ok(None)
    }
}

impl Rows for FileRows {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(|error| Failure::encoding(self.0.get_ref().name(), error))
    }

    fn finish(self: Box<Self>) -> Result<Option<WriteSummary>> {
        let name = self.0.get_ref().name().to_owned();
        self.0.into_inner().map_err(|error| Failure::encoding(&name, error))?.finish()?;
        Ok(None)
    }
}

//! Arrow IPC, file or stream, through Arrow's readers.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;

use super::{Bytes, Source};
use crate::failure::{Failure, Result};

/// Starts to read Arrow IPC; its first bytes tell which kind.
pub(super) fn read(mut bytes: Bytes, name: String, file: Option<File>) -> Result<Source> {
    let failed = |error: std::io::Error| Failure::Io(format!("{name}: cannot read: {error}"));
    let is_file = bytes.fill_buf().map_err(failed)?.starts_with(b"ARROW1");
    if !is_file {
        let reader = StreamReader::try_new(bytes, None).map_err(|error| unreadable(&name, &error))?;
        return Ok(Source { schema: reader.schema(), batches: Box::new(explained(reader, name)) });
    }
    match file {
        Some(file) => of_file(BufReader::new(file), name),
        // A pipe cannot be read from its end.
        None => {
            let mut all = Vec::new();
            bytes.read_to_end(&mut all).map_err(failed)?;
            of_file(Cursor::new(all), name)
        }
    }
}

fn of_file(file: impl Read + Seek + Send + 'static, name: String) -> Result<Source> {
    let reader = FileReader::try_new(file, None).map_err(|error| unreadable(&name, &error))?;
    Ok(Source { schema: reader.schema(), batches: Box::new(explained(reader, name)) })
}

fn explained(
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send,
    name: String,
) -> impl Iterator<Item = Result<RecordBatch>> + Send {
    batches.map(move |batch| batch.map_err(|error| unreadable(&name, &error)))
}

fn unreadable(name: &str, error: &ArrowError) -> Failure {
    Failure::Corrupt(format!("{name}: not readable as Arrow IPC: {error}"))
}

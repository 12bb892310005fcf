//! Arrow IPC files and streams, read by Arrow's readers.

use std::io::{BufReader, Cursor, Read, Seek};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;
use lath_text::TextFile;

use super::{Source, text_failure};
use crate::failure::{Failure, Result};

/// Reads Arrow IPC; the first bytes tell a file from a stream.
pub(super) fn read(mut input: TextFile) -> Result<Source> {
    let name = input.name().to_owned();
    let is_file = input.peek(6).map_err(text_failure)?.starts_with(b"ARROW1");
    if !is_file {
        let reader = StreamReader::try_new(input.into_bytes(), None).map_err(|error| unreadable(&name, &error))?;
        return Ok(Source { schema: reader.schema(), batches: Box::new(explained(reader, name)) });
    }
    match input.regular_file().map_err(text_failure)? {
        Some(file) => open_source(BufReader::new(file), name),
        // A file is read from its end, which a pipe does not allow.
        None => {
            let mut all = Vec::new();
            let read = input.into_bytes().read_to_end(&mut all);
            read.map_err(|error| Failure::Io(format!("{name}: cannot read: {error}")))?;
            open_source(Cursor::new(all), name)
        }
    }
}

fn open_source(file: impl Read + Seek + Send + 'static, name: String) -> Result<Source> {
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

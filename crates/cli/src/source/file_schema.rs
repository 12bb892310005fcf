//! `--schema-of`: the file that the types of text files' columns are taken from.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use lath_parquet::ParquetFile;

use crate::failure::{Failure, Result};

/// The Arrow schema of a Parquet or Arrow IPC file.
pub(super) fn file_schema(path: &Path) -> Result<SchemaRef> {
    let name = path.display().to_string();
    let mut magic = [0; 6];
    let mut file = File::open(path).map_err(|error| Failure::reaching(path, &error))?;
    // A file that is shorter is rejected by the reader.
    let _ = file.read(&mut magic);
    let reopened = || File::open(path).map(BufReader::new).map_err(|error| Failure::reaching(path, &error));
    let unreadable = |error: ArrowError| Failure::Corrupt(format!("{name}: {error}"));
    match &magic {
        b"ARROW1" => Ok(FileReader::try_new(reopened()?, None).map_err(unreadable)?.schema()),
        [0xff, 0xff, 0xff, 0xff, ..] => Ok(StreamReader::try_new(reopened()?, None).map_err(unreadable)?.schema()),
        _ => match ParquetFile::open(path) {
            Ok(file) => Ok(Arc::clone(file.schema())),
            Err(error) => Err(Failure::reading(&name, error)),
        },
    }
}

//! A log file, read and written by system calls.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::limit;
use super::place::Place;
use crate::error::{Error, Result};
use crate::storage::LogFile;

/// A log. Without a file, the missing log of a store that was opened for reading.
#[derive(Debug)]
pub(super) struct FileLog {
    file: Option<File>,
    place: Option<Place>,
    path: PathBuf,
    read_only: bool,
}

impl FileLog {
    pub(super) fn new(file: Option<File>, path: PathBuf, read_only: bool) -> Result<Self> {
        let place = file.as_ref().map(|file| Place::new(file, &path)).transpose()?;
        Ok(Self { file, place, path, read_only })
    }

    fn to_write(&self) -> Result<&File> {
        self.file.as_ref().filter(|_| !self.read_only).ok_or(Error::ReadOnly)
    }
}

impl LogFile for FileLog {
    fn len(&self) -> Result<u64> {
        let Some(file) = &self.file else { return Ok(0) };
        Ok(file.metadata().map_err(Error::io("read the length of", &self.path))?.len())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        match &self.file {
            Some(file) => file.read_exact_at(bytes, offset).map_err(Error::io("read", &self.path)),
            None if bytes.is_empty() => Ok(()),
            None => Err(Error::io("read", &self.path)(std::io::ErrorKind::UnexpectedEof.into())),
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let file = self.to_write()?;
        let written = limit::check(offset + bytes.len() as u64).and_then(|()| file.write_all_at(bytes, offset));
        written.map_err(Error::io("write to", &self.path))
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.to_write()?.set_len(len).map_err(Error::io("change the length of", &self.path))
    }

    fn sync(&self) -> Result<()> {
        self.to_write()?.sync_data().map_err(Error::io("sync", &self.path))
    }

    fn file_number(&self) -> u64 {
        self.place.as_ref().map_or(0, Place::number)
    }

    fn check_place(&self) -> Result<()> {
        self.place.as_ref().map_or(Ok(()), Place::check)
    }
}

//! Proves that objects below a URL belong to one table, and to one copy of it.
//!
//! The mark, an object next to the files, has the number of the opening of the table that last wrote there. The table's folder keeps this number, and
//! the one that takes its place:
//!
//! | step | after a crash |
//! | --- | --- |
//! | 1. the mark is read: its number has to be one in the folder | nothing has changed |
//! | 2. the folder gets the number of the mark and the new one, durably | the mark has the former |
//! | 3. the mark gets the new number, if it was not replaced | the mark has one of the two |
//!
//! So a second table is not made over the objects of another. After the folder was copied, the copy and the original have the same numbers, and the first
//! of the two that writes excludes the other, whose files it may remove.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use lath_source::Replaces;
use lath_writer::AtomicFile;

use super::file_folder::FileFolder;
use super::file_name::NOTICE;
use crate::error::{Error, Result};

/// The file with the numbers, in the table's folder.
const OWNER_FILE: &str = "_owner";

/// Before the number in the mark.
const LABEL: &str = "Writer: ";

/// An opening of a table whose files are in a bucket.
#[derive(Debug)]
pub(crate) struct Owner {
    file: PathBuf,
    number: u64,
}

impl Owner {
    /// An opening with this number, of a table with this folder.
    pub(crate) fn new(folder: &Path, number: u64) -> Self {
        Self { file: folder.join(OWNER_FILE), number }
    }

    /// Makes the objects of the folder `data` belong to this opening of the table.
    pub(super) fn claim(&self, data: &FileFolder) -> Result<()> {
        let known = self.known()?;
        let foreign = || Error::ForeignFiles { path: data.location().to_owned() };
        let (current, replaces) = match data.read_object(NOTICE.0) {
            Ok((mark, version)) => {
                let current = number_in(&mark).filter(|number| known.contains(number)).ok_or_else(foreign)?;
                (Some(current), Replaces::Version(version))
            }
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => (None, Replaces::None),
            Err(error) => return Err(error),
        };
        let numbers: Vec<String> = current.into_iter().chain([self.number]).map(hexadecimal).collect();
        let mut file = AtomicFile::create(&self.file)?;
        file.write_all(numbers.join("\n").as_bytes()).map_err(Error::io("write", &self.file))?;
        file.commit()?;
        let mark = format!("{}{LABEL}{}\n", NOTICE.1, hexadecimal(self.number));
        match data.put(NOTICE.0, mark.as_bytes(), replaces) {
            // Somebody has written it meanwhile.
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Err(foreign()),
            put => put,
        }
    }

    /// The numbers that the mark may have.
    fn known(&self) -> Result<Vec<u64>> {
        match fs::read_to_string(&self.file) {
            Ok(text) => Ok(text.lines().filter_map(|line| u64::from_str_radix(line, 16).ok()).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Error::io("read", &self.file)(error)),
        }
    }
}

fn hexadecimal(number: u64) -> String {
    format!("{number:016x}")
}

/// The number in a mark.
fn number_in(mark: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(mark).ok()?;
    let number = text.lines().find_map(|line| line.strip_prefix(LABEL))?;
    u64::from_str_radix(number.trim(), 16).ok()
}

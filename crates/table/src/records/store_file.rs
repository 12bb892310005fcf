//! Opens the store of a table or a database.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lath_store::{Store, store_users};

use super::options::TableOptions;
use crate::error::{Error, Result};

/// Opens the store at `path`.
///
/// A power failure while the store is created can leave its files empty. The folder is then no table yet, and a store without trees is
/// opened. If the folder has other files, an empty store is an error, because it has lost its contents.
pub(crate) fn open_store(path: &Path, options: &TableOptions, read_only: bool, create: bool) -> Result<Store> {
    let waited = options.wait;
    let options = options
        .store
        .clone()
        .durability(options.durability)
        .verify_nodes(true)
        .wait(options.wait)
        .read_only(read_only)
        .create(create);
    let opened = match read_only || waited.is_zero() {
        true => options.open(path),
        // The process that writes may let this one in when it knows that it waits.
        false => match options.clone().wait(Duration::ZERO).open(path) {
            Err(lath_store::Error::Busy) => {
                let _until_opened = Waiting::begin(path);
                options.open(path)
            }
            opened => opened,
        },
    };
    match opened {
        Err(lath_store::Error::Corrupt { .. }) if !create && !read_only && is_alone(path)? => {
            Ok(options.create(true).open(path)?)
        }
        Err(lath_store::Error::Busy) => {
            Err(Error::InUse { folder: path.parent().unwrap_or(path).to_owned(), users: store_users(path), waited })
        }
        opened => Ok(opened?),
    }
}

/// A process that waits for the writer has a shared lock on a file for as long as it waits.
#[derive(Debug)]
struct Waiting {
    _file: Option<File>,
}

impl Waiting {
    /// Without the file, this waits like others and is not noticed.
    fn begin(path: &Path) -> Self {
        let file = File::options().create(true).truncate(false).write(true).open(waiting_path(path));
        Self { _file: file.ok().filter(|file| file.lock_shared().is_ok()) }
    }
}

/// Whether another process waits to open the store at `path` for writing.
pub(crate) fn is_awaited(path: &Path) -> bool {
    let Ok(file) = File::open(waiting_path(path)) else { return false };
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

fn waiting_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-waiting");
    name.into()
}

/// Whether a folder has nothing but the store at `path`.
fn is_alone(path: &Path) -> Result<bool> {
    let (Some(folder), Some(own)) = (path.parent(), path.file_name()) else { return Ok(false) };
    let own = own.as_encoded_bytes();
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let name = entry.map_err(Error::io("list", folder))?.file_name();
        if !name.as_encoded_bytes().starts_with(own) {
            return Ok(false);
        }
    }
    Ok(true)
}

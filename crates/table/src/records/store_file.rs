//! Opens the store of a table or a database.

use std::fs;
use std::path::Path;

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
    match options.open(path) {
        Err(lath_store::Error::Corrupt { .. }) if !create && !read_only && is_alone(path)? => {
            Ok(options.create(true).open(path)?)
        }
        Err(lath_store::Error::Busy) => {
            Err(Error::InUse { folder: path.parent().unwrap_or(path).to_owned(), users: store_users(path), waited })
        }
        opened => Ok(opened?),
    }
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

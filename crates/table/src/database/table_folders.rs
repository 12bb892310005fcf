//! Removes folders of tables of a database.

use std::fs;
use std::path::Path;

use super::table_list::folder_number;
use crate::error::{Error, Result};
use crate::file::entries;
use crate::records::DatabaseState;

/// Removes the folders of tables that a killed process has begun to create, and that no commit has.
pub(super) fn remove_uncommitted(database: &Path, state: &DatabaseState) -> Result<()> {
    let Some(entries) = entries(database)? else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(folder_number);
        if number.is_some_and(|number| number >= state.next_table) {
            remove_folder(&entry.path())?;
        }
    }
    Ok(())
}

/// Number of files with rows in a folder, and in folders in it; `None` if it is not there.
fn count_files(folder: &Path) -> Result<Option<usize>> {
    let Some(entries) = entries(folder)? else { return Ok(None) };
    let mut files = 0;
    for entry in entries {
        let entry = entry?;
        let is_folder = entry.file_type().map_err(Error::io("list", folder))?.is_dir();
        let has_rows =
            || entry.file_name().to_str().is_some_and(|name| name.contains(".pq") || name.contains(".parquet"));
        files += if is_folder { count_files(&entry.path())?.unwrap_or(0) } else { usize::from(has_rows()) };
    }
    Ok(Some(files))
}

/// Removes a folder if it is there, and returns how many files were in it.
pub(super) fn remove_folder(folder: &Path) -> Result<usize> {
    let Some(files) = count_files(folder)? else { return Ok(0) };
    fs::remove_dir_all(folder).map_err(Error::io("remove", folder))?;
    Ok(files)
}

//! The small files of a table or database that are not in its store: sequences, and positions of consumers.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::error::{Error, Result};
use crate::file::{FileFolder, create_folder, entries};
use crate::records::SEQUENCES_FILE;

/// The folder with the positions of consumers, within the folder of a table.
const CONSUMERS: &str = "_consumers";

/// Contents of files by their paths below the folder, with slashes.
pub(crate) type SmallFiles = BTreeMap<String, Vec<u8>>;

/// The positions of consumers of all tables. Read before a commit is chosen, so that no position is later than the commit.
pub(crate) fn read_consumers(folder: &Path) -> Result<SmallFiles> {
    let mut files = SmallFiles::new();
    read_consumers_in(folder, "", &mut files)?;
    for entry in entries(folder)?.into_iter().flatten() {
        let entry = entry?;
        if let Some(name) = entry.file_name().to_str().filter(|name| name.starts_with("table-")) {
            read_consumers_in(&entry.path(), &format!("{name}/"), &mut files)?;
        }
    }
    Ok(files)
}

fn read_consumers_in(table: &Path, prefix: &str, files: &mut SmallFiles) -> Result<()> {
    for entry in entries(&table.join(CONSUMERS))?.into_iter().flatten() {
        let entry = entry?;
        let Some(name) = entry.file_name().into_string().ok().filter(|name| is_position(name)) else { continue };
        if let Some(bytes) = read(&entry.path())? {
            files.insert(format!("{prefix}{CONSUMERS}/{name}"), bytes);
        }
    }
    Ok(())
}

fn is_position(name: &str) -> bool {
    !name.starts_with('.') && name.ends_with(".json")
}

/// The sequences. Read after a commit was chosen, so that no number that the commit has is given again.
pub(crate) fn read_sequences(folder: &Path) -> Result<SmallFiles> {
    let bytes = read(&folder.join(SEQUENCES_FILE))?;
    Ok(bytes.into_iter().map(|bytes| (SEQUENCES_FILE.to_owned(), bytes)).collect())
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Gives a folder these consumers, and no others.
pub(crate) fn write_consumers(folder: &Path, files: &SmallFiles) -> Result<()> {
    write_files(folder, &read_consumers(folder)?, files)
}

/// Gives a folder these sequences, or none.
pub(crate) fn write_sequences(folder: &Path, files: &SmallFiles) -> Result<()> {
    write_files(folder, &read_sequences(folder)?, files)
}

fn write_files(folder: &Path, old: &SmallFiles, new: &SmallFiles) -> Result<()> {
    if let Some(path) = new.keys().find(|path| !is_small_file(path)) {
        return Err(Error::corrupt(format!("{path:?} is no file of sequences or of a consumer")));
    }
    for (path, bytes) in new.iter().filter(|(path, bytes)| old.get(*path) != Some(*bytes)) {
        let (parent, name) = split(folder, path);
        if let FileFolder::Local(parent) = &parent
            && parent != folder
        {
            // The folder of a table may be removed by now, with the table.
            if !parent.parent().is_some_and(Path::is_dir) {
                continue;
            }
            create_folder(parent)?;
        }
        parent.replace(name, bytes)?;
    }
    for path in old.keys().filter(|path| !new.contains_key(*path)) {
        let (parent, name) = split(folder, path);
        parent.remove(name)?;
        parent.sync()?;
    }
    Ok(())
}

/// Whether a path, which may come from a bucket, is one of a sequence file or of a consumer.
fn is_small_file(path: &str) -> bool {
    let is_table = |name: &str| name.strip_prefix("table-").is_some_and(|number| number.parse::<u64>().is_ok());
    match path.split('/').collect::<Vec<_>>()[..] {
        [SEQUENCES_FILE] => true,
        [CONSUMERS, name] => is_position(name) && !name.contains('\\'),
        [table, CONSUMERS, name] => is_table(table) && is_position(name) && !name.contains('\\'),
        _ => false,
    }
}

fn split<'p>(folder: &Path, path: &'p str) -> (FileFolder, &'p str) {
    match path.rsplit_once('/') {
        Some((parent, name)) => (FileFolder::Local(folder.join(parent)), name),
        None => (FileFolder::Local(folder.to_owned()), path),
    }
}

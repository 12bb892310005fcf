//! Recognizes folders of table formats, where the Parquet files alone do not determine the rows.
//!
//! A keyed table masks rows of its files and has others in its store; Delta Lake, Iceberg and Hudi keep a log of files and
//! deletions. Read as plain files, such a folder returns deleted rows, and lacks others. Formats are recognized by names of files
//! alone.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lath_source::is_store;

use crate::dataset::options::DatasetOptions;
use crate::error::{Error, Result};

/// The table format of a folder.
///
/// ```
/// use lath_parquet::FolderFormat;
///
/// assert_eq!(FolderFormat::at(std::env::temp_dir()), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FolderFormat {
    /// A table of Lath with a primary key.
    KeyedTable,
    /// A database of such tables.
    Database,
    /// A table of Delta Lake.
    DeltaLake,
    /// A table of Apache Iceberg.
    Iceberg,
    /// A table of Apache Hudi.
    Hudi,
}

/// Files that identify a format by their names.
const FILES: [(&str, FolderFormat); 3] = [
    ("_table.lath", FolderFormat::KeyedTable),
    // As earlier formats have it.
    ("table.lath", FolderFormat::KeyedTable),
    ("database.lath", FolderFormat::Database),
];

/// Folders that identify a format if they have a file whose name contains one text and ends with another.
const FOLDERS: [(&str, &str, &str, FolderFormat); 4] = [
    ("_delta_log", "", ".json", FolderFormat::DeltaLake),
    // When the commits before a checkpoint were removed.
    ("_delta_log", ".checkpoint.", "parquet", FolderFormat::DeltaLake),
    ("metadata", "", ".metadata.json", FolderFormat::Iceberg),
    (".hoodie", "", ".properties", FolderFormat::Hudi),
];

impl FolderFormat {
    /// The format of a folder, found by at most six system calls; `None` for a folder of plain files, and if `folder` is not a
    /// folder.
    pub fn at(folder: impl AsRef<Path>) -> Option<Self> {
        let folder = folder.as_ref();
        let file = FILES.iter().find(|(name, _)| fs::metadata(folder.join(name)).is_ok()).map(|&(_, format)| format);
        let has_file = |(name, part, end, _): &&(&str, &str, &str, Self)| has_file(&folder.join(name), part, end);
        file.or_else(|| FOLDERS.iter().find(has_file).map(|&(_, _, _, format)| format))
    }

    /// The nearest folder with a format at `folder` or above it, through the folders that these formats create: `key=value`,
    /// `data`, `_data` and `table-…`.
    pub fn enclosing(folder: &Path) -> Option<(PathBuf, Self)> {
        let mut folder = std::path::absolute(folder).ok()?;
        loop {
            if let Some(format) = Self::at(&folder) {
                return Some((folder, format));
            }
            if !folder.file_name().is_some_and(is_inner_folder) || !folder.pop() {
                return None;
            }
        }
    }

    /// The nearest folder with a format above `folder`.
    pub(in crate::dataset) fn enclosing_above(folder: &Path) -> Option<(PathBuf, Self)> {
        let mut folder = std::path::absolute(folder).ok()?;
        (folder.file_name().is_some_and(is_inner_folder) && folder.pop()).then(|| Self::enclosing(&folder)).flatten()
    }

    /// The format of a folder, identified by the name of an entry.
    pub(in crate::dataset) fn by_entry(folder: &Path, name: &OsStr) -> Option<Self> {
        let is_marked = |(marker, part, end, _): &&(&str, &str, &str, Self)| {
            name == *marker && has_file(&folder.join(marker), part, end)
        };
        if let Some(&(_, _, _, format)) = FOLDERS.iter().find(is_marked) {
            return Some(format);
        }
        FILES.iter().find(|(marker, _)| name == *marker).map(|&(_, format)| format)
    }

    /// The folder that an object identifies by its name, and the format.
    pub(in crate::dataset) fn by_object(path: &str) -> Option<(&str, Self)> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if let Some((_, format)) = FILES.iter().find(|(marker, _)| name == *marker) {
            return Some((&path[..path.len() - name.len()], *format));
        }
        let (_, parent) = folder.rsplit_once('/').unwrap_or(("", folder));
        let is_marked = |(marker, part, end, _): &&(&str, &str, &str, Self)| {
            parent == *marker && name.contains(part) && name.ends_with(end)
        };
        let (marker, _, _, format) = FOLDERS.iter().find(is_marked)?;
        Some((&folder[..folder.len() - marker.len()], *format))
    }

    /// The format that an object at this path identifies for the folder that has it at any depth.
    pub fn from_object(path: &str) -> Option<Self> {
        Self::by_object(path).map(|(_, format)| format)
    }

    /// The error for a folder whose files were to be read as plain files.
    pub(in crate::dataset) fn refuse(self, folder: &str) -> Error {
        let instead = match self {
            Self::KeyedTable => {
                "name this folder alone for the command or SQL to read the table; Rust and Python open it by Table"
            }
            Self::Database => "its tables are read with lath table … --table NAME, and with lath sql --database",
            Self::DeltaLake | Self::Iceberg => {
                "name this folder alone to read the table, by a command with the feature lake, SQL or Python; Rust opens it by \
                 lath_lake::open"
            }
            Self::Hudi => "Lath cannot read such tables yet",
        };
        let what = match self {
            Self::KeyedTable | Self::Database => {
                "its Parquet files have rows that were replaced or deleted, and lack the newest ones"
            }
            _ => "its Parquet files have rows and whole files that were replaced or deleted",
        };
        Error::invalid(format!(
            "{folder} is {self}: {what}; {instead}; to read the plain files all the same, use the option plain_files (the command's \
             --plain-files, read_parquet('…', plain_files => true) in SQL)"
        ))
    }

    /// Refuses a file or folder to be written inside a folder with a format: it would not be part of the table, which removes
    /// files that it does not know. For a URL of an object store this takes a few requests at the same time; credentials that may write and not
    /// list objects check nothing.
    ///
    /// # Errors
    /// [`Error::Invalid`]; [`Error::Io`] if a store does not answer.
    pub fn check_written(path: &Path) -> Result<()> {
        if let Some(url) = path.to_str().filter(|url| is_store(url)) {
            return Self::check_written_object(url);
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let own = Self::at(path).map(|format| (path.to_owned(), format));
        let Some((folder, format)) = own.or_else(|| Self::enclosing(parent)) else { return Ok(()) };
        Err(Error::invalid(format!(
            "{}: {} is {format}, and a file written into it would not belong to it and may be removed; write it elsewhere",
            path.display(),
            folder.display()
        )))
    }

    fn check_written_object(url: &str) -> Result<()> {
        let store = DatasetOptions::new().object_store(url)?;
        if store.is_web() {
            return Ok(());
        }
        let key = store.key().trim_end_matches('/');
        let markers = FOLDERS.iter().map(|(marker, ..)| *marker).collect::<BTreeSet<_>>();
        let below = |folder: &str| {
            let place =
                |marker: &&str| if folder.is_empty() { (*marker).to_owned() } else { format!("{folder}/{marker}") };
            markers.iter().map(place).collect::<Vec<_>>()
        };
        let mut prefixes = if key.is_empty() { Vec::new() } else { below(key) };
        let mut folder = key.rsplit_once('/').map_or("", |(folder, _)| folder);
        loop {
            prefixes.extend(below(folder));
            let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
            if folder.is_empty() || !is_inner_folder(OsStr::new(name)) {
                break;
            }
            folder = above;
        }
        match store.find(&prefixes, |key| Self::by_object(key).is_some()) {
            Ok(None) => Ok(()),
            Ok(Some(found)) => {
                let (folder, format) = Self::by_object(&found).unwrap_or((&found, Self::DeltaLake));
                let base = &url[..url.len() - store.key().len()];
                Err(Error::invalid(format!(
                    "{url}: {base}{folder} is {format}, and a file written into it would not belong to it and may be removed; write it elsewhere"
                )))
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            Err(error) => Err(Error::io("list", error).locate(|at| at.file = Some(url.into()))),
        }
    }

    /// Refuses several files of one folder with a format: this is how a shell expands a glob.
    ///
    /// # Errors
    /// [`Error::Invalid`].
    pub fn check_files<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<()> {
        let mut counts: HashMap<&Path, usize> = HashMap::new();
        for parent in files.into_iter().filter_map(Path::parent) {
            *counts.entry(parent).or_default() += 1;
        }
        if counts.values().sum::<usize>() < 2 {
            return Ok(());
        }
        let mut tables: HashMap<PathBuf, usize> = HashMap::new();
        for (parent, count) in counts {
            let Some((folder, format)) = Self::enclosing(parent) else { continue };
            let total = tables.entry(folder.clone()).or_default();
            *total += count;
            if *total > 1 {
                return Err(format.refuse(&folder.display().to_string()));
            }
        }
        Ok(())
    }
}

impl fmt::Display for FolderFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KeyedTable => "a table with a primary key",
            Self::Database => "a database of tables with primary keys",
            Self::DeltaLake => "a table of Delta Lake",
            Self::Iceberg => "a table of Apache Iceberg",
            Self::Hudi => "a table of Apache Hudi",
        })
    }
}

/// Whether a folder may be an inner folder of a table.
fn is_inner_folder(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.contains(&b'=') || name == b"data" || name == b"_data" || name.starts_with(b"table-")
}

/// Whether a folder has a file whose name contains `part` and ends with `end`.
fn has_file(folder: &Path, part: &str, end: &str) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    let is_such = |name: &OsStr| name.to_str().is_some_and(|name| name.contains(part) && name.ends_with(end));
    entries.flatten().any(|entry| is_such(&entry.file_name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_mark_the_folder_of_their_table() {
        let by_object = FolderFormat::by_object;
        assert_eq!(by_object("lake/a/_delta_log/00.json"), Some(("lake/a/", FolderFormat::DeltaLake)));
        assert_eq!(by_object("_delta_log/00.json"), Some(("", FolderFormat::DeltaLake)));
        assert_eq!(by_object("a/_delta_log/0.checkpoint.parquet"), Some(("a/", FolderFormat::DeltaLake)));
        assert_eq!(by_object("lake/metadata/v1.metadata.json"), Some(("lake/", FolderFormat::Iceberg)));
        assert_eq!(by_object("lake/.hoodie/hoodie.properties"), Some(("lake/", FolderFormat::Hudi)));
        assert_eq!(by_object("lake/t/_table.lath"), Some(("lake/t/", FolderFormat::KeyedTable)));
        assert_eq!(by_object("lake/t/table.lath"), Some(("lake/t/", FolderFormat::KeyedTable)));
        for plain in ["lake/metadata/a.json", "lake/my_delta_log/a", "lake/table.lath-log0", "a/metadata.json", "a"] {
            assert_eq!(by_object(plain), None, "{plain}");
        }
    }
}

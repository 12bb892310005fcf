//! From locations to the files that they stand for.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::address::Address;
use super::options::DatasetOptions;
use crate::error::{Error, Result};
use crate::source::Version;

/// A file that a location stands for.
#[derive(Debug)]
pub(super) struct Found {
    /// Path or URL.
    pub(super) location: Arc<str>,
    /// The path, where the location cannot say it because it is not Unicode.
    pub(super) odd_path: Option<Box<Path>>,
    /// Length in bytes, where finding the file told it.
    pub(super) len: Option<u64>,
    /// The state of the file, where finding it told it.
    pub(super) version: Option<Version>,
}

impl Found {
    fn local(path: PathBuf) -> Self {
        match path.into_os_string().into_string() {
            Ok(location) => Self { location: location.into(), odd_path: None, len: None, version: None },
            Err(path) => {
                let location = path.to_string_lossy().into();
                Self { location, odd_path: Some(PathBuf::from(path).into()), len: None, version: None }
            }
        }
    }
}

/// Adds the files that `location` stands for; at least one.
pub(super) fn expand(location: &OsStr, options: &DatasetOptions, found: &mut Vec<Found>) -> Result<()> {
    match location.to_str().and_then(|text| text.strip_prefix('@')) {
        Some(list) => expand_list(Path::new(list), options, found),
        None => expand_one(location, options, found),
    }
}

fn expand_list(path: &Path, options: &DatasetOptions, found: &mut Vec<Found>) -> Result<()> {
    let text = fs::read_to_string(path).map_err(|error| unreachable(path, error))?;
    let before = found.len();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        expand_one(OsStr::new(line), options, found)?;
    }
    if found.len() == before {
        return Err(nothing(path, "the list names no file"));
    }
    Ok(())
}

fn expand_one(location: &OsStr, options: &DatasetOptions, found: &mut Vec<Found>) -> Result<()> {
    match Address::parse(location)? {
        Address::Local(path) => expand_path(path, found),
        Address::Store(url) => expand_store(&url, options, found),
    }
}

fn expand_store(url: &str, _options: &DatasetOptions, _found: &mut Vec<Found>) -> Result<()> {
    Err(Error::unsupported("object stores: this build is without the feature object-store")
        .locate(|at| at.file = Some(url.into())))
}

fn expand_path(path: PathBuf, found: &mut Vec<Found>) -> Result<()> {
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => {
            let before = found.len();
            walk(&path, found)?;
            if found.len() == before {
                let what = "no *.parquet file in this directory or below; give a glob if the names end otherwise";
                return Err(nothing(&path, what));
            }
        }
        Ok(_) => found.push(Found::local(path)),
        Err(error) => match path.to_str() {
            Some(pattern) if pattern.contains(['*', '?', '[']) => expand_glob(pattern, found)?,
            _ => return Err(unreachable(&path, error)),
        },
    }
    Ok(())
}

fn expand_glob(pattern: &str, found: &mut Vec<Found>) -> Result<()> {
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
    let paths = glob::glob_with(pattern, options).map_err(|error| {
        Error::invalid(format!("{pattern}: not a glob: {error}; write for example 'data/**/*.parquet'"))
    })?;
    let before = found.len();
    for path in paths {
        let path = path.map_err(|error| {
            let path = error.path().to_owned();
            unreachable(&path, error.into())
        })?;
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => walk(&path, found)?,
            Ok(_) => found.push(Found::local(path)),
            Err(error) => return Err(unreachable(&path, error)),
        }
    }
    if found.len() == before {
        return Err(nothing(Path::new(pattern), "no file has such a name"));
    }
    Ok(())
}

/// Adds the Parquet files below `directory`, in the order of their names.
fn walk(directory: &Path, found: &mut Vec<Found>) -> Result<()> {
    let mut entries = fs::read_dir(directory)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(|error| unreachable(directory, error))?;
    entries.sort_by_cached_key(fs::DirEntry::file_name);
    for entry in entries {
        let file_name = entry.file_name();
        if is_passed_over(file_name.as_encoded_bytes()) {
            continue;
        }
        let path = entry.path();
        // A symbolic link to a file is followed; one to a directory is not, so that no loop can arise.
        let kind = entry.file_type().map_err(|error| unreachable(&path, error))?;
        if kind.is_dir() {
            walk(&path, found)?;
        } else if is_parquet(&file_name) && (kind.is_file() || path.is_file()) {
            found.push(Found::local(path));
        }
    }
    Ok(())
}

/// Whether a search does not look at a file or directory of this name.
pub(super) fn is_passed_over(name: &[u8]) -> bool {
    matches!(name.first(), Some(b'.' | b'_'))
}

/// Whether a search takes a file of this name for a Parquet file.
pub(super) fn is_parquet(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}

fn unreachable(path: &Path, error: io::Error) -> Error {
    Error::io("find files", error).locate(|at| at.file = Some(path.display().to_string().into()))
}

fn nothing(path: &Path, what: &str) -> Error {
    unreachable(path, io::Error::new(io::ErrorKind::NotFound, what))
}

//! Lists the files of locations.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::address::Address;
use super::folder_format::FolderFormat;
use crate::dataset::options::DatasetOptions;
use crate::error::{Error, Result};
use lath_source::{ListedObject, Store, Version};

/// A listed file.
#[derive(Debug)]
pub(in crate::dataset) struct ListedFile {
    /// Path or URL.
    pub(in crate::dataset) location: Arc<str>,
    /// The path, if it is not Unicode, so that the location cannot represent it.
    pub(in crate::dataset) odd_path: Option<Box<Path>>,
    /// Length in bytes, if known.
    pub(in crate::dataset) len: Option<u64>,
    /// The version of the file, if known.
    pub(in crate::dataset) version: Option<Version>,
    /// The store of an object.
    pub(in crate::dataset) store: Option<Store>,
}

impl ListedFile {
    fn local(path: &Path) -> Self {
        let (location, odd_path) = match path.to_str() {
            Some(location) => (location.into(), None),
            None => (path.to_string_lossy().into(), Some(path.into())),
        };
        Self { location, odd_path, len: None, version: None, store: None }
    }
}

impl ListedFile {
    fn in_store(url: &str, known: Option<(u64, Version)>, store: Store) -> Self {
        let (len, version) = known.unzip();
        Self { location: url.into(), odd_path: None, len, version, store: Some(store) }
    }
}

impl ListedFile {
    /// The file at a path or URL, which is taken literally.
    pub(in crate::dataset) fn at(location: &str, len: Option<u64>, options: &DatasetOptions) -> Result<Self> {
        match Address::parse(OsStr::new(location))? {
            Address::Local(path) => Ok(Self { len, ..Self::local(&path) }),
            Address::Store(url) => {
                let store = Store::from_url(&url, &options.store, &options.connections);
                let store = store.map_err(|error| Error::invalid(format!("{url}: {error}")))?;
                Ok(Self { len, ..Self::in_store(&url, None, store) })
            }
        }
    }

    /// A file that was listed before: an object, or a local file at `path`, else at the path `location`.
    pub(in crate::dataset) fn described(
        location: &str,
        path: Option<&str>,
        version: Version,
        options: &DatasetOptions,
    ) -> Result<Self> {
        let (len, store) = match Address::parse(OsStr::new(path.unwrap_or(location)))? {
            Address::Local(_) => (None, None),
            Address::Store(url) => {
                let store = Store::from_url(&url, &options.store, &options.connections);
                (None, Some(store.map_err(|error| Error::invalid(format!("{url}: {error}")))?))
            }
        };
        let odd_path = path.map(|path| Path::new(path).into());
        let version = store.is_some().then_some(version);
        Ok(Self { location: location.into(), odd_path, len, version, store })
    }
}

/// Adds the files of `location`; at least one.
pub(in crate::dataset) fn expand(
    location: &OsStr,
    options: &DatasetOptions,
    found: &mut Vec<ListedFile>,
) -> Result<()> {
    match location.to_str().and_then(|text| text.strip_prefix('@')) {
        Some(list) => expand_list(Path::new(list), options, found),
        None => expand_one(location, options, found),
    }
}

fn expand_list(path: &Path, options: &DatasetOptions, found: &mut Vec<ListedFile>) -> Result<()> {
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

fn expand_one(location: &OsStr, options: &DatasetOptions, found: &mut Vec<ListedFile>) -> Result<()> {
    match Address::parse(location)? {
        Address::Local(path) => expand_path(path, options, found),
        Address::Store(url) => expand_store(&url, options, found),
    }
}

/// Adds the objects of a URL: one, all below a directory, or all that match a glob.
fn expand_store(url: &str, options: &DatasetOptions, found: &mut Vec<ListedFile>) -> Result<()> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidInput => Error::invalid(format!("{url}: {error}")),
        _ => Error::io("find files", error).locate(|at| at.file = Some(url.into())),
    };
    let store = Store::from_url(url, &options.store, &options.connections).map_err(failed)?;
    let key = store.key();
    let glob_start = key.find(['*', '?', '[']);
    if store.is_web() {
        if glob_start.is_some() || key.is_empty() || key.ends_with('/') {
            let what = "a web server cannot list its files; name each file, or give their URLs in a list (@urls.txt)";
            return Err(Error::invalid(format!("{url}: {what}")));
        }
        found.push(ListedFile::in_store(url, None, store));
        return Ok(());
    }
    let below = |start: usize| key[..start].rfind('/').map_or(0, |slash| slash + 1);
    let (prefix, pattern) = match glob_start {
        Some(start) => {
            let pattern =
                glob::Pattern::new(key).map_err(|error| Error::invalid(format!("{url}: not a glob: {error}")))?;
            (&key[..below(start)], Some(pattern))
        }
        None if is_parquet(OsStr::new(key)) => {
            found.push(ListedFile::in_store(url, None, store));
            return Ok(());
        }
        None => (key, None),
    };
    // A bucket alone may lack its slash.
    let base = &*format!("{}/", url[..url.len() - key.len()].trim_end_matches('/'));
    let mut directory = prefix.trim_end_matches('/');
    let mut listed = store.list(directory).map_err(failed)?;
    let mut pattern = pattern;
    if glob_start.is_some() {
        // As for paths: what has exactly this name comes before what matches it.
        let named = key.trim_end_matches('/');
        let is_below = |object: &ListedObject| {
            object
                .url
                .strip_prefix(base)
                .and_then(|path| path.strip_prefix(named))
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if listed.iter().any(|object| object.url.strip_prefix(base) == Some(key)) {
            found.push(ListedFile::in_store(url, None, store));
            return Ok(());
        }
        if listed.iter().any(is_below) {
            listed.retain(is_below);
            (directory, pattern) = (named, None);
        }
    }
    let marked = if options.plain_files { Vec::new() } else { marked_folders(&listed, base) };
    let wanted = |object: &ListedObject| {
        let Some(path) = object.url.strip_prefix(base) else { return false };
        match &pattern {
            Some(pattern) => {
                let exactly = glob::MatchOptions {
                    require_literal_separator: true,
                    require_literal_leading_dot: true,
                    ..glob::MatchOptions::new()
                };
                pattern.matches_with(path, exactly) && !is_within_passed_over(path, pattern.as_str())
            }
            None => {
                let below = path.strip_prefix(directory).unwrap_or(path).trim_start_matches('/');
                let names = || below.split('/');
                is_parquet(OsStr::new(below)) && !names().any(|name| is_passed_over(name.as_bytes()))
            }
        }
    };
    listed.retain(wanted);
    for (folder, format) in &marked {
        if listed.iter().any(|object| object.url[base.len()..].starts_with(folder)) {
            return Err(format.refuse(&format!("{base}{folder}")));
        }
    }
    // As in a directory: sorted by the names at each level, where a slash is before any letter.
    listed.sort_by(|left, right| left.url.split('/').cmp(right.url.split('/')));
    if listed.is_empty() {
        if glob_start.is_none() && !key.is_empty() && !key.ends_with('/') {
            // Not a directory, then: an object whose name does not end in .parquet.
            found.push(ListedFile::in_store(url, None, store));
            return Ok(());
        }
        let what = match pattern {
            Some(_) => "no object has a matching name",
            None => "no *.parquet object below this; give a glob if the names end otherwise",
        };
        return Err(nothing(Path::new(url), what));
    }
    for object in listed {
        let store = store.sibling(&object.url[base.len()..]);
        found.push(ListedFile::in_store(&object.url, Some((object.len, object.version)), store));
    }
    Ok(())
}

/// The folders that objects identify as folders of table formats.
fn marked_folders(listed: &[ListedObject], base: &str) -> Vec<(String, FolderFormat)> {
    let paths = listed.iter().filter_map(|object| object.url.strip_prefix(base));
    let mut marked: Vec<_> =
        paths.filter_map(FolderFormat::by_object).map(|(folder, format)| (folder.to_owned(), format)).collect();
    marked.dedup();
    marked
}

fn expand_path(path: PathBuf, options: &DatasetOptions, found: &mut Vec<ListedFile>) -> Result<()> {
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => {
            if !options.plain_files
                && let Some((folder, format)) = FolderFormat::enclosing_above(&path)
            {
                return Err(format.refuse(&folder.display().to_string()));
            }
            let before = found.len();
            walk(&path, options, found)?;
            if found.len() == before {
                let what = "no *.parquet file in this directory or below; give a glob if the names end otherwise";
                return Err(nothing(&path, what));
            }
        }
        Ok(_) => found.push(ListedFile::local(&path)),
        Err(error) => match path.to_str() {
            Some(pattern) if pattern.contains(['*', '?', '[']) => expand_glob(pattern, options, found)?,
            _ => return Err(unreachable(&path, error)),
        },
    }
    Ok(())
}

fn expand_glob(pattern: &str, options: &DatasetOptions, found: &mut Vec<ListedFile>) -> Result<()> {
    let matching = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
    let paths = glob::glob_with(pattern, matching).map_err(|error| {
        Error::invalid(format!("{pattern}: not a glob: {error}; write for example 'data/**/*.parquet'"))
    })?;
    let before = found.len();
    // Folders that matched before, and that are known to be plain.
    let mut plain: HashSet<PathBuf> = HashSet::new();
    for path in paths {
        let path = path.map_err(|error| {
            let path = error.path().to_owned();
            unreachable(&path, error.into())
        })?;
        if path.to_str().is_some_and(|path| is_within_passed_over(path, pattern)) {
            continue;
        }
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                // A folder that the glob matches is listed like a given folder, except folders of other programs.
                if !path.to_str().is_some_and(|path| is_within_passed_over(&format!("{path}/"), pattern)) {
                    walk(&path, options, found)?;
                }
            }
            Ok(_) => {
                if !options.plain_files
                    && let Some(parent) = path.parent().filter(|&parent| !plain.contains(parent))
                {
                    if let Some((folder, format)) = FolderFormat::enclosing(parent) {
                        return Err(format.refuse(&folder.display().to_string()));
                    }
                    plain.insert(parent.to_owned());
                }
                found.push(ListedFile::local(&path));
            }
            Err(error) => return Err(unreachable(&path, error)),
        }
    }
    if found.len() == before {
        // The files of a table with a primary key end otherwise.
        if !options.plain_files
            && let Some((folder, format)) = Path::new(pattern).parent().and_then(FolderFormat::enclosing)
        {
            return Err(format.refuse(&folder.display().to_string()));
        }
        return Err(nothing(Path::new(pattern), "no file has a matching name"));
    }
    Ok(())
}

/// The folder with the files of a table with a primary key, within the table's.
const TABLE_FILES: &str = "_data";

/// Adds the Parquet files below `directory`, in the order of their names.
fn walk(directory: &Path, options: &DatasetOptions, found: &mut Vec<ListedFile>) -> Result<()> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| unreachable(directory, error))? {
        let entry = entry.map_err(|error| unreachable(directory, error))?;
        let name = entry.file_name();
        if !options.plain_files
            && let Some(format) = FolderFormat::by_entry(directory, &name)
        {
            return Err(format.refuse(&directory.display().to_string()));
        }
        let has_table_files = options.plain_files && name == TABLE_FILES;
        if has_table_files || !is_passed_over(name.as_encoded_bytes()) {
            // The entry itself would hold more memory, and is dropped.
            let kind = entry.file_type().map_err(|error| unreachable(&entry.path(), error))?;
            entries.push((name, kind));
        }
    }
    entries.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    let mut path = directory.to_path_buf();
    for (name, kind) in entries {
        path.push(&name);
        // A symbolic link to a file is followed; one to a directory is not, so that no loop can arise.
        if kind.is_dir() {
            walk(&path, options, found)?;
        } else if (is_parquet(&name) || is_table_file(&path)) && (kind.is_file() || path.is_file()) {
            found.push(ListedFile::local(&path));
        }
        path.pop();
    }
    Ok(())
}

/// Whether this is a file of a table with a primary key, which the option for plain files reads.
fn is_table_file(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    folder.is_some_and(|folder| folder == TABLE_FILES) && path.extension().is_some_and(|extension| extension == "pq")
}

/// Whether a search skips files or directories of this name. `_key=value` is a partition.
pub(in crate::dataset) fn is_passed_over(name: &[u8]) -> bool {
    match name.first() {
        Some(b'.') => true,
        Some(b'_') => !name.contains(&b'='),
        _ => false,
    }
}

/// Whether a path lies in a folder that a search skips, unless its glob names that folder.
fn is_within_passed_over(path: &str, pattern: &str) -> bool {
    let is_named = |name: &str| {
        let begins_alike = |part: &&str| part.as_bytes().first() == name.as_bytes().first();
        let fits = |part: &str| glob::Pattern::new(part).is_ok_and(|part| part.matches(name));
        pattern.split('/').filter(begins_alike).any(fits)
    };
    let folders = path.split('/').rev().skip(1);
    folders.filter(|name| !matches!(*name, "." | "..")).any(|name| is_passed_over(name.as_bytes()) && !is_named(name))
}

/// Whether a search includes a file of this name as a Parquet file.
pub(in crate::dataset) fn is_parquet(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
}

fn unreachable(path: &Path, error: io::Error) -> Error {
    Error::io("find files", error).locate(|at| at.file = Some(path.display().to_string().into()))
}

fn nothing(path: &Path, what: &str) -> Error {
    unreachable(path, io::Error::new(io::ErrorKind::NotFound, what))
}

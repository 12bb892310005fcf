//! The folder of a table: local, or below a prefix of an object store.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bytes::Bytes;
use lath_parquet::{DatasetFile, DatasetOptions, Error, FileVersion, FolderFormat, Result};
use lath_source::{ByteRanges, LocalFile, Store, split_scheme};

/// Most requests for small files of a log that are in flight at the same time.
const PARALLEL_READS: usize = 16;

/// The folder of a table.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    place: Place,
    options: DatasetOptions,
}

#[derive(Debug, Clone)]
enum Place {
    Local(PathBuf),
    Store {
        store: Store,
        /// Scheme and bucket, with a slash.
        base: String,
        /// The prefix of the table's objects, without a slash at its end.
        prefix: String,
    },
}

/// A file in the listing of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Time of the last change in microseconds since 1970, if it came with the listing.
    pub(crate) modified: Option<i64>,
}

/// The format of a folder.
pub(crate) struct FoundFormat {
    pub(crate) format: FolderFormat,
    /// The files in the folder of its metadata, if the format was found by them.
    pub(crate) listed: Option<Vec<Entry>>,
}

impl Folder {
    /// The folder at a path or URL. Nothing is read.
    pub(crate) fn open(location: &str, options: &DatasetOptions) -> Result<Self> {
        let place = match split_scheme(location) {
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("file") => Place::Local(local_path(location)?),
            Some(_) => {
                let store = options.object_store(location)?;
                let key = store.key().to_owned();
                let base = location[..location.len() - key.len()].to_owned();
                let base = if base.ends_with('/') { base } else { format!("{base}/") };
                Place::Store { store, base, prefix: key.trim_end_matches('/').to_owned() }
            }
            None => Place::Local(PathBuf::from(location)),
        };
        Ok(Self { place, options: options.clone() })
    }

    /// The table format of the folder; `None` for plain files.
    pub(crate) fn format(&self) -> Result<Option<FoundFormat>> {
        let Place::Store { store, .. } = &self.place else {
            let format = self.local().and_then(FolderFormat::at);
            return Ok(format.map(|format| FoundFormat { format, listed: None }));
        };
        if store.key().contains(['*', '?', '[']) || store.key().ends_with(".parquet") {
            return Ok(None);
        }
        for folder in ["_delta_log", "metadata"] {
            let marks = |entry: &Entry| FolderFormat::from_object(&format!("{folder}/{}", entry.name));
            let listed = self.list(folder)?;
            if let Some(format) = listed.iter().find_map(marks) {
                return Ok(Some(FoundFormat { format, listed: Some(listed) }));
            }
        }
        Ok(None)
    }

    /// The path of a local folder.
    pub(crate) fn local(&self) -> Option<&Path> {
        match &self.place {
            Place::Local(path) => Some(path),
            Place::Store { .. } => None,
        }
    }

    /// The options for files.
    pub(crate) fn options(&self) -> &DatasetOptions {
        &self.options
    }

    /// The path or URL of the folder, or of a file or folder in it, which is named literally.
    pub(crate) fn location(&self, below: &str) -> Result<String> {
        match &self.place {
            Place::Local(folder) => {
                let path = if below.is_empty() { folder.clone() } else { folder.join(below) };
                let text = path.to_str().ok_or_else(|| {
                    Error::invalid(format!("{}: the path of a table has to be Unicode", path.display()))
                })?;
                Ok(text.to_owned())
            }
            Place::Store { base, prefix, .. } if prefix.is_empty() || below.is_empty() => {
                Ok(format!("{base}{prefix}{below}"))
            }
            Place::Store { base, prefix, .. } => Ok(format!("{base}{prefix}/{below}")),
        }
    }

    /// The files in a folder below this one, in the order of their names; none if it does not exist.
    pub(crate) fn list(&self, below: &str) -> Result<Vec<Entry>> {
        self.list_after(below, None)
    }

    /// As [`Folder::list`], without the names up to `after`.
    pub(crate) fn list_after(&self, below: &str, after: Option<&str>) -> Result<Vec<Entry>> {
        let place = self.location(below)?;
        let failed = |error| Error::io("list", error).locate(|at| at.file = Some(place.as_str().into()));
        let mut entries = match &self.place {
            Place::Local(_) => local_entries(Path::new(&place), after).map_err(failed)?,
            Place::Store { store, base, .. } => {
                let key = &place[base.len()..];
                let after = after.map(|name| format!("{key}/{name}"));
                let listed = store.list_after(key, after.as_deref()).map_err(failed)?;
                let entry = |object: &lath_source::ListedObject| {
                    let name = object.url.strip_prefix(place.as_str())?.strip_prefix('/')?;
                    let entry = Entry { name: name.to_owned(), modified: Some(object.modified_micros) };
                    (!name.contains('/')).then_some(entry)
                };
                listed.iter().filter_map(entry).collect()
            }
        };
        entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }

    /// The time of the last change of a listed file, in microseconds since 1970.
    pub(crate) fn modified(&self, below: &str, entry: &Entry) -> Result<i64> {
        if let Some(modified) = entry.modified {
            return Ok(modified);
        }
        let location = self.location(&format!("{below}/{}", entry.name))?;
        let modified = fs::metadata(&location).and_then(|metadata| metadata.modified());
        let since = |time: std::time::SystemTime| {
            let micros = |duration: std::time::Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
            match time.duration_since(std::time::UNIX_EPOCH) {
                Ok(after) => micros(after),
                Err(before) => -micros(before.duration()),
            }
        };
        modified.map(since).map_err(|error| Error::io("look at", error).locate(|at| at.file = Some(location.into())))
    }

    /// The state of a file below the folder; `None` if it does not exist.
    pub(crate) fn version(&self, below: &str) -> Result<Option<FileVersion>> {
        let options = Arc::new(self.options.clone());
        DatasetFile::at(&self.location(below)?, None, [], &options)?.current_version()
    }

    /// The bytes of the file at a path or URL; `None` if it does not exist.
    pub(crate) fn read_if_present(&self, location: &str) -> Result<Option<Bytes>> {
        match self.read(location) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The bytes of the file at a path or URL.
    pub(crate) fn read(&self, location: &str) -> Result<Bytes> {
        let source = self.source(location)?;
        source.read(0..source.len()).map_err(|error| read_failure(location, error))
    }

    /// The bytes of several files. Objects of a store are requested at the same time.
    pub(crate) fn read_all(&self, locations: &[String]) -> Result<Vec<Bytes>> {
        if self.local().is_some() || locations.len() < 2 {
            return locations.iter().map(|location| self.read(location)).collect();
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let mut read = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(location) = locations.get(index) else { return read };
                read.push((index, self.read(location)));
            }
        };
        let mut read: Vec<(usize, Result<Bytes>)> = thread::scope(|scope| {
            let threads: Vec<_> = (0..PARALLEL_READS.min(locations.len())).map(|_| scope.spawn(work)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
        });
        read.sort_unstable_by_key(|(index, _)| *index);
        if read.len() != locations.len() {
            return Err(Error::internal("a thread that reads a log ended early"));
        }
        read.into_iter().map(|(_, bytes)| bytes).collect()
    }

    /// The bytes of the file at a path or URL, to be read in part.
    pub(crate) fn source(&self, location: &str) -> Result<Arc<dyn ByteRanges>> {
        let failed = |error| Error::io("open", error).locate(|at| at.file = Some(location.into()));
        match split_scheme(location) {
            None => Ok(Arc::new(LocalFile::open(location).map_err(failed)?)),
            Some(_) => {
                let store = match &self.place {
                    // Access may be granted to a part of a bucket.
                    Place::Store { store, base, .. }
                        if location.starts_with(base.as_str()) && !self.options.has_granted_access() =>
                    {
                        store.sibling(&location[base.len()..])
                    }
                    _ => self.options.object_store(location)?,
                };
                let (object, _) = store.open(None).map_err(failed)?;
                Ok(Arc::new(object))
            }
        }
    }
}

/// Whether a location may be a folder: a path, or a URL of a file or of a store that can list its objects.
pub(crate) fn may_be_folder(location: &str) -> bool {
    const SCHEMES: [&str; 9] = ["file", "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"];
    split_scheme(location).is_none_or(|(scheme, _)| SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)))
}

/// The error of reading the file at `location`.
pub(crate) fn read_failure(location: &str, error: io::Error) -> Error {
    Error::io("read", error).locate(|at| at.file = Some(location.into()))
}

fn local_entries(folder: &Path, after: Option<&str>) -> io::Result<Vec<Entry>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        // Files of the formats have Unicode names.
        if let Ok(name) = entry.file_name().into_string()
            && after.is_none_or(|after| name.as_str() > after)
            && !entry.file_type()?.is_dir()
        {
            found.push(Entry { name, modified: None });
        }
    }
    Ok(found)
}

/// The path of a `file:` URL.
pub(crate) fn local_path(url: &str) -> Result<PathBuf> {
    let rest = url.split_once(':').map_or(url, |(_, rest)| rest);
    let path = rest.strip_prefix("//").map_or(rest, |rest| rest.strip_prefix("localhost").unwrap_or(rest));
    if path.starts_with('/') {
        return percent_decoded(path).map(PathBuf::from);
    }
    Err(Error::invalid(format!("{url}: write a file's URL with three slashes: file:///data/table")))
}

/// Replaces `%41` and the like by the bytes they stand for.
pub(crate) fn percent_decoded(text: &str) -> Result<String> {
    lath_source::percent_decoded(text)
        .map(Cow::into_owned)
        .ok_or_else(|| Error::corrupt(format!("the path {text} is not Unicode once it is decoded")))
}

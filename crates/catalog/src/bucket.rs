//! Catalogs that are objects in a bucket.
//!
//! | use | what happens |
//! | --- | --- |
//! | reading | a request finds the object's version; unless the cache has this version, the object is copied there |
//! | a change | is made in a private copy, which then replaces the object if that still has the version of the copy |
//!
//! The object is written by one request, because stores compare versions in single requests only.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use std::{env, process};

use lath_parquet::DatasetOptions;
use lath_source::{ByteRanges, Replaces, Store, Version, is_store};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};

/// The largest catalog that is written to a bucket: it is in memory meanwhile.
const MAX_BYTES: u64 = 1 << 30;

/// The object is read in ranges of this many bytes.
const RANGE_BYTES: u64 = 8 << 20;

/// The maximum time of the request that writes a catalog.
const WRITE_TIMEOUT: Duration = Duration::from_secs(600);

/// Unfinished copies of killed processes are removed from the cache after this time.
const UNFINISHED_AGE: Duration = Duration::from_secs(86_400);

/// The object of a catalog, and the version that the local copy has.
#[derive(Debug)]
pub(crate) struct BucketObject {
    url: String,
    store: Store,
    /// `None` before there is an object.
    version: Mutex<Option<Version>>,
    /// The private copy of a catalog that is changed.
    copy: Option<TempDir>,
}

/// The text of `path` if it is the URL of an object.
pub(crate) fn bucket_url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_store(text))
}

impl BucketObject {
    /// Finds the newest version of the object and a local copy of it, which is not to be changed.
    pub(crate) fn cached(url: &str) -> Result<(Self, PathBuf)> {
        let store = DatasetOptions::new().object_store(url)?;
        let version = current_version(&store, url)?.ok_or_else(|| Error::NoCatalog { path: url.into() })?;
        let path = cached_copy(&store, url, &version)?;
        Ok((Self { url: url.to_owned(), store, version: Mutex::new(Some(version)), copy: None }, path))
    }

    /// As [`cached`](Self::cached), with a copy that may be changed. If there is no object, nothing is at the path, or it is an error.
    pub(crate) fn private(url: &str, creates: bool) -> Result<(Self, PathBuf)> {
        let store = DatasetOptions::new().request_timeout(WRITE_TIMEOUT).object_store(url)?;
        if store.is_web() {
            return Err(Error::invalid(format!("{url}: catalogs are not written to web servers")));
        }
        let version = current_version(&store, url)?;
        let folder = TempDir::new().map_err(|error| failed(url, "make a local copy", error))?;
        let path = folder.path().join("catalog");
        match &version {
            Some(version) => {
                let cached = cached_copy(&store, url, version)?;
                fs::copy(cached, &path).map_err(|error| failed(url, "make a local copy", error))?;
            }
            None if creates => {}
            None => return Err(Error::NoCatalog { path: url.into() }),
        }
        Ok((Self { url: url.to_owned(), store, version: Mutex::new(version), copy: Some(folder) }, path))
    }

    /// Replaces the object by the last commit of `catalog`, if the object has not changed.
    pub(crate) fn publish(&self, catalog: &lath_store::Store) -> Result<()> {
        let Some(folder) = &self.copy else { return Ok(()) };
        let mut version = self.version();
        let path = folder.path().join("published");
        catalog.snapshot()?.backup(&path)?;
        let read = fs::metadata(&path).and_then(|file| match file.len() {
            0..=MAX_BYTES => fs::read(&path),
            len => Err(io::Error::new(
                ErrorKind::FileTooLarge,
                format!("the catalog has {len} bytes, and one in a bucket has at most {MAX_BYTES}"),
            )),
        });
        let bytes = read.and_then(|bytes| fs::remove_file(&path).map(|()| bytes));
        let bytes = bytes.map_err(|error| failed(&self.url, "write the catalog", error))?;
        let replaces = version.clone().map_or(Replaces::None, Replaces::Version);
        match self.store.put(bytes, replaces) {
            Ok(written) => {
                *version = Some(written);
                Ok(())
            }
            Err(error) => {
                // Stores report a lost race in several ways.
                let has_changed = error.kind() == ErrorKind::AlreadyExists
                    || current_version(&self.store, &self.url).is_ok_and(|now| now != *version);
                Err(match has_changed {
                    true => Error::Changed { url: self.url.clone() },
                    false => failed(&self.url, "write the catalog", error),
                })
            }
        }
    }

    fn version(&self) -> MutexGuard<'_, Option<Version>> {
        self.version.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn current_version(store: &Store, url: &str) -> Result<Option<Version>> {
    match store.version() {
        Ok(version) => Ok(Some(version)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(url, "find the catalog", error)),
    }
}

/// The path of a copy of the object in the cache.
fn cached_copy(store: &Store, url: &str, version: &Version) -> Result<PathBuf> {
    let folder = cache_folder();
    let prefix = format!("{:016x}-", xxh3_64(url.as_bytes()));
    let name = format!("{prefix}{:016x}", xxh3_64(format!("{version:?}").as_bytes()));
    let path = folder.join(&name);
    if path.is_file() {
        return Ok(path);
    }
    let unfinished = folder.join(format!("{name}.{}.partial", process::id()));
    let copied = create_folder(&folder).and_then(|()| copy_object(store, version, &unfinished));
    let copied = copied.and_then(|()| fs::rename(&unfinished, &path));
    if let Err(error) = copied {
        // If this fails, a later copy removes the file.
        let _ = fs::remove_file(&unfinished);
        return Err(failed(url, "copy the catalog", error));
    }
    remove_older(&folder, &prefix, &name);
    Ok(path)
}

fn copy_object(store: &Store, version: &Version, target: &Path) -> io::Result<()> {
    let object = store.open_unread(version)?;
    let len = ByteRanges::len(&object);
    let mut file = File::create(target)?;
    let mut at = 0;
    while at < len {
        let end = len.min(at + RANGE_BYTES);
        file.write_all(&object.read(at..end)?)?;
        at = end;
    }
    file.sync_all()
}

/// Removes copies of other versions of the object. Processes that read them keep them open.
fn remove_older(folder: &Path, prefix: &str, newest: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(prefix) && !name.starts_with(newest)) else {
            continue;
        };
        let is_old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            let age = modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
            age.is_some_and(|age| age > UNFINISHED_AGE)
        };
        if !name.ends_with(".partial") || is_old() {
            // Another process may have removed it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The folder of copies, in the user's cache.
fn cache_folder() -> PathBuf {
    let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
    };
    cache.unwrap_or_else(env::temp_dir).join("lath").join("catalogs")
}

/// Creates a folder that only the user can read.
fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn failed(url: &str, op: &'static str, error: io::Error) -> Error {
    let located = lath_parquet::Error::io(op, error).locate(|at| at.file = Some(url.into()));
    located.into()
}

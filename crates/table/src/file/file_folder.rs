//! A folder of files, on a local disk or in a bucket.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lath_parquet::DatasetOptions;
use lath_source::{ByteRanges, Replaces, Store, Version, is_store};

use super::folder::{create_folder, file_names, sync_folder};
use crate::error::{Error, Result};

/// A folder of files. Names are relative to it.
#[derive(Debug, Clone)]
pub(crate) enum FileFolder {
    Local(PathBuf),
    /// Objects below a URL, which has no slash at its end. `store` has the URL as its key.
    Bucket {
        url: String,
        store: Store,
    },
}

/// A file that was found in a folder.
#[derive(Debug)]
pub(crate) struct FoundFile {
    pub(crate) name: String,
    /// Known for objects, whose listing has it.
    modified: Option<SystemTime>,
}

impl FileFolder {
    /// The objects below a URL. No request is sent.
    pub(crate) fn in_bucket(url: &str, options: &DatasetOptions) -> Result<Self> {
        let invalid = |why: &str| Error::place(format!("{url} cannot have the files of a table: {why}"));
        let Some((scheme, below)) = url.split_once("://").filter(|_| is_store(url)) else {
            return Err(invalid("it is not a URL such as s3://bucket/prefix"));
        };
        let below = below.trim_end_matches('/');
        if below.split('/').any(str::is_empty) {
            return Err(invalid("a part of the path is empty"));
        }
        if below.contains(['*', '?', '[', '%', '#', '\\']) || below.contains(char::is_control) {
            return Err(invalid("its path has a character that programs treat as a pattern or an escape"));
        }
        let url = format!("{}://{below}", scheme.to_ascii_lowercase());
        let store = options.object_store(&url)?;
        if store.is_web() {
            return Err(Error::place(format!("{url} cannot have the files of a table: a web server takes no files")));
        }
        Ok(Self::Bucket { url, store })
    }

    pub(crate) fn is_in_bucket(&self) -> bool {
        matches!(self, Self::Bucket { .. })
    }

    /// The folder with this name in it.
    pub(crate) fn below(&self, name: &str) -> Self {
        match self {
            Self::Local(folder) => Self::Local(folder.join(name)),
            Self::Bucket { url, store } => {
                Self::Bucket { url: format!("{url}/{name}"), store: store.sibling(&key(store, name)) }
            }
        }
    }

    /// The path or URL of a file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Local(folder) => folder.join(name),
            Self::Bucket { url, .. } => format!("{url}/{name}").into(),
        }
    }

    /// The path or URL of the folder.
    pub(crate) fn location(&self) -> &Path {
        match self {
            Self::Local(folder) => folder,
            Self::Bucket { url, .. } => Path::new(url),
        }
    }

    /// Creates the folder if it does not exist, and makes its name durable.
    pub(crate) fn create(&self) -> Result<()> {
        match self {
            Self::Local(folder) if !folder.is_dir() => create_folder(folder),
            _ => Ok(()),
        }
    }

    /// The names of the files that are UTF-8; none if the folder does not exist.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        Ok(self.files()?.into_iter().map(|file| file.name).collect())
    }

    /// The files whose names are UTF-8; none if the folder does not exist.
    pub(crate) fn files(&self) -> Result<Vec<FoundFile>> {
        let (url, store) = match self {
            Self::Local(folder) => {
                let names = file_names(folder)?.into_iter();
                return Ok(names.map(|name| FoundFile { name, modified: None }).collect());
            }
            Self::Bucket { url, store } => (url, store),
        };
        let listed = store.list(store.key()).map_err(Error::io("list", Path::new(url)))?;
        let below = |object: lath_source::ListedObject| {
            let name = object.url.strip_prefix(url.as_str())?.strip_prefix('/')?;
            let modified = Duration::from_micros(u64::try_from(object.modified_micros).unwrap_or(0));
            let modified = Some(SystemTime::UNIX_EPOCH + modified);
            (!name.contains('/')).then(|| FoundFile { name: name.to_owned(), modified })
        };
        Ok(listed.into_iter().filter_map(below).collect())
    }

    /// The names of all objects below the URL, also in folders below it.
    pub(crate) fn object_names(&self) -> Result<Vec<String>> {
        let Self::Bucket { url, store } = self else { return self.names() };
        let listed = store.list(store.key()).map_err(Error::io("list", Path::new(url)))?;
        let below = |object: lath_source::ListedObject| {
            object.url.strip_prefix(url.as_str())?.strip_prefix('/').map(ToOwned::to_owned)
        };
        Ok(listed.into_iter().filter_map(below).collect())
    }

    /// The time at which a file was written.
    pub(crate) fn modified(&self, file: &FoundFile) -> Option<SystemTime> {
        file.modified.or_else(|| fs::metadata(self.path(&file.name)).and_then(|metadata| metadata.modified()).ok())
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>> {
        match self {
            Self::Local(_) => {
                let path = self.path(name);
                fs::read(&path).map_err(Error::io("read", &path))
            }
            Self::Bucket { .. } => Ok(self.read_object(name)?.0),
        }
    }

    /// The bytes of an object, and its version.
    pub(super) fn read_object(&self, name: &str) -> Result<(Vec<u8>, Version)> {
        let path = self.path(name);
        let read = || -> io::Result<_> {
            let (object, version) = self.object(name)?.open(None)?;
            Ok((ByteRanges::read(&object, 0..ByteRanges::len(&object))?.to_vec(), version))
        };
        read().map_err(Error::io("read", &path))
    }

    /// Writes a file that nothing names yet. The name of a local one becomes durable with [`sync`](Self::sync).
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if self.is_in_bucket() {
            return self.put(name, bytes, Replaces::Any);
        }
        let path = self.path(name);
        let write = || {
            let mut file = fs::File::create(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(Error::io("write", &path))
    }

    /// Writes a file that appears whole and durable; `false` if there is one with this name, which stays.
    pub(crate) fn write_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        if self.is_in_bucket() {
            return match self.put(name, bytes, Replaces::None) {
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => Ok(false),
                written => written.map(|()| true),
            };
        }
        let partial = partial_name(name);
        self.write(&partial, bytes)?;
        let (from, to) = (self.path(&partial), self.path(name));
        // A link replaces no file, unlike a rename.
        let is_new = match fs::hard_link(&from, &to) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            // The file system has no links.
            Err(_) if to.exists() => false,
            Err(_) => fs::rename(&from, &to).map(|()| true).map_err(Error::io("write", &to))?,
        };
        self.remove(&partial)?;
        if is_new {
            self.sync()?;
        }
        Ok(is_new)
    }

    /// Writes a file that replaces the one with its name whole, durably.
    pub(crate) fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        if self.is_in_bucket() {
            return self.put(name, bytes, Replaces::Any);
        }
        let partial = partial_name(name);
        self.write(&partial, bytes)?;
        self.rename(&partial, name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let to = self.path(to);
        fs::rename(self.path(from), &to).map_err(Error::io("write", &to))?;
        self.sync()
    }

    /// Writes an object.
    pub(crate) fn put(&self, name: &str, bytes: &[u8], replaces: Replaces) -> Result<()> {
        let path = self.path(name);
        let put = || {
            let mut upload = self.object(name)?.upload(replaces)?;
            upload.write_all(bytes)?;
            upload.commit().map(drop)
        };
        put().map_err(Error::io("write", &path))
    }

    /// Makes the names in the folder durable.
    pub(crate) fn sync(&self) -> Result<()> {
        match self {
            Self::Local(folder) => sync_folder(folder),
            Self::Bucket { .. } => Ok(()),
        }
    }

    /// Removes a file. It is no error if there is none.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        let removed = match self {
            Self::Local(_) => fs::remove_file(&path),
            Self::Bucket { .. } => self.object(name).and_then(|object| object.delete_any()),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// Removes the folder if it is empty.
    pub(crate) fn remove_empty(&self) -> Result<()> {
        let Self::Local(folder) = self else { return Ok(()) };
        match fs::remove_dir(folder) {
            Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
                Err(Error::io("remove", folder)(error))
            }
            _ => Ok(()),
        }
    }

    /// An object of a bucket.
    pub(crate) fn object(&self, name: &str) -> io::Result<Store> {
        match self {
            Self::Bucket { store, .. } => Ok(store.sibling(&key(store, name))),
            Self::Local(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "a local folder has no objects")),
        }
    }
}

/// Whether a file was being written when its writer ended.
pub(crate) fn is_partial_name(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".partial")
}

/// The name under which a file is written before it replaces another.
fn partial_name(name: &str) -> String {
    format!(".{name}.partial")
}

fn key(store: &Store, name: &str) -> String {
    match store.key() {
        "" => name.to_owned(),
        key => format!("{key}/{name}"),
    }
}

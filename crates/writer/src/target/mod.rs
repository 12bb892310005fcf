//! Files and objects that appear whole or not at all.

mod files;
mod folder;
mod local_files;
mod objects;
mod parallel;
mod sent_files;
mod temporary;
#[cfg(test)]
mod tests;
mod uncommitted;
mod written_objects;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lath_parquet::{DatasetOptions, Error, Result};
use lath_source::{Replaces, Store, Upload, Version, is_store};

pub use files::AtomicFiles;
pub use sent_files::{SentFile, SentFiles, SentObject, abort_unfinished};
pub use uncommitted::{UncommittedFiles, UncommittedWork};

use self::files::Place;
use self::folder::Folder;
use self::objects::HeldUploads;
use self::uncommitted::{BegunOutput, Entry};

/// The failure after which everything has its name, but may not be durable.
const UNSYNCED: &str =
    "write the folder to the disk (the output is complete and in place, but a power failure may undo that)";

/// A file under construction: bytes go to a temporary file in the same folder, which replaces the target in
/// [`commit`](Self::commit). Dropping it before removes the temporary file and leaves the target unchanged.
///
/// A target that exists but is not a regular file (a device, a pipe) is written to directly.
///
/// The temporary file is called `.NAME.lath-0.partial`, or has another number. The next process that creates the same file
/// removes leftovers of killed processes with such names.
///
/// The URL of an object (`s3://bucket/key`, `gs:`, `az:`, `abfss:`) is a target, too. The object is sent while it is written, and is
/// visible once it is committed. A killed process leaves parts that are not visible; a rule of the bucket can delete them after some days.
#[derive(Debug)]
pub struct AtomicFile {
    sink: Sink,
    name: Arc<str>,
}

#[derive(Debug)]
enum Sink {
    /// A device or pipe.
    Direct(File),
    // The name comes first, so that it is removed while the file is locked.
    Local {
        pending: Pending,
        file: File,
    },
    Object {
        entry: Entry,
        upload: Upload,
    },
    /// One of several objects that become visible together.
    Held {
        entry: Entry,
        upload: Upload,
        store: Store,
        held: HeldUploads,
    },
}

/// A file that still has its temporary name.
#[derive(Debug)]
struct Pending {
    entry: Entry,
    path: PathBuf,
    folder: Folder,
}

impl AtomicFile {
    /// Creates the temporary file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be created, or its folder cannot be opened.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Self::create_with(path, &UncommittedFiles::new())
    }

    /// As [`create`](Self::create), registered in a list, which can remove all files that are not committed.
    ///
    /// # Errors
    /// As [`create`](Self::create), and [`Error::Cancelled`] if the list was abandoned.
    pub fn create_with(path: impl AsRef<Path>, uncommitted: &UncommittedFiles) -> Result<Self> {
        Self::create_replacing(path.as_ref(), Replaces::Any, uncommitted)
    }

    /// As [`create_with`](Self::create_with), for a file that does not exist. An object that comes while this one is written is not
    /// replaced either, as far as its store can compare; a local file is.
    ///
    /// # Errors
    /// As [`create_with`](Self::create_with), and [`Error::Io`] ([`io::ErrorKind::AlreadyExists`]) if it exists.
    pub fn create_new_with(path: impl AsRef<Path>, uncommitted: &UncommittedFiles) -> Result<Self> {
        Self::create_replacing(path.as_ref(), Replaces::None, uncommitted)
    }

    /// As [`create_with`](Self::create_with), for an object that replaces the one with `version`. If the object has another version, nothing is
    /// written. Stores compare and replace in one step up to 8 MiB; for larger objects the writer looks before it begins and before it ends.
    ///
    /// # Errors
    /// As [`create_with`](Self::create_with), and [`Error::Io`] if the object has another version, or there is none;
    /// [`Error::Invalid`] for a local file.
    pub fn replace_version(path: impl AsRef<Path>, version: &Version, uncommitted: &UncommittedFiles) -> Result<Self> {
        let path = path.as_ref();
        if store_url(path).is_none() {
            return Err(Error::invalid(format!("{}: versions are compared for objects only", path.display())));
        }
        Self::create_replacing(path, Replaces::Version(version.clone()), uncommitted)
    }

    fn create_replacing(path: &Path, replaces: Replaces, uncommitted: &UncommittedFiles) -> Result<Self> {
        let name: Arc<str> = path.display().to_string().into();
        let failed = |op| {
            let name = &name;
            move |error| located(Error::io(op, error), name)
        };
        if let Some(url) = store_url(path) {
            let store = DatasetOptions::new().object_store(url)?;
            let (entry, upload) = uncommitted.begin(|| {
                let upload = store.upload(replaces).map_err(failed("create"))?;
                Ok((BegunOutput::Object(upload.abort_handle()), upload))
            })?;
            return Ok(Self { sink: Sink::Object { entry, upload }, name });
        }
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|existing| !existing.is_file() && !existing.is_dir()) {
            let file = OpenOptions::new().write(true).open(path).map_err(failed("create"))?;
            return Ok(Self { sink: Sink::Direct(file), name });
        }
        if replaces == Replaces::None && existing.is_some() {
            return Err(failed("create")(io::Error::from(io::ErrorKind::AlreadyExists)));
        }
        // Through a symbolic link its target is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if path.file_name().is_none() || path.is_dir() {
            return Err(failed("create")(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let folder = Folder::of(&path).map_err(failed("open its folder"))?;
        let (entry, file) = uncommitted.begin(|| {
            let (file, temporary) = temporary::create_file(&path, &folder).map_err(failed("create"))?;
            Ok((BegunOutput::Local { temporary, made: Vec::new() }, file))
        })?;
        // Dropping it on an error removes the file again.
        let pending = Pending { entry, path, folder };
        if let Some(existing) = existing {
            file.set_permissions(existing.permissions()).map_err(failed("create"))?;
        }
        Ok(Self { sink: Sink::Local { pending, file }, name })
    }

    /// Syncs the file, renames it to its name, and syncs the folder: after a crash, the target is either the old or the new file.
    /// An object is sent to its end, and becomes visible.
    ///
    /// # Errors
    /// [`Error::Io`]; the target is unchanged, unless syncing its folder failed. [`Error::Cancelled`] if it was abandoned.
    pub fn commit(self) -> Result<()> {
        self.commit_version().map(drop)
    }

    /// As [`commit`](Self::commit), and returns the version of the object; `None` for a file, and for one of several objects, which is not visible yet.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_version(self) -> Result<Option<Version>> {
        let Self { sink, name } = self;
        let failed = |op| {
            let name = &name;
            move |error| located(Error::io(op, error), name)
        };
        match sink {
            Sink::Direct(mut file) => file.flush().map_err(failed("write"))?,
            Sink::Local { pending: Pending { entry, path, folder }, file } => {
                file.sync_all().map_err(failed("write to the disk"))?;
                entry.commit(|temporary| {
                    // Another host that does not see the lock may have removed the file, and given its name to another one.
                    if !temporary.is_there() {
                        let gone = io::Error::new(io::ErrorKind::NotFound, "another process has removed it");
                        return Err(failed("rename the temporary file")(gone));
                    }
                    fs::rename(&temporary.path, &path).map_err(failed("rename the temporary file"))
                })?;
                folder.sync().map_err(failed(UNSYNCED))?;
            }
            Sink::Object { entry, upload } => {
                let committed = entry.commit_object(|| upload.commit().map_err(|error| failed_upload(error, &name)));
                return committed.map(Some);
            }
            Sink::Held { entry, upload, store, held } => held.hold(entry, upload, store, name)?,
        }
        Ok(None)
    }

    /// Name of the file in errors.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Direct(file) | Sink::Local { file, .. } => file.write(bytes),
            Sink::Object { upload, .. } | Sink::Held { upload, .. } => upload.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Direct(file) | Sink::Local { file, .. } => file.flush(),
            Sink::Object { upload, .. } | Sink::Held { upload, .. } => upload.flush(),
        }
    }
}

/// The text of `path` if it is the URL of an object store.
fn store_url(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| is_store(text))
}

/// The error of an upload.
fn failed_upload(error: io::Error, name: &Arc<str>) -> Error {
    match error.kind() {
        io::ErrorKind::Interrupted => Error::Cancelled,
        _ => located(Error::io("write", error), name),
    }
}

fn located(error: Error, name: &Arc<str>) -> Error {
    error.locate(|at| at.file = Some(Arc::clone(name)))
}

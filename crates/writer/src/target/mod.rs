//! Files that appear whole or not at all.

mod files;
mod folder;
mod temporary;
#[cfg(test)]
mod tests;
mod uncommitted;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lath_parquet::{Error, Result};

pub use files::AtomicFiles;
pub use uncommitted::UncommittedFiles;

use self::folder::Folder;
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
#[derive(Debug)]
pub struct AtomicFile {
    // Before the file, so that the temporary name is removed while the file is locked.
    pending: Option<Pending>,
    file: File,
    name: Arc<str>,
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
        let path = path.as_ref();
        let name: Arc<str> = path.display().to_string().into();
        let failed = |op| {
            let name = &name;
            move |error| located(Error::io(op, error), name)
        };
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|existing| !existing.is_file() && !existing.is_dir()) {
            let file = OpenOptions::new().write(true).open(path).map_err(failed("create"))?;
            return Ok(Self { pending: None, file, name });
        }
        // Through a symbolic link its target is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if path.file_name().is_none() || path.is_dir() {
            return Err(failed("create")(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let folder = Folder::of(&path).map_err(failed("open its folder"))?;
        let (entry, file) = uncommitted.begin(|| {
            let (file, temporary) = temporary::create_file(&path, &folder).map_err(failed("create"))?;
            Ok((BegunOutput { temporary, made: Vec::new() }, file))
        })?;
        // Dropping it on an error removes the file again.
        let target = Self { pending: Some(Pending { entry, path, folder }), file, name: Arc::clone(&name) };
        if let Some(existing) = existing {
            target.file.set_permissions(existing.permissions()).map_err(failed("create"))?;
        }
        Ok(target)
    }

    /// Syncs the file, renames it to its name, and syncs the folder: after a crash, the target is either the old or the new file.
    ///
    /// # Errors
    /// [`Error::Io`]; the target is unchanged, unless syncing its folder failed. [`Error::Cancelled`] if it was abandoned.
    pub fn commit(mut self) -> Result<()> {
        let name = Arc::clone(&self.name);
        let failed = |op| {
            let name = &name;
            move |error| located(Error::io(op, error), name)
        };
        let Some(Pending { entry, path, folder }) = self.pending.take() else {
            return self.file.flush().map_err(failed("write"));
        };
        self.file.sync_all().map_err(failed("write to the disk"))?;
        entry.commit(|temporary| {
            // Another host that does not see the lock may have removed the file, and given its name to another one.
            if !temporary.is_there() {
                let gone = io::Error::new(io::ErrorKind::NotFound, "another process has removed it");
                return Err(failed("rename the temporary file")(gone));
            }
            fs::rename(&temporary.path, &path).map_err(failed("rename the temporary file"))
        })?;
        folder.sync().map_err(failed(UNSYNCED))
    }

    /// Name of the file in errors.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn located(error: Error, name: &Arc<str>) -> Error {
    error.locate(|at| at.file = Some(Arc::clone(name)))
}

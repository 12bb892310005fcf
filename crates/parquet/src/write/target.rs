//! A file that appears whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// A file under construction: bytes go to a temporary file in the same folder, which takes the place of the target in
/// [`commit`](Self::commit). Dropped before, it removes the temporary file and leaves the target as it was.
///
/// A target that is neither absent nor a regular file (a device, a pipe) is written to directly.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    pending: Option<Pending>,
    name: Arc<str>,
}

/// A file that still has its temporary name.
#[derive(Debug)]
struct Pending {
    temporary: PathBuf,
    path: PathBuf,
}

impl AtomicFile {
    /// Creates the temporary file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be created.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name: Arc<str> = path.display().to_string().into();
        let failed = |error| located(Error::io("create", error), &name);
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|existing| !existing.is_file() && !existing.is_dir()) {
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            return Ok(Self { file, pending: None, name });
        }
        // Through a symbolic link the file that it names is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(file_name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
        };
        let (file, temporary) = create_beside(&path, file_name.to_owned()).map_err(failed)?;
        // Dropped on an error, it removes the file again.
        let target = Self { file, pending: Some(Pending { temporary, path }), name: Arc::clone(&name) };
        if let Some(existing) = existing {
            target.file.set_permissions(existing.permissions()).map_err(failed)?;
        }
        Ok(target)
    }

    /// Writes everything to the disk and gives the file its name, which is then written to the disk too: after a crash, the
    /// target is what it was or what it is now.
    ///
    /// # Errors
    /// [`Error::Io`]; the target is as it was, unless it was the folder that could not be written to the disk.
    pub fn commit(mut self) -> Result<()> {
        let name = Arc::clone(&self.name);
        let failed = |op| {
            let name = Arc::clone(&name);
            move |error| located(Error::io(op, error), &name)
        };
        let Some(pending) = &self.pending else {
            return self.file.flush().map_err(failed("write"));
        };
        self.file.sync_all().map_err(failed("write to the disk"))?;
        fs::rename(&pending.temporary, &pending.path).map_err(failed("rename the temporary file"))?;
        let folder = folder_of(&pending.path).to_owned();
        self.pending = None;
        sync_folder(&folder).map_err(failed("write the folder to the disk"))
    }

    /// What errors call the file.
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

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(pending) = &self.pending {
            // Writing has failed or was given up; a leftover that cannot be removed is all that could be added.
            let _ = fs::remove_file(&pending.temporary);
        }
    }
}

fn create_beside(path: &Path, name: OsString) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let mut temporary = OsString::from(".");
        temporary.push(&name);
        temporary.push(format!(".{}-{}.partial", process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            // Left behind by a process of the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    // Folders cannot be opened; the file system's journal keeps the order.
    Ok(())
}

fn located(error: Error, name: &Arc<str>) -> Error {
    error.locate(|at| at.file = Some(Arc::clone(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_target_changes_when_it_is_committed_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["f"]);
    }

    #[test]
    fn what_is_not_committed_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(folder.path().join("f")).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn two_writers_of_one_file_do_not_meet() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let mut files = [AtomicFile::create(&path).unwrap(), AtomicFile::create(&path).unwrap()];
        files[0].write_all(b"first").unwrap();
        files[1].write_all(b"second").unwrap();
        for file in files {
            file.commit().unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names(folder.path()), ["f"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_its_file_keeps_its_permissions() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("f"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        let mut file = AtomicFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_folder_is_no_target() {
        let folder = tempfile::tempdir().unwrap();
        let error = AtomicFile::create(folder.path()).unwrap_err();
        assert!(matches!(error, Error::Io { op: "create", .. }), "{error}");
        assert!(names(folder.path()).is_empty());
    }
}

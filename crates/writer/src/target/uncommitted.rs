//! Outputs that a program has begun and not finished.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lath_parquet::{Error, Result};
use lath_source::UploadAbort;

use super::temporary::Temporary;
use super::written_objects::WrittenObjects;

/// The uncommitted files and objects of a program, so that another thread can remove them, for example when a signal arrives, before the
/// process ends. Lath itself handles no signals.
///
/// [`AtomicFile::create_with`](crate::AtomicFile::create_with) and [`AtomicFiles::create_with`](crate::AtomicFiles::create_with)
/// register their files here. Clones are handles of the same list.
///
/// ```
/// use std::io::Write;
/// use lath_parquet::Error;
/// use lath_writer::{AtomicFile, UncommittedFiles};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("rows.csv");
/// let uncommitted = UncommittedFiles::new();
/// let mut file = AtomicFile::create_with(&path, &uncommitted)?;
/// file.write_all(b"1,2\n")?;
/// // On another thread, when the program is told to end:
/// uncommitted.abandon();
/// assert!(matches!(file.commit(), Err(Error::Cancelled)));
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct UncommittedFiles {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    is_abandoned: bool,
    next: u64,
    begun: BTreeMap<u64, BegunOutput>,
}

/// What to remove if it is not committed.
#[derive(Debug)]
pub(super) enum BegunOutput {
    /// A file or folder, and folders that were created for it, the outermost first; they are removed if they are empty.
    Local { temporary: Temporary, made: Vec<PathBuf> },
    /// The parts of an object.
    Object(UploadAbort),
    /// Objects that are visible, and stay only if others follow.
    Written(WrittenObjects),
    /// Work that removes its own output.
    Work(StopWork),
}

/// Stops work, and waits until its output is removed.
pub(super) struct StopWork(Box<dyn Fn() + Send>);

impl fmt::Debug for StopWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StopWork")
    }
}

/// Work on another thread that removes its own output when it is stopped: see [`UncommittedFiles::begin_work`]. Dropping this stops it.
#[derive(Debug)]
#[must_use = "the work is stopped when this is dropped"]
pub struct UncommittedWork {
    entry: Entry,
}

impl UncommittedWork {
    /// The work has ended: from now on it is not stopped.
    pub fn finish(self) {
        self.entry.list.lock().begun.remove(&self.entry.id);
    }
}

impl BegunOutput {
    fn remove(&self) {
        match self {
            Self::Local { temporary, made } => {
                temporary.remove();
                remove_empty(made);
            }
            Self::Object(upload) => upload.abort(),
            Self::Written(objects) => objects.delete(),
            Self::Work(work) => (work.0)(),
        }
    }
}

/// Removes empty folders, given with the outermost first.
pub(super) fn remove_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}

impl UncommittedFiles {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes the temporary files of everything that is not committed. Later calls that create or commit with this list fail
    /// with [`Error::Cancelled`]. A commit that has begun to rename is waited for, and stays.
    pub fn abandon(&self) {
        let mut state = self.lock();
        state.is_abandoned = true;
        // Later files may be in folders that were created before them.
        while let Some((_, begun)) = state.begun.pop_last() {
            begun.remove();
        }
    }

    /// Registers work that is about to begin on another thread. `stop` is called by [`abandon`](Self::abandon), or when the result is dropped
    /// before it is [finished](UncommittedWork::finish); it should return when the work has removed its output.
    ///
    /// # Errors
    /// [`Error::Cancelled`] after [`abandon`](Self::abandon).
    pub fn begin_work(&self, stop: impl Fn() + Send + 'static) -> Result<UncommittedWork> {
        let (entry, ()) = self.begin(|| Ok((BegunOutput::Work(StopWork(Box::new(stop))), ())))?;
        Ok(UncommittedWork { entry })
    }

    /// Creates something that is registered from the moment it exists.
    pub(super) fn begin<T>(&self, create: impl FnOnce() -> Result<(BegunOutput, T)>) -> Result<(Entry, T)> {
        let mut state = self.lock();
        if state.is_abandoned {
            return Err(Error::Cancelled);
        }
        let (begun, created) = create()?;
        let id = state.next;
        state.next += 1;
        state.begun.insert(id, begun);
        Ok((Entry { list: self.clone(), id }, created))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A registered file, which is removed when this is dropped, unless it is committed before.
#[derive(Debug)]
pub(super) struct Entry {
    list: UncommittedFiles,
    id: u64,
}

impl Entry {
    pub(super) fn list(&self) -> &UncommittedFiles {
        &self.list
    }

    /// Does some work while no other thread can abandon this.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if it was abandoned before; errors of `work`.
    pub(super) fn while_begun<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let state = self.list.lock();
        if state.begun.contains_key(&self.id) { work() } else { Err(Error::Cancelled) }
    }

    /// Lets `put_in_place` rename the temporary file, while no other thread can abandon it.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if it was abandoned before; errors of `put_in_place`.
    pub(super) fn commit(self, put_in_place: impl FnOnce(&Temporary) -> Result<()>) -> Result<()> {
        let mut state = self.list.lock();
        let Some(BegunOutput::Local { temporary, .. }) = state.begun.get(&self.id) else {
            return Err(Error::Cancelled);
        };
        put_in_place(temporary)?;
        state.begun.remove(&self.id);
        Ok(())
    }

    /// As [`commit`](Self::commit) for an object, which takes long and is safe from being abandoned at the same time.
    pub(super) fn commit_object<T>(self, complete: impl FnOnce() -> Result<T>) -> Result<T> {
        if !self.list.lock().begun.contains_key(&self.id) {
            return Err(Error::Cancelled);
        }
        complete()
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut state = self.list.lock();
        if let Some(begun) = state.begun.remove(&self.id) {
            begun.remove();
        }
    }
}

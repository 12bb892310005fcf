//! A table or a database on this machine that is followed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lath_store::{Snapshot, Store};

use super::side_files::{SmallFiles, read_consumers, read_sequences};
use crate::error::{Error, Result};
use crate::records::TableOptions;
use crate::records::store_file::{self, FileTimes};
use crate::view::{database_path, store_path};

/// The path of the store of a table or a database.
pub(crate) fn path_of_store(folder: &Path) -> Result<PathBuf> {
    let (database, table) = (database_path(folder), store_path(folder));
    if database.is_file() {
        Ok(database)
    } else if table.is_file() {
        Ok(table)
    } else {
        Err(Error::NoTable { folder: folder.to_owned() })
    }
}

/// A state of the source to copy.
#[derive(Debug)]
pub(crate) struct SourceCommit {
    pub(crate) snapshot: Snapshot,
    pub(crate) consumers: SmallFiles,
    pub(crate) sequences: SmallFiles,
    /// The count of processes that have begun to write, before and after the snapshot was taken.
    turns: (Option<u64>, Option<u64>),
}

/// The commit of the source that the copy has.
#[derive(Debug)]
struct CopiedCommit {
    snapshot: Snapshot,
    turns: Option<u64>,
    /// Whether the next commit may be by a process that has lost some of the commits before it, this one among them.
    is_doubtful: bool,
}

/// The source, open for reading.
#[derive(Debug)]
pub(crate) struct SourceFolder {
    folder: PathBuf,
    path: PathBuf,
    store: Store,
    options: TableOptions,
    file: Option<(u64, u64)>,
    times: Option<FileTimes>,
    copied: Option<CopiedCommit>,
}

impl SourceFolder {
    pub(crate) fn open(folder: &Path, options: &TableOptions) -> Result<Self> {
        let folder = fs::canonicalize(folder).map_err(Error::io("open", folder))?;
        let path = path_of_store(&folder)?;
        let (file, times) = (file_number(&path), FileTimes::read(&path));
        let store = store_file::open_store(&path, options, true, false)?;
        Ok(Self { folder, path, store, options: options.clone(), file, times, copied: None })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of the store within the folder.
    pub(crate) fn store_name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or("database.lath")
    }

    /// The identity of the store.
    pub(crate) fn identity(&self) -> u64 {
        self.store.identity()
    }

    /// Whether the store is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.store.is_encrypted()
    }

    /// Opens the source again if another one has taken its place, or if it was opened without a writer and has changed since.
    pub(crate) fn refresh(&mut self) -> Result<()> {
        let is_replaced = file_number(&self.path) != self.file;
        let is_outdated = || {
            !self.store.follows_writers()
                && self.times.as_ref().is_none_or(|times| FileTimes::read(&self.path).as_ref() != Some(times))
        };
        if is_replaced || is_outdated() {
            *self = Self::open(&self.folder, &self.options)?;
        }
        Ok(())
    }

    /// The newest commit.
    pub(crate) fn newest(&self) -> Result<SourceCommit> {
        let consumers = read_consumers(&self.folder)?;
        let before = self.store.writer_turns();
        let snapshot = self.store.snapshot()?;
        let turns = (before, self.store.writer_turns());
        Ok(SourceCommit { snapshot, consumers, sequences: read_sequences(&self.folder)?, turns })
    }

    /// The commit that the copy has, if `newest` is a successor of it.
    pub(crate) fn copied(&self, newest: &SourceCommit) -> Option<&Snapshot> {
        let copied = self.copied.as_ref()?;
        let is_same = copied.snapshot.generation() == newest.snapshot.generation();
        let is_same_writer = copied.turns == newest.turns.0 && newest.turns.0 == newest.turns.1;
        (is_same || (is_same_writer && !copied.is_doubtful)).then_some(&copied.snapshot)
    }

    /// Remembers that the copy has this commit.
    pub(crate) fn set_copied(&mut self, newest: SourceCommit) {
        let (turns, is_steady) = (newest.turns.0, newest.turns.0 == newest.turns.1);
        let is_same = |copied: &CopiedCommit| copied.snapshot.generation() == newest.snapshot.generation();
        // A process that has begun to write publishes its first commit later: the newest one may be the last of the process before.
        let is_doubtful = match &self.copied {
            Some(copied) if is_same(copied) => copied.is_doubtful || copied.turns != turns || !is_steady,
            Some(copied) if self.copied(&newest).is_some() => !is_steady || copied.is_doubtful,
            Some(copied) => !copied.is_doubtful || copied.turns != turns || !is_steady,
            None => true,
        };
        self.copied = Some(CopiedCommit { snapshot: newest.snapshot, turns, is_doubtful });
    }

    /// Forgets what the copy has, so that both are compared.
    pub(crate) fn forget_copied(&mut self) {
        self.copied = None;
    }

    /// Waits for a commit after the copied one.
    pub(crate) fn wait(&self, wait: Duration) -> Result<()> {
        let Some(copied) = &self.copied else {
            std::thread::sleep(wait);
            return Ok(());
        };
        self.store.wait_for_commit(copied.snapshot.sequence(), wait)?;
        Ok(())
    }
}

/// The number by which the system knows a file.
fn file_number(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

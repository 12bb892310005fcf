#![expect(unsafe_code, reason = "implements a storage trait")]
//! The lock file: memory that processes share, the locks of living processes, and the writer lock.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::{MmapOptions, MmapRaw};

use super::lock::{self, Kind, LockedFile};
use crate::error::{Error, Result};
use crate::storage::{SharedMemory, check_process};

/// Held while the memory is being set up.
const SETUP_BYTE: u64 = 0;
/// Held shared by every process that maps the memory. A process that gets it exclusively is the first one.
const USERS_BYTE: u64 = 1;
/// Held by the writer.
const WRITER_BYTE: u64 = 2;
/// The byte of process 0; the bytes of other processes follow.
const PROCESS_BYTE: u64 = 1024;

/// The lock file, mapped.
#[derive(Debug)]
pub(super) struct SharedFile {
    // Before the file, so that it is unmapped before the locks end.
    map: MmapRaw,
    file: LockedFile,
    path: PathBuf,
    len: usize,
    own: Mutex<Own>,
}

/// The locks of this opening of the file, which the system does not report to it.
#[derive(Debug, Default)]
struct Own {
    is_writing: bool,
    processes: BTreeSet<u32>,
}

impl SharedFile {
    pub(super) fn new(file: File, path: &Path, len: usize) -> Result<Self> {
        let file = LockedFile::new(file);
        lock::lock(&file, SETUP_BYTE, Kind::Exclusive).map_err(Error::io("lock", path))?;
        let map = Self::set_up(&file, len).map_err(Error::io("set up", path))?;
        lock::unlock(&file, SETUP_BYTE).map_err(Error::io("unlock", path))?;
        Ok(Self { map, file, path: path.to_owned(), len, own: Mutex::default() })
    }

    /// Shares the memory if another process has it, and otherwise leaves the file unchanged.
    pub(super) fn join(file: File, path: &Path, len: usize) -> Result<Option<Self>> {
        let file = LockedFile::new(file);
        lock::lock(&file, SETUP_BYTE, Kind::Exclusive).map_err(Error::io("lock", path))?;
        let is_used = lock::is_locked_by_another(&file, USERS_BYTE).map_err(Error::io("ask for the locks of", path))?;
        let map = is_used.then(|| Self::set_up(&file, len)).transpose().map_err(Error::io("set up", path))?;
        lock::unlock(&file, SETUP_BYTE).map_err(Error::io("unlock", path))?;
        Ok(map.map(|map| Self { map, file, path: path.to_owned(), len, own: Mutex::default() }))
    }

    /// Zeroes the memory if no other process has it, and shares it.
    fn set_up(file: &File, len: usize) -> io::Result<MmapRaw> {
        if lock::try_lock(file, USERS_BYTE, Kind::Exclusive)? {
            file.set_len(0)?;
        }
        lock::lock(file, USERS_BYTE, Kind::Shared)?;
        // Write the zeros rather than leave a hole: on a full disk this is an error, whereas a store to a hole is a
        // signal.
        let old_len = file.metadata()?.len();
        if let Some(missing) = (len as u64).checked_sub(old_len) {
            file.write_all_at(&vec![0; missing as usize], old_len)?;
        }
        MmapOptions::new().len(len).map_raw(file)
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock(&self, byte: u64) -> Result<bool> {
        lock::try_lock(&self.file, byte, Kind::Exclusive).map_err(Error::io("lock", &self.path))
    }
}

// SAFETY: the map is page-aligned and keeps its address and length. The file has that many bytes: it was made as long
// before it was mapped, and only a process that holds the lock this value shares truncates it. The locks are the
// system's, on an open file that nothing else uses.
unsafe impl SharedMemory for SharedFile {
    fn base(&self) -> NonNull<u8> {
        NonNull::new(self.map.as_mut_ptr()).unwrap_or(NonNull::dangling())
    }

    fn len(&self) -> usize {
        self.len
    }

    fn try_lock_writer(&self) -> Result<bool> {
        let mut own = self.own();
        let locked = !own.is_writing && self.try_lock(WRITER_BYTE)?;
        own.is_writing |= locked;
        Ok(locked)
    }

    fn lock_process(&self, process: u32) -> Result<bool> {
        check_process(process)?;
        let mut own = self.own();
        let locked = own.processes.contains(&process) || self.try_lock(PROCESS_BYTE + u64::from(process))?;
        if locked {
            own.processes.insert(process);
        }
        Ok(locked)
    }

    fn is_process_alive(&self, process: u32) -> Result<bool> {
        check_process(process)?;
        if self.own().processes.contains(&process) {
            return Ok(true);
        }
        let byte = PROCESS_BYTE + u64::from(process);
        lock::is_locked_by_another(&self.file, byte).map_err(Error::io("ask for the locks of", &self.path))
    }
}

#![expect(unsafe_code, reason = "implements a storage trait")]
//! The lock file: memory that processes share, the locks of living processes, and the writer lock.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
#[cfg(target_os = "linux")]
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memmap2::{MmapOptions, MmapRaw};

#[cfg(target_os = "linux")]
use super::futex;
use super::limit;
use super::lock::{self, Kind, LockedFile};
use super::place::Place;
use super::table_user::{DataPath, TableUser};
use crate::error::{Error, Result};
use crate::storage::{SharedMemory, check_process};

/// The time to wait for other processes that set up the memory, which takes microseconds.
const SETUP_TIMEOUT: Duration = Duration::from_secs(5);

/// Held while the memory is being set up.
const SETUP_BYTE: u64 = 0;
/// Held shared by every process that maps the memory. A process that gets it exclusively is the first one.
const USERS_BYTE: u64 = 1;
/// Held by the writer.
const WRITER_BYTE: u64 = 2;
/// Held by the process that gets the writer lock next.
const NEXT_BYTE: u64 = 3;
/// The byte of process 0; the bytes of other processes follow.
const PROCESS_BYTE: u64 = 1024;

/// The lock file, mapped.
#[derive(Debug)]
pub(super) struct SharedFile {
    // Before the files, so that it is unmapped before the locks end; and the data file first, so that a process which finds no
    // users of the lock file finds none of the data file either.
    map: MmapRaw,
    data: TableUser,
    file: LockedFile,
    place: Place,
    path: PathBuf,
    len: usize,
    own: Mutex<Own>,
}

/// The locks of this opening of the file, which the system does not report to it.
#[derive(Debug, Default)]
struct Own {
    is_writing: bool,
    is_next: bool,
    processes: BTreeSet<u32>,
}

impl SharedFile {
    /// Shares the memory, and zeroes it if no other process has it.
    pub(super) fn new(file: File, path: &Path, len: usize, data: &DataPath<'_>) -> Result<Self> {
        let file = LockedFile::new(file);
        begin_set_up(&file, path)?;
        let is_first = lock::try_lock(&file, USERS_BYTE, Kind::Exclusive).map_err(Error::io("lock", path))?;
        Self::set_up(file, path, len, data, is_first)
    }

    /// Shares the memory if another process has it, and otherwise leaves the file unchanged.
    pub(super) fn join(file: File, path: &Path, len: usize, data: &DataPath<'_>) -> Result<Option<Self>> {
        let file = LockedFile::new(file);
        begin_set_up(&file, path)?;
        let is_used = lock::is_locked_by_another(&file, USERS_BYTE).map_err(Error::io("ask for the locks of", path))?;
        if is_used { Self::set_up(file, path, len, data, false).map(Some) } else { Ok(None) }
    }

    /// `is_first`: whether no other process has the memory, which is then zeroed. This process has locked the users of the file
    /// exclusively.
    fn set_up(file: LockedFile, path: &Path, len: usize, data: &DataPath<'_>, is_first: bool) -> Result<Self> {
        let data_file = data.open(is_first)?;
        // A lock file that was removed may still have users.
        if is_first && !data_file.is_without_users()? {
            return Err(Error::Replaced { path: path.to_owned() });
        }
        if !data_file.add_user()? {
            return Err(Error::Busy);
        }
        let map = map(&file, len, is_first).map_err(Error::io("set up", path))?;
        let place = Place::new(&file, path)?;
        lock::unlock(&file, SETUP_BYTE).map_err(Error::io("unlock", path))?;
        Ok(Self { map, data: data_file, file, place, path: path.to_owned(), len, own: Mutex::default() })
    }

    /// Returns whether the lock file still has its name. A new one asks for that, because it was locked after it was opened.
    pub(super) fn has_name(&self) -> Result<bool> {
        self.place.is_current()
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unlock(&self, byte: u64) -> Result<()> {
        lock::unlock(&self.file, byte).map_err(Error::io("unlock", &self.path))
    }

    /// The lower half of the word at `index`.
    #[cfg(target_os = "linux")]
    fn word(&self, index: usize) -> &AtomicU32 {
        let index = 2 * index + usize::from(cfg!(target_endian = "big"));
        assert!((index + 1) * size_of::<AtomicU32>() <= self.len, "the memory has that word");
        // SAFETY: the word is within the map, as was just checked.
        let at = unsafe { self.map.as_mut_ptr().cast::<u32>().add(index) };
        // SAFETY: the map is page-aligned, lives as long as `self`, and all users access it as atomics only.
        unsafe { AtomicU32::from_ptr(at) }
    }

    fn try_lock(&self, byte: u64) -> Result<bool> {
        lock::try_lock(&self.file, byte, Kind::Exclusive).map_err(Error::io("lock", &self.path))
    }
}

/// Keeps other processes from setting up the memory until the file is unlocked.
fn begin_set_up(file: &File, path: &Path) -> Result<()> {
    let locked = lock::try_lock_within(file, SETUP_BYTE, Kind::Exclusive, SETUP_TIMEOUT);
    // A process was stopped in the middle of it.
    if locked.map_err(Error::io("lock", path))? { Ok(()) } else { Err(Error::Busy) }
}

/// Maps the memory, after zeroing it if this process is the first to use it.
fn map(file: &File, len: usize, is_first: bool) -> io::Result<MmapRaw> {
    if is_first {
        file.set_len(0)?;
    }
    lock::lock(file, USERS_BYTE, Kind::Shared)?;
    // Write the zeros rather than leave a hole: on a full disk this is an error, whereas a store to a hole is a
    // signal.
    let old_len = file.metadata()?.len();
    if let Some(missing) = (len as u64).checked_sub(old_len).filter(|missing| *missing > 0) {
        limit::check(len as u64)?;
        file.write_all_at(&vec![0; missing as usize], old_len)?;
    }
    MmapOptions::new().len(len).map_raw(file)
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

    fn unlock_writer(&self) -> Result<()> {
        let mut own = self.own();
        own.is_writing = false;
        self.unlock(WRITER_BYTE)
    }

    fn try_lock_next(&self) -> Result<bool> {
        let mut own = self.own();
        let locked = !own.is_next && self.try_lock(NEXT_BYTE)?;
        own.is_next |= locked;
        Ok(locked)
    }

    fn unlock_next(&self) -> Result<()> {
        let mut own = self.own();
        own.is_next = false;
        self.unlock(NEXT_BYTE)
    }

    fn write_state(&self, bytes: &[u8]) -> Result<()> {
        // The length before the bytes says how many of them belong together: the file is not shortened between.
        let len = (bytes.len() as u64).to_le_bytes();
        let bytes = [&len, bytes].concat();
        let written = limit::check((self.len + bytes.len()) as u64)
            .and_then(|()| self.file.write_all_at(&bytes, self.len as u64));
        written.map_err(Error::io("write to", &self.path))
    }

    fn read_state(&self) -> Result<Vec<u8>> {
        let read = || {
            let at = self.len as u64;
            let room = self.file.metadata()?.len().saturating_sub(at + 8);
            let mut len = [0; 8];
            if room > 0 {
                self.file.read_exact_at(&mut len, at)?;
            }
            let mut bytes = vec![0; u64::from_le_bytes(len).min(room) as usize];
            self.file.read_exact_at(&mut bytes, at + 8)?;
            Ok(bytes)
        };
        read().map_err(Error::io("read", &self.path))
    }

    #[cfg(target_os = "linux")]
    fn wait(&self, index: usize, value: u32, timeout: Duration) {
        futex::wait(self.word(index), value, timeout);
    }

    #[cfg(target_os = "linux")]
    fn wake(&self, index: usize) {
        futex::wake(self.word(index));
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

    fn check_place(&self) -> Result<()> {
        self.data.check_place().and_then(|()| self.place.check())
    }
}

//! Storage for the bytes of a store: files, memory, or a simulated disk.
//!
//! A store has one data area, which is mapped and written through the mapping, two logs, which are written by calls,
//! and a table of readers, which is mapped and never synced.

#![expect(unsafe_code, reason = "the traits have conditions that the store's unsafe code relies on")]
#![expect(
    clippy::len_without_is_empty,
    reason = "areas and files have lengths, and are never asked whether they are empty"
)]

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod file;
mod memory;
#[cfg(any(test, feature = "simulation"))]
mod simulated;
#[cfg(test)]
mod tests;

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(crate) use self::file::EncryptedStorage;
pub use self::file::{DEFAULT_CAPACITY_BYTES, EncryptionKey, FileStorage, is_encrypted, is_unfinished};
pub use self::memory::MemoryStorage;
#[cfg(any(test, feature = "simulation"))]
pub use self::simulated::{Moment, Operation, SECTOR_BYTES, SimulatedStorage};

/// The first bytes of the data area of a store.
pub(crate) const MAGIC: [u8; 8] = *b"LATHKV\r\n";

/// The first bytes of an encrypted data file.
pub(crate) const ENCRYPTED_MAGIC: [u8; 8] = *b"LATHKVE\n";

/// The maximum number of processes that share a [`SharedMemory`].
pub const MAX_PROCESSES: u32 = 1024;

/// The files of a store.
///
/// # Safety
///
/// The store turns addresses from here into references. An implementation guarantees:
///
/// - All calls of [`data`](Self::data) lead to the same bytes, and all calls of [`shared`](Self::shared) and
///   [`shared_with_others`](Self::shared_with_others) to the same table, in all processes. Two values with the same
///   data area have the same table, so only the holder of its [writer lock](SharedMemory::try_lock_writer) writes to
///   the data area.
/// - A [`private`](Self::private) view has a separate data area, which no later write to the original changes, unless
///   it has [let writers in](Self::let_writers_in).
pub unsafe trait Storage: fmt::Debug + Send + Sync {
    /// Opens the data area. One caller at a time may open it for writing: [`Error::Busy`] if another caller has it open
    /// for writing, or has a [`private`](Self::private) view of it.
    fn data(&self) -> Result<Arc<dyn Data>>;

    /// Opens one of the two logs, 0 or 1. Creates an empty one if it does not exist.
    fn log(&self, index: usize) -> Result<Arc<dyn LogFile>>;

    /// Returns at least `len` bytes of memory that is shared with other processes, and with other calls of this
    /// function, each of which counts as a process. It is zeroed if no other process has it.
    fn shared(&self, len: usize) -> Result<Arc<dyn SharedMemory>>;

    /// Returns the same memory if another process has it. Otherwise nothing is created or changed, and this may return
    /// `None`.
    fn shared_with_others(&self, len: usize) -> Result<Option<Arc<dyn SharedMemory>>> {
        self.shared(len).map(Some)
    }

    /// Returns the same memory, for a reader that registers what it reads before a writer comes. `None` if this process
    /// may not write there, or if the memory would have to be created on behalf of another user.
    fn shared_for_readers(&self, len: usize) -> Result<Option<Arc<dyn SharedMemory>>> {
        self.shared(len).map(Some)
    }

    /// Opens a private view of the closed store: writes to it go to memory and are dropped with it, and no file is
    /// created or changed. As long as the view's data area lives, this store's data area cannot be opened for writing,
    /// unless the view [lets writers in](Self::let_writers_in).
    ///
    /// [`Error::Busy`] if the data area is open for writing, [`Error::Invalid`] if the storage has no such views.
    fn private(&self) -> Result<Arc<dyn Storage>> {
        Err(Error::Invalid("this storage can be opened read-only only beside a writer".to_owned()))
    }

    /// Returns whether this is a private view that has to exclude writers, because its contents change with the
    /// original.
    fn keeps_writers_out(&self) -> bool {
        false
    }

    /// Lets writers of the original in. Their changes appear here too, except in pages that this view has written to:
    /// the caller makes sure that they keep the nodes it reads.
    fn let_writers_in(&self) -> Result<()> {
        Ok(())
    }

    /// Excludes writers again, unless there is one, and returns whether they are excluded.
    fn keep_writers_out(&self) -> Result<bool> {
        Ok(true)
    }

    /// The name of the data area (0) or of a log (1 and 2), for messages.
    fn file_name(&self, place: usize) -> PathBuf {
        PathBuf::from(["the data area", "the first log", "the second log"].get(place).copied().unwrap_or_default())
    }

    /// Returns whether the data area has another name, by which other processes would find other logs and another lock.
    fn has_other_name(&self) -> Result<bool> {
        Ok(false)
    }

    /// Returns the lengths of the data area and the logs. Creates none of them.
    fn lengths(&self) -> Result<Lengths> {
        let logs = [self.log(0)?.len()?, self.log(1)?.len()?];
        Ok(Lengths { logs, data: self.data()?.len() })
    }
}

/// The lengths of a store's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// The length of the data area.
    pub data: u64,
    /// The lengths of the logs. They are read before the length of the data area: a log is never written before the
    /// data area exists.
    pub logs: [u64; 2],
}

impl Lengths {
    /// Returns whether a log is not empty.
    pub(crate) fn has_log(&self) -> bool {
        self.logs.iter().any(|len| *len > 0)
    }
}

/// The data area: bytes at addresses that do not move.
///
/// Writes through [`base`](Self::base) may become durable at any time and in any order, sector by sector. They are
/// certainly durable once a [`sync`](Self::sync) that began later has returned.
///
/// # Safety
///
/// An implementation guarantees, for as long as a value lives:
///
/// - [`base`](Self::base) always returns the same address, a multiple of 64. The [`capacity`](Self::capacity) bytes
///   from there on, a constant number, belong to this area alone, in one allocation or mapping.
/// - The first [`len`](Self::len) of them can be read by any thread and, unless the area was opened for reading only,
///   written by the holder of the store's writer lock. `len` is never more than `capacity`, and shrinks only by
///   [`set_len`](Self::set_len).
/// - The implementation itself makes no references to these bytes, and writes only to the bytes that `set_len` adds or
///   drops.
pub unsafe trait Data: fmt::Debug + Send + Sync {
    /// Returns the address of the first byte.
    fn base(&self) -> NonNull<u8>;

    /// Returns the current length in bytes, even if another process has changed it. For files this is a system call.
    fn len(&self) -> u64;

    /// Returns the length to which the area can grow.
    fn capacity(&self) -> u64;

    /// Grows the area by zeroed bytes that the disk has room for, or shortens it.
    ///
    /// # Safety
    ///
    /// No other call of this function for the same area is in progress, in any process. If `len` is less than the
    /// current length, nothing refers to the bytes from `len` on, and nothing reads or writes them until the area has
    /// grown again.
    unsafe fn set_len(&self, len: u64) -> Result<()>;

    /// Excludes readers that keep writers out because they cannot register. [`Storage::data`] has done so for an area that it opened for
    /// writing. Returns `false` if there is such a reader. Only the holder of the writer lock calls this.
    fn try_lock_contents(&self) -> Result<bool> {
        Ok(true)
    }

    /// Lets such readers in, and other callers of [`Storage::data`].
    fn unlock_contents(&self) -> Result<()> {
        Ok(())
    }

    /// A number that tells the file from all others, also from one that has taken its name; 0 if the area is no file.
    fn file_number(&self) -> u64 {
        0
    }

    /// Returns whether there may be readers that are not in the table of readers. They need no bytes of this area.
    fn has_other_readers(&self) -> Result<bool> {
        Ok(false)
    }

    /// Makes all writes before the call durable.
    fn sync(&self) -> Result<()>;

    /// Makes all writes to these ranges before the call durable, and possibly others. The ranges are disjoint and in
    /// order.
    fn sync_ranges(&self, ranges: &[Range<u64>]) -> Result<()> {
        let _ = ranges;
        self.sync()
    }
}

/// An append-mostly file, written by calls.
pub trait LogFile: fmt::Debug + Send + Sync {
    /// Returns the length in bytes.
    fn len(&self) -> Result<u64>;

    /// Fills `bytes` from `offset` on.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()>;

    /// Writes `bytes` at `offset`, and grows the file if they end past its end. The write survives the end of the
    /// process.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Shortens or grows the file.
    fn set_len(&self, len: u64) -> Result<()>;

    /// Makes all writes before the call durable (`fdatasync`).
    fn sync(&self) -> Result<()>;

    /// A number that tells the file from all others, like [`Data::file_number`].
    fn file_number(&self) -> u64 {
        0
    }

    /// Returns [`Error::Replaced`] if the file was removed or replaced since it was opened.
    fn check_place(&self) -> Result<()> {
        Ok(())
    }
}

/// Memory that several processes share, and its locks.
///
/// # Safety
///
/// An implementation guarantees, for as long as a value lives:
///
/// - [`base`](Self::base) always returns the same address, a multiple of 64. The [`len`](Self::len) bytes from there
///   on, a constant number, can be read and written by any thread.
/// - All users of this memory, in all processes, access it only by atomic operations on words of 64 bits.
/// - [`try_lock_writer`](Self::try_lock_writer), [`lock_process`](Self::lock_process) and
///   [`is_process_alive`](Self::is_process_alive) exclude and report as documented: readers and writers rely on that
///   when they decide which nodes have no readers any more.
pub unsafe trait SharedMemory: fmt::Debug + Send + Sync {
    /// Returns the address of the first byte.
    fn base(&self) -> NonNull<u8>;

    /// Returns the length in bytes.
    fn len(&self) -> usize;

    /// Takes the writer lock, unless this or another value has it, and returns whether it did. The lock is released
    /// when this value is dropped or its process ends.
    fn try_lock_writer(&self) -> Result<bool>;

    /// Releases the writer lock, which this value has.
    fn unlock_writer(&self) -> Result<()>;

    /// Takes the place of the process that gets the writer lock next, unless this or another value has it, and returns whether it did.
    /// Ends like the writer lock.
    fn try_lock_next(&self) -> Result<bool>;

    /// Gives up the place that [`try_lock_next`](Self::try_lock_next) took.
    fn unlock_next(&self) -> Result<()>;

    /// Stores bytes for the process that gets the writer lock next. They last as long as the memory. Only the holder of
    /// the writer lock calls this.
    fn write_state(&self, bytes: &[u8]) -> Result<()>;

    /// Returns the bytes that [`write_state`](Self::write_state) last stored. If a process ended meanwhile, they may be mixed with
    /// older bytes. Empty if there are none.
    fn read_state(&self) -> Result<Vec<u8>>;

    /// Waits until [`wake`](Self::wake) is called for the word at `index` (in units of 64 bits), for at most `timeout`. Returns at
    /// once if the lower half of the word is not `value`, and may return early at any time.
    fn wait(&self, index: usize, value: u32, timeout: Duration) {
        let _ = (index, value);
        std::thread::sleep(timeout.min(POLL_INTERVAL));
    }

    /// Wakes all threads, in all processes, that [`wait`](Self::wait) for the word at `index`.
    fn wake(&self, index: usize) {
        let _ = index;
    }

    /// Registers this process as alive under the number `process`, below [`MAX_PROCESSES`], until this value is dropped
    /// or the process ends. Returns `false` if another process has that number.
    fn lock_process(&self, process: u32) -> Result<bool>;

    /// Returns whether a process is registered under this number.
    fn is_process_alive(&self, process: u32) -> Result<bool>;

    /// Returns [`Error::Replaced`] if the file of this memory, or the data area that it belongs to, was removed or replaced since this
    /// value was made.
    fn check_place(&self) -> Result<()> {
        Ok(())
    }
}

/// The interval at which a word is read where the system cannot wait for a change of it.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

fn check_process(process: u32) -> Result<()> {
    if process < MAX_PROCESSES {
        return Ok(());
    }
    Err(Error::Limit { what: "the number of a process", limit: u64::from(MAX_PROCESSES) - 1 })
}

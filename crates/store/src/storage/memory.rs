#![expect(unsafe_code, reason = "implements the storage traits, and copies memory by its address")]
//! A store in memory, which is dropped with its last handle.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

use memmap2::{MmapMut, MmapOptions, MmapRaw};

use super::{Data, Lengths, LogFile, SharedMemory, Storage, check_process};
use crate::error::{Error, Result};

/// The path in errors.
const MEMORY: &str = "memory";

/// A store in the memory of this process. All stores opened from one value or its clones are the same store, as if each
/// were in a separate process.
#[derive(Debug, Clone)]
pub struct MemoryStorage {
    data: Arc<MemoryData>,
    logs: [Arc<MemoryLog>; 2],
    table: Arc<Mutex<Weak<Table>>>,
}

impl MemoryStorage {
    /// Creates an empty store that can grow to `capacity_bytes`. It takes memory only as it grows.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the system does not have that much address space.
    pub fn new(capacity_bytes: u64) -> Result<Self> {
        let map = anonymous(usize::try_from(capacity_bytes).unwrap_or(usize::MAX))?;
        Ok(Self {
            data: Arc::new(MemoryData::new(MmapRaw::from(map), 0)),
            logs: [Arc::default(), Arc::default()],
            table: Arc::default(),
        })
    }

    /// Returns whether any handle has the shared memory.
    fn is_open(&self) -> bool {
        lock(&self.table).strong_count() > 0
    }
}

#[cfg(any(test, feature = "simulation"))]
impl MemoryStorage {
    /// Returns whether any handle has the writer lock.
    pub(super) fn is_written_to(&self) -> bool {
        lock(&self.table).upgrade().is_some_and(|table| *lock(&table.is_writing))
    }

    /// Gives `other` shared memory with the contents of this one's, and returns the handle that keeps it; `None` if
    /// this store is not open.
    pub(super) fn copy_shared_into(&self, other: &Self) -> Result<Option<Arc<dyn SharedMemory>>> {
        let Some(table) = lock(&self.table).upgrade() else { return Ok(None) };
        let len = table.map.len();
        let survivor = other.shared(len)?;
        for at in (0..len).step_by(size_of::<u64>()) {
            let [from, to] = [table.map.as_mut_ptr(), survivor.base().as_ptr()].map(|base| {
                // SAFETY: both maps are longer than that.
                let word = unsafe { base.add(at) };
                // SAFETY: the word is within a map that lives longer than this function, at a multiple of eight bytes
                // from its start, and all handles access it as an atomic.
                unsafe { AtomicU64::from_ptr(word.cast()) }
            });
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        survivor.write_state(&lock(&table.state))?;
        Ok(Some(survivor))
    }
}

// SAFETY: clones share one data area and one table, and a private view copies the data area.
unsafe impl Storage for MemoryStorage {
    fn data(&self) -> Result<Arc<dyn Data>> {
        Ok(self.data.clone())
    }

    fn log(&self, index: usize) -> Result<Arc<dyn LogFile>> {
        Ok(self.logs[index].clone())
    }

    fn shared(&self, len: usize) -> Result<Arc<dyn SharedMemory>> {
        let mut last = lock(&self.table);
        let table = match last.upgrade() {
            Some(table) if table.map.len() >= len => table,
            Some(_) => return Err(Error::Invalid("the store is open with less shared memory".to_owned())),
            None => {
                let table = Arc::new(Table::new(len)?);
                *last = Arc::downgrade(&table);
                table
            }
        };
        Ok(Arc::new(MemoryShared { table, len, own: Mutex::default() }))
    }

    fn shared_with_others(&self, len: usize) -> Result<Option<Arc<dyn SharedMemory>>> {
        if self.is_open() { self.shared(len).map(Some) } else { Ok(None) }
    }

    fn private(&self) -> Result<Arc<dyn Storage>> {
        // While these guards are held, no handle can take the writer lock, neither of this table nor of a new one.
        let last = lock(&self.table);
        let table = last.upgrade();
        let is_writing = table.as_ref().map(|table| lock(&table.is_writing));
        if is_writing.as_deref() == Some(&true) {
            return Err(Error::Busy);
        }
        let copy = Self::new(self.data.capacity())?;
        let len = self.data.len();
        // SAFETY: the copy is new, so no other handle changes its length or uses its bytes.
        unsafe { copy.data.set_len(len)? };
        // SAFETY: both maps are longer than that, and the copy has no users yet. No handle has the writer lock, so
        // nothing writes to this one.
        unsafe { std::ptr::copy_nonoverlapping(self.data.map.as_ptr(), copy.data.map.as_mut_ptr(), len as usize) };
        for (from, to) in self.logs.iter().zip(&copy.logs) {
            to.change(|bytes| from.bytes.read().unwrap_or_else(PoisonError::into_inner).clone_into(bytes));
        }
        Ok(Arc::new(copy))
    }

    fn lengths(&self) -> Result<Lengths> {
        Ok(Lengths { logs: [self.logs[0].len()?, self.logs[1].len()?], data: self.data.len() })
    }
}

fn anonymous(len: usize) -> Result<MmapMut> {
    MmapOptions::new().len(len.max(1)).no_reserve_swap().map_anon().map_err(Error::io("reserve", Path::new(MEMORY)))
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A data area in memory, or in a private mapping of a file.
#[derive(Debug)]
pub(super) struct MemoryData {
    map: MmapRaw,
    len: AtomicU64,
    /// Keeps the locked file that is mapped for as long as the area.
    _file: Option<Box<dyn Debug + Send + Sync>>,
    file_number: u64,
}

impl MemoryData {
    /// Makes an area of the map, of which the first `len` bytes are in use. `len` is at most the map's length.
    pub(super) fn new(map: MmapRaw, len: u64) -> Self {
        let len = AtomicU64::new(len.min(map.len() as u64));
        Self { map, len, _file: None, file_number: 0 }
    }

    /// Keeps `file`, which is mapped, open as long as the area. `number` is its [number](Data::file_number).
    pub(super) fn with_file(self, file: Box<dyn Debug + Send + Sync>, number: u64) -> Self {
        Self { _file: Some(file), file_number: number, ..self }
    }
}

// SAFETY: the map is page-aligned, keeps its address and its length, and belongs to this value; `len` starts within it,
// and only `set_len` changes it, up to the map's length.
unsafe impl Data for MemoryData {
    fn base(&self) -> NonNull<u8> {
        NonNull::new(self.map.as_mut_ptr()).unwrap_or(NonNull::dangling())
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    fn capacity(&self) -> u64 {
        self.map.len() as u64
    }

    fn file_number(&self) -> u64 {
        self.file_number
    }

    unsafe fn set_len(&self, len: u64) -> Result<()> {
        if len > self.capacity() {
            return Err(Error::Limit { what: "the length of the store", limit: self.capacity() });
        }
        let old_len = self.len.swap(len, Ordering::AcqRel);
        if len < old_len {
            // SAFETY: `len` is below the map's length, which was checked above.
            let from = unsafe { self.map.as_mut_ptr().add(len as usize) };
            // SAFETY: the bytes up to `old_len` are inside the map, and the caller guarantees that no thread reads or
            // writes them.
            unsafe { from.write_bytes(0, (old_len - len) as usize) };
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

#[derive(Debug, Default)]
struct MemoryLog {
    bytes: RwLock<Vec<u8>>,
}

impl MemoryLog {
    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        change(&mut self.bytes.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl LogFile for MemoryLog {
    fn len(&self) -> Result<u64> {
        Ok(self.bytes.read().unwrap_or_else(PoisonError::into_inner).len() as u64)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let all = self.bytes.read().unwrap_or_else(PoisonError::into_inner);
        let found = usize::try_from(offset).ok().and_then(|offset| all.get(offset..)?.get(..bytes.len()));
        let found = found
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
            .map_err(Error::io("read", Path::new(MEMORY)))?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let offset = usize::try_from(offset).map_err(|_| Error::Limit { what: "a log", limit: usize::MAX as u64 })?;
        self.change(|all| {
            let end = offset + bytes.len();
            if all.len() < end {
                all.resize(end, 0);
            }
            all[offset..end].copy_from_slice(bytes);
        });
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let len = usize::try_from(len).map_err(|_| Error::Limit { what: "a log", limit: usize::MAX as u64 })?;
        self.change(|all| {
            all.resize(len, 0);
            all.shrink_to_fit();
        });
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

/// The state that the handles of one store share.
#[derive(Debug)]
struct Table {
    map: MmapRaw,
    is_writing: Mutex<bool>,
    has_next: Mutex<bool>,
    processes: Mutex<BTreeSet<u32>>,
    state: Mutex<Vec<u8>>,
}

impl Table {
    fn new(len: usize) -> Result<Self> {
        // A whole number of words.
        let map = MmapRaw::from(anonymous(len.next_multiple_of(size_of::<u64>()))?);
        let (is_writing, has_next) = (Mutex::default(), Mutex::default());
        Ok(Self { map, is_writing, has_next, processes: Mutex::default(), state: Mutex::default() })
    }
}

/// One handle, which the table treats as a process.
#[derive(Debug)]
struct MemoryShared {
    table: Arc<Table>,
    len: usize,
    own: Mutex<Own>,
}

#[derive(Debug, Default)]
struct Own {
    processes: BTreeSet<u32>,
    is_writing: bool,
    is_next: bool,
}

// SAFETY: the map is page-aligned, keeps its address and its length as long as the table lives, and is not lent out
// otherwise; the locks are flags and sets in mutexes of the table.
unsafe impl SharedMemory for MemoryShared {
    fn base(&self) -> NonNull<u8> {
        NonNull::new(self.table.map.as_mut_ptr()).unwrap_or(NonNull::dangling())
    }

    fn len(&self) -> usize {
        self.len
    }

    fn try_lock_writer(&self) -> Result<bool> {
        let is_free = !std::mem::replace(&mut *lock(&self.table.is_writing), true);
        if is_free {
            lock(&self.own).is_writing = true;
        }
        Ok(is_free)
    }

    fn unlock_writer(&self) -> Result<()> {
        if std::mem::take(&mut lock(&self.own).is_writing) {
            *lock(&self.table.is_writing) = false;
        }
        Ok(())
    }

    fn try_lock_next(&self) -> Result<bool> {
        let is_free = !std::mem::replace(&mut *lock(&self.table.has_next), true);
        if is_free {
            lock(&self.own).is_next = true;
        }
        Ok(is_free)
    }

    fn unlock_next(&self) -> Result<()> {
        if std::mem::take(&mut lock(&self.own).is_next) {
            *lock(&self.table.has_next) = false;
        }
        Ok(())
    }

    fn write_state(&self, bytes: &[u8]) -> Result<()> {
        bytes.clone_into(&mut lock(&self.table.state));
        Ok(())
    }

    fn read_state(&self) -> Result<Vec<u8>> {
        Ok(lock(&self.table.state).clone())
    }

    fn lock_process(&self, process: u32) -> Result<bool> {
        check_process(process)?;
        let mut own = lock(&self.own);
        if own.processes.contains(&process) {
            return Ok(true);
        }
        let locked = lock(&self.table.processes).insert(process);
        if locked {
            own.processes.insert(process);
        }
        Ok(locked)
    }

    fn is_process_alive(&self, process: u32) -> Result<bool> {
        check_process(process)?;
        Ok(lock(&self.table.processes).contains(&process))
    }
}

impl Drop for MemoryShared {
    fn drop(&mut self) {
        {
            let own = lock(&self.own);
            lock(&self.table.processes).retain(|process| !own.processes.contains(process));
        }
        // Neither can fail.
        let _ = (self.unlock_writer(), self.unlock_next());
    }
}

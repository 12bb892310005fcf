#![expect(unsafe_code, reason = "implements a storage trait, and maps a file over memory")]
//! A private view of a store: its files, with changes in memory only.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;

use memmap2::{MmapOptions, MmapRaw};

use super::data::MIN_CAPACITY_BYTES;
use super::lock::{self, Kind, LockedFile};
use super::place::Place;
use super::{CONTENTS_BYTE, FileStorage};
use crate::error::{Error, Result};
use crate::storage::memory::MemoryData;
use crate::storage::{Data, Lengths, LogFile, MemoryStorage, SharedMemory, Storage};

/// The data file mapped privately, its logs for reading, and memory in place of the lock file.
#[derive(Debug)]
pub(super) struct PrivateStorage {
    data: Arc<MemoryData>,
    /// The data file, which is locked while writers are excluded.
    locked: Arc<LockedFile>,
    files: FileStorage,
    memory: MemoryStorage,
}

impl PrivateStorage {
    pub(super) fn new(files: &FileStorage) -> Result<Self> {
        let path = &files.path;
        let locked = Arc::new(LockedFile::new(File::open(path).map_err(Error::io("open", path))?));
        if !lock::try_lock(&locked, CONTENTS_BYTE, Kind::Shared).map_err(Error::io("lock", path))? {
            return Err(Error::Busy);
        }
        let number = Place::new(&locked, path)?.number();
        let data = map_privately(&locked, files.capacity_bytes).map_err(Error::io("map", path))?;
        let data = data.with_file(Box::new(Arc::clone(&locked)), number);
        Ok(Self { data: Arc::new(data), locked, files: files.clone().read_only(true), memory: MemoryStorage::new(0)? })
    }
}

// SAFETY: the data area is one map, and the table is the table of one `MemoryStorage`.
unsafe impl Storage for PrivateStorage {
    fn data(&self) -> Result<Arc<dyn Data>> {
        Ok(self.data.clone())
    }

    fn log(&self, index: usize) -> Result<Arc<dyn LogFile>> {
        self.files.log(index)
    }

    fn shared(&self, len: usize) -> Result<Arc<dyn SharedMemory>> {
        self.memory.shared(len)
    }

    fn shared_with_others(&self, len: usize) -> Result<Option<Arc<dyn SharedMemory>>> {
        self.memory.shared_with_others(len)
    }

    fn private(&self) -> Result<Arc<dyn Storage>> {
        self.files.private()
    }

    fn keeps_writers_out(&self) -> bool {
        true
    }

    fn let_writers_in(&self) -> Result<()> {
        lock::unlock(&self.locked, CONTENTS_BYTE).map_err(Error::io("unlock", &self.files.path))
    }

    fn keep_writers_out(&self) -> Result<bool> {
        lock::try_lock(&self.locked, CONTENTS_BYTE, Kind::Shared).map_err(Error::io("lock", &self.files.path))
    }

    fn file_name(&self, place: usize) -> PathBuf {
        self.files.file_name(place)
    }

    fn has_other_name(&self) -> Result<bool> {
        self.files.has_other_name()
    }

    fn lengths(&self) -> Result<Lengths> {
        Ok(Lengths { data: self.data.len(), ..self.files.lengths()? })
    }
}

/// Maps the bytes of a data file, followed by memory to grow into. Pages are copied on write.
fn map_privately(file: &LockedFile, capacity_bytes: u64) -> io::Result<MemoryData> {
    let file_len = file.metadata()?.len();
    let least = file_len.max(MIN_CAPACITY_BYTES);
    let mut capacity = capacity_bytes.max(least);
    let map = loop {
        let len = usize::try_from(capacity).unwrap_or(isize::MAX as usize);
        match MmapOptions::new().len(len).no_reserve_swap().map_anon() {
            Err(_) if capacity > least => capacity = (capacity / 2).max(least),
            map => break MmapRaw::from(map?),
        }
    };
    if file_len > 0 {
        // SAFETY: the map is new, so nothing refers to its bytes, and it is at least as long as the file.
        unsafe { map_over(&map, file, file_len as usize)? };
    }
    Ok(MemoryData::new(map, file_len))
}

/// Maps the first `len` bytes of the file over the start of the map.
///
/// # Safety
///
/// File and map are at least that long, and nothing refers to the bytes of the map.
unsafe fn map_over(map: &MmapRaw, file: &File, len: usize) -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: the address is the start of a mapping that `map` owns. The caller guarantees that nothing refers to it
    // and that the range ends within it, or within its last page. The new mapping is unmapped with `map`, like the
    // pages that it replaces.
    let mapped = unsafe { libc::mmap(map.as_mut_ptr().cast(), len, protection, flags, file.as_raw_fd(), 0) };
    if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
}

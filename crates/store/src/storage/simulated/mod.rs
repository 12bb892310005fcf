#![expect(unsafe_code, reason = "implements the storage traits")]
//! A disk that loses what was not synced, and fails on demand.
//!
//! Every write is stored twice: in the current state, which processes read and which survives a kill, and in the state
//! at the last sync. [`SimulatedStorage::crash`] combines them to a state that a loss of power could leave: each sector
//! that was written since the sync may be new or old, whatever the order of writing, and so may the lengths of files.

mod area;
mod choice;
mod faults;
mod log;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;

use self::area::SimulatedData;
use self::faults::Faults;
use self::log::SimulatedLog;
use super::{Data, Lengths, LogFile, MemoryStorage, SharedMemory, Storage};
use crate::error::{Error, Result};

/// The unit that a loss of power writes completely or not at all.
pub const SECTOR_BYTES: usize = 512;

/// An operation that a store requests of its storage.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A write to the log of this number.
    WriteLog(usize),
    /// A change of the length of the log of this number.
    ResizeLog(usize),
    /// A sync of the log of this number.
    SyncLog(usize),
    /// A change of the length of the data area.
    ResizeData,
    /// A sync of the data area.
    SyncData,
}

/// A point in time at which the power may fail.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the operation.
    Before(Operation),
    /// After the operation, which may have failed.
    After(Operation),
}

type Watcher = dyn Fn(&SimulatedStorage, Moment) + Send + Sync;

/// Storage in memory that can crash. Clones are the same storage.
#[derive(Clone)]
pub struct SimulatedStorage(Arc<Inner>);

struct Inner {
    memory: MemoryStorage,
    data: SimulatedData,
    logs: [SimulatedLog; 2],
    faults: Faults,
    watcher: Mutex<Option<Arc<Watcher>>>,
    /// Held by every operation, and while an image is made, so that an image shows all files at one point in time.
    gate: Mutex<()>,
    /// The shared memory of a process that outlived the one that was killed.
    survivor: Option<Arc<dyn SharedMemory>>,
}

impl SimulatedStorage {
    /// Creates an empty store that can grow to `capacity_bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](crate::Error::Io) if the system does not have that much address space.
    pub fn new(capacity_bytes: u64) -> Result<Self> {
        let memory = MemoryStorage::new(capacity_bytes)?;
        let data = SimulatedData::new(memory.data()?, &[])?;
        Ok(Self::with(memory, data, [Vec::new(), Vec::new()].map(SimulatedLog::new), None))
    }

    fn with(
        memory: MemoryStorage,
        data: SimulatedData,
        logs: [SimulatedLog; 2],
        survivor: Option<Arc<dyn SharedMemory>>,
    ) -> Self {
        let (faults, watcher, gate) = (Faults::default(), Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { memory, data, logs, faults, watcher, gate, survivor }))
    }

    /// Returns a random state that a loss of power now could leave. It counts as synced in the new storage.
    ///
    /// # Errors
    ///
    /// See [`new`](Self::new).
    pub fn crash(&self, random: &mut Rng) -> Result<Self> {
        let memory = MemoryStorage::new(self.0.data.capacity())?;
        let _gate = self.0.enter();
        let logs = [self.0.logs[0].crash(random), self.0.logs[1].crash(random)];
        let data = SimulatedData::new(memory.data()?, &self.0.data.crash(random))?;
        Ok(Self::with(memory, data, logs.map(SimulatedLog::new), None))
    }

    /// Returns the state after all processes, or all but one, are killed now: everything that was written, with the
    /// same parts durable. With a survivor the shared memory is as the processes left it, otherwise it is new.
    ///
    /// # Errors
    ///
    /// See [`new`](Self::new).
    pub fn kill(&self, with_survivor: bool) -> Result<Self> {
        let memory = MemoryStorage::new(self.0.data.capacity())?;
        let _gate = self.0.enter();
        let survivor = if with_survivor { self.0.memory.copy_shared_into(&memory)? } else { None };
        let data = self.0.data.copy(memory.data()?)?;
        let logs = [self.0.logs[0].copy(), self.0.logs[1].copy()];
        Ok(Self::with(memory, data, logs, survivor))
    }

    /// Records the current data area, so that a crash may leave sectors in this intermediate state.
    pub fn sample(&self) {
        self.0.data.sample();
    }

    /// Calls `watcher` before and after every operation, in the thread that requests it.
    pub fn watch(&self, watcher: impl Fn(&Self, Moment) + Send + Sync + 'static) {
        *self.0.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(watcher));
    }

    /// Removes the watcher that [`watch`](Self::watch) set.
    pub fn unwatch(&self) {
        *self.0.watcher.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Makes the write or change of length after the next `count` fail halfway; with `permanently`, all later ones as well.
    pub fn fail_write_after(&self, count: u64, permanently: bool) {
        self.0.faults.fail_write_after(count, permanently);
    }

    /// Makes the sync after the next `count` fail; with `permanently`, all later ones as well. The data of the failed
    /// sync stays readable, and no later sync makes it durable.
    pub fn fail_sync_after(&self, count: u64, permanently: bool) {
        self.0.faults.fail_sync_after(count, permanently);
    }

    /// Returns whether a sync has failed: then a process that opens the store may read data that the disk does not
    /// have.
    pub fn has_failed_sync(&self) -> bool {
        self.0.faults.has_failed_sync()
    }

    /// Sets how many bytes the disk has for data and logs together. The default is no limit.
    pub fn limit_bytes(&self, bytes: u64) {
        self.0.faults.limit_bytes(bytes);
    }

    /// Removes all faults that were requested and have not happened yet.
    pub fn clear_faults(&self) {
        self.0.faults.clear_faults();
    }

    /// Returns the numbers of requested writes and syncs.
    pub fn counts(&self) -> (u64, u64) {
        self.0.faults.counts()
    }

    fn notify(&self, moment: Moment) {
        let watcher = self.0.watcher.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(watcher) = watcher {
            watcher(self, moment);
        }
    }

    fn watched<T>(&self, operation: Operation, act: impl FnOnce(&Inner) -> T) -> T {
        self.notify(Moment::Before(operation));
        let done = {
            let _gate = self.0.enter();
            act(&self.0)
        };
        self.notify(Moment::After(operation));
        done
    }

    /// Calls `sync` to make data durable, unless the sync is to fail.
    fn sync_data(&self, sync: impl FnOnce(&SimulatedData)) -> Result<()> {
        self.watched(Operation::SyncData, |inner| match inner.faults.sync() {
            Ok(()) => {
                sync(&inner.data);
                Ok(())
            }
            Err(error) => {
                inner.data.fail_sync();
                Err(error)
            }
        })
    }

    /// The bytes of all files but one, whose length is `own`.
    fn other_bytes(inner: &Inner, own: u64) -> u64 {
        (inner.data.len() + inner.logs[0].len() + inner.logs[1].len()).saturating_sub(own)
    }
}

impl Inner {
    fn enter(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SimulatedStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lens = [self.0.data.len(), self.0.logs[0].len(), self.0.logs[1].len()];
        f.debug_struct("SimulatedStorage").field("lens", &lens).finish_non_exhaustive()
    }
}

// SAFETY: clones share one data area and one table, and a private view is a copy in other memory.
unsafe impl Storage for SimulatedStorage {
    fn data(&self) -> Result<Arc<dyn Data>> {
        Ok(Arc::new(self.clone()))
    }

    fn log(&self, index: usize) -> Result<Arc<dyn LogFile>> {
        Ok(Arc::new(Handle { storage: self.clone(), index }))
    }

    fn shared(&self, len: usize) -> Result<Arc<dyn SharedMemory>> {
        self.0.memory.shared(len)
    }

    fn shared_with_others(&self, len: usize) -> Result<Option<Arc<dyn SharedMemory>>> {
        self.0.memory.shared_with_others(len)
    }

    fn private(&self) -> Result<Arc<dyn Storage>> {
        if self.0.memory.is_written_to() { Err(Error::Busy) } else { Ok(Arc::new(self.kill(false)?)) }
    }

    fn lengths(&self) -> Result<Lengths> {
        let logs = [self.0.logs[0].len(), self.0.logs[1].len()];
        Ok(Lengths { logs, data: self.0.data.len() })
    }
}

// SAFETY: the same as the data area in memory that all calls are forwarded to.
unsafe impl Data for SimulatedStorage {
    fn base(&self) -> std::ptr::NonNull<u8> {
        self.0.data.base()
    }

    fn len(&self) -> u64 {
        self.0.data.len()
    }

    fn capacity(&self) -> u64 {
        self.0.data.capacity()
    }

    unsafe fn set_len(&self, len: u64) -> Result<()> {
        self.watched(Operation::ResizeData, |inner| {
            inner.faults.write()?;
            let old_len = inner.data.len();
            if len > old_len {
                inner.faults.reserve(Self::other_bytes(inner, old_len), len)?;
            }
            // SAFETY: the caller guarantees what this requires.
            unsafe { inner.data.set_len(len) }
        })
    }

    fn sync(&self) -> Result<()> {
        self.sync_data(SimulatedData::sync)
    }

    fn sync_ranges(&self, ranges: &[Range<u64>]) -> Result<()> {
        self.sync_data(|data| data.sync_ranges(ranges))
    }
}

/// One of the logs.
#[derive(Debug)]
struct Handle {
    storage: SimulatedStorage,
    index: usize,
}

impl LogFile for Handle {
    fn len(&self) -> Result<u64> {
        Ok(self.storage.0.logs[self.index].len())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.storage.0.logs[self.index].read_at(offset, bytes)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.storage.watched(Operation::WriteLog(self.index), |inner| {
            let log = &inner.logs[self.index];
            let end = offset + bytes.len() as u64;
            let room = inner.faults.write().and_then(|()| {
                if end <= log.len() {
                    return Ok(());
                }
                inner.faults.reserve(SimulatedStorage::other_bytes(inner, log.len()), end)
            });
            let written = if room.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
            if room.is_ok() || offset + written.len() as u64 <= log.len() {
                log.write_at(offset, written);
            }
            room
        })
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.storage.watched(Operation::ResizeLog(self.index), |inner| {
            inner.faults.write()?;
            inner.logs[self.index].set_len(len);
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        self.storage.watched(Operation::SyncLog(self.index), |inner| {
            let synced = inner.faults.sync();
            inner.logs[self.index].sync(synced.is_ok());
            synced
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The survivor's memory lies in `memory`, so drop it first.
        self.survivor = None;
    }
}

//! The table of readers: the current root and the pinned roots, in memory that all processes with the store open share.
//!
//! ```text
//! byte     0  magic         "LathRdr4"; 0 in unused memory
//!          8  incarnations  the number of owners so far
//!         16  high water    slots from this number on were never owned
//!         64  current       the published root; 0 = none yet
//!         72  data length   bytes of the data area that readers of the published root may access
//!         80  watched       1 if threads wait for the next publication, otherwise 0
//!        128  requests      the number of requests for the writer lock so far
//!        136  releases      how often the writer lock was released
//!        144  wanted        1 while a process waits for the writer lock, otherwise 0
//!        152  taken         how often the writer lock was taken
//!        160  holder        the process id of the process that has the writer lock; 0 = none
//!        168  next          the process id of the process that got the place of the next one last
//!        176  attempts      how often processes in that place have tried to take the writer lock
//!        184  stopped       1 more than `attempts` was when the process in that place was found to be stopped
//!        192  data file     the number of the data file that the table belongs to; 0 = not known yet
//!        200  log files     the same for the two logs
//!        256  slot 0
//!        320  slot 1, and so on
//!
//! slot     0  value         the published root that this slot pins; 0 = none
//!          8  owner         the owner of the slot; 0 = none
//!         16  system id     the owner's process id, for debugging; in a slot that holds a checkpoint, the upper half is the length
//!                           of the data file in pieces of 64 KiB
//!         24  settled       the value, once the owner may read what it pins; otherwise something else
//!         32  held          in a slot that holds a checkpoint: its generation, its sequence number, and the words of its catalog and
//!                           of its named snapshots
//!
//! root    63            40 39                                  0
//!         │  sequence     │  reference of the root's record      │    only the lowest 24 bits of the sequence
//! held    63            40 39                                  0
//!         │  slot         │  1                                   │    a checkpoint that a reader found without a writer
//! owner   63                                          10 9      0
//!         │  incarnation, counted from 1                │ process │
//! ```
//!
//! All words have 64 bits in the machine's byte order; each slot and the published root have separate cache lines. The
//! memory does not outlive the last process that maps it, so nothing in it was left by an earlier boot of the machine.
//!
//! Readers pin without waiting for the writer ([`protocol`] has the argument): a slot that was used once is kept for
//! the next pin. A process that ends without releasing its slots leaves its pins behind. They are released when the
//! writer notices that they stay and the system reports that the process has ended, or when another process takes its
//! number. Incarnations never repeat, so a pin of a dead process cannot be confused with one of the slot's next owner.

mod lock_words;
mod memory;
#[cfg(all(test, feature = "loom"))]
mod model;
mod protocol;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod tests;
mod views;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) use self::lock_words::LockWords;
use self::memory::Memory;
use self::protocol::{INCARNATION_SHIFT, Table, held_slot, process_number};
pub(crate) use self::views::{OpenView, ViewRoots, Views};
use crate::error::{Error, Result};
use crate::node::Word;
use crate::root::Root;
use crate::storage::{MAX_PROCESSES, SharedMemory, Storage};

/// Slots of a table of [`SHARED_LEN`]: the maximum number of concurrent pins over all processes.
pub(crate) const SLOTS: usize = 4096;

/// The number of bytes of shared memory to request.
pub(crate) const SHARED_LEN: usize = protocol::SLOTS_AT + SLOTS * size_of::<protocol::Slot<AtomicU64>>();

/// The place of the published root in the table. The lower half of the word differs between a root and the next one, whose
/// record is elsewhere.
const CURRENT: usize = 8;

/// The unit of the data file's length in slots.
const PIECE_BYTES: u64 = 1 << 16;

/// The number of scans between two queries to the system about the owners of old pins.
const SCANS_BETWEEN_QUESTIONS: u32 = 256;

/// The number of rounds that a new writer waits for readers in the middle of taking a snapshot, which normally takes
/// nanoseconds.
const SETTLING_ROUNDS: u32 = 500;
const SETTLING_PAUSE: Duration = Duration::from_millis(10);

/// One process's part in the table of readers.
#[derive(Debug)]
pub(crate) struct Readers {
    part: Arc<Part>,
}

/// The part of [`Readers`] that pins keep alive.
struct Part {
    memory: Memory,
    owner: u64,
    /// Slots of this process that are not in use.
    free: Mutex<Vec<u32>>,
    owned: Mutex<Vec<u32>>,
    watch: Mutex<Watch>,
}

/// The writer's observations of other processes' pins.
#[derive(Default)]
struct Watch {
    scans: u32,
    /// The pins at the last query, by slot.
    seen: Vec<ObservedPin>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct ObservedPin {
    slot: usize,
    owner: u64,
    value: u64,
}

impl Readers {
    /// Registers this process under a free number. There must be no other `Readers` of the same `shared`, because the
    /// system does not report a handle's own locks.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`] if all process numbers are taken, [`Error::Invalid`] if the memory is too small or of another
    /// version, or the error of a failed lock.
    pub(crate) fn new(shared: Arc<dyn SharedMemory>) -> Result<Self> {
        let memory = Memory::new(Arc::clone(&shared))?;
        let table = memory.table();
        if !table.is_ours() {
            return Err(other_version());
        }
        let mut process = 0;
        while !shared.lock_process(process)? {
            process += 1;
            if process == MAX_PROCESSES {
                return Err(Error::Limit { what: "the number of processes", limit: MAX_PROCESSES.into() });
            }
        }
        let owner = table.new_owner(process);
        // Any earlier process with this number has ended, so its slots are free.
        table.each_owned(|slot, other| {
            if process_number(other) == process {
                table.take_over(slot, other, owner);
            }
        });
        let (free, owned, watch) = (Mutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { part: Arc::new(Part { memory, owner, free, owned, watch }) })
    }

    /// Makes a root the current one. Only the writer calls this, after it has written all nodes that the root reaches
    /// within the first `data_len` bytes of the data area. `data_len` may shrink only when no pinned root needs more.
    pub(crate) fn publish(&self, value: u64, data_len: u64) {
        self.table().publish(value, data_len);
    }

    /// Wakes the threads that wait for a publication. The writer calls this after it has published a root and scanned the pins.
    #[inline]
    pub(crate) fn wake_watchers(&self) {
        if self.table().take_watch() {
            self.part.memory.shared().wake(CURRENT);
        }
    }

    /// Waits until another root than `value` is current, for at most `timeout`. May return early.
    pub(crate) fn wait_for_other(&self, value: u64, timeout: Duration) {
        if self.table().watch(value) {
            self.part.memory.shared().wait(CURRENT, value as u32, timeout);
        }
    }

    /// The published root, if there is one.
    pub(crate) fn current(&self) -> Option<u64> {
        Some(self.table().current()).filter(|&value| value != 0)
    }

    /// The number of bytes of the data area that readers may access: at least as many as the pinned roots need.
    pub(crate) fn data_len(&self) -> u64 {
        self.table().data_len()
    }

    /// Pins the current root.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] if no root was published, [`Error::Limit`] if all slots are taken.
    #[inline]
    pub(crate) fn pin(&self) -> Result<Pin> {
        let slot = self.part.take_slot()?;
        let value = self.table().pin(slot as usize);
        // From here on the slot is returned in any case.
        let pin = Pin { part: Arc::clone(&self.part), slot, value };
        if value == 0 { Err(Error::internal("a snapshot is taken before a commit is published")) } else { Ok(pin) }
    }

    /// Pins the checkpoint with this root, in a data file of `file_bytes`, which a reader has found while no writer had
    /// the store open. The caller excludes writers until this returns. The root has no record, so the table stores the
    /// root itself.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`] if all slots are taken.
    pub(crate) fn hold(&self, root: &Root, file_bytes: u64) -> Result<Pin> {
        let slot = self.part.take_slot()?;
        let held = [root.generation, root.sequence, root.catalog.bits(), root.snapshots.bits()];
        let pieces = u32::try_from(file_bytes.div_ceil(PIECE_BYTES)).unwrap_or(u32::MAX);
        let value = self.table().hold(slot as usize, held, pieces);
        Ok(Pin { part: Arc::clone(&self.part), slot, value })
    }

    /// The root of the checkpoint that a pin with this value holds; `None` if it pins a published root.
    pub(crate) fn held_root(&self, value: u64) -> Option<Root> {
        let [generation, sequence, catalog, snapshots] = self.table().held(held_slot(value)?);
        let [catalog, snapshots] = [catalog, snapshots].map(Word::from_bits);
        Some(Root { generation, sequence, catalog, snapshots })
    }

    /// The length in bytes that the data file has to keep for readers of checkpoints: their view has memory in place of
    /// what was free.
    pub(crate) fn held_bytes(&self) -> u64 {
        let mut bytes = 0;
        let table = self.table();
        table.each_pin(|_, _, value| {
            if let Some(slot) = held_slot(value) {
                bytes = bytes.max(u64::from(table.held_pieces(slot)) * PIECE_BYTES);
            }
        });
        bytes
    }

    /// Replaces `out` by all roots that are read or may yet be pinned: the current one and the pinned ones, in no order
    /// and possibly with duplicates.
    ///
    /// Only the writer calls this. The proof is in [`protocol`]. Pins of ended processes are released after some
    /// hundreds of calls, because the system is queried only then; [`release_dead`](Self::release_dead) releases them
    /// at once.
    pub(crate) fn pinned(&self, out: &mut Vec<u64>) {
        out.clear();
        out.extend(self.current());
        self.part.scan(out);
    }

    /// Releases the slots of all processes that have ended, and returns their number.
    ///
    /// # Errors
    ///
    /// Returns an error if the system does not report which processes are alive.
    pub(crate) fn release_dead(&self) -> Result<usize> {
        self.part.release_dead()
    }

    /// For a new writer: releases the slots of ended processes, and waits until the pins of the others are settled.
    ///
    /// # Errors
    ///
    /// [`Error::BusyTimeout`] if a process was stopped in the middle of taking a snapshot, and stays there for seconds.
    /// Otherwise the same as [`release_dead`](Self::release_dead).
    pub(crate) fn take_over(&self) -> Result<()> {
        let mut process = 0;
        for _ in 0..SETTLING_ROUNDS {
            self.release_dead()?;
            match self.table().unsettled() {
                Some(slot) => process = self.table().system_id(slot),
                None => return Ok(()),
            }
            std::thread::sleep(SETTLING_PAUSE);
        }
        Err(Error::BusyTimeout { waited: SETTLING_ROUNDS * SETTLING_PAUSE, process })
    }

    /// Binds the table to the files with these numbers, as far as they exist, unless it is bound already.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`] if it is bound to other files: processes have the store open whose data file or logs were replaced.
    pub(crate) fn attach(&self, storage: &dyn Storage, data: u64, logs: [u64; 2]) -> Result<()> {
        let files = self.table().files();
        let words = [&files.data, &files.logs[0], &files.logs[1]];
        for (place, (word, number)) in words.into_iter().zip([data, logs[0], logs[1]]).enumerate() {
            if number != 0 && !Table::attach(word, number) {
                return Err(Error::Replaced { path: storage.file_name(place) });
            }
        }
        Ok(())
    }

    /// Checks that the files of the table and of the data are still where they were.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`].
    pub(crate) fn check_place(&self) -> Result<()> {
        self.part.memory.shared().check_place()
    }

    #[inline]
    fn table(&self) -> Table<'_, AtomicU64> {
        self.part.memory.table()
    }
}

impl Part {
    /// Appends all pins.
    fn scan(&self, out: &mut Vec<u64>) {
        let table = self.memory.table();
        let mut watch = lock(&self.watch);
        watch.scans += 1;
        if watch.scans < SCANS_BETWEEN_QUESTIONS {
            table.each_pin(|_, _, value| out.push(value));
            return;
        }
        watch.scans = 0;
        let mut seen = Vec::new();
        let mut questions = Questions::default();
        table.each_pin(|slot, owner, value| {
            let pin = ObservedPin { slot, owner, value };
            let is_old = owner != self.owner && owner != 0 && watch.seen.contains(&pin);
            // If the query fails, the pin stays.
            if is_old && questions.is_dead(self.memory.shared(), owner).unwrap_or(false) {
                table.take_over(slot, owner, self.owner);
            } else {
                out.push(value);
                seen.push(pin);
            }
        });
        watch.seen = seen;
    }

    fn release_dead(&self) -> Result<usize> {
        let table = self.memory.table();
        let mut questions = Questions::default();
        let mut released = 0;
        let mut failed = None;
        table.each_owned(|slot, owner| {
            if owner != self.owner && failed.is_none() {
                match questions.is_dead(self.memory.shared(), owner) {
                    Ok(true) => released += usize::from(table.take_over(slot, owner, self.owner)),
                    Ok(false) => {}
                    Err(error) => failed = Some(error),
                }
            }
        });
        failed.map_or(Ok(released), Err)
    }

    /// Takes a slot for this process: a free one, or a new one.
    ///
    /// Caching the last slot in each thread, to avoid the lock, did not make snapshots faster: 56 to 58 ns each, and 55
    /// to 56 with the lock, in one, two and four threads on two cores. All threads change the reference count of this
    /// value anyway.
    #[inline]
    fn take_slot(&self) -> Result<u32> {
        let free = lock(&self.free).pop();
        free.map_or_else(|| self.claim_slot(), Ok)
    }

    #[cold]
    fn claim_slot(&self) -> Result<u32> {
        let table = self.memory.table();
        let mut claimed = table.claim(self.owner);
        if claimed.is_none() && self.release_dead()? > 0 {
            claimed = table.claim(self.owner);
        }
        let limit = table.slot_count() as u64;
        let slot = claimed.ok_or(Error::Limit { what: "the number of readers at a time", limit })? as u32;
        table.set_system_id(slot as usize, std::process::id());
        lock(&self.owned).push(slot);
        Ok(slot)
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let current = self.memory.table().current();
        f.debug_struct("Part").field("owner", &self.owner).field("current", &current).finish_non_exhaustive()
    }
}

impl Drop for Part {
    #[inline]
    fn drop(&mut self) {
        // No pin is left, as each holds a reference to this value.
        for slot in lock(&self.owned).drain(..) {
            self.memory.table().release(slot as usize);
        }
    }
}

/// A pinned root. While this lives, the root and all nodes that it reaches stay unchanged.
pub(crate) struct Pin {
    part: Arc<Part>,
    slot: u32,
    value: u64,
}

impl Pin {
    /// The published root.
    #[inline]
    pub(crate) fn value(&self) -> u64 {
        self.value
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pin").field("value", &self.value).field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.part.memory.table().unpin(self.slot as usize);
        lock(&self.part.free).push(self.slot);
    }
}

fn other_version() -> Error {
    Error::Invalid("another version of this program has the store open".to_owned())
}

/// Returns whether a pin with this value holds a checkpoint, which has no root record.
pub(crate) fn is_held(value: u64) -> bool {
    held_slot(value).is_some()
}

/// Caches the answers, so that each owner is queried once.
#[derive(Default)]
struct Questions {
    /// By owner, not by process number: the number of a dead process may have been reused since.
    answers: Vec<(u64, bool)>,
}

impl Questions {
    /// Returns whether `owner`, which has had a slot before, has ended.
    fn is_dead(&mut self, shared: &dyn SharedMemory, owner: u64) -> Result<bool> {
        if let Some(&(_, is_dead)) = self.answers.iter().find(|answer| answer.0 == owner) {
            return Ok(is_dead);
        }
        let is_dead = !shared.is_process_alive(process_number(owner))?;
        self.answers.push((owner, is_dead));
        Ok(is_dead)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const _: () = assert!(MAX_PROCESSES == 1 << INCARNATION_SHIFT);

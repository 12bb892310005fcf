//! The operations on the words of the table and their order, with the proof that no reader accesses nodes that the
//! writer reuses.
//!
//! ```text
//! writer                                      reader
//! W0  nodes of `new`: plain writes            R1  v := current                     acquire
//! W1  current := new             release      R2  slot := v                        release
//! WF  fence                      SeqCst       RF  fence                            SeqCst
//! W2  s := each slot             acquire      R3  current = v? if not: R1          acquire
//! W3  reuses nodes that only roots need       R4  reads the nodes of v
//!     which are neither `new` nor an s        R5  slot := 0                        release
//! ```
//!
//! Claim: if W2 does not find `v ≠ new` in any slot, no reader reads the nodes of `v`, now or later.
//!
//! Take a reader that reaches R4 with `v`. Fences are in one order S that all threads agree on.
//!
//! - WF before RF in S: loads after RF see the stores before WF, so R3 loads `new` or a later root, not `v`: the reader
//!   does not reach R4. (A root that was published again is current again, and may be read.)
//! - RF before WF in S: loads after WF see the stores before RF, so W2 loads either this reader's `v`, and the writer
//!   keeps its nodes, or a later value of the slot. In the second case R5 has stored 0, after all of R4. Later values
//!   of the slot are stored by this thread, or by one that got the slot from it (by `owner`, released by the one and
//!   acquired by the other, or by a lock of their process), and always by a release. W2 acquires, so it comes after all
//!   of R4, and W3 disturbs nothing.
//!
//! Later publications only have a later WF. R3 acquires what W1 released, so R4 sees W0. The high-water mark is raised
//! before R2 and read after WF, so for RF before WF no slot in use lies beyond it.
//!
//! A new writer does not know which roots its predecessor kept. A slot whose owner is between R2 and R4 may have a root
//! that was freed long ago. `settled` marks such slots: it equals `value` only from R4 to R5 (it is cleared before
//! `value`). The new writer waits until all slots are settled.
//!
//! Owners: only the owner stores `value`. A free slot is claimed by exchanging 0 in `owner` for the claimer. The slot
//! of an ended owner is taken over by exchanging that owner for the cleaner, which then clears value and owner. If
//! there are several cleaners, one succeeds; if it ends in between, the slot has an ended owner again. Owners are never
//! reused, so an exchange never affects a slot that has got another owner meanwhile.

use std::sync::atomic::Ordering;

/// The magic number of tables with this layout.
const MAGIC: u64 = u64::from_le_bytes(*b"LathRdr4");

/// The offset of the slots, in bytes.
pub(super) const SLOTS_AT: usize = 256;

/// The number of low bits of an owner that contain the process number.
pub(super) const INCARNATION_SHIFT: u32 = 10;

/// The number of words in a slot that describe a held checkpoint.
pub(super) const HELD_WORDS: usize = 4;

/// In place of a reference, the value of a slot that holds a checkpoint; no node has this reference. The bits above
/// contain the slot's number.
const HELD: u64 = 1;
const SLOT_SHIFT: u32 = 40;

/// The slot that holds a checkpoint rather than a published root, if this is such a value.
pub(super) fn held_slot(value: u64) -> Option<usize> {
    (value & ((1 << SLOT_SHIFT) - 1) == HELD).then_some((value >> SLOT_SHIFT) as usize)
}

/// A word that threads share: `AtomicU64`, or its counterpart in a model checker.
pub(super) trait Word {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn compare_exchange(&self, current: u64, new: u64, success: Ordering, failure: Ordering) -> Result<u64, u64>;
    fn fetch_add(&self, value: u64, order: Ordering) -> u64;
    fn fetch_max(&self, value: u64, order: Ordering) -> u64;
    /// A sequentially consistent fence.
    fn fence();
}

impl Word for std::sync::atomic::AtomicU64 {
    #[inline]
    fn load(&self, order: Ordering) -> u64 {
        self.load(order)
    }

    #[inline]
    fn store(&self, value: u64, order: Ordering) {
        self.store(value, order);
    }

    #[inline]
    fn compare_exchange(&self, current: u64, new: u64, success: Ordering, failure: Ordering) -> Result<u64, u64> {
        self.compare_exchange(current, new, success, failure)
    }

    #[inline]
    fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.fetch_add(value, order)
    }

    #[inline]
    fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
        self.fetch_max(value, order)
    }

    #[inline]
    fn fence() {
        std::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// Read by all processes when they open the store, and rarely written.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Identity<W> {
    magic: W,
    incarnations: W,
    high_water: W,
}

/// Written only by the writer.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Publication<W> {
    current: W,
    data_len: W,
    is_watched: W,
}

#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Header<W> {
    identity: Identity<W>,
    published: Publication<W>,
    writers: Writers<W>,
    files: Files<W>,
}

/// The numbers of the files that the table belongs to; 0 until a process has found the file.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Files<W> {
    pub(super) data: W,
    pub(super) logs: [W; 2],
}

/// Read by the writer after each transaction, and written when the writer lock passes to another process.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Writers<W> {
    pub(super) requests: W,
    pub(super) releases: W,
    pub(super) is_wanted: W,
    pub(super) taken: W,
    pub(super) holder: W,
    pub(super) next: W,
    pub(super) attempts: W,
    pub(super) stopped: W,
}

#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Slot<W> {
    value: W,
    owner: W,
    system_id: W,
    settled: W,
    /// The root of a held checkpoint.
    held: [W; HELD_WORDS],
}

/// The table as one process sees it.
#[derive(Debug)]
pub(super) struct Table<'a, W> {
    header: &'a Header<W>,
    slots: &'a [Slot<W>],
}

/// The process number in an owner.
pub(super) fn process_number(owner: u64) -> u32 {
    (owner & ((1 << INCARNATION_SHIFT) - 1)) as u32
}

impl<'a, W: Word> Table<'a, W> {
    pub(super) fn new(header: &'a Header<W>, slots: &'a [Slot<W>]) -> Self {
        Self { header, slots }
    }

    /// Initializes unused memory, and returns whether the memory has this layout.
    pub(super) fn is_ours(&self) -> bool {
        let marked = self.header.identity.magic.compare_exchange(0, MAGIC, Ordering::AcqRel, Ordering::Acquire);
        marked.is_ok() || marked == Err(MAGIC)
    }

    /// A new owner, never used before, for the process with this number.
    pub(super) fn new_owner(&self, process: u32) -> u64 {
        let incarnation = self.header.identity.incarnations.fetch_add(1, Ordering::Relaxed) + 1;
        incarnation << INCARNATION_SHIFT | u64::from(process)
    }

    pub(super) fn writers(&self) -> &'a Writers<W> {
        &self.header.writers
    }

    /// Enters the number of a file that was found. Returns `false` if the table belongs to another file.
    pub(super) fn attach(word: &W, number: u64) -> bool {
        let entered = word.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire);
        entered.is_ok() || entered == Err(number)
    }

    pub(super) fn files(&self) -> &'a Files<W> {
        &self.header.files
    }

    pub(super) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// W1.
    pub(super) fn publish(&self, value: u64, data_len: u64) {
        self.header.published.data_len.store(data_len, Ordering::Relaxed);
        self.header.published.current.store(value, Ordering::Release);
    }

    /// Requests that the next publication wakes this thread, and returns whether `value` is still current. The fence orders the request
    /// before the load, as the writer's WF orders W1 before its load in [`take_watch`](Self::take_watch): one of the two sees the other.
    pub(super) fn watch(&self, value: u64) -> bool {
        self.header.published.is_watched.store(1, Ordering::SeqCst);
        W::fence();
        self.current() == value
    }

    /// Returns whether threads wait for a publication. Called after WF. Resets the request, so that one of a killed process is
    /// answered once.
    #[inline]
    pub(super) fn take_watch(&self) -> bool {
        let word = &self.header.published.is_watched;
        let is_watched = word.load(Ordering::Relaxed) != 0;
        if is_watched {
            word.store(0, Ordering::SeqCst);
        }
        is_watched
    }

    #[inline]
    pub(super) fn current(&self) -> u64 {
        self.header.published.current.load(Ordering::Acquire)
    }

    pub(super) fn data_len(&self) -> u64 {
        self.header.published.data_len.load(Ordering::Relaxed)
    }

    /// R1 to R3, in a slot of the caller that holds nothing. Returns the current root, which the slot now pins, or 0 if
    /// there is none.
    #[inline]
    pub(super) fn pin(&self, slot: usize) -> u64 {
        let word = &self.slots[slot].value;
        let mut value = self.current();
        while value != 0 {
            word.store(value, Ordering::Release);
            W::fence();
            // Only a publication in between causes another round.
            let now = self.current();
            if now == value {
                self.slots[slot].settled.store(value, Ordering::Release);
                return value;
            }
            value = now;
        }
        word.store(0, Ordering::Release);
        0
    }

    /// Stores a checkpoint in a slot of the caller that holds nothing, while no writer has the store open, and returns
    /// the slot's value. A later writer acquires the words with the value, and they do not change while the value is
    /// there.
    pub(super) fn hold(&self, slot: usize, held: [u64; HELD_WORDS], pieces: u32) -> u64 {
        let value = HELD | (slot as u64) << SLOT_SHIFT;
        let Slot { value: word, settled, held: words, system_id, .. } = &self.slots[slot];
        words.iter().zip(held).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        let id = system_id.load(Ordering::Relaxed) as u32;
        system_id.store(u64::from(id) | u64::from(pieces) << 32, Ordering::Relaxed);
        word.store(value, Ordering::Release);
        settled.store(value, Ordering::Release);
        value
    }

    /// The words of a slot that was found to hold a checkpoint; zeros if the slot does not exist.
    pub(super) fn held(&self, slot: usize) -> [u64; HELD_WORDS] {
        let word = |at: usize| self.slots.get(slot).map_or(0, |slot| slot.held[at].load(Ordering::Relaxed));
        std::array::from_fn(word)
    }

    /// The number of pieces of the data file that such a slot needs.
    pub(super) fn held_pieces(&self, slot: usize) -> u32 {
        self.slots.get(slot).map_or(0, |slot| (slot.system_id.load(Ordering::Relaxed) >> 32) as u32)
    }

    /// R5.
    #[inline]
    pub(super) fn unpin(&self, slot: usize) {
        self.slots[slot].settled.store(0, Ordering::Release);
        self.slots[slot].value.store(0, Ordering::Release);
    }

    #[cfg(test)]
    pub(super) fn unsettle(&self, slot: usize) {
        self.slots[slot].settled.store(0, Ordering::Release);
    }

    /// A slot of a reader between R2 and R4, if there is one.
    pub(super) fn unsettled(&self) -> Option<usize> {
        W::fence();
        self.used().iter().position(|slot| {
            let value = slot.value.load(Ordering::Acquire);
            value != 0 && slot.settled.load(Ordering::Acquire) != value
        })
    }

    /// WF and W2: calls `each` with each slot that pins a root, its owner and the root. The owner is read after the
    /// root: if it has ended later, no reader has the pin.
    pub(super) fn each_pin(&self, mut each: impl FnMut(usize, u64, u64)) {
        W::fence();
        for (number, slot) in self.used().iter().enumerate() {
            let value = slot.value.load(Ordering::Acquire);
            if value != 0 {
                each(number, slot.owner.load(Ordering::Acquire), value);
            }
        }
    }

    /// Calls `each` with each slot that has an owner, and the owner.
    pub(super) fn each_owned(&self, mut each: impl FnMut(usize, u64)) {
        for (number, slot) in self.used().iter().enumerate() {
            let owner = slot.owner.load(Ordering::Acquire);
            if owner != 0 {
                each(number, owner);
            }
        }
    }

    /// Claims the first free slot for the owner, so that used slots stay together.
    pub(super) fn claim(&self, owner: u64) -> Option<usize> {
        let is_claimed = |slot: &Slot<W>| {
            slot.owner.load(Ordering::Relaxed) == 0
                && slot.owner.compare_exchange(0, owner, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let number = self.slots.iter().position(is_claimed)?;
        self.header.identity.high_water.fetch_max(number as u64 + 1, Ordering::AcqRel);
        Some(number)
    }

    /// Frees a slot of the caller that pins nothing.
    pub(super) fn release(&self, slot: usize) {
        self.slots[slot].owner.store(0, Ordering::Release);
    }

    /// Clears and frees a slot of an owner that has ended, and returns whether it still had that owner.
    pub(super) fn take_over(&self, slot: usize, dead: u64, cleaner: u64) -> bool {
        let slot = &self.slots[slot];
        let is_dead_owners = slot.owner.compare_exchange(dead, cleaner, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_dead_owners {
            slot.settled.store(0, Ordering::Release);
            slot.value.store(0, Ordering::Release);
            slot.owner.store(0, Ordering::Release);
        }
        is_dead_owners
    }

    pub(super) fn set_system_id(&self, slot: usize, id: u32) {
        self.slots[slot].system_id.store(id.into(), Ordering::Relaxed);
    }

    pub(super) fn system_id(&self, slot: usize) -> u32 {
        self.slots[slot].system_id.load(Ordering::Relaxed) as u32
    }

    /// The slots below the high-water mark, which is limited to the number of slots.
    fn used(&self) -> &'a [Slot<W>] {
        let count = self.header.identity.high_water.load(Ordering::Acquire);
        &self.slots[..self.slots.len().min(count as usize)]
    }
}

const _: () = assert!(size_of::<Header<u64>>() <= SLOTS_AT && size_of::<Slot<u64>>() == 64);

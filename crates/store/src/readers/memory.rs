#![expect(unsafe_code, reason = "sees memory that processes share as a table of atomics")]
//! The table in shared memory.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::protocol::{Header, SLOTS_AT, Slot, Table};
use crate::error::{Error, Result};
use crate::storage::SharedMemory;

/// Shared memory with room for the header and for at least one slot.
#[derive(Debug)]
pub(super) struct Memory {
    header: NonNull<Header<AtomicU64>>,
    slots: NonNull<Slot<AtomicU64>>,
    slot_count: usize,
    /// Keeps the memory mapped.
    shared: Arc<dyn SharedMemory>,
}

// SAFETY: the pointers are used only for shared references to atomics, in memory that lives as long as this value, and
// `shared`, which keeps it alive, is `Send`.
unsafe impl Send for Memory {}
// SAFETY: as above; everything that is done to the memory through this value is done to atomics.
unsafe impl Sync for Memory {}

impl Memory {
    /// # Errors
    ///
    /// [`Error::Invalid`] if the memory is too small or not aligned.
    pub(super) fn new(shared: Arc<dyn SharedMemory>) -> Result<Self> {
        let base = shared.base();
        let slot_count = shared.len().saturating_sub(SLOTS_AT) / size_of::<Slot<AtomicU64>>();
        if slot_count == 0 || !base.cast::<Header<AtomicU64>>().is_aligned() {
            return Err(Error::Invalid("the shared memory has no room for the table of readers".to_owned()));
        }
        // SAFETY: the memory is longer than that, because it has room for a slot after the header.
        let slots = unsafe { base.add(SLOTS_AT) };
        Ok(Self { header: base.cast(), slots: slots.cast(), slot_count, shared })
    }

    #[inline]
    pub(super) fn table(&self) -> Table<'_, AtomicU64> {
        // SAFETY: the memory is aligned and long enough for a header, which was checked, and stays mapped as long as
        // `self.shared`, which the reference borrows. A header consists of atomics only, for which all bit patterns are
        // valid, and which other threads and processes access only as atomics.
        let header = unsafe { self.header.as_ref() };
        // SAFETY: as above: after the header there is room for `slot_count` slots, aligned like the header, which
        // consist of atomics as well.
        let slots = unsafe { std::slice::from_raw_parts(self.slots.as_ptr(), self.slot_count) };
        Table::new(header, slots)
    }

    pub(super) fn shared(&self) -> &dyn SharedMemory {
        &*self.shared
    }
}

//! Slots that a thread has had and will want again: taking one of them touches nothing that other threads write.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Slots that a thread keeps of one table; more go to where all threads find them.
const KEPT: usize = 2;

/// Slots of this process that are in no use and no thread's.
#[derive(Debug, Default)]
pub(super) struct FreeSlots {
    slots: Mutex<Vec<u32>>,
}

impl FreeSlots {
    pub(super) fn pop(&self) -> Option<u32> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn push(&self, slot: u32) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
    }
}

/// What a thread keeps of one table.
struct Kept {
    table: u64,
    slots: [u32; KEPT],
    count: usize,
    home: Weak<FreeSlots>,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            self.slots[..self.count].iter().for_each(|&slot| home.push(slot));
        }
    }
}

thread_local! {
    static KEPT_SLOTS: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// A slot that this thread has kept of the table with this number.
pub(super) fn take(table: u64) -> Option<u32> {
    // Nothing is kept by a thread that is ending.
    let take = |kept: &RefCell<Vec<Kept>>| {
        let mut kept = kept.borrow_mut();
        let kept = kept.iter_mut().find(|kept| kept.table == table)?;
        kept.count = kept.count.checked_sub(1)?;
        Some(kept.slots[kept.count])
    };
    KEPT_SLOTS.try_with(take).ok().flatten()
}

/// Keeps a slot that is no longer in use, for this thread or for all.
pub(super) fn give(table: u64, slot: u32, home: &Arc<FreeSlots>) {
    let give = |all: &RefCell<Vec<Kept>>| {
        let mut all = all.borrow_mut();
        if let Some(kept) = all.iter_mut().find(|kept| kept.table == table) {
            if kept.count == KEPT {
                return false;
            }
            kept.slots[kept.count] = slot;
            kept.count += 1;
        } else {
            // Tables that are gone leave here.
            all.retain(|kept| kept.home.strong_count() > 0);
            all.push(Kept { table, slots: [slot; KEPT], count: 1, home: Arc::downgrade(home) });
        }
        true
    };
    if !KEPT_SLOTS.try_with(give).unwrap_or(false) {
        home.push(slot);
    }
}

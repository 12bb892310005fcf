//! Shares the memory of a session's queries among operators.
//!
//! DataFusion 55 lets operators that can spill take the whole pool, so that a merge, which cannot spill, finds nothing left: a sort
//! succeeded with less memory, where it spilled, and failed with more. Here a quarter is reserved for operators that cannot spill.
//!
//! | an operator | may have |
//! | --- | --- |
//! | that cannot spill | the rest of the budget |
//! | that can spill | an equal share of the budget, less the larger of a quarter and the memory of operators that cannot spill |
//! | any | a sixteenth of the budget, so that each can work with a few batches |

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::common::{Result, resources_datafusion_err};
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation, human_readable_size};

/// A fraction of the budget (one in this many) that is reserved for operators that cannot spill.
const KEPT_PART: usize = 4;
/// A fraction of the budget (one in this many) that every operator may have, regardless of the others.
const SMALLEST_PART: usize = 16;
/// The minimum share: a batch or two of common rows.
const MIN_SHARE_BYTES: usize = 1 << 20;

/// A memory pool with a fixed budget.
#[derive(Debug)]
pub(crate) struct BudgetPool {
    budget_bytes: usize,
    used: Mutex<Usage>,
}

/// Bytes in use by operators.
#[derive(Debug, Default)]
struct Usage {
    /// Bytes by the operator's id, without operators that have none.
    spillable: HashMap<usize, usize>,
    unspillable: HashMap<usize, usize>,
    spillable_bytes: usize,
    unspillable_bytes: usize,
}

impl BudgetPool {
    pub(crate) fn new(budget_bytes: usize) -> Self {
        Self { budget_bytes, used: Mutex::default() }
    }

    fn used(&self) -> MutexGuard<'_, Usage> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of bytes that an operator may have in all.
    fn share(&self, used: &Usage, reservation: &MemoryReservation, own: usize) -> usize {
        let smallest = (self.budget_bytes / SMALLEST_PART).max(MIN_SHARE_BYTES);
        let unused = self.budget_bytes.saturating_sub(used.spillable_bytes + used.unspillable_bytes);
        if !reservation.consumer().can_spill() {
            return smallest.max(own + unused);
        }
        let kept = used.unspillable_bytes.max(self.budget_bytes / KEPT_PART);
        let sharers = used.spillable.len() + usize::from(own == 0);
        let equal = self.budget_bytes.saturating_sub(kept) / sharers.max(1);
        smallest.max(equal.min(own + unused))
    }
}

impl Usage {
    fn change(&mut self, reservation: &MemoryReservation, change: impl Fn(usize) -> usize) {
        let consumer = reservation.consumer();
        let (each, all) = match consumer.can_spill() {
            true => (&mut self.spillable, &mut self.spillable_bytes),
            false => (&mut self.unspillable, &mut self.unspillable_bytes),
        };
        *all = change(*all);
        let own = change(each.get(&consumer.id()).copied().unwrap_or(0));
        if own == 0 {
            each.remove(&consumer.id());
        } else {
            each.insert(consumer.id(), own);
        }
    }

    fn own(&self, reservation: &MemoryReservation) -> usize {
        let consumer = reservation.consumer();
        let each = if consumer.can_spill() { &self.spillable } else { &self.unspillable };
        each.get(&consumer.id()).copied().unwrap_or(0)
    }
}

impl MemoryPool for BudgetPool {
    fn name(&self) -> &str {
        "lath budget"
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.used().change(reservation, |bytes| bytes.saturating_add(additional));
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.used().change(reservation, |bytes| bytes.saturating_sub(shrink));
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut used = self.used();
        let own = used.own(reservation);
        let share = self.share(&used, reservation, own);
        if own.saturating_add(additional) > share {
            return Err(resources_datafusion_err!(
                "the memory budget of {} is too small: {} has {} and needs {} more, of which {} are left; give a larger budget (--memory)",
                human_readable_size(self.budget_bytes),
                reservation.consumer().name(),
                human_readable_size(own),
                human_readable_size(additional),
                human_readable_size(share.saturating_sub(own))
            ));
        }
        used.change(reservation, |bytes| bytes.saturating_add(additional));
        Ok(())
    }

    fn reserved(&self) -> usize {
        let used = self.used();
        used.spillable_bytes + used.unspillable_bytes
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.budget_bytes)
    }
}

impl fmt::Display for BudgetPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name(), human_readable_size(self.budget_bytes))
    }
}

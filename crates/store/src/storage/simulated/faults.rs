//! Failures on demand.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};

/// The operations that are to fail.
#[derive(Debug, Default)]
pub(super) struct Faults {
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    writes: u64,
    syncs: u64,
    failing_write: Option<Fault>,
    failing_sync: Option<Fault>,
    limit_bytes: Option<u64>,
    has_failed_sync: bool,
}

#[derive(Debug, Clone, Copy)]
struct Fault {
    number: u64,
    permanently: bool,
}

impl Fault {
    fn hits(fault: Option<Self>, number: u64) -> bool {
        fault.is_some_and(|fault| number == fault.number || (fault.permanently && number > fault.number))
    }
}

impl Faults {
    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn fail_write_after(&self, count: u64, permanently: bool) {
        let mut plan = self.plan();
        plan.failing_write = Some(Fault { number: plan.writes + count, permanently });
    }

    pub(super) fn fail_sync_after(&self, count: u64, permanently: bool) {
        let mut plan = self.plan();
        plan.failing_sync = Some(Fault { number: plan.syncs + count, permanently });
    }

    pub(super) fn limit_bytes(&self, bytes: u64) {
        self.plan().limit_bytes = Some(bytes);
    }

    pub(super) fn clear_faults(&self) {
        let mut plan = self.plan();
        (plan.failing_write, plan.failing_sync, plan.limit_bytes) = (None, None, None);
    }

    pub(super) fn counts(&self) -> (u64, u64) {
        let plan = self.plan();
        (plan.writes, plan.syncs)
    }

    pub(super) fn has_failed_sync(&self) -> bool {
        self.plan().has_failed_sync
    }

    pub(super) fn write(&self) -> Result<()> {
        let mut plan = self.plan();
        let number = plan.writes;
        plan.writes += 1;
        fail_if(Fault::hits(plan.failing_write, number), "write to", io::Error::other("a fault asked for"))
    }

    pub(super) fn sync(&self) -> Result<()> {
        let mut plan = self.plan();
        let number = plan.syncs;
        plan.syncs += 1;
        let fails = Fault::hits(plan.failing_sync, number);
        plan.has_failed_sync |= fails;
        fail_if(fails, "sync", io::Error::other("a fault asked for"))
    }

    /// Returns an error if the file may not grow to `len`, because the other files take `other_bytes`.
    pub(super) fn reserve(&self, other_bytes: u64, len: u64) -> Result<()> {
        let is_full = self.plan().limit_bytes.is_some_and(|limit| other_bytes + len > limit);
        fail_if(is_full, "grow", io::ErrorKind::StorageFull.into())
    }
}

fn fail_if(fails: bool, op: &'static str, error: io::Error) -> Result<()> {
    if fails { Err(Error::io(op, Path::new("the simulated disk"))(error)) } else { Ok(()) }
}

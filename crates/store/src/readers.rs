//! Which commits readers of this process hold.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::storage::Shared;

/// Bytes of shared memory that the table takes.
pub(crate) const SHARED_LEN: usize = 1 << 18;

#[derive(Debug, Default)]
struct Held {
    current: u64,
    pins: BTreeMap<u64, usize>,
}

type Table = Mutex<Held>;

fn lock(table: &Table) -> MutexGuard<'_, Held> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The commit that new readers see, and those that readers hold.
#[derive(Debug)]
pub(crate) struct Readers {
    table: Arc<Table>,
    shared: Arc<dyn Shared>,
    len: AtomicU64,
}

/// A commit that is held until this is dropped.
#[derive(Debug)]
pub(crate) struct Pin {
    value: u64,
    table: Arc<Table>,
}

impl Pin {
    pub(crate) fn value(&self) -> u64 {
        self.value
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut held = lock(&self.table);
        if let Some(count) = held.pins.get_mut(&self.value) {
            *count -= 1;
        }
        held.pins.retain(|_, count| *count > 0);
    }
}

impl Readers {
    pub(crate) fn new(shared: Arc<dyn Shared>) -> Result<Self> {
        Ok(Self { table: Arc::default(), shared, len: AtomicU64::new(0) })
    }

    pub(crate) fn initialise(&self) -> Result<()> {
        Ok(())
    }

    pub(crate) fn publish(&self, value: u64, data_len: u64) {
        self.len.store(data_len, Ordering::Relaxed);
        lock(&self.table).current = value;
    }

    pub(crate) fn current(&self) -> Option<u64> {
        Some(lock(&self.table).current).filter(|value| *value != 0)
    }

    pub(crate) fn data_len(&self) -> u64 {
        self.len.load(Ordering::Relaxed)
    }

    pub(crate) fn pin(&self) -> Result<Pin> {
        let mut held = lock(&self.table);
        let value = held.current;
        if value == 0 {
            return Err(Error::Invalid("nothing was published yet".to_owned()));
        }
        *held.pins.entry(value).or_default() += 1;
        Ok(Pin { value, table: Arc::clone(&self.table) })
    }

    pub(crate) fn pinned(&self, out: &mut Vec<u64>) {
        out.extend(lock(&self.table).pins.keys());
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        // The lock goes with the process at the latest.
        let _ = self.shared.unlock_writer();
    }
}

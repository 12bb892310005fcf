//! An open store, and the beginning of its transactions.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use lath::store::{Error, Snapshot, Store, Transaction};
use lath_pyo3::error::{Failure, Kind};
use lath_pyo3::fork::{OfProcess, Origin};
use lath_pyo3::work;
use pyo3::prelude::*;

/// The name of an open store in errors.
pub(crate) const STORE: &str = "the store";

/// Interval at which a transaction checks whether another one has ended.
const WAIT: Duration = Duration::from_millis(1);

/// An open store, which its trees, snapshots and iterators share.
pub(crate) struct OpenStore {
    /// `None` once it is closed.
    store: Mutex<Option<OfProcess<Store>>>,
    origin: Origin,
    pub(crate) name: String,
    /// The thread that has a transaction open, which cannot wait for another.
    pub(crate) writing: Mutex<Option<ThreadId>>,
}

impl OpenStore {
    /// A store that this process has opened at `name`.
    pub(crate) fn new(store: Store, name: String) -> Self {
        let store = Mutex::new(Some(OfProcess::new(store)));
        Self { store, origin: Origin::here(), name, writing: Mutex::new(None) }
    }

    /// Fails in another process than the one that has opened the store.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.origin.check(STORE)
    }

    /// The store, in the process that has opened it, until it is closed.
    pub(crate) fn store(&self) -> Result<Store, Failure> {
        // In a forked process, the lock might be held forever.
        self.origin.check(STORE)?;
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.as_ref().ok_or_else(|| Failure::invalid("the store is closed: open it again"))?.get(STORE).cloned()
    }

    /// Closes the store, unless a transaction is open. Snapshots keep the file open until they are dropped.
    pub(crate) fn close(&self, py: Python<'_>) -> Result<(), Failure> {
        self.origin.check(STORE)?;
        if self.writing.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Err(Failure::invalid("a transaction of the store is open: commit it, or undo it by abort()"));
        }
        py.detach(|| drop(self.store.lock().unwrap_or_else(PoisonError::into_inner).take()));
        Ok(())
    }

    pub(crate) fn snapshot(&self) -> Result<Snapshot, Failure> {
        self.store()?.snapshot().map_err(|error| self.failure(error))
    }

    /// Begins a transaction. Ctrl-C ends waiting for another one.
    pub(crate) fn begin(&self, py: Python<'_>) -> PyResult<Transaction> {
        let store = self.store()?;
        if *self.writing.lock().unwrap_or_else(PoisonError::into_inner) == Some(thread::current().id()) {
            let message = "this thread has a transaction open, which this would wait for: use that, or end it first";
            return Err(Failure::invalid(message).into());
        }
        let wrap = |error| Failure::store(&self.name, error);
        loop {
            match py.detach(|| store.try_begin()) {
                Ok(free) => {
                    drop(free);
                    // Waits for a checkpoint, if that is due.
                    return Ok(py.detach(|| store.begin()).map_err(wrap)?);
                }
                Err(Error::Busy) => {
                    py.check_signals()?;
                    py.detach(|| thread::sleep(WAIT));
                }
                Err(error) => return Err(wrap(error).into()),
            }
        }
    }

    /// Commits one change of one tree.
    pub(crate) fn change<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Transaction) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let mut transaction = self.begin(py)?;
        let changed = py.detach(|| {
            work::guard(|| {
                let changed = change(&mut transaction).map_err(|error| self.failure(error))?;
                transaction.commit().map_err(|error| self.failure(error))?;
                Ok(changed)
            })
        });
        Ok(changed?)
    }

    pub(crate) fn failure(&self, error: Error) -> Failure {
        Failure::store(&self.name, error)
    }
}

/// The failure of a transaction that has ended.
pub(crate) fn ended() -> Failure {
    Failure::new(Kind::Invalid, "the transaction has ended: begin another")
}

//! The handles that clients hold: prepared statements, transactions, and results that they have not read yet.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tonic::Status;

use crate::answer::{Answer, PreparedHandle};
use crate::run::StatementRun;
use crate::transaction::ClientTransaction;

/// Maximum number of handles of a kind.
const MAX_HANDLES: usize = 100_000;

/// All handles of a server. Their numbers are random, so that no client finds one of another by chance.
#[derive(Default)]
pub(crate) struct Handles {
    prepared: Kind<PreparedHandle>,
    transactions: Kind<ClientTransaction>,
    results: Kind<Mutex<Option<Answer>>>,
    /// The statements whose results are read, by the handle of the result.
    running: Kind<StatementRun>,
}

/// Handles of one kind.
struct Kind<T>(Mutex<HashMap<Bytes, Entry<T>>>);

struct Entry<T> {
    value: Arc<T>,
    used: Instant,
}

impl<T> Default for Kind<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Kind<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<Bytes, Entry<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, value: Arc<T>) -> Result<Bytes, Status> {
        let handle = Bytes::from(fastrand::u128(..).to_be_bytes().to_vec());
        let mut entries = self.lock();
        if entries.len() >= MAX_HANDLES {
            return Err(Status::resource_exhausted(format!(
                "clients hold {MAX_HANDLES} handles of this kind; close prepared statements, and end transactions"
            )));
        }
        entries.insert(handle.clone(), Entry { value, used: Instant::now() });
        Ok(handle)
    }

    fn get(&self, handle: &[u8]) -> Option<Arc<T>> {
        let mut entries = self.lock();
        let entry = entries.get_mut(handle)?;
        entry.used = Instant::now();
        Some(Arc::clone(&entry.value))
    }

    fn remove(&self, handle: &[u8]) -> Option<Arc<T>> {
        self.lock().remove(handle).map(|entry| entry.value)
    }

    /// Removes entries that are not in use, and have not been for this long.
    fn remove_idle(&self, idle: Duration) -> Vec<Arc<T>> {
        let mut entries = self.lock();
        let is_idle = |entry: &mut Entry<T>| {
            if Arc::strong_count(&entry.value) > 1 {
                entry.used = Instant::now();
            }
            entry.used.elapsed() >= idle
        };
        entries.extract_if(|_, entry| is_idle(entry)).map(|(_, entry)| entry.value).collect()
    }
}

impl Handles {
    pub(crate) fn add_prepared(&self, prepared: PreparedHandle) -> Result<Bytes, Status> {
        self.prepared.add(Arc::new(prepared))
    }

    pub(crate) fn prepared(&self, handle: &[u8]) -> Result<Arc<PreparedHandle>, Status> {
        self.prepared.get(handle).ok_or_else(|| {
            Status::not_found("the prepared statement was closed, or was not used for long; prepare it again")
        })
    }

    pub(crate) fn remove_prepared(&self, handle: &[u8]) {
        self.prepared.remove(handle);
    }

    pub(crate) fn add_transaction(&self, transaction: ClientTransaction) -> Result<Bytes, Status> {
        self.transactions.add(Arc::new(transaction))
    }

    pub(crate) fn transaction(&self, handle: &[u8]) -> Result<Arc<ClientTransaction>, Status> {
        self.transactions.get(handle).ok_or_else(ended)
    }

    pub(crate) fn remove_transaction(&self, handle: &[u8]) -> Result<Arc<ClientTransaction>, Status> {
        self.transactions.remove(handle).ok_or_else(ended)
    }

    /// Removes the transactions of a connection.
    pub(crate) fn remove_transactions(&self, client: usize) -> Vec<Arc<ClientTransaction>> {
        let mut transactions = self.transactions.lock();
        let removed = transactions.extract_if(|_, entry| entry.value.client() == client);
        removed.map(|(_, entry)| entry.value).collect()
    }

    /// Keeps a result until it is read.
    pub(crate) fn add_result(&self, answer: Answer) -> Result<Bytes, Status> {
        self.results.add(Arc::new(Mutex::new(Some(answer))))
    }

    /// Takes a result, which is read once.
    pub(crate) fn take_result(&self, handle: &[u8]) -> Result<Answer, Status> {
        let result = self.results.remove(handle);
        let answer = result.and_then(|result| result.lock().unwrap_or_else(PoisonError::into_inner).take());
        answer.ok_or_else(|| {
            Status::not_found("the result was read or cancelled, or was not read for long; run the statement again")
        })
    }

    /// Lists a statement whose result is read.
    pub(crate) fn add_running(&self, handle: Bytes, run: Arc<StatementRun>) {
        self.running.lock().insert(handle, Entry { value: run, used: Instant::now() });
    }

    pub(crate) fn remove_running(&self, handle: &[u8]) {
        self.running.remove(handle);
    }

    /// Cancels the statement of a result. Returns whether there is one that is not read to its end.
    pub(crate) fn cancel(&self, handle: &[u8]) -> bool {
        let is_waiting = self.results.remove(handle).is_some();
        match self.running.remove(handle) {
            Some(run) => {
                run.end(Status::cancelled("the statement was cancelled"));
                true
            }
            None => is_waiting,
        }
    }

    /// Forgets handles that were not used for this long, and returns the transactions among them.
    pub(crate) fn remove_idle(&self, idle: Duration) -> Vec<Arc<ClientTransaction>> {
        drop((self.prepared.remove_idle(idle), self.results.remove_idle(idle)));
        self.transactions.remove_idle(idle)
    }

    /// Forgets all handles.
    pub(crate) fn clear(&self) {
        let transactions = std::mem::take(&mut *self.transactions.lock());
        transactions.values().for_each(|entry| entry.value.undo());
        self.prepared.lock().clear();
        self.results.lock().clear();
    }
}

fn ended() -> Status {
    Status::not_found(
        "the transaction has ended: it was committed or rolled back, or was not used for long, which rolls it back; begin another one",
    )
}

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handles").finish_non_exhaustive()
    }
}

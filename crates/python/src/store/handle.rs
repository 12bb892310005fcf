//! The ordered store.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use lath::store::{Durability, Error, Options, Snapshot, Transaction};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::open_store::{OpenStore, STORE, ended};
use super::tree::{PyTree, Source};
use lath_pyo3::encryption::encryption_key as key_argument;
use lath_pyo3::error::Failure;
use lath_pyo3::fork::OfProcess;
use lath_pyo3::opening::wait_duration;
use lath_pyo3::work;

/// Keys in order, in a file.
#[pyclass(name = "Store", module = "lath", frozen, extends = PyTree, subclass)]
pub(crate) struct PyStore {
    open: Arc<OpenStore>,
}

#[pymethods]
impl PyStore {
    #[new]
    #[pyo3(signature = (
        path, *, tree = "main", create = true, read_only = false, durability = "sync", capacity_bytes = None,
        log_limit_bytes = None, wait = 0.0, encryption_key = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        tree: &str,
        create: bool,
        read_only: bool,
        durability: &str,
        capacity_bytes: Option<u64>,
        log_limit_bytes: Option<u64>,
        wait: f64,
        encryption_key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let mut options = Options::new().create(create).read_only(read_only).durability(parse_durability(durability)?);
        options = options.wait(wait_duration(wait)?);
        if let Some(bytes) = capacity_bytes {
            options = options.capacity_bytes(bytes);
        }
        if let Some(bytes) = log_limit_bytes {
            options = options.log_limit_bytes(bytes);
        }
        if let Some(key) = key_argument(encryption_key)? {
            options = options.encryption_key(key);
        }
        let name = path.display().to_string();
        let called = name.clone();
        let store = work::run_to_end(py, move || options.open(&path).map_err(|error| Failure::store(&called, error)))?;
        let open = Arc::new(OpenStore::new(store, name));
        let main = PyTree::new(Source::Store(open.clone()), tree);
        Ok(PyClassInitializer::from(main).add_subclass(Self { open }))
    }

    /// The tree with this name. It exists once it has a key.
    fn tree(&self, name: &str) -> PyTree {
        PyTree::new(Source::Store(self.open.clone()), name)
    }

    /// The names of all trees.
    fn tree_names(&self) -> PyResult<Vec<String>> {
        Ok(self.open.snapshot()?.tree_names().map_err(|error| self.open.failure(error))?)
    }

    /// A snapshot of the last commit, or the kept snapshot with this name.
    #[pyo3(signature = (name = None))]
    fn snapshot(this: &Bound<'_, Self>, name: Option<&str>) -> PyResult<Py<PySnapshot>> {
        let open = &this.get().open;
        let failure = |error| open.failure(error);
        let mut snapshot = open.snapshot()?;
        if let Some(name) = name {
            let named = snapshot.snapshot(name).map_err(failure)?;
            snapshot = named.ok_or_else(|| failure(Error::NoSuchSnapshot(name.to_owned())))?;
        }
        let snapshot = Arc::new(OfProcess::new(snapshot));
        let source = Source::Snapshot(open.clone(), snapshot.clone());
        let main = PyTree::new(source, this.as_super().get().name());
        let snapshot = PySnapshot { open: open.clone(), snapshot };
        Py::new(this.py(), PyClassInitializer::from(main).add_subclass(snapshot))
    }

    /// The names of the kept snapshots.
    fn snapshot_names(&self) -> PyResult<Vec<String>> {
        Ok(self.open.snapshot()?.snapshot_names().map_err(|error| self.open.failure(error))?)
    }

    /// Keeps the last commit as a snapshot with this name.
    fn keep_snapshot(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.open.change(py, |transaction| transaction.keep_snapshot(name))
    }

    /// Drops the snapshot with this name, and returns whether it existed.
    fn drop_snapshot(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.open.change(py, |transaction| transaction.drop_snapshot(name))
    }

    /// Begins changes that become visible together.
    #[pyo3(signature = (*, durability = None))]
    fn transaction(this: &Bound<'_, Self>, durability: Option<&str>) -> PyResult<Py<PyTransaction>> {
        let open = &this.get().open;
        let durability = durability.map(parse_durability).transpose()?;
        let transaction = Arc::new(Mutex::new(Some(OfProcess::new(open.begin(this.py())?))));
        *open.writing.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        let source = Source::Transaction(open.clone(), transaction.clone());
        let main = PyTree::new(source, this.as_super().get().name());
        let transaction = PyTransaction { open: open.clone(), transaction, durability };
        Py::new(this.py(), PyClassInitializer::from(main).add_subclass(transaction))
    }

    /// Makes all commits so far durable.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.open.store()?;
        Ok(py.detach(|| work::guard(|| store.sync().map_err(|error| self.open.failure(error))))?)
    }

    /// Closes the store.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.open.close(py)?)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        format!("<lath.Store at {}>", self.open.name)
    }
}

/// A snapshot of a store at one commit.
#[pyclass(name = "Snapshot", module = "lath", frozen, extends = PyTree)]
pub(crate) struct PySnapshot {
    open: Arc<OpenStore>,
    snapshot: Arc<OfProcess<Snapshot>>,
}

#[pymethods]
impl PySnapshot {
    /// The tree with this name, which is empty if there is none.
    fn tree(&self, name: &str) -> PyTree {
        PyTree::new(Source::Snapshot(self.open.clone(), self.snapshot.clone()), name)
    }

    /// The names of all trees.
    fn tree_names(&self) -> PyResult<Vec<String>> {
        Ok(self.snapshot.get(STORE)?.tree_names().map_err(|error| self.open.failure(error))?)
    }

    /// The number of the commit.
    #[getter]
    fn sequence(&self) -> PyResult<u64> {
        Ok(self.snapshot.get(STORE)?.sequence())
    }
}

/// Changes that become visible together, at the end of `with`, or not at all.
#[pyclass(name = "Transaction", module = "lath", frozen, extends = PyTree)]
pub(crate) struct PyTransaction {
    open: Arc<OpenStore>,
    transaction: Arc<Mutex<Option<OfProcess<Transaction>>>>,
    durability: Option<Durability>,
}

#[pymethods]
impl PyTransaction {
    /// The tree with this name.
    fn tree(&self, name: &str) -> PyTree {
        PyTree::new(Source::Transaction(self.open.clone(), self.transaction.clone()), name)
    }

    /// The names of all trees.
    fn tree_names(&self) -> PyResult<Vec<String>> {
        self.open.store()?;
        let transaction = self.transaction.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = transaction.as_ref().ok_or_else(ended)?.get(STORE)?;
        Ok(transaction.tree_names().map_err(|error| self.open.failure(error))?)
    }

    /// Removes a tree with all its keys, and returns whether it existed.
    fn drop_tree(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.open.store()?;
        let dropped = py.detach(|| {
            let mut transaction = self.transaction.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = transaction.as_mut().ok_or_else(ended)?.get_mut(STORE)?;
            work::guard(|| transaction.drop_tree(name).map_err(|error| self.open.failure(error)))
        });
        Ok(dropped?)
    }

    /// Makes the changes visible to others.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.open.store()?;
        let committed = py.detach(|| {
            let transaction = self.end().ok_or_else(ended)?.into_inner(STORE)?;
            work::guard(|| {
                let committed = match self.durability {
                    Some(durability) => transaction.commit_with(durability),
                    None => transaction.commit(),
                };
                committed.map_err(|error| self.open.failure(error))
            })
        });
        Ok(committed?)
    }

    /// Undoes the changes.
    fn abort(&self, py: Python<'_>) {
        py.detach(|| drop(self.end()));
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (kind, _value, _traceback))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.open.store()?;
        let is_open = self.transaction.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if kind.is_none() && is_open {
            return self.commit(py);
        }
        self.abort(py);
        Ok(())
    }
}

impl PyTransaction {
    fn end(&self) -> Option<OfProcess<Transaction>> {
        // In a forked process, a lock might be held for ever.
        self.open.store().ok()?;
        let ended = self.transaction.lock().unwrap_or_else(PoisonError::into_inner).take();
        if ended.is_some() {
            *self.open.writing.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        ended
    }
}

impl Drop for PyTransaction {
    fn drop(&mut self) {
        drop(self.end());
    }
}

pub(crate) fn parse_durability(text: &str) -> PyResult<Durability> {
    match text {
        "sync" => Ok(Durability::Sync),
        "deferred" => Ok(Durability::Deferred),
        "off" => Ok(Durability::Off),
        other => Err(PyValueError::new_err(format!("durability={other:?}: give \"sync\", \"deferred\" or \"off\""))),
    }
}

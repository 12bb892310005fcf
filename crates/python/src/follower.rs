//! Follows the changes of a table: an iterator that waits for the next ones.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lath::table::{ConsumerOptions, Follower};
use pyo3::prelude::*;

use crate::arrow::PyBatch;
use lath_pyo3::fork::{OfProcess, Origin};
use lath_pyo3::work;

/// The name of a follower in errors.
const TABLE: &str = "the table";

/// The options of a new consumer.
pub(crate) fn consumer_options(bootstrap: bool, rows: Option<u64>) -> ConsumerOptions {
    let options = ConsumerOptions::new().bootstrap(bootstrap);
    rows.map_or(options, |rows| options.max_rows(rows))
}

/// Time of one wait for changes, after which Ctrl-C is noticed.
const FOLLOW_WAIT: Duration = Duration::from_millis(50);

/// Follows the changes of a table. Iterating waits for the next ones.
#[pyclass(name = "Follower", module = "lath", frozen)]
pub(crate) struct PyFollower {
    follower: Mutex<OfProcess<Follower>>,
    /// Time without changes after which the iteration ends.
    timeout: Option<Duration>,
    origin: Origin,
}

impl PyFollower {
    pub(crate) fn new(follower: Follower, timeout: Option<Duration>) -> Self {
        Self { follower: Mutex::new(OfProcess::new(follower)), timeout, origin: Origin::here() }
    }
}

#[pymethods]
impl PyFollower {
    /// The commit up to which all changes were returned.
    #[getter]
    fn sequence(&self) -> PyResult<u64> {
        self.origin.check(TABLE)?;
        Ok(self.follower.lock().unwrap_or_else(PoisonError::into_inner).get(TABLE)?.sequence())
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyBatch>> {
        self.origin.check(TABLE)?;
        let begun = Instant::now();
        loop {
            let wait = match self.timeout {
                Some(timeout) => FOLLOW_WAIT.min(timeout.saturating_sub(begun.elapsed())),
                None => FOLLOW_WAIT,
            };
            let batch = py.detach(|| {
                let mut follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
                work::guard(|| Ok(follower.get_mut(TABLE)?.next(wait)?))
            })?;
            if let Some(batch) = batch {
                return Ok(Some(PyBatch::new(batch)));
            }
            py.check_signals()?;
            if self.timeout.is_some_and(|timeout| begun.elapsed() >= timeout) {
                return Ok(None);
            }
        }
    }
}

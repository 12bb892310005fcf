//! Transactions as `with` blocks.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A transaction of a session, for a `with` block: committed at its end, undone by an exception.
#[pyclass(name = "SessionTransaction", module = "lath_sql", frozen)]
pub(crate) struct PyTransaction {
    /// A `PySession`.
    session: Py<PyAny>,
    read_only: bool,
}

impl PyTransaction {
    pub(crate) fn new(session: Py<PyAny>, read_only: bool) -> Self {
        Self { session, read_only }
    }

    fn run(&self, py: Python<'_>, statement: &str) -> PyResult<()> {
        self.session.call_method1(py, "sql", (statement,)).map(drop)
    }
}

#[pymethods]
impl PyTransaction {
    fn __enter__<'py>(this: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let transaction = this.get();
        transaction.run(this.py(), if transaction.read_only { "BEGIN READ ONLY" } else { "BEGIN" })?;
        Ok(this)
    }

    #[pyo3(signature = (kind, *_exception))]
    fn __exit__(&self, py: Python<'_>, kind: &Bound<'_, PyAny>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        // A statement of the block may have ended it, or the session.
        if !self.session.getattr(py, "in_transaction")?.extract::<bool>(py)? {
            return Ok(());
        }
        self.run(py, if kind.is_none() { "COMMIT" } else { "ROLLBACK" })
    }
}

//! The Python package `lath_sql`: the module `lath_sql._lath_sql`, which has SQL for the package `lath`.
//!
//! It is a separate package because DataFusion is several times as large as the rest of Lath. It opens files itself, as described by
//! objects of `lath`, and returns objects of `lath`.

mod answer;
mod batches;
mod error;
mod offsets;
mod preview;
mod provider;
mod session;
mod transaction;

use std::ffi::OsString;

use lath_pyo3::{fork, work};
use pyo3::prelude::*;

/// The compiled part of `lath_sql`. It is not tested without the GIL.
#[pymodule(gil_used = true)]
fn _lath_sql(module: &Bound<'_, PyModule>) -> PyResult<()> {
    work::note_main_thread(module.py())?;
    fork::watch(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DATAFUSION_MAJOR", datafusion_ffi::version())?;
    module.add_class::<answer::PyAnswer>()?;
    module.add_class::<batches::PyBatches>()?;
    module.add_class::<session::PySession>()?;
    module.add_class::<transaction::PyTransaction>()?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(provider::table_provider, module)?)
}

/// Runs the command with the given arguments, and returns its exit code. Afterwards, signals end the process.
#[pyfunction]
#[pyo3(signature = (arguments, /))]
fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| lath_cli::run(arguments))
}

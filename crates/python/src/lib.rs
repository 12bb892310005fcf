//! The Python package `lath`: this crate is the module `lath._lath`, and `python/lath` is the Python code around it.
//!
//! The code that it shares with the module for SQL is in `lath_pyo3`: interruption, Arrow data in and out, errors, forks.

mod arrow;
mod command;
mod condition;
mod files;
mod follower;
mod memory;
mod store;
mod table;
mod value;
mod write;

use lath_pyo3::{capsule, fork, work};
use pyo3::prelude::*;

/// The compiled part of `lath`. It is not tested without the GIL.
#[pymodule(gil_used = true)]
fn _lath(module: &Bound<'_, PyModule>) -> PyResult<()> {
    work::note_main_thread(module.py())?;
    fork::watch(module)?;
    let end_calls = wrap_pyfunction!(work::end_calls, module)?;
    module.py().import("atexit")?.call_method1("register", (end_calls,))?;
    memory::keep_freed();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("HAS_SQL", lath_cli::HAS_SQL)?;
    module.add_class::<table::PyChanges>()?;
    module.add_class::<follower::PyFollower>()?;
    module.add_class::<table::PyTable>()?;
    module.add_class::<table::PyTableBatches>()?;
    module.add_class::<table::PyTableScan>()?;
    module.add_class::<table::PyTableSnapshot>()?;
    module.add_function(wrap_pyfunction!(capsule::schema_metadata, module)?)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(memory::release_memory, module)?)?;
    arrow::add_to(module)?;
    condition::add_to(module)?;
    files::add_to(module)?;
    store::add_to(module)?;
    write::add_to(module)
}

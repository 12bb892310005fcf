//! The Python package `lath`: the module `lath._lath`, around which `python/lath` has what is plain Python.
//!
//! What it shares with the module for SQL is in `lath_pyo3`: interruption, Arrow data in and out, errors, forks.

mod batch;
mod batches;
mod command;
mod dataset;
mod expression;
mod key;
mod literal;
mod memory;
mod moment;
mod open_store;
mod options;
mod report;
mod residual;
mod scan;
mod schema;
mod statistics;
mod store;
mod table;
mod tree;
mod value;
mod write;
mod write_settings;

use lath_pyo3::{capsule, fork, work};
use pyo3::prelude::*;

/// The compiled part of `lath`. Whether it works without the GIL is not tested.
#[pymodule(gil_used = true)]
fn _lath(module: &Bound<'_, PyModule>) -> PyResult<()> {
    work::note_main_thread(module.py())?;
    fork::watch(module)?;
    let end_calls = wrap_pyfunction!(work::end_calls, module)?;
    module.py().import("atexit")?.call_method1("register", (end_calls,))?;
    memory::keep_freed();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("HAS_SQL", lath_cli::HAS_SQL)?;
    module.add_class::<batch::PyBatch>()?;
    module.add_class::<batches::PyBatches>()?;
    module.add_class::<dataset::PyDataset>()?;
    module.add_class::<expression::PyColumn>()?;
    module.add_class::<expression::PyPredicate>()?;
    module.add_class::<scan::PyScan>()?;
    module.add_class::<schema::PySchema>()?;
    module.add_class::<store::PySnapshot>()?;
    module.add_class::<store::PyStore>()?;
    module.add_class::<store::PyTransaction>()?;
    module.add_class::<table::PyChanges>()?;
    module.add_class::<table::PyTable>()?;
    module.add_class::<table::PyTableBatches>()?;
    module.add_class::<table::PyTableScan>()?;
    module.add_class::<table::PyTableSnapshot>()?;
    module.add_class::<tree::PyEntries>()?;
    module.add_class::<tree::PyTree>()?;
    module.add_class::<write::PyWriter>()?;
    module.add_function(wrap_pyfunction!(batch::batch, module)?)?;
    module.add_function(wrap_pyfunction!(batch::stream, module)?)?;
    module.add_function(wrap_pyfunction!(capsule::schema_metadata, module)?)?;
    module.add_function(wrap_pyfunction!(command::command, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::is_keyed_table, module)?)?;
    module.add_function(wrap_pyfunction!(dataset::open, module)?)?;
    module.add_function(wrap_pyfunction!(expression::col, module)?)?;
    module.add_function(wrap_pyfunction!(expression::where_, module)?)?;
    module.add_function(wrap_pyfunction!(memory::release_memory, module)?)?;
    module.add_function(wrap_pyfunction!(schema::schema, module)?)
}

//! Parquet files as a dataset: scans, batches, statistics and reports.

mod batches;
mod dataset;
mod metadata;
mod open;
mod options;
mod report;
mod scan;
mod statistics;

use pyo3::prelude::*;

pub(crate) use self::dataset::PyDataset;

/// Adds datasets and their scans to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<batches::PyBatches>()?;
    module.add_class::<PyDataset>()?;
    module.add_class::<scan::PyScan>()?;
    module.add_function(wrap_pyfunction!(open::is_keyed_table, module)?)?;
    module.add_function(wrap_pyfunction!(open::reopen, module)?)?;
    module.add_function(wrap_pyfunction!(open::open, module)?)
}

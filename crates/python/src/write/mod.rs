//! Writing Parquet files.

mod conversion;
mod settings;
mod writer;

use pyo3::prelude::*;

/// Adds the writer to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<writer::PyWriter>()
}

//! Arrow batches and schemas as Python objects.

mod batch;
mod schema;

use pyo3::prelude::*;

pub(crate) use batch::PyBatch;
pub(crate) use schema::PySchema;

/// Adds batches and schemas to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyBatch>()?;
    module.add_class::<PySchema>()?;
    module.add_function(wrap_pyfunction!(batch::batch, module)?)?;
    module.add_function(wrap_pyfunction!(batch::stream, module)?)?;
    module.add_function(wrap_pyfunction!(schema::schema, module)?)
}

//! The ordered store.

mod handle;
mod open_store;
mod tree;

use pyo3::prelude::*;

pub(crate) use handle::parse_durability;

/// Adds stores, snapshots and transactions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<handle::PySnapshot>()?;
    module.add_class::<handle::PyStore>()?;
    module.add_class::<handle::PyTransaction>()?;
    module.add_class::<tree::PyEntries>()?;
    module.add_class::<tree::PyTree>()
}

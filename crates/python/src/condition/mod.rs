//! Conditions on rows: expressions that Lath evaluates, and parts that other libraries evaluate.

mod expression;
mod residual;

use pyo3::prelude::*;

pub(crate) use expression::PyPredicate;
pub(crate) use residual::{Condition, Residual, Tester, all_tested, next_tested};

/// Adds expressions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<expression::PyColumn>()?;
    module.add_class::<PyPredicate>()?;
    module.add_function(wrap_pyfunction!(expression::col, module)?)?;
    module.add_function(wrap_pyfunction!(expression::where_, module)?)
}

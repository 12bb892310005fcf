//! Keyword arguments that have a few values.

use lath::Strings;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Parses the layout of string and binary columns.
pub(crate) fn strings(text: Option<&str>) -> PyResult<Option<Strings>> {
    match text {
        None => Ok(None),
        Some("views") => Ok(Some(Strings::Views)),
        Some("offsets") => Ok(Some(Strings::Offsets)),
        Some(other) => Err(PyValueError::new_err(format!("strings={other:?}: give \"views\" or \"offsets\""))),
    }
}

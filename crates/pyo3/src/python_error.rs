//! Exceptions of Python as sources of Rust's errors.

use std::fmt;

use pyo3::prelude::*;

/// An exception of a file object, as the source of an error of reading.
#[derive(Debug)]
pub(crate) struct PythonError(pub(crate) PyErr);

impl PythonError {
    /// The exception.
    pub(crate) fn exception(&self) -> &PyErr {
        &self.0
    }
}

impl fmt::Display for PythonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for PythonError {}

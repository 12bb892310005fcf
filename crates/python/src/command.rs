//! The `lath` command, for `python -m lath`.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command with the given arguments, and returns its exit code. Afterwards, signals end the process.
#[pyfunction]
#[pyo3(signature = (arguments, /))]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| lath_cli::run(arguments))
}

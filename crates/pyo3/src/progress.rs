//! Reports progress to a Python function.

use std::time::{Duration, Instant};

use lath::ScanProgress;
use pyo3::prelude::*;

/// The minimum time between two calls of the function.
const INTERVAL: Duration = Duration::from_millis(100);

/// The number of rows that are done, and their total if known.
pub type Position = (u64, Option<u64>);

/// The position of a scan.
pub fn scan_position(scan: &ScanProgress) -> Position {
    let report = scan.report();
    // Files are planned while others are read.
    let is_planned = report.files_opened + report.files_pruned >= report.files;
    (report.rows_tested, is_planned.then_some(report.rows))
}

/// The number of rows in an object, if it is known.
///
/// # Errors
/// An exception of Python.
pub fn row_count(rows: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    rows.py().import("lath._progress")?.call_method1("row_count", (rows,))?.extract()
}

/// Calls the progress function during one operation, on the thread that started the operation.
#[derive(Debug)]
pub struct Watcher {
    function: Py<PyAny>,
    due: Instant,
}

impl Watcher {
    /// `progress` is the argument: a function, `True` for a bar, or nothing.
    ///
    /// # Errors
    /// If it is something else.
    pub fn start(py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<Option<Self>> {
        let Some(progress) = progress else { return Ok(None) };
        let function = py.import("lath._progress")?.call_method1("watcher", (progress,))?;
        let watcher = Self { function: function.clone().unbind(), due: Instant::now() + INTERVAL };
        Ok((!function.is_none()).then_some(watcher))
    }

    /// Fails if `progress` is neither a function nor a bool.
    ///
    /// # Errors
    /// See above.
    pub fn check(py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        Self::start(py, progress).map(drop)
    }

    /// Returns whether the next call is due.
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Calls the function.
    ///
    /// # Errors
    /// An exception of the function.
    pub fn tell(&mut self, py: Python<'_>, position: Position) -> PyResult<()> {
        self.function.call1(py, position)?;
        // Counted from the end of the call, so that a slow function does not take all the time.
        self.due = Instant::now() + INTERVAL;
        Ok(())
    }

    /// Calls the function for the last time after a success, and removes a bar.
    ///
    /// # Errors
    /// An exception of the function.
    pub fn finish(mut self, py: Python<'_>, last: Option<Position>) -> PyResult<()> {
        let told = last.map_or(Ok(()), |position| self.tell(py, position));
        let closed = py.import("lath._progress")?.call_method1("close", (&self.function,));
        told.and(closed.map(drop))
    }
}

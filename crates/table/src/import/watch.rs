//! Tells how far an import is, and stops it.

use std::ops::ControlFlow;

use crate::error::{Error, Result};

/// Position of [`Table::import_with`](crate::Table::import_with).
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportProgress {
    /// Number of files whose keys were read.
    pub files: usize,
    /// Number of files of the source.
    pub all_files: usize,
    /// Number of rows whose keys were read.
    pub rows: u64,
}

/// Rows of a file between two calls of the function.
const STEP_ROWS: u64 = 1 << 16;

/// The function that is told how far an import is, and can stop it.
pub(crate) struct Watch<'w> {
    progress: ImportProgress,
    observe: &'w mut dyn FnMut(&ImportProgress) -> ControlFlow<()>,
}

impl<'w> Watch<'w> {
    pub(crate) fn new(observe: &'w mut dyn FnMut(&ImportProgress) -> ControlFlow<()>) -> Self {
        Self { progress: ImportProgress::default(), observe }
    }

    pub(super) fn begin(&mut self, all_files: usize) -> Result<()> {
        self.progress.all_files = all_files;
        self.poll()
    }

    /// Calls the function, and returns an error if it stops the import.
    pub(super) fn poll(&mut self) -> Result<()> {
        match (self.observe)(&self.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::from(lath_parquet::Error::Cancelled)),
        }
    }

    /// Counts rows.
    pub(super) fn add_rows(&mut self, rows: u64) -> Result<()> {
        let before = self.progress.rows / STEP_ROWS;
        self.progress.rows += rows;
        if self.progress.rows / STEP_ROWS > before { self.poll() } else { Ok(()) }
    }

    /// Counts a file.
    pub(super) fn end_file(&mut self) -> Result<()> {
        self.progress.files += 1;
        self.poll()
    }
}

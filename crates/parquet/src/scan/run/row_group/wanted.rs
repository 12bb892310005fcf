//! The rows of a window that are still wanted.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::error::Result;
use crate::scan::rows::{DecodeRanges, Mask, Window};

/// Rows of a window that passed so far, and the rows to decode for them.
#[derive(Debug)]
pub(super) struct WantedRows<'w> {
    window: &'w Window,
    kept: Arc<Mask>,
    /// Computed when the first column is decoded for these rows.
    decode_ranges: OnceCell<DecodeRanges>,
}

impl<'w> WantedRows<'w> {
    pub(super) fn new(window: &'w Window, kept: Arc<Mask>) -> Self {
        Self { window, kept, decode_ranges: OnceCell::new() }
    }

    pub(super) fn kept(&self) -> &Arc<Mask> {
        &self.kept
    }

    /// Keeps only the rows in `kept`.
    pub(super) fn narrow(&mut self, kept: Mask) {
        self.kept = Arc::new(kept);
        self.decode_ranges = OnceCell::new();
    }

    /// The rows to decode: the wanted rows, and others where that is faster than skipping them.
    pub(super) fn decode_ranges(&self) -> Result<&DecodeRanges> {
        if let Some(ranges) = self.decode_ranges.get() {
            return Ok(ranges);
        }
        let ranges = self.window.decode_ranges(&self.kept)?;
        Ok(self.decode_ranges.get_or_init(|| ranges))
    }
}

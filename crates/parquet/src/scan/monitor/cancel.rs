use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Stops scans from another thread or a signal handler. Clones are handles of the same flag.
///
/// A cancelled scan returns [`Error::Cancelled`] as its next batch, and its threads end after their current window of rows.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    is_cancelled: Arc<AtomicBool>,
}

impl Cancel {
    /// A new handle.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops every scan that has this handle. It allocates nothing and takes no lock, so that a signal handler may call it.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether [`Cancel::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    pub(in crate::scan) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

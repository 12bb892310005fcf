use std::sync::Arc;

use super::counters::Counters;
use super::report::ScanReport;

/// Tells what a scan has done, while it runs and afterwards, from any thread.
#[derive(Debug, Clone)]
pub struct ScanProgress {
    pub(super) counters: Arc<Counters>,
}

impl ScanProgress {
    /// What the scan has done so far.
    pub fn report(&self) -> ScanReport {
        self.counters.report()
    }
}

use std::sync::Arc;

use super::counters::Counters;
use super::report::ScanReport;

/// Reports the progress of a scan from any thread, while it runs and afterwards.
#[derive(Debug, Clone)]
pub struct ScanProgress {
    pub(in crate::scan) counters: Arc<Counters>,
}

impl ScanProgress {
    /// The current report.
    pub fn report(&self) -> ScanReport {
        self.counters.report()
    }
}

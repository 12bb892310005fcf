//! A progress bar for a scan that runs on other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lath_parquet::ScanProgress;

use crate::progress::Progress;

const INTERVAL: Duration = Duration::from_millis(100);

/// Displays a scan's progress until it is dropped.
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches a scan. Nothing is ever drawn if `hidden`, or where standard error is not a terminal.
    pub(crate) fn new(scan: ScanProgress, hidden: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut bar = Progress::new("rows", 0, hidden);
        let thread = bar.is_visible().then(|| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                let (mut rows, mut tested) = (0, 0);
                while !stop.load(Ordering::Relaxed) {
                    let report = scan.report();
                    bar.grow(report.rows.saturating_sub(rows));
                    bar.advance(report.rows_tested.saturating_sub(tested));
                    (rows, tested) = (report.rows, report.rows_tested);
                    thread::park_timeout(INTERVAL);
                }
                bar.clear();
            })
        });
        Self { stop, thread }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Failing to draw is not an error.
            let _ = thread.join();
        }
    }
}

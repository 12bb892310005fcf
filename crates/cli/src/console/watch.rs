//! A progress bar for a scan that runs on other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lath_parquet::ScanProgress;

use crate::console::progress::Progress;

const INTERVAL: Duration = Duration::from_millis(100);

/// Displays a scan's progress until it is dropped.
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches a scan. Nothing is ever drawn if `hidden`, or where standard error is not a terminal.
    pub(crate) fn new(scan: ScanProgress, hidden: bool) -> Self {
        Self::of(hidden, move || {
            let report = scan.report();
            (report.rows_tested, report.rows)
        })
    }

    /// Watches the numbers that `rows` returns: finished rows, and all rows.
    pub(crate) fn of(hidden: bool, rows: impl Fn() -> (u64, u64) + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut bar = Progress::new("rows", 0, hidden);
        let thread = bar.is_visible().then(|| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                let (mut done, mut total) = (0, 0);
                while !stop.load(Ordering::Relaxed) {
                    let (done_now, total_now) = rows();
                    bar.grow(total_now.saturating_sub(total));
                    bar.advance(done_now.saturating_sub(done));
                    (done, total) = (done_now, total_now);
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

//! Progress and cancellation: counters of a running scan, and the reports made from them.

mod cancel;
mod counters;
mod progress;
mod report;

pub use cancel::Cancel;
pub(in crate::scan) use counters::{Counters, Planning, Stage};
pub use progress::ScanProgress;
pub use report::{ScanReport, ScanTimes};

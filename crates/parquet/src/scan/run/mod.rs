//! Runs a planned scan: decodes row groups on one or several threads, in order.

mod batches;
mod by_column;
mod count;
mod job;
mod parallel;
mod producer;
mod row_group;
mod serial;
mod stream;
mod work;

pub use batches::ScanBatches;
pub(in crate::scan) use job::{Job, Settings, Work};
pub use stream::ScanStream;

//! Backup and compaction: copies and moves the nodes of a store.

mod backup;
mod compact;
mod copy_target;

pub use self::compact::{Compaction, CompactionProgress};
pub use self::copy_target::CopyProgress;
pub(crate) use self::copy_target::{CopyCounter, CopyTarget};

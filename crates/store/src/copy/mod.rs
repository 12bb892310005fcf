//! Backup and compaction: copies and moves the nodes of a store.

mod backup;
mod compact;
mod compact_nested;
mod copy_target;

pub(crate) use self::backup::share_tree;
pub use self::compact::{Compaction, CompactionProgress};
pub use self::copy_target::CopyProgress;
pub(crate) use self::copy_target::{CopyCounter, CopyTarget};

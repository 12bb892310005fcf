//! The writer's state and its lock, which one transaction or checkpoint holds at a time.

mod dropped_snapshots;
mod removed_subtrees;
mod signal;
mod state;
mod sync;
mod tree_locks;
mod writer_lock;
#[cfg(all(test, feature = "loom"))]
mod writer_lock_model;

pub(crate) use self::dropped_snapshots::walk_published;
pub(crate) use self::removed_subtrees::RemovedSubtrees;
pub(crate) use self::signal::{DueWork, Signal};
pub(crate) use self::state::{
    NamedChange, NamedSnapshot, PublishedCommit, State, sorted, walk_root, write_record, write_record_at,
};
pub(crate) use self::tree_locks::{LockedTrees, TreeLocks};
pub(crate) use self::writer_lock::WriterLock;

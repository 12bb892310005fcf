//! The writer's state and its lock: one transaction or checkpoint at a time.

mod signal;
mod state;
mod writer_lock;

pub(crate) use self::signal::Signal;
pub(crate) use self::state::{Named, Published, State, sorted, walk_root, walk_since, write_record, write_record_at};
pub(crate) use self::writer_lock::WriterLock;

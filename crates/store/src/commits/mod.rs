//! Commits and checkpoints: publish changes as the newest root, and make roots durable.

mod background;
mod checkpoint;
mod checkpoint_policy;
mod commit;
mod removed_subtrees;

pub(crate) use self::background::Background;
pub(crate) use self::checkpoint::{MIN_UNITS, PAGE_UNITS};
pub(crate) use self::commit::{OpenTree, UnfinishedCommit};

//! The changes from one commit of a source to a later one, step by step.

use crate::error::Result;

/// The changes from one commit to the next that the copy has, too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Step {
    /// The number of the commit that it leads to.
    pub(crate) commit: u64,
    /// The names of snapshots that are dropped.
    pub(crate) dropped: Vec<String>,
    /// The names under which the commit before it is kept.
    pub(crate) kept: Vec<String>,
}

/// Takes changes in this order: for each step its beginning, its trees and their entries, and its end.
pub(crate) trait ChangeSink {
    fn begin(&mut self, step: &Step) -> Result<()>;
    fn create_tree(&mut self, tree: &str) -> Result<()>;
    fn drop_tree(&mut self, tree: &str) -> Result<()>;
    fn put(&mut self, tree: &str, key: &[u8], value: &[u8]) -> Result<()>;
    fn remove(&mut self, tree: &str, key: &[u8]) -> Result<()>;
    fn end(&mut self) -> Result<()>;
}

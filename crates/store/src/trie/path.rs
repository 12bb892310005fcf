//! The path from a root to the position of a key.

use crate::node::Word;

/// An inner node on the path. The key matches its whole prefix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) reference: u64,
    /// The index of the child on the path.
    pub(super) index: usize,
    /// Bytes of the key before this node's prefix, and with it.
    pub(super) depth: usize,
    pub(super) end: usize,
    /// Whether this writer may change the node.
    pub(super) is_owned: bool,
    /// The changed word of that child. Only the lowest step has one.
    pub(super) child: Option<Word>,
    /// The number of keys below minus the count stored in the node.
    pub(super) delta: i64,
}

/// The inner nodes on the path, the root first.
#[derive(Debug, Default)]
pub(crate) struct Path {
    pub(super) steps: Vec<Step>,
    /// The key at the end of the path.
    pub(super) key: Vec<u8>,
}

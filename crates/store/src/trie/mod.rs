//! The trie: what is done with the nodes.

pub(crate) mod build;
pub(crate) mod count;
pub(crate) mod cursor;
pub(crate) mod descend;
pub(crate) mod find;
mod path;
pub(crate) mod put;
mod put_run;
pub(crate) mod relocate;
pub(crate) mod remove;
pub(crate) mod remove_range;
#[cfg(test)]
mod tests;
pub(crate) mod walk;
pub(crate) mod warm;
pub(crate) mod writer;

pub(crate) use cursor::Cursor;
pub(crate) use put::{Mode, check_lengths};
pub(crate) use writer::{Purpose, Writer, len_with_reserve};

/// The longest key.
pub(crate) const MAX_KEY_LEN: usize = 32 * 1024;

/// A leaf that would have more bytes of body than this is split, if it has more than one key.
///
/// Each insertion copies a leaf, and each key found is found in one.
pub(crate) const LEAF_MAX: usize = 764;

/// A leaf with fewer bytes in use than this is joined with its neighbour.
pub(crate) const LEAF_MIN: usize = LEAF_MAX / 4;

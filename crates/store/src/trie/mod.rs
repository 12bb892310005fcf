//! The trie: operations on nodes.

pub(crate) mod build;
pub(crate) mod changed;
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
pub(crate) mod shares;
#[cfg(test)]
mod tests;
pub(crate) mod walk;
pub(crate) mod warm;
pub(crate) mod writer;

pub(crate) use cursor::Cursor;
pub(crate) use put::{Mode, check_lengths};
pub(crate) use writer::{Purpose, RetiredLengths, Target, Writer, len_with_reserve};

/// The maximum length of a key.
pub(crate) const MAX_KEY_LEN: usize = 32 * 1024;

/// A leaf whose body would have more bytes than this is split, if it has more than one key.
///
/// Each insertion copies a leaf, and each lookup searches one.
pub(crate) const LEAF_MAX: usize = 764;

/// A leaf with fewer used bytes than this is joined with its neighbour.
pub(crate) const LEAF_MIN: usize = LEAF_MAX / 4;

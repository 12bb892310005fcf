//! The root of a commit, from which all trees are reached.
//!
//! A root record is a node of one unit, from which readers find the trees of a commit:
//!
//! ```text
//! body   12 catalog word u64 │ 20 sequence number u64 │ 28 snapshots word u64 │ 36 zeros
//! ```
//! The catalog is a tree from the names of trees to their root words. The snapshots are a tree from the names of
//! snapshots to the generation, sequence number and catalog word of each.

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::extent::Generation;
use crate::node::{self, Kind, Node, Word};
use crate::trie::{Cursor, find};

/// The maximum length of the name of a tree or of a named snapshot.
pub(crate) const NAME_MAX: usize = 1024;

/// A commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) generation: Generation,
    /// Commits are numbered from 1; 0 is the store as it was created.
    pub(crate) sequence: u64,
    pub(crate) catalog: Word,
    pub(crate) snapshots: Word,
}

impl Root {
    pub(crate) const EMPTY: Self = Self { generation: 1, sequence: 0, catalog: Word::NONE, snapshots: Word::NONE };

    /// Writes the root into the body of a fresh node, whose generation is the root's.
    pub(crate) fn write(&self, body: &mut [u8]) {
        body[12..20].copy_from_slice(&self.catalog.bits().to_le_bytes());
        body[20..28].copy_from_slice(&self.sequence.to_le_bytes());
        body[28..36].copy_from_slice(&self.snapshots.bits().to_le_bytes());
        body[36..].fill(0);
    }

    #[inline]
    pub(crate) fn read(node: Node<'_>) -> Result<Self> {
        if Kind::from_head(node.head) != Some(Kind::Root) {
            return Err(Error::corrupt("expected the record of a commit"));
        }
        Ok(Self {
            generation: node::generation(node.head),
            catalog: Word::from_bits(u64_at(node.head, 12)),
            sequence: u64_at(node.head, 20),
            snapshots: Word::from_bits(u64_at(node.head, 28)),
        })
    }

    /// The root word of the tree with this name.
    pub(crate) fn tree(&self, arena: &Arena, name: &str) -> Result<Option<Word>> {
        find::get(arena, self.catalog, name.as_bytes())?.map(parse_word).transpose()
    }

    /// The names of all trees and their root words.
    pub(crate) fn trees(&self, arena: &Arena) -> Result<Vec<(String, Word)>> {
        let mut trees = Vec::new();
        let mut cursor = Cursor::new(arena, self.catalog);
        while cursor.next()? {
            let (Some(name), Some(value)) = (cursor.key(), cursor.value()?) else { break };
            trees.push((parse_name(name)?, parse_word(value)?));
            check_count(arena, trees.len())?;
        }
        Ok(trees)
    }

    /// The roots that named snapshots hold.
    pub(crate) fn named(&self, arena: &Arena) -> Result<Vec<(String, Self)>> {
        let mut snapshots = Vec::new();
        let mut cursor = Cursor::new(arena, self.snapshots);
        while cursor.next()? {
            let (Some(name), Some(value)) = (cursor.key(), cursor.value()?) else { break };
            snapshots.push((parse_name(name)?, Self::from_snapshot(value)?));
            check_count(arena, snapshots.len())?;
        }
        Ok(snapshots)
    }

    /// The root that a named snapshot holds.
    pub(crate) fn named_root(&self, arena: &Arena, name: &str) -> Result<Option<Self>> {
        find::get(arena, self.snapshots, name.as_bytes())?.map(Self::from_snapshot).transpose()
    }

    /// The value under which a named snapshot of this root is stored.
    pub(crate) fn to_snapshot(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.generation.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..].copy_from_slice(&self.catalog.bits().to_le_bytes());
        bytes
    }

    pub(crate) fn from_snapshot(bytes: &[u8]) -> Result<Self> {
        let Some(bytes) = bytes.as_array::<24>() else {
            return Err(Error::corrupt("the record of a named snapshot is not 24 bytes long"));
        };
        Ok(Self {
            generation: u64_at(bytes, 0),
            sequence: u64_at(bytes, 8),
            catalog: Word::from_bits(u64_at(bytes, 16)),
            snapshots: Word::NONE,
        })
    }
}

pub(crate) fn parse_word(value: &[u8]) -> Result<Word> {
    match value.as_array::<8>() {
        Some(bits) => Ok(Word::from_bits(u64::from_le_bytes(*bits))),
        None => Err(Error::corrupt("a tree's root record is not 8 bytes long")),
    }
}

/// Limits the number of names by the size of the file: each entry takes more than eight bytes, so more of them mean
/// that a damaged tree reaches nodes over and over.
fn check_count(arena: &Arena, count: usize) -> Result<()> {
    if count as u64 > arena.len() / 8 {
        return Err(Error::corrupt("a catalog has more entries than the file has room for"));
    }
    Ok(())
}

fn parse_name(name: &[u8]) -> Result<String> {
    if name.len() > NAME_MAX {
        return Err(Error::corrupt("a name is longer than 1,024 bytes"));
    }
    String::from_utf8(name.to_vec()).map_err(|_| Error::corrupt("a name is not UTF-8"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(value)
}

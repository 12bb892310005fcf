//! The layout of nodes.
//!
//! ```text
//! all nodes     0 checksum u32 │ 4 kind u8 │ 5 0 u8 │ 6 units u16 │ 8 generation u64 │ 16 …
//! ```
//! The body begins after the checksum; offsets in this module count from the body's start. Integers are little-endian.

pub(crate) mod edit_inner;
pub(crate) mod edit_leaf;
pub(crate) mod inner;
pub(crate) mod leaf;
pub(crate) mod value;
pub(crate) mod word;

pub(crate) use inner::Inner;
pub(crate) use leaf::{Leaf, Slot};
pub(crate) use word::{REFERENCE_LIMIT, Word};

use crate::extent::{Generation, UNIT};

/// Bytes of the checksum before a node's body.
pub(crate) const CHECKSUM_LEN: usize = 4;

/// Bytes of the body within the node's first unit, which every node has.
pub(crate) const BODY_HEAD: usize = UNIT as usize - CHECKSUM_LEN;

/// The end of the part of the body that all nodes have.
pub(crate) const COMMON: usize = 12;

/// A node that was found within the data area.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'a> {
    /// The start of the body, which every node has.
    pub(crate) head: &'a [u8; BODY_HEAD],
    /// The whole body: all of the node but its checksum.
    pub(crate) body: &'a [u8],
}

impl Node<'_> {
    /// The number of units of the node.
    #[inline]
    pub(crate) fn units(&self) -> u32 {
        ((self.body.len() + CHECKSUM_LEN) / UNIT as usize) as u32
    }
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Leaf = 1,
    Inner = 2,
    Value = 3,
    Root = 4,
}

impl Kind {
    #[inline]
    pub(crate) fn from_head(head: &[u8; BODY_HEAD]) -> Option<Self> {
        match head[0] {
            1 => Some(Self::Leaf),
            2 => Some(Self::Inner),
            3 => Some(Self::Value),
            4 => Some(Self::Root),
            _ => None,
        }
    }
}

/// The generation in which a node was made.
#[inline]
pub(crate) fn generation(head: &[u8; BODY_HEAD]) -> Generation {
    u64::from_le_bytes([head[4], head[5], head[6], head[7], head[8], head[9], head[10], head[11]])
}

/// Units of a node whose body has `len` bytes.
pub(crate) fn units_for(len: usize) -> u32 {
    (len + CHECKSUM_LEN).div_ceil(UNIT as usize) as u32
}

pub(crate) fn write_head(body: &mut [u8], kind: Kind, units: u32, generation: Generation) {
    body[0] = kind as u8;
    body[1] = 0;
    let units = if kind == Kind::Value { 0 } else { units as u16 };
    body[2..4].copy_from_slice(&units.to_le_bytes());
    body[4..12].copy_from_slice(&generation.to_le_bytes());
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
fn put_u16(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
}

//! Inner nodes: map the next byte of a key to a child.
//!
//! ```text
//! body   12 keys below u64 │ 20 prefix length u16 │ 22 dividers u16 │ 24 prefix │ dividers, one byte each │ padding to
//!        a multiple of 8 from the node's start │ children, one word each, one more than there are dividers
//! ```
//! The keys below a child continue, after the path to the node, with the prefix and then a byte that is at least the
//! divider before the child and less than the one after it. A key that ends there belongs to the first child. A child
//! that is an inner node has that byte as the first of its prefix, so every inner node below the root has a prefix.

use std::ops::Range;

use lath_kernels::bytesearch;

use super::{CHECKSUM_LEN, Node, Word};
use crate::error::{Error, Result};

/// The offset of the prefix.
pub(crate) const PREFIX: usize = 24;

/// The maximum number of dividers, which are distinct bytes.
pub(crate) const MAX_DIVIDERS: usize = 256;

/// An inner node whose parts were checked to lie within the node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inner<'a> {
    body: &'a [u8],
    prefix_len: usize,
    dividers: usize,
    children: usize,
}

/// The offset of the children.
pub(super) fn children_at(prefix_len: usize, dividers: usize) -> usize {
    (CHECKSUM_LEN + PREFIX + prefix_len + dividers).next_multiple_of(8) - CHECKSUM_LEN
}

/// Bytes of the body of a node with a prefix of this length and this many dividers.
pub(crate) fn body_len(prefix_len: usize, dividers: usize) -> usize {
    children_at(prefix_len, dividers) + 8 * (dividers + 1)
}

impl<'a> Inner<'a> {
    #[inline]
    pub(crate) fn parse(node: Node<'a>) -> Result<Self> {
        Self::from_node(node).ok_or_else(|| Error::corrupt("the parts of an inner node do not fit into it"))
    }

    /// Like [`parse`](Self::parse), but returns `None` instead of an error.
    #[inline]
    pub(crate) fn from_node(node: Node<'a>) -> Option<Self> {
        let head = node.head;
        let prefix_len = usize::from(u16::from_le_bytes([head[20], head[21]]));
        let dividers = usize::from(u16::from_le_bytes([head[22], head[23]]));
        let children = children_at(prefix_len, dividers);
        let fit = dividers <= MAX_DIVIDERS && children + 8 * (dividers + 1) <= node.body.len();
        fit.then_some(Self { body: node.body, prefix_len, dividers, children })
    }

    /// The number of keys below.
    pub(crate) fn total(&self) -> u64 {
        let mut total = [0; 8];
        total.copy_from_slice(&self.body[12..20]);
        u64::from_le_bytes(total)
    }

    #[inline]
    pub(crate) fn prefix(&self) -> &'a [u8] {
        &self.body[PREFIX..PREFIX + self.prefix_len]
    }

    #[inline]
    pub(crate) fn dividers(&self) -> &'a [u8] {
        &self.body[PREFIX + self.prefix_len..PREFIX + self.prefix_len + self.dividers]
    }

    /// The number of children, at least 1.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.dividers + 1
    }

    /// The child at `index`, which is less than [`count`](Self::count).
    #[inline]
    pub(crate) fn child(&self, index: usize) -> Word {
        let mut bits = [0; 8];
        bits.copy_from_slice(&self.body[self.children + 8 * index..][..8]);
        Word::from_bits(u64::from_le_bytes(bits))
    }

    /// The key counts of some of the children, where their words have them.
    #[inline]
    pub(crate) fn counts(&self, children: Range<usize>) -> impl Iterator<Item = Option<u64>> {
        let (words, _) = self.words()[8 * children.start..8 * children.end].as_chunks::<8>();
        words.iter().map(|bits| Word::from_bits(u64::from_le_bytes(*bits)).count())
    }

    pub(super) fn words(&self) -> &'a [u8] {
        &self.body[self.children..self.children + 8 * (self.dividers + 1)]
    }

    /// The index of the child for keys that continue with `byte`, or end.
    #[inline]
    pub(crate) fn child_index(&self, byte: Option<u8>) -> usize {
        let start = PREFIX + self.prefix_len;
        // If the dividers are all bytes except 0, the index is the byte. The branch is predicted, so nothing waits for
        // the dividers or for a search.
        if self.dividers == MAX_DIVIDERS - 1 && self.body.get(start) == Some(&1) {
            return usize::from(byte.unwrap_or(0));
        }
        byte.map_or(0, |byte| bytesearch::upper_bound_within(self.body, start, self.dividers, byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::edit_inner;

    #[test]
    fn byte_selects_child_by_count_of_dividers_not_greater() {
        let all_but = |missing: &[u8]| -> Vec<u8> { (0..=255).filter(|byte| !missing.contains(byte)).collect() };
        for dividers in
            [all_but(&[]), all_but(&[0]), all_but(&[7]), all_but(&[255]), all_but(&[0, 255]), vec![1], vec![]]
        {
            for prefix in [&b""[..], b"p", b"prefix"] {
                let mut body = vec![0; body_len(prefix.len(), dividers.len())];
                let children: Vec<Word> = (0..=dividers.len() as u64).map(|index| Word::new(index + 1, 1)).collect();
                edit_inner::write(&mut body, 1, prefix, &dividers, &children);
                let children = children_at(prefix.len(), dividers.len());
                let inner = Inner { body: &body, prefix_len: prefix.len(), dividers: dividers.len(), children };
                assert_eq!(inner.child_index(None), 0);
                for byte in 0..=255 {
                    let index = inner.child_index(Some(byte));
                    assert_eq!(
                        index,
                        dividers.iter().filter(|divider| **divider <= byte).count(),
                        "{byte} {dividers:?}"
                    );
                    assert_eq!(inner.child(index).reference(), index as u64 + 1);
                }
            }
        }
    }
}

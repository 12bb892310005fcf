//! Sets of slots.

use lath_store::Tree;

use crate::error::Result;
use crate::records::{BLOCK_SLOTS, BlockKey, BlockKind};

/// A bit for each slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// The empty set, with room for `slots` slots.
    pub(crate) fn empty(slots: usize) -> Self {
        Self { words: vec![0; slots.div_ceil(64)] }
    }

    /// Reads an array of bits over slots.
    pub(crate) fn read(blocks: Option<Tree<'_>>, kind: BlockKind, column: u32, slots: u32) -> Result<Self> {
        let mut bitmap = Self::empty(slots as usize);
        let Some(blocks) = blocks else { return Ok(bitmap) };
        for (block, words) in bitmap.words.chunks_mut(BLOCK_SLOTS as usize / 64).enumerate() {
            let key = BlockKey { kind, column, block: block as u32 };
            let bits = blocks.get(&key.to_bytes())?.unwrap_or_default().as_chunks().0;
            words.iter_mut().zip(bits).for_each(|(word, bits)| *word = u64::from_le_bytes(*bits));
        }
        Ok(bitmap)
    }

    pub(crate) fn contains(&self, slot: u32) -> bool {
        self.words.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 != 0)
    }

    /// Adds a slot. A slot past the end is ignored.
    pub(crate) fn insert(&mut self, slot: u32) {
        if let Some(word) = self.words.get_mut(slot as usize / 64) {
            *word |= 1 << (slot % 64);
        }
    }

    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    pub(crate) fn intersect(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    pub(crate) fn unite(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Removes the slots in `other`.
    pub(crate) fn subtract(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= !other);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The slots, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(at as u32 * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_listed_in_order() {
        let mut bitmap = Bitmap::empty(130);
        let slots = [0, 63, 64, 127, 129];
        slots.iter().for_each(|&slot| bitmap.insert(slot));
        bitmap.insert(500);
        assert_eq!(bitmap.iter().collect::<Vec<_>>(), slots);
        assert!(bitmap.contains(127) && !bitmap.contains(126) && !bitmap.contains(500));
        let mut other = Bitmap::empty(130);
        other.insert(64);
        bitmap.subtract(&other);
        assert!(!bitmap.contains(64));
        bitmap.intersect(&other);
        assert!(bitmap.is_empty());
    }
}

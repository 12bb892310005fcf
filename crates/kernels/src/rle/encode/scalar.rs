//! Portable: comparisons one by one, gathered in a word.

use super::runs::{self, Page};
use crate::bitpack::pack::scalar;
use crate::select::bitmap::{load_word, low_mask};

pub(super) fn encode_u8(values: &[u8], width: u32, out: &mut [u8]) -> usize {
    let page = Page {
        count: values.len(),
        width,
        repeats: |word| repeats(values, word),
        value: |at: usize| values[at].into(),
        pack: |from: usize, count: usize, out: &mut [u8]| scalar::pack_u8(&values[from..from + count], width, out),
    };
    runs::encode(&page, out)
}

pub(super) fn encode_u32(values: &[u32], width: u32, out: &mut [u8]) -> usize {
    let page = Page {
        count: values.len(),
        width,
        repeats: |word| repeats(values, word),
        value: |at: usize| values[at],
        pack: |from: usize, count: usize, out: &mut [u8]| scalar::pack_u32(&values[from..from + count], width, out),
    };
    runs::encode(&page, out)
}

/// Inlined into each tier's function for its instructions.
#[inline(always)]
pub(super) fn encode_bits(bitmap: &[u8], bit_offset: usize, count: usize, out: &mut [u8]) -> usize {
    let page = Page {
        count,
        width: 1,
        repeats: |word: usize| {
            let first = word * 64;
            // The last bit has no next one.
            let pairs = count.saturating_sub(first + 1).min(64);
            let bits = load_word(bitmap, bit_offset + first, 64);
            !(bits ^ load_word(bitmap, bit_offset + first + 1, 64)) & low_mask(pairs)
        },
        value: |at: usize| load_word(bitmap, bit_offset + at, 1) as u32,
        pack: |from: usize, count: usize, out: &mut [u8]| {
            for (index, out) in out[..count.div_ceil(8)].chunks_mut(8).enumerate() {
                let bits = load_word(bitmap, bit_offset + from + index * 64, (count - index * 64).min(64));
                match out.first_chunk_mut() {
                    Some(out) => *out = bits.to_le_bytes(),
                    None => out.copy_from_slice(&bits.to_le_bytes()[..out.len()]),
                }
            }
        },
    };
    runs::encode(&page, out)
}

/// A mask of the 64 values of a word that equal the next one.
#[inline]
pub(super) fn repeats<T: PartialEq + Copy>(values: &[T], word: usize) -> u64 {
    let values = values.get(word * 64..).unwrap_or_default();
    let pairs = values.windows(2).take(64).enumerate();
    pairs.fold(0, |word, (bit, pair)| word | u64::from(pair[0] == pair[1]) << bit)
}

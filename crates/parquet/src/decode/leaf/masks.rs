//! Bitmaps of level entries.

use lath_kernels::{levels, select};

use crate::decode::levels::LevelDecoder;
use crate::error::Result;

/// Scratch bitmaps for a run of entries.
#[derive(Debug, Default)]
pub(super) struct Masks {
    pub(super) slots: Vec<u64>,
    pub(super) valid: Vec<u64>,
    pub(super) values: Vec<u64>,
}

/// Decodes levels until `levels` is full, and sets bits of `bits` from bit `at` on where they equal `max_level`; returns the
/// number of set bits.
pub(super) fn decode_levels_and_bits(
    decoder: &mut LevelDecoder,
    levels: &mut [u8],
    max_level: u8,
    mask: &mut Vec<u64>,
    bits: &mut [u8],
    at: usize,
) -> Result<usize> {
    decoder.decode(levels)?;
    let mask = resized(mask, levels.len().div_ceil(64));
    levels::ge_mask(levels, max_level, mask)?;
    select::copy_bits(bytemuck::cast_slice(mask), 0, bits, at, levels.len())?;
    Ok(levels::count(mask))
}

/// The first `words` words of a scratch mask.
pub(super) fn resized(mask: &mut Vec<u64>, words: usize) -> &mut [u64] {
    if mask.len() < words {
        mask.resize(words, 0);
    }
    &mut mask[..words]
}

/// As [`resized`], all of it zero.
pub(super) fn zeroed(mask: &mut Vec<u64>, words: usize) -> &mut [u64] {
    let mask = resized(mask, words);
    mask.fill(0);
    mask
}

/// Clears the bits from `len` on of the last word.
pub(super) fn clear_tail(words: &mut [u64], len: usize) {
    if !len.is_multiple_of(64)
        && let Some(last) = words.last_mut()
    {
        *last &= (1 << (len % 64)) - 1;
    }
}

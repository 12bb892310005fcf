//! Portable code, 64 entries to a word. The public functions have checked every length.

use crate::select::bitmap::{BitAppender, gather_bits};

/// An offset of a list: `i32` or `i64`.
pub(super) trait Offset: Copy {
    /// `self + count`, wrapping; the caller has checked that the last offset fits.
    fn plus(self, count: usize) -> Self;
}

impl Offset for i32 {
    #[inline(always)]
    fn plus(self, count: usize) -> Self {
        self.wrapping_add(count as i32)
    }
}

impl Offset for i64 {
    #[inline(always)]
    fn plus(self, count: usize) -> Self {
        self.wrapping_add(count as i64)
    }
}

#[inline(always)]
fn mask_by(levels: &[u8], out: &mut [u64], holds: impl Fn(u8) -> bool) {
    for (block, word) in levels.chunks(64).zip(out) {
        let mut bits = 0;
        for (group, eight) in block.chunks(8).enumerate() {
            let mut byte = 0_u64;
            for (index, &level) in eight.iter().enumerate() {
                byte |= u64::from(holds(level)) << index;
            }
            bits |= byte << (group * 8);
        }
        *word = bits;
    }
}

pub(super) fn ge_mask(levels: &[u8], threshold: u8, out: &mut [u64]) {
    mask_by(levels, out, |level| level >= threshold);
}

pub(super) fn le_mask(levels: &[u8], threshold: u8, out: &mut [u64]) {
    mask_by(levels, out, |level| level <= threshold);
}

pub(super) fn eq_mask(levels: &[u8], value: u8, out: &mut [u64]) {
    mask_by(levels, out, |level| level == value);
}

pub(super) fn count(mask: &[u64]) -> usize {
    count_inline(mask)
}

#[inline(always)]
pub(super) fn count_inline(mask: &[u64]) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

pub(super) fn extract(bits: &[u64], mask: &[u64], out: &mut [u8], out_bit_offset: usize) -> usize {
    extract_by(bits, mask, out, out_bit_offset, gather_bits)
}

/// `gather(bits, mask)` moves the bits at the positions of the mask to the low end.
#[inline(always)]
pub(super) fn extract_by(
    bits: &[u64],
    mask: &[u64],
    out: &mut [u8],
    out_bit_offset: usize,
    gather: impl Fn(u64, u64) -> u64,
) -> usize {
    let mut appended = 0;
    let mut appender = BitAppender::new(out, out_bit_offset);
    for (&bits, &mask) in bits.iter().zip(mask) {
        let count = mask.count_ones() as usize;
        appender.push(gather(bits, mask), count);
        appended += count;
    }
    appender.finish();
    appended
}

pub(super) fn list_offsets<O: Offset>(slots: &[u64], elements: &[u64], start: O, out: &mut [O]) {
    let mut before = 0;
    let mut out = out.iter_mut();
    for (&slots, &elements) in slots.iter().zip(elements) {
        let mut left = slots;
        while left != 0 {
            // The lowest set bit minus one: every position before the slot's.
            let earlier = (left & left.wrapping_neg()) - 1;
            if let Some(to) = out.next() {
                *to = start.plus(before + (elements & earlier).count_ones() as usize);
            }
            left &= left - 1;
        }
        before += elements.count_ones() as usize;
    }
}

pub(super) fn list_offsets_i32(slots: &[u64], elements: &[u64], start: i32, out: &mut [i32]) {
    list_offsets(slots, elements, start, out);
}

pub(super) fn list_offsets_i64(slots: &[u64], elements: &[u64], start: i64, out: &mut [i64]) {
    list_offsets(slots, elements, start, out);
}

pub(super) fn nth_set(mask: &[u64], n: usize) -> Option<usize> {
    nth_set_by(mask, n, |mut word, n| {
        for _ in 0..n {
            word &= word - 1;
        }
        word.trailing_zeros() as usize
    })
}

/// `select(word, n)` is the position of a word's `n`-th set bit, which exists.
#[inline(always)]
pub(super) fn nth_set_by(mask: &[u64], n: usize, select: impl Fn(u64, usize) -> usize) -> Option<usize> {
    let mut left = n;
    for (index, &word) in mask.iter().enumerate() {
        let count = word.count_ones() as usize;
        if left < count {
            return Some(index * 64 + select(word, left));
        }
        left -= count;
    }
    None
}

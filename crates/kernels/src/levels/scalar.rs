//! Portable code, 64 entries to a word. The public functions have checked every length.

use crate::select::bitmap::{BitAppender, gather_bits};

/// An offset of a list: `i32` or `i64`.
pub(crate) trait Offset: Copy {
    /// `self + count`, wrapping; the caller has proven that the last offset fits.
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

pub(crate) fn ge_mask(levels: &[u8], threshold: u8, out: &mut [u64]) {
    mask_by(levels, out, |level| level >= threshold);
}

pub(crate) fn le_mask(levels: &[u8], threshold: u8, out: &mut [u64]) {
    mask_by(levels, out, |level| level <= threshold);
}

pub(crate) fn eq_mask(levels: &[u8], value: u8, out: &mut [u64]) {
    mask_by(levels, out, |level| level == value);
}

#[inline(always)]
pub(crate) fn count(mask: &[u64]) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

pub(crate) fn extract(bits: &[u64], mask: &[u64], out: &mut [u8], out_bit_offset: usize) -> usize {
    let mut appended = 0;
    let mut appender = BitAppender::new(out, out_bit_offset);
    for (&bits, &mask) in bits.iter().zip(mask) {
        let count = mask.count_ones() as usize;
        appender.push(gather_bits(bits, mask), count);
        appended += count;
    }
    appender.finish();
    appended
}

#[inline(always)]
fn list_offsets<O: Offset>(slots: &[u64], elements: &[u64], start: O, out: &mut [O]) {
    let mut before = 0;
    let mut out = out.iter_mut();
    for (&slots, &elements) in slots.iter().zip(elements) {
        let mut left = slots;
        while left != 0 {
            // The lowest set bit less one: every position before the slot's.
            let earlier = (left & left.wrapping_neg()) - 1;
            if let Some(to) = out.next() {
                *to = start.plus(before + (elements & earlier).count_ones() as usize);
            }
            left &= left - 1;
        }
        before += elements.count_ones() as usize;
    }
}

pub(crate) fn list_offsets_i32(slots: &[u64], elements: &[u64], start: i32, out: &mut [i32]) {
    list_offsets(slots, elements, start, out);
}

pub(crate) fn list_offsets_i64(slots: &[u64], elements: &[u64], start: i64, out: &mut [i64]) {
    list_offsets(slots, elements, start, out);
}

#[inline(always)]
pub(crate) fn nth_set(mask: &[u64], n: usize) -> Option<usize> {
    let mut left = n;
    for (index, &word) in mask.iter().enumerate() {
        let count = word.count_ones() as usize;
        if left < count {
            let mut word = word;
            for _ in 0..left {
                word &= word - 1;
            }
            return Some(index * 64 + word.trailing_zeros() as usize);
        }
        left -= count;
    }
    None
}

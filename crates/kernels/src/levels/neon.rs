//! Level masks: 16 comparisons an instruction. AArch64 has no MOVEMASK: the comparisons' ones are masked to one bit per
//! byte, each at its position within eight, and three rounds of pairwise additions bring 64 of them together.
//!
//! ```text
//! compared   FF 00 FF FF 00 00 00 FF …    and    01 02 04 08 10 20 40 80 …
//!            01 00 04 08 00 00 00 80 …    three times added pairwise: one byte for eight levels
//! ```
//!
//! The rest is the same as in the portable code: AArch64 has no bit gather.
#![expect(unsafe_code, reason = "vector loads at addresses within slices")]

use std::arch::aarch64::*;

pub(super) unsafe fn ge_mask(levels: &[u8], threshold: u8, out: &mut [u64]) {
    // SAFETY: Advanced SIMD is part of the baseline.
    let threshold = unsafe { vdupq_n_u8(threshold) };
    // SAFETY: as above.
    mask_by(levels, out, |level| unsafe { vcgeq_u8(level, threshold) });
}

pub(super) unsafe fn le_mask(levels: &[u8], threshold: u8, out: &mut [u64]) {
    // SAFETY: Advanced SIMD is part of the baseline.
    let threshold = unsafe { vdupq_n_u8(threshold) };
    // SAFETY: as above.
    mask_by(levels, out, |level| unsafe { vcleq_u8(level, threshold) });
}

pub(super) unsafe fn eq_mask(levels: &[u8], value: u8, out: &mut [u64]) {
    // SAFETY: Advanced SIMD is part of the baseline.
    let value = unsafe { vdupq_n_u8(value) };
    // SAFETY: as above.
    mask_by(levels, out, |level| unsafe { vceqq_u8(level, value) });
}

#[inline(always)]
fn mask_by(levels: &[u8], out: &mut [u64], holds: impl Fn(uint8x16_t) -> uint8x16_t) {
    let (blocks, rest) = levels.as_chunks::<64>();
    let mut out = out.iter_mut();
    for (block, word) in blocks.iter().zip(&mut out) {
        *word = word_by(block, &holds);
    }
    if let Some(word) = out.next() {
        let mut last = [0; 64];
        last[..rest.len()].copy_from_slice(rest);
        *word = word_by(&last, &holds) & ((1 << rest.len()) - 1);
    }
}

#[inline(always)]
fn word_by(levels: &[u8; 64], holds: &impl Fn(uint8x16_t) -> uint8x16_t) -> u64 {
    const PLACES: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: the array is 16 bytes.
    let places = unsafe { vld1q_u8(PLACES.as_ptr()) };
    let (quarters, _) = levels.as_chunks::<16>();
    let [a, b, c, d] = std::array::from_fn(|index| {
        // SAFETY: the array is 16 bytes.
        let level = unsafe { vld1q_u8(quarters[index].as_ptr()) };
        // SAFETY: Advanced SIMD is part of the baseline.
        unsafe { vandq_u8(holds(level), places) }
    });
    // SAFETY: as above.
    let low = unsafe { vpaddq_u8(a, b) };
    // SAFETY: as above.
    let high = unsafe { vpaddq_u8(c, d) };
    // SAFETY: as above.
    let sums = unsafe { vpaddq_u8(low, high) };
    // SAFETY: as above.
    let bytes = unsafe { vpaddq_u8(sums, sums) };
    // SAFETY: as above.
    unsafe { vgetq_lane_u64::<0>(vreinterpretq_u64_u8(bytes)) }
}

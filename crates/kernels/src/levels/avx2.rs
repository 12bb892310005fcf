//! Level masks: 32 comparisons an instruction, gathered by MOVEMASK. AVX2 has no unsigned comparison, so `level >= t`
//! is `max(level, t) = level`. A word takes two loads and six operations.
//!
//! List offsets, eight entries at a time within general registers: PDEP spreads the element bits to bytes, a
//! multiplication sums them, PEXT keeps the sums at slots, and one widening addition makes offsets of them.
//!
//! ```text
//! elements   1 0 1 1 0 1 0 0      slots  1 0 0 1 0 0 1 0      (entry 0 on the left)
//! before     0 1 1 2 3 3 4 4      kept   0 2 4                + start + elements of earlier words
//! ```
//!
//! That is ten operations per eight entries, whatever the slots. Tried and rejected: slot by slot with POPCNT of the
//! element bits below (the portable code), which costs by the slot and mispredicts at the end of every word.
#![expect(unsafe_code, reason = "vector loads and stores at addresses within slices")]

use std::arch::x86_64::*;

use super::scalar;
use crate::tier::avx2;

/// One bit in each byte.
const BYTES: u64 = 0x0101_0101_0101_0101;

avx2! {
    pub(super) fn ge_mask(levels: &[u8], threshold: u8, out: &mut [u64]) {
        let threshold = _mm256_set1_epi8(threshold as i8);
        mask_by(levels, out, |level| _mm256_cmpeq_epi8(_mm256_max_epu8(level, threshold), level));
    }

    pub(super) fn le_mask(levels: &[u8], threshold: u8, out: &mut [u64]) {
        let threshold = _mm256_set1_epi8(threshold as i8);
        mask_by(levels, out, |level| _mm256_cmpeq_epi8(_mm256_min_epu8(level, threshold), level));
    }

    pub(super) fn eq_mask(levels: &[u8], value: u8, out: &mut [u64]) {
        let value = _mm256_set1_epi8(value as i8);
        mask_by(levels, out, |level| _mm256_cmpeq_epi8(level, value));
    }

    #[inline]
    fn mask_by(levels: &[u8], out: &mut [u64], holds: impl Fn(__m256i) -> __m256i) {
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

    #[inline]
    fn word_by(levels: &[u8; 64], holds: &impl Fn(__m256i) -> __m256i) -> u64 {
        // SAFETY: the array is 64 bytes.
        let low = unsafe { _mm256_loadu_si256(levels.as_ptr().cast()) };
        // SAFETY: as above.
        let high = unsafe { _mm256_loadu_si256(levels[32..].as_ptr().cast()) };
        let low = _mm256_movemask_epi8(holds(low)) as u32;
        let high = _mm256_movemask_epi8(holds(high)) as u32;
        u64::from(low) | u64::from(high) << 32
    }

    pub(super) fn count(mask: &[u64]) -> usize {
        scalar::count_inline(mask)
    }

    pub(super) fn extract(bits: &[u64], mask: &[u64], out: &mut [u8], out_bit_offset: usize) -> usize {
        scalar::extract_by(bits, mask, out, out_bit_offset, |bits, mask| _pext_u64(bits, mask))
    }

    pub(super) fn nth_set(mask: &[u64], n: usize) -> Option<usize> {
        scalar::nth_set_by(mask, n, |word, n| _pdep_u64(1 << n, word).trailing_zeros() as usize)
    }

    pub(super) fn list_offsets_i32(slots: &[u64], elements: &[u64], start: i32, out: &mut [i32]) {
        let mut before = start;
        let mut written = 0;
        for (index, (&slots_word, &elements_word)) in slots.iter().zip(elements).enumerate() {
            let Some(room) = out[written..].first_chunk_mut::<64>() else {
                return scalar::list_offsets(&slots[index..], &elements[index..], before, &mut out[written..]);
            };
            if slots_word != 0 {
                let mut offset = before;
                let mut to = room.as_mut_ptr();
                for shift in (0..64).step_by(8) {
                    let slot_count = ones_in_byte(slots_word >> shift);
                    let kept = sums_at_slots(slots_word >> shift, elements_word >> shift);
                    let kept = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(kept as i64));
                    let offsets = _mm256_add_epi32(kept, _mm256_set1_epi32(offset));
                    // SAFETY: eight offsets from at most `shift` lie within the 64 of `room`.
                    unsafe { _mm256_storeu_si256(to.cast(), offsets) };
                    // SAFETY: at most eight slots in eight entries, 64 in all.
                    to = unsafe { to.add(slot_count) };
                    offset = offset.wrapping_add(ones_in_byte(elements_word >> shift) as i32);
                }
                written += slots_word.count_ones() as usize;
            }
            before = before.wrapping_add(elements_word.count_ones() as i32);
        }
    }

    pub(super) fn list_offsets_i64(slots: &[u64], elements: &[u64], start: i64, out: &mut [i64]) {
        let mut before = start;
        let mut written = 0;
        for (index, (&slots_word, &elements_word)) in slots.iter().zip(elements).enumerate() {
            let Some(room) = out[written..].first_chunk_mut::<64>() else {
                return scalar::list_offsets(&slots[index..], &elements[index..], before, &mut out[written..]);
            };
            if slots_word != 0 {
                let mut offset = before;
                let mut to = room.as_mut_ptr();
                for shift in (0..64).step_by(8) {
                    let slot_count = ones_in_byte(slots_word >> shift);
                    let kept = sums_at_slots(slots_word >> shift, elements_word >> shift);
                    let (low, high) = (_mm_cvtsi64_si128(kept as i64), _mm_cvtsi64_si128((kept >> 32) as i64));
                    let base = _mm256_set1_epi64x(offset);
                    let low = _mm256_add_epi64(_mm256_cvtepu8_epi64(low), base);
                    let high = _mm256_add_epi64(_mm256_cvtepu8_epi64(high), base);
                    // SAFETY: eight offsets from at most `shift` lie within the 64 of `room`.
                    unsafe { _mm256_storeu_si256(to.cast(), low) };
                    // SAFETY: as above.
                    let half = unsafe { to.add(4) };
                    // SAFETY: as above.
                    unsafe { _mm256_storeu_si256(half.cast(), high) };
                    // SAFETY: at most eight slots in eight entries, 64 in all.
                    to = unsafe { to.add(slot_count) };
                    offset = offset.wrapping_add(ones_in_byte(elements_word >> shift) as i64);
                }
                written += slots_word.count_ones() as usize;
            }
            before = before.wrapping_add(i64::from(elements_word.count_ones()));
        }
    }

    #[inline]
    fn ones_in_byte(bits: u64) -> usize {
        (bits as u8).count_ones() as usize
    }

    /// For each slot among the eight low entries, in order, the number of elements before it, as bytes.
    #[inline]
    fn sums_at_slots(slots: u64, elements: u64) -> u64 {
        // One entry up: the sum including the previous entry, zero at the first.
        let before = _pdep_u64(elements, BYTES).wrapping_mul(BYTES << 8);
        _pext_u64(before, _pdep_u64(slots, BYTES) * 0xFF)
    }
}

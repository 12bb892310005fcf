//! Compares narrowed to four bits for each byte, or added up to one bit for each; the minimum lane by a reduction.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::aarch64::{
    uint8x16_t, uint16x8_t, vandq_u8, vceqq_u16, vceqq_u32, vdupq_n_u16, vdupq_n_u32, vget_lane_u64, vgetq_lane_u64,
    vld1q_u8, vld1q_u16, vld1q_u32, vminq_u16, vminvq_u16, vpaddq_u8, vqtbl1q_u8, vreinterpret_u64_u8,
    vreinterpretq_u8_u16, vreinterpretq_u16_u8, vreinterpretq_u16_u32, vreinterpretq_u64_u8, vshrn_n_u16, vshrq_n_u8,
    vsliq_n_u8, vst1q_u8, vuzp1q_u8, vuzp1q_u16,
};

use super::scalar;
use crate::tier::neon;

/// The bit of each byte in its byte of the mask.
static PLACES: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

neon! {
    pub(super) fn find(values: &[u32; 16], wanted: u32) -> usize {
        let wanted = vdupq_n_u32(wanted);
        let [a, b, c, d] = [0, 4, 8, 12].map(|at| {
            // SAFETY: the slice is four readable words.
            let values = unsafe { vld1q_u32(values[at..at + 4].as_ptr()) };
            vreinterpretq_u16_u32(vceqq_u32(values, wanted))
        });
        let (low, high) = (vreinterpretq_u8_u16(vuzp1q_u16(a, b)), vreinterpretq_u8_u16(vuzp1q_u16(c, d)));
        let nibbles = vshrn_n_u16::<4>(vreinterpretq_u16_u8(vuzp1q_u8(low, high)));
        vget_lane_u64::<0>(vreinterpret_u64_u8(nibbles)).trailing_zeros() as usize / 4
    }

    pub(super) fn least_of_32(values: &[u16; 32]) -> usize {
        let values = load(values);
        let least = vdupq_n_u16(least(values));
        first([equal(values, least), [vreinterpretq_u8_u16(vdupq_n_u16(0)); 2]])
    }

    pub(super) fn least_of_64(values: &[u16; 64]) -> usize {
        let [low, high] = values.as_chunks::<32>().0 else { return scalar::least_of_64(values) };
        let (low, high) = (load(low), load(high));
        let least = vdupq_n_u16(least(low).min(least(high)));
        first([equal(low, least), equal(high, least)])
    }

    pub(super) fn remap(branches: &[u8], table: &[u8; 16], out: &mut [u8]) {
        let (Some(last), Some(last_out)) = (branches.last_chunk(), out.last_chunk_mut()) else {
            return scalar::remap(branches, table, out);
        };
        let table = load_bytes(table);
        store(remap_16(load_bytes(last), table), last_out);
        for (from, to) in branches.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
            store(remap_16(load_bytes(from), table), to);
        }
    }

    /// The index of the first byte that is all ones.
    #[inline]
    fn first([[a, b], [c, d]]: [[uint8x16_t; 2]; 2]) -> usize {
        let places = load_bytes(&PLACES);
        let [a, b, c, d] = [a, b, c, d].map(|bytes| vandq_u8(bytes, places));
        let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums))).trailing_zeros() as usize
    }

    #[inline]
    fn least([a, b, c, d]: [uint16x8_t; 4]) -> u16 {
        vminvq_u16(vminq_u16(vminq_u16(a, b), vminq_u16(c, d)))
    }

    /// A byte of ones for each value that equals the one in each lane of `value`.
    #[inline]
    fn equal(values: [uint16x8_t; 4], value: uint16x8_t) -> [uint8x16_t; 2] {
        let [a, b, c, d] = values.map(|values| vreinterpretq_u8_u16(vceqq_u16(values, value)));
        [vuzp1q_u8(a, b), vuzp1q_u8(c, d)]
    }

    /// The table's entry shifted in above the low nibble.
    #[inline]
    fn remap_16(branches: uint8x16_t, table: uint8x16_t) -> uint8x16_t {
        vsliq_n_u8::<4>(branches, vqtbl1q_u8(table, vshrq_n_u8::<4>(branches)))
    }

    #[inline]
    fn load(from: &[u16; 32]) -> [uint16x8_t; 4] {
        [0, 8, 16, 24].map(|at| {
            // SAFETY: the slice is eight readable values.
            unsafe { vld1q_u16(from[at..at + 8].as_ptr()) }
        })
    }

    #[inline]
    fn load_bytes(from: &[u8; 16]) -> uint8x16_t {
        // SAFETY: the reference is to 16 readable bytes.
        unsafe { vld1q_u8(from.as_ptr()) }
    }

    #[inline]
    fn store(bytes: uint8x16_t, to: &mut [u8; 16]) {
        // SAFETY: the reference is to 16 writable bytes.
        unsafe { vst1q_u8(to.as_mut_ptr(), bytes) }
    }
}

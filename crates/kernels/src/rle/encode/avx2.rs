//! Compares 64 values with their next ones by loads that are one value apart, and packs like
//! [`bitpack`](crate::bitpack).
#![expect(unsafe_code, reason = "vector loads at addresses within slices")]

use std::arch::x86_64::*;

use super::runs::{self, Page};
use super::scalar;
use crate::bitpack::pack::avx2 as bitpack;
use crate::tier::avx2;

avx2! {
    pub(super) fn encode_u8(values: &[u8], width: u32, out: &mut [u8]) -> usize {
        let page = Page {
            count: values.len(),
            width,
            repeats: |word| repeats_u8(values, word),
            value: |at: usize| values[at].into(),
            pack: |from: usize, count: usize, out: &mut [u8]| {
                bitpack::pack_u8(&values[from..from + count], width, out);
            },
        };
        runs::encode(&page, out)
    }

    pub(super) fn encode_u32(values: &[u32], width: u32, out: &mut [u8]) -> usize {
        let page = Page {
            count: values.len(),
            width,
            repeats: |word| repeats_u32(values, word),
            value: |at: usize| values[at],
            pack: |from: usize, count: usize, out: &mut [u8]| {
                bitpack::pack_u32(&values[from..from + count], width, out);
            },
        };
        runs::encode(&page, out)
    }

    pub(super) fn encode_bits(bitmap: &[u8], bit_offset: usize, count: usize, out: &mut [u8]) -> usize {
        scalar::encode_bits(bitmap, bit_offset, count, out)
    }

    #[inline]
    fn repeats_u8(values: &[u8], word: usize) -> u64 {
        let Some(block) = values.get(word * 64..).and_then(<[u8]>::first_chunk::<65>) else {
            return scalar::repeats(values, word);
        };
        let half = |from: usize| {
            // SAFETY: 32 bytes from 0 or 32 on are within the 65.
            let these = unsafe { _mm256_loadu_si256(block[from..].as_ptr().cast()) };
            // SAFETY: as above, one further on.
            let next = unsafe { _mm256_loadu_si256(block[from + 1..].as_ptr().cast()) };
            u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(these, next)).cast_unsigned())
        };
        half(0) | half(32) << 32
    }

    #[inline]
    fn repeats_u32(values: &[u32], word: usize) -> u64 {
        let Some(block) = values.get(word * 64..).and_then(<[u32]>::first_chunk::<65>) else {
            return scalar::repeats(values, word);
        };
        let eight = |from: usize| {
            // SAFETY: eight values from at most 56 on are within the 65.
            let these = unsafe { _mm256_loadu_si256(block[from..].as_ptr().cast()) };
            // SAFETY: as above, one further on.
            let next = unsafe { _mm256_loadu_si256(block[from + 1..].as_ptr().cast()) };
            _mm256_cmpeq_epi32(these, next)
        };
        // Packing within halves leaves fours in the order 0 2 4 6 1 3 5 7.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let half = |from: usize| {
            let low = _mm256_packs_epi32(eight(from), eight(from + 8));
            let high = _mm256_packs_epi32(eight(from + 16), eight(from + 24));
            let bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
            u64::from(_mm256_movemask_epi8(bytes).cast_unsigned())
        };
        half(0) | half(32) << 32
    }
}

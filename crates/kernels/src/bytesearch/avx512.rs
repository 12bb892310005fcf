//! 64 bytes compared to a mask at once. Loading under a mask reads only the bytes, so their number and their
//! surroundings do not matter.
//!
//! From 65 to 256 bytes four registers are compared whatever their number, like at AVX2: a loop over them took 11 ns by
//! throughput for random lengths.
#![expect(unsafe_code, reason = "vector loads")]

use std::arch::x86_64::{
    __m512i, _bzhi_u64, _mm512_loadu_si512, _mm512_mask_cmpeq_epu8_mask, _mm512_mask_cmple_epu8_mask,
    _mm512_mask_cmplt_epu8_mask, _mm512_maskz_loadu_epi8, _mm512_set1_epi8,
};

use super::comparison::{Comparison, Kind};
use super::{BLOCK_LEN, scalar};
use crate::tier::avx512;

avx512! {
    pub(super) fn mask<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> u64 {
        let bytes = &bytes[..bytes.len().min(BLOCK_LEN)];
        let there = _bzhi_u64(u64::MAX, bytes.len() as u32);
        // SAFETY: the mask has as many bits as the slice has bytes, and the load accesses no other bytes.
        let loaded = unsafe { _mm512_maskz_loadu_epi8(there, bytes.as_ptr().cast()) };
        matches(comparison, there, loaded, key)
    }

    pub(super) fn mask_within<C: Comparison>(comparison: C, bytes: &[u8], start: usize, len: usize, key: u8) -> u64 {
        mask(comparison, scalar::within(bytes, start, len), key)
    }

    pub(super) fn count<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> usize {
        match bytes.len() {
            0..=BLOCK_LEN => mask(comparison, bytes, key).count_ones() as usize,
            65..=256 => count_up_to_256(comparison, bytes, key),
            _ => count_many(comparison, bytes, key),
        }
    }

    pub(super) fn count_within<C: Comparison>(comparison: C, bytes: &[u8], start: usize, len: usize, key: u8) -> usize {
        count(comparison, scalar::within(bytes, start, len), key)
    }

    /// Counts in four registers, whatever the length. Registers that would reach past the end start a register before
    /// it, and compare only the bytes after the previous ones.
    #[inline]
    fn count_up_to_256<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> usize {
        let Some(last) = bytes.len().checked_sub(BLOCK_LEN) else {
            return scalar::count(comparison, bytes, key);
        };
        let mut count = 0;
        for at in [0, 64, 128, 192] {
            let from = last.min(at);
            let counted = _bzhi_u64(u64::MAX, (at - from) as u32);
            // SAFETY: from here on the slice has the bytes of a register; its start is the largest of these offsets.
            let block = unsafe { bytes.as_ptr().add(from) };
            // SAFETY: as above, and this load takes any alignment.
            let loaded = unsafe { _mm512_loadu_si512(block.cast()) };
            count += matches(comparison, !counted, loaded, key).count_ones() as usize;
        }
        count
    }

    /// Counts in any number of bytes.
    fn count_many<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> usize {
        let (blocks, tail) = bytes.as_chunks::<BLOCK_LEN>();
        let mut count = mask(comparison, tail, key).count_ones() as usize;
        for block in blocks {
            count += matches(comparison, u64::MAX, load(block), key).count_ones() as usize;
        }
        count
    }

    #[inline]
    fn load(block: &[u8; BLOCK_LEN]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
    }

    /// A bit for each byte that exists and satisfies the comparison.
    #[inline]
    fn matches<C: Comparison>(_: C, there: u64, bytes: __m512i, key: u8) -> u64 {
        let keys = _mm512_set1_epi8(key.cast_signed());
        match C::KIND {
            Kind::Equal => _mm512_mask_cmpeq_epu8_mask(there, bytes, keys),
            Kind::AtMost => _mm512_mask_cmple_epu8_mask(there, bytes, keys),
            Kind::Below => _mm512_mask_cmplt_epu8_mask(there, bytes, keys),
        }
    }
}

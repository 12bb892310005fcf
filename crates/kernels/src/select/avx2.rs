//! A table gives the permutation of elements for the bits of a block; bits move by PDEP and PEXT.
//!
//! ```text
//! bits 1 0 1 1 (slot 0 on the left)     RANKS_U64[bits]     0 1 | - - | 2 3 | 4 5    lanes of four bytes
//! values read   a   b   c   d           permuted            a   | a   | b   | c
//! stored        a   0   b   c           cleared where the index is negative
//! ```
//!
//! A block of four 8-byte slots is two loads, a permutation, a shift, an and-not, a store, and a popcount to advance:
//! bound by the ten micro-operations, about two cycles. The popcount chain is one cycle a block and stays hidden.
//!
//! Tried and rejected: masks from a second table instead of the shift (one more load, no gain); PDEP for one- and
//! two-byte elements (0.22 ns a byte where the shuffle takes 0.15). PDEP and PEXT are microcoded before Zen 3.
#![expect(unsafe_code, reason = "vector loads and stores, and blocks whose bounds the shared loops prove")]

use std::arch::x86_64::*;

use super::{blocks, scalar, tables};
use crate::tier::avx2;

/// Defines a tier's functions for one element type from its block functions.
macro_rules! element {
    ($element:ty, $slots:literal, $expand:ident by $expand_block:ident, $compress:ident by $compress_block:ident) => {
        avx2! {
            pub(super) fn $expand(values: &mut [$element], value_count: usize, validity: &[u8], bit_offset: usize) {
                // SAFETY: the callers have proven that `value_count` bits are set, and the block function reads and
                // writes `$slots` elements where the loop says that they are.
                let block = |from, to, bits| unsafe { $expand_block(from, to, bits) };
                // SAFETY: as above.
                unsafe { blocks::expand::<_, $slots>(values, value_count, validity, bit_offset, block) };
            }

            pub(super) fn $compress(
                values: &[$element],
                selection: &[u8],
                bit_offset: usize,
                out: &mut [$element],
            ) -> usize {
                // SAFETY: the block function reads and writes `$slots` elements where the loop says that they are.
                let block = |from, to, bits| unsafe { $compress_block(from, to, bits) };
                // SAFETY: as above, and the callers have proven that `out` has room.
                unsafe { blocks::compress::<_, $slots>(values, selection, bit_offset, out, block) }
            }
        }
    };
}

element!(u8, 8, expand_u8 by expand_block_u8, compress_u8 by compress_block_u8);
element!(u16, 8, expand_u16 by expand_block_u16, compress_u16 by compress_block_u16);
element!(u32, 8, expand_u32 by expand_block_u32, compress_u32 by compress_block_u32);
element!(u64, 4, expand_u64 by expand_block_u64, compress_u64 by compress_block_u64);
element!(u128, 2, expand_u128 by expand_block_u128, compress_u128 by compress_block_u128);

avx2! {
    pub(super) fn expand_bits(
        src: &[u8],
        src_offset: usize,
        validity: &[u8],
        validity_offset: usize,
        len: usize,
        out: &mut [u8],
        out_offset: usize,
    ) {
        let scatter = |bits, mask| _pdep_u64(bits, mask);
        scalar::expand_bits_by(src, src_offset, validity, validity_offset, len, out, out_offset, scatter);
    }

    pub(super) fn compress_bits(
        src: &[u8],
        src_offset: usize,
        selection: &[u8],
        selection_offset: usize,
        len: usize,
        out: &mut [u8],
        out_offset: usize,
    ) -> usize {
        let gather = |bits, mask| _pext_u64(bits, mask);
        scalar::compress_bits_by(src, src_offset, selection, selection_offset, len, out, out_offset, gather)
    }

    /// The portable loop, compiled with POPCNT.
    pub(super) fn count_ones(bitmap: &[u8], bit_offset: usize, len: usize) -> usize {
        scalar::count_ones_inline(bitmap, bit_offset, len)
    }

    #[inline]
    unsafe fn expand_block_u8(from: *const u8, to: *mut u8, bits: u64) {
        // SAFETY: the same as for `shuffle_u8`.
        unsafe { shuffle_u8(from, to, &tables::RANKS[bits as usize & 255]) };
    }

    #[inline]
    unsafe fn compress_block_u8(from: *const u8, to: *mut u8, bits: u64) {
        // SAFETY: the same as for `shuffle_u8`.
        unsafe { shuffle_u8(from, to, &tables::POSITIONS[bits as usize & 255]) };
    }

    #[inline]
    unsafe fn shuffle_u8(from: *const u8, to: *mut u8, lanes: &[u8; 8]) {
        // SAFETY: the array is eight bytes.
        let lanes = unsafe { _mm_loadl_epi64(lanes.as_ptr().cast()) };
        // SAFETY: eight bytes can be read at `from`.
        let values = unsafe { _mm_loadl_epi64(from.cast()) };
        let moved = _mm_shuffle_epi8(values, lanes);
        // SAFETY: eight bytes can be written at `to`.
        unsafe { _mm_storel_epi64(to.cast(), moved) };
    }

    #[inline]
    unsafe fn expand_block_u16(from: *const u16, to: *mut u16, bits: u64) {
        // SAFETY: the same as for `shuffle_u16`.
        unsafe { shuffle_u16(from, to, &tables::RANKS_U16[bits as usize & 255]) };
    }

    #[inline]
    unsafe fn compress_block_u16(from: *const u16, to: *mut u16, bits: u64) {
        // SAFETY: the same as for `shuffle_u16`.
        unsafe { shuffle_u16(from, to, &tables::POSITIONS_U16[bits as usize & 255]) };
    }

    #[inline]
    unsafe fn shuffle_u16(from: *const u16, to: *mut u16, lanes: &[u8; 16]) {
        // SAFETY: the array is 16 bytes.
        let lanes = unsafe { _mm_loadu_si128(lanes.as_ptr().cast()) };
        // SAFETY: eight elements can be read at `from`.
        let values = unsafe { _mm_loadu_si128(from.cast()) };
        let moved = _mm_shuffle_epi8(values, lanes);
        // SAFETY: eight elements can be written at `to`.
        unsafe { _mm_storeu_si128(to.cast(), moved) };
    }

    #[inline]
    unsafe fn expand_block_u32(from: *const u32, to: *mut u32, bits: u64) {
        let lanes = widened(tables::RANKS[bits as usize & 255]);
        // SAFETY: a block of eight four-byte elements is 32 bytes.
        unsafe { permute(from.cast(), to.cast(), lanes) };
    }

    #[inline]
    unsafe fn compress_block_u32(from: *const u32, to: *mut u32, bits: u64) {
        let lanes = widened(tables::POSITIONS[bits as usize & 255]);
        // SAFETY: a block of eight four-byte elements is 32 bytes.
        unsafe { permute(from.cast(), to.cast(), lanes) };
    }

    #[inline]
    unsafe fn expand_block_u64(from: *const u64, to: *mut u64, bits: u64) {
        let lanes = load(&tables::RANKS_U64[bits as usize & 15]);
        // SAFETY: a block of four eight-byte elements is 32 bytes.
        unsafe { permute(from.cast(), to.cast(), lanes) };
    }

    #[inline]
    unsafe fn compress_block_u64(from: *const u64, to: *mut u64, bits: u64) {
        let lanes = load(&tables::POSITIONS_U64[bits as usize & 15]);
        // SAFETY: a block of four eight-byte elements is 32 bytes.
        unsafe { permute(from.cast(), to.cast(), lanes) };
    }

    #[inline]
    unsafe fn expand_block_u128(from: *const u128, to: *mut u128, bits: u64) {
        let lanes = load(&tables::RANKS_U128[bits as usize & 3]);
        // SAFETY: a block of two sixteen-byte elements is 32 bytes.
        unsafe { permute(from.cast(), to.cast(), lanes) };
    }

    #[inline]
    unsafe fn compress_block_u128(from: *const u128, to: *mut u128, bits: u64) {
        let lanes = load(&tables::POSITIONS_U128[bits as usize & 3]);
        // SAFETY: a block of two sixteen-byte elements is 32 bytes.
        unsafe { permute(from.cast(), to.cast(), lanes) };
    }

    #[inline]
    fn widened(lanes: [u8; 8]) -> __m256i {
        _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(lanes)))
    }

    #[inline]
    fn load(lanes: &[u32; 8]) -> __m256i {
        // SAFETY: the array is 32 bytes.
        unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
    }

    /// Permutes the 32 bytes at `from` by lanes of four; a negative lane gives zero.
    #[inline]
    unsafe fn permute(from: *const __m256i, to: *mut __m256i, lanes: __m256i) {
        // SAFETY: the callers' blocks are 32 bytes.
        let values = unsafe { _mm256_loadu_si256(from) };
        let moved = _mm256_permutevar8x32_epi32(values, lanes);
        let kept = _mm256_andnot_si256(_mm256_srai_epi32::<31>(lanes), moved);
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(to, kept) };
    }
}

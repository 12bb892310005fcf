//! Two values at a time: their first 16 bytes fill the halves of a register, move up by four bytes and are cut to the
//! views' parts, and the lengths, buffers and offsets are blended in.
//!
//! ```text
//! lengths      5  20 …
//! loads        h e l l o w h i t … │ w h i t e …                       16 bytes from each value's start
//! moved, kept  0 0 0 0 h e l l o 0 0 … │ 0 0 0 0 w h i t 0 0 …
//! blended      5 0 0 0 h e l l o 0 0 … │ 20 0 0 0 w h i t buffer offset
//! ```
//!
//! The bytes to keep come from comparing byte numbers with limits: the length, or four if the value is too long. Limits
//! and offsets are computed for eight values at once, and lanes take theirs by permutes. The starts come from a scalar
//! chain of additions.
//!
//! Tried and rejected: one value at a time, with a table of shuffles by length (1.5 times the time: the row's address
//! takes three instructions for each value).
#![expect(unsafe_code, reason = "vector loads and stores within limits that the loop keeps")]

use std::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_add_epi32, _mm256_and_si256, _mm256_blend_epi32, _mm256_blendv_epi8,
    _mm256_bslli_epi128, _mm256_castsi128_si256, _mm256_cmpgt_epi8, _mm256_cmpgt_epi32, _mm256_inserti128_si256,
    _mm256_loadu_si256, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_permutevar8x32_epi32, _mm256_set_epi8,
    _mm256_set_epi32, _mm256_set1_epi32, _mm256_shuffle_epi8, _mm256_shuffle_epi32, _mm256_storeu_si256,
};

use super::{ends, scalar, view};
use crate::tier::avx2;

avx2! {
    pub(super) fn build(data: &[u8], base: usize, lengths: &[i32], buffer_index: u32, out: &mut [u128]) {
        let longest_inline = _mm256_set1_epi32(view::INLINE_LEN as i32);
        let buffer = _mm256_set_epi32(0, buffer_index.cast_signed(), 0, 0, 0, buffer_index.cast_signed(), 0, 0);
        // Byte numbers of the value; the length's own bytes are below no limit.
        let byte_numbers = _mm256_set_epi8(
            11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 127, 127, 127, 127, //
            11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 127, 127, 127, 127,
        );
        let lowest_byte = _mm256_set_epi8(
            12, 12, 12, 12, 8, 8, 8, 8, 4, 4, 4, 4, 0, 0, 0, 0, //
            12, 12, 12, 12, 8, 8, 8, 8, 4, 4, 4, 4, 0, 0, 0, 0,
        );
        let mut at = base;
        let mut done = 0;
        for (lengths, out) in lengths.as_chunks::<8>().0.iter().zip(out.as_chunks_mut::<8>().0) {
            let ends = ends(at, lengths);
            if ends[6] + 16 > data.len() {
                break;
            }
            let len = load(lengths);
            let offset = starts(at, len);
            let long = _mm256_cmpgt_epi32(len, longest_inline);
            let limit = _mm256_blendv_epi8(len, _mm256_set1_epi32(4), long);
            let limit = _mm256_shuffle_epi8(limit, lowest_byte);
            let mut start = at;
            for (pair, out) in out.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                let (first, second) = (start, ends[2 * pair]);
                start = ends[2 * pair + 1];
                // SAFETY: the last value of the eight starts 16 bytes before the end of `data`, and the others before
                // it.
                let heads = unsafe { load_two(data, first, second) };
                let lanes = pair_lanes(pair as i32);
                let len = _mm256_permutevar8x32_epi32(len, lanes);
                let limit = _mm256_permutevar8x32_epi32(limit, lanes);
                let kept = _mm256_and_si256(
                    _mm256_bslli_epi128::<4>(heads),
                    _mm256_cmpgt_epi8(limit, byte_numbers),
                );
                let place = _mm256_blend_epi32::<0x88>(buffer, _mm256_permutevar8x32_epi32(offset, lanes));
                let place = _mm256_and_si256(place, _mm256_cmpgt_epi32(len, longest_inline));
                let views = _mm256_or_si256(kept, _mm256_blend_epi32::<0x11>(place, len));
                // SAFETY: the reference is to 32 writable bytes, and this store takes any alignment.
                unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), views) };
            }
            at = ends[7];
            done += 8;
        }
        scalar::build(data, at, &lengths[done..], buffer_index, &mut out[done..]);
    }

    /// Four times the index of the first of a pair, then of the second.
    #[inline]
    fn pair_lanes(pair: i32) -> __m256i {
        let first = 2 * pair;
        let second = first + 1;
        _mm256_set_epi32(second, second, second, second, first, first, first, first)
    }

    /// The starts of eight values: sums of the lengths before them.
    #[inline]
    fn starts(at: usize, len: __m256i) -> __m256i {
        let sums = _mm256_add_epi32(len, _mm256_bslli_epi128::<4>(len));
        let sums = _mm256_add_epi32(sums, _mm256_bslli_epi128::<8>(sums));
        // The sum of the lower four, for the upper four.
        let lower = _mm256_permute2x128_si256::<0x08>(sums, sums);
        let before = _mm256_add_epi32(_mm256_set1_epi32(at as i32), _mm256_shuffle_epi32::<0xFF>(lower));
        _mm256_add_epi32(before, _mm256_bslli_epi128::<4>(sums))
    }

    #[inline]
    fn load(from: &[i32; 8]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    /// # Safety
    /// `bytes` has 16 bytes from `first` on and from `second` on.
    #[inline]
    unsafe fn load_two(bytes: &[u8], first: usize, second: usize) -> __m256i {
        debug_assert!(first.max(second) + 16 <= bytes.len());
        // SAFETY: the caller guarantees this.
        let first = unsafe { bytes.as_ptr().add(first) };
        // SAFETY: the caller guarantees this.
        let second = unsafe { bytes.as_ptr().add(second) };
        // SAFETY: the caller guarantees the bytes, and this load takes any alignment.
        let first = unsafe { _mm_loadu_si128(first.cast()) };
        // SAFETY: as above.
        let second = unsafe { _mm_loadu_si128(second.cast()) };
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(first), second)
    }
}

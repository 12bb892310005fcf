//! Four values at a time: their first 16 bytes fill the quarters of a register, move up by four bytes under a mask of
//! the bytes that the views keep, and the lengths, buffers and offsets are blended in.
//!
//! ```text
//! lengths      5  2  20  3
//! loads        h e l l o h i … │ h i w h i t … │ w h i t e … │ y o u …      16 bytes from each value's start
//! kept         · · · · h e l l o · … │ · · · · h i · … │ · · · · w h i t · … │ · · · · y o u …
//! blended      5 · · · h e l l o     │ 2 …             │ 20 … w h i t buffer offset │ 3 …
//! ```
//!
//! The mask is a compare of byte numbers with the number of bytes in each view; the starts come from a scalar chain of
//! additions, the offsets from a vector that the register's lanes take theirs from.
#![expect(unsafe_code, reason = "vector loads and stores within limits that the loop keeps")]

use std::arch::x86_64::{
    __m128i, __m512i, _MM_HINT_T0, _mm_add_epi32, _mm_bslli_si128, _mm_loadu_si128, _mm_prefetch, _mm_set1_epi32,
    _mm512_broadcast_i32x4, _mm512_bslli_epi128, _mm512_castsi128_si512, _mm512_cmpgt_epi32_mask,
    _mm512_cmplt_epu8_mask, _mm512_inserti32x4, _mm512_mask_mov_epi32, _mm512_maskz_mov_epi8, _mm512_mullo_epi32,
    _mm512_permutexvar_epi32, _mm512_set1_epi32, _mm512_set4_epi32, _mm512_storeu_si512,
};

use super::{avx2, ends, view};
use crate::tier::avx512;

/// The number of bytes ahead of a value that are prefetched: the lengths were decoded elsewhere, so these bytes were
/// not accessed yet.
const AHEAD: usize = 2048;

avx512! {
    pub(super) fn build(data: &[u8], base: usize, lengths: &[i32], buffer_index: u32, out: &mut [u128]) {
        let longest_inline = _mm512_set1_epi32(view::INLINE_LEN as i32);
        // Byte numbers of the value; no compare keeps the length's own bytes.
        let byte_numbers = _mm512_set4_epi32(0x0B0A_0908, 0x0706_0504, 0x0302_0100, -1);
        let own_quarter = own_quarter();
        let buffer = _mm512_set1_epi32(buffer_index.cast_signed());
        let mut at = base;
        let mut done = 0;
        for (lengths, out) in lengths.as_chunks::<4>().0.iter().zip(out.as_chunks_mut::<4>().0) {
            // Four strings take about two lines. In a mapped file, the processor by itself prefetches too few.
            for line in [0, 64] {
                _mm_prefetch::<_MM_HINT_T0>(data.as_ptr().wrapping_add(at + AHEAD + line).cast());
            }
            let ends = ends(at, lengths);
            if ends[2] + 16 > data.len() {
                break;
            }
            let starts = [at, ends[0], ends[1], ends[2]];
            // SAFETY: the last of the starts is 16 bytes before the end of `data`, and the others are before it.
            let rows = starts.map(|start| unsafe { load(data, start) });
            let [a, b, c, d] = rows;
            let heads = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
            let heads = _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(heads, c), d);
            let len = spread(lengths, own_quarter);
            let long = _mm512_cmpgt_epi32_mask(len, longest_inline);
            let kept = _mm512_mask_mov_epi32(len, long, _mm512_set1_epi32(4));
            let kept = _mm512_mullo_epi32(kept, _mm512_set1_epi32(0x0101_0101));
            let kept = _mm512_cmplt_epu8_mask(byte_numbers, kept);
            let views = _mm512_maskz_mov_epi8(kept, _mm512_bslli_epi128::<4>(heads));
            let views = _mm512_mask_mov_epi32(views, 0x1111, len);
            let views = _mm512_mask_mov_epi32(views, long & 0x4444, buffer);
            // By additions in the register: four numbers stored one by one cannot be loaded as one before the stores
            // have reached the cache.
            let offset = spread_sums(at, lengths, own_quarter);
            let views = _mm512_mask_mov_epi32(views, long & 0x8888, offset);
            // SAFETY: the reference is to 64 writable bytes, and this store takes any alignment.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), views) };
            at = ends[3];
            done += 4;
        }
        avx2::build(data, at, &lengths[done..], buffer_index, &mut out[done..]);
    }

    /// Lanes 0–3 of the result take number 0, lanes 4–7 number 1, and so on.
    #[inline]
    fn own_quarter() -> __m512i {
        let quarters = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3_i32];
        // SAFETY: the array has 64 readable bytes, and this load takes any alignment.
        unsafe { std::arch::x86_64::_mm512_loadu_si512(quarters.as_ptr().cast()) }
    }

    #[inline]
    fn spread(numbers: &[i32; 4], own_quarter: __m512i) -> __m512i {
        _mm512_permutexvar_epi32(own_quarter, _mm512_broadcast_i32x4(load_numbers(numbers)))
    }

    /// The starts of values with these lengths, the first of which is at `start`.
    #[inline]
    fn spread_sums(start: usize, lengths: &[i32; 4], own_quarter: __m512i) -> __m512i {
        let before = _mm_bslli_si128::<4>(load_numbers(lengths));
        let before = _mm_add_epi32(before, _mm_bslli_si128::<4>(before));
        let before = _mm_add_epi32(before, _mm_bslli_si128::<8>(before));
        let starts = _mm_add_epi32(before, _mm_set1_epi32(start as i32));
        _mm512_permutexvar_epi32(own_quarter, _mm512_broadcast_i32x4(starts))
    }

    #[inline]
    fn load_numbers(numbers: &[i32; 4]) -> __m128i {
        // SAFETY: the reference is to 16 readable bytes, and this load takes any alignment.
        unsafe { _mm_loadu_si128(numbers.as_ptr().cast()) }
    }

    /// # Safety
    /// `bytes` has 16 bytes from `at` on.
    #[inline]
    unsafe fn load(bytes: &[u8], at: usize) -> __m128i {
        debug_assert!(at + 16 <= bytes.len());
        // SAFETY: the caller guarantees this.
        let from = unsafe { bytes.as_ptr().add(at) };
        // SAFETY: the caller guarantees the bytes, and this load takes any alignment.
        unsafe { _mm_loadu_si128(from.cast()) }
    }
}

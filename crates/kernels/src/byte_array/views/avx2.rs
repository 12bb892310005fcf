//! One 16-byte load per value, moved up by four bytes and cut to the value's length by one shuffle.
//!
//! ```text
//! load      h e l l o h i y o u …             16 bytes from the value's start
//! shuffle   0 0 0 0  h e l l o 0 0 0 0 0 0 0   a row of a table by length; four bytes of a long one
//! or        05 00 00 00                        and for over twelve bytes: buffer and offset in the upper half
//! ```
#![expect(unsafe_code, reason = "vector loads and stores within limits that the loop keeps")]

use std::arch::x86_64::{
    _mm_add_epi32, _mm_and_si128, _mm_blend_epi32, _mm_cmpgt_epi32, _mm_loadu_si128, _mm_or_si128, _mm_set_epi32,
    _mm_set1_epi32, _mm_shuffle_epi8, _mm_storeu_si128,
};

use super::{PLACES, scalar, view};
use crate::tier::avx2;

avx2! {
    pub(super) fn build(data: &[u8], base: usize, lengths: &[i32], buffer_index: u32, out: &mut [u128]) {
        let longest_inline = _mm_set1_epi32(view::INLINE_LEN as i32);
        let buffer = _mm_set_epi32(0, buffer_index.cast_signed(), 0, 0);
        let mut offset = _mm_set1_epi32(base as i32);
        let mut at = base;
        let mut done = 0;
        for (slot, &len) in out.iter_mut().zip(lengths) {
            if at + 16 > data.len() {
                break;
            }
            // SAFETY: 16 bytes from `at` on are in `data`.
            let start = unsafe { data.as_ptr().add(at) };
            // SAFETY: as above, and this load takes any alignment.
            let bytes = unsafe { _mm_loadu_si128(start.cast()) };
            let places = &PLACES[(len as usize).min(view::INLINE_LEN + 1)];
            // SAFETY: the reference is to 16 readable bytes, and this load takes any alignment.
            let places = unsafe { _mm_loadu_si128(places.as_ptr().cast()) };
            let head = _mm_shuffle_epi8(bytes, places);
            let len_lanes = _mm_set1_epi32(len);
            let reference = _mm_blend_epi32::<0b1000>(buffer, offset);
            let reference = _mm_and_si128(reference, _mm_cmpgt_epi32(len_lanes, longest_inline));
            let view = _mm_or_si128(head, _mm_blend_epi32::<0b0001>(reference, len_lanes));
            // SAFETY: the reference is to 16 writable bytes, and this store takes any alignment.
            unsafe { _mm_storeu_si128(std::ptr::from_mut(slot).cast(), view) };
            offset = _mm_add_epi32(offset, len_lanes);
            at += len as usize;
            done += 1;
        }
        scalar::build(data, at, &lengths[done..], buffer_index, &mut out[done..]);
    }
}

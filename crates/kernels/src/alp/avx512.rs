//! Integers are unpacked to registers as in [`crate::bitpack::avx512`], where the frame of reference is added and they
//! are converted (`vcvtdq2ps`, `vcvtqq2pd`) and multiplied. Cost per register: 8 instructions, 11 over 25 or 57 bits.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::page::PackedIntegers;
use crate::bitpack::avx512::{Unpack, first_8, first_16, lanes_32, lanes_64, load_some, unpack_8, unpack_16};
use crate::bitpack::lanes::{NARROW32, NARROW64, groups_within};
use crate::tier::avx512;

avx512! {
    pub(super) fn decode_f32(packed: &PackedIntegers<'_, f32>, out: &mut [f32]) {
        if packed.width as usize <= NARROW32 {
            decode_blocks_f32(packed, out, |lanes, bytes| unpack_16::<false>(lanes, bytes));
        } else {
            decode_blocks_f32(packed, out, |lanes, bytes| unpack_16::<true>(lanes, bytes));
        }
    }

    #[inline]
    fn decode_blocks_f32(packed: &PackedIntegers<'_, f32>, out: &mut [f32], unpack: impl Fn(&Unpack, __m512i) -> __m512i) {
        let width = packed.width as usize;
        let lanes = lanes_32(width);
        let base = _mm512_set1_epi32(packed.base.cast_signed());
        let [up, down] = packed.scale.map(|power| _mm512_set1_ps(power));
        let convert = |bytes| {
            let integers = _mm512_add_epi32(unpack(&lanes, bytes), base);
            _mm512_mul_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(integers), up), down)
        };
        // Loads are masked only at the end of the page.
        let blocks = groups_within(packed.bytes.len(), 2 * width, 64, out.len() / 16);
        let (whole, rest) = out.split_at_mut(blocks * 16);
        let mut at = packed.bytes.as_ptr();
        for block in whole.as_chunks_mut::<16>().0 {
            // SAFETY: the page has 64 bytes from the first of each of these blocks on.
            let bytes = unsafe { _mm512_loadu_si512(at.cast()) };
            // SAFETY: the block is sixteen values long.
            unsafe { _mm512_storeu_ps(block.as_mut_ptr(), convert(bytes)) };
            at = at.wrapping_add(2 * width);
        }
        let mut bytes = packed.skip(blocks * 16).bytes;
        for part in rest.chunks_mut(16) {
            let values = convert(load_some(bytes));
            let mask = first_16(part.len());
            // SAFETY: the mask has as many values as the part.
            unsafe { _mm512_mask_storeu_ps(part.as_mut_ptr(), mask, values) };
            bytes = bytes.get(2 * width..).unwrap_or_default();
        }
    }

    pub(super) fn decode_f64(packed: &PackedIntegers<'_, f64>, out: &mut [f64]) {
        if packed.width as usize <= NARROW64 {
            decode_blocks_f64(packed, out, |lanes, bytes| unpack_8::<false>(lanes, bytes));
        } else {
            decode_blocks_f64(packed, out, |lanes, bytes| unpack_8::<true>(lanes, bytes));
        }
    }

    #[inline]
    fn decode_blocks_f64(packed: &PackedIntegers<'_, f64>, out: &mut [f64], unpack: impl Fn(&Unpack, __m512i) -> __m512i) {
        let width = packed.width as usize;
        let lanes = lanes_64(width);
        let base = _mm512_set1_epi64(packed.base.cast_signed());
        let [up, down] = packed.scale.map(|power| _mm512_set1_pd(power));
        let convert = |bytes| {
            let integers = _mm512_add_epi64(unpack(&lanes, bytes), base);
            _mm512_mul_pd(_mm512_mul_pd(_mm512_cvtepi64_pd(integers), up), down)
        };
        let blocks = groups_within(packed.bytes.len(), width, 64, out.len() / 8);
        let (whole, rest) = out.split_at_mut(blocks * 8);
        let mut at = packed.bytes.as_ptr();
        for block in whole.as_chunks_mut::<8>().0 {
            // SAFETY: the page has 64 bytes from the first of each of these blocks on.
            let bytes = unsafe { _mm512_loadu_si512(at.cast()) };
            // SAFETY: the block is eight values long.
            unsafe { _mm512_storeu_pd(block.as_mut_ptr(), convert(bytes)) };
            at = at.wrapping_add(width);
        }
        let mut bytes = packed.skip(blocks * 8).bytes;
        for part in rest.chunks_mut(8) {
            let values = convert(load_some(bytes));
            let mask = first_8(part.len());
            // SAFETY: the mask has as many values as the part.
            unsafe { _mm512_mask_storeu_pd(part.as_mut_ptr(), mask, values) };
            bytes = bytes.get(width..).unwrap_or_default();
        }
    }
}

//! Long runs use [`bitpack`](crate::bitpack) and filling, short ones [`short_runs`](super::short_runs): twice sixteen
//! 32-bit values, or 32 bytes, are unpacked whatever the run is. A run costs about 35 instructions.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::{Decoder, short_runs};
use crate::KernelError;
use crate::bitpack::avx512::{self as bitpack, lanes_8, lanes_32, load, load_some, unpack_16, unpack_64};
use crate::bitpack::lanes::NARROW32;
use crate::tier::avx512;

avx512! {
    pub(super) fn decode_u32(decoder: &mut Decoder, src: &[u8], out: &mut [u32]) -> Result<usize, KernelError> {
        decoder.decode_with(
            src,
            out,
            |src, width, out| bitpack::unpack_u32(src, width, out),
            |src, width, position, out| {
                if !short_runs::may_begin(src, *position) {
                    0
                } else if width as usize <= NARROW32 {
                    short_runs_u32::<false>(src, width, position, out)
                } else {
                    short_runs_u32::<true>(src, width, position, out)
                }
            },
        )
    }

    /// The decoder's width is at most 8.
    pub(super) fn decode_u8(decoder: &mut Decoder, src: &[u8], out: &mut [u8]) -> Result<usize, KernelError> {
        decoder.decode_with(
            src,
            out,
            |src, width, out| bitpack::unpack_u8(src, width, out),
            |src, width, position, out| {
                if short_runs::may_begin(src, *position) { short_runs_u8(src, width, position, out) } else { 0 }
            },
        )
    }

    /// `width` is 1 to 25, or with `WIDE` to 32.
    fn short_runs_u32<const WIDE: bool>(src: &[u8], width: u32, position: &mut usize, out: &mut [u32]) -> usize {
        let lanes = lanes_32(width as usize);
        let window = 4 * width as usize;
        short_runs::take(src, width, window, position, out, |run, payload, block| {
            let repeated = _mm512_set1_epi32(run.value as i32);
            let packed = run.packed_mask as __mmask16;
            for (index, half) in block.as_chunks_mut::<16>().0.iter_mut().enumerate() {
                let first = payload.as_ptr().wrapping_add(index * 2 * width as usize);
                // SAFETY: the payload is at least twice the bytes of sixteen values.
                let bytes = unsafe { load(&lanes, first) };
                let values = _mm512_mask_mov_epi32(repeated, packed, unpack_16::<WIDE>(&lanes, bytes));
                // SAFETY: the half is sixteen values long.
                unsafe { _mm512_storeu_si512(half.as_mut_ptr().cast(), values) };
            }
        })
    }

    /// `width` is 1 to 8.
    fn short_runs_u8(src: &[u8], width: u32, position: &mut usize, out: &mut [u8]) -> usize {
        let lanes = lanes_8(width as usize);
        short_runs::take(src, width, 4 * width as usize, position, out, |run, payload, block| {
            let repeated = _mm512_set1_epi8(run.value as i8);
            let packed = u64::from(run.packed_mask);
            let values = _mm512_mask_mov_epi8(repeated, packed, unpack_64(&lanes, load_some(payload)));
            let values = _mm512_castsi512_si256(values);
            // SAFETY: the block is 32 bytes.
            unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), values) };
        })
    }
}

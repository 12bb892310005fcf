//! Long runs use [`bitpack`](crate::bitpack) and filling, short ones [`short_runs`](super::short_runs): four groups of
//! eight 32-bit values, or 32 bytes, are unpacked whatever the run is. A run costs about 45 instructions.
#![expect(unsafe_code, reason = "stores through pointers")]

use std::arch::x86_64::*;

use super::{Decoder, short_runs};
use crate::KernelError;
use crate::bitpack::avx2::{self as bitpack, lanes_8, lanes_32, unpack_block_8, unpack_group_32};
use crate::bitpack::lanes::{NARROW32, WINDOW32};
use crate::tier::avx2;

avx2! {
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

    /// The decoder's width is at most 1, and `out` has the bits.
    pub(super) fn decode_bits(
        decoder: &mut Decoder,
        src: &[u8],
        out: &mut [u8],
        out_bit_offset: usize,
        count: usize,
    ) -> Result<usize, KernelError> {
        decoder.decode_bits_with(src, out, out_bit_offset, count)
    }

    /// `width` is 1 to 25, or with `WIDE` to 32.
    fn short_runs_u32<const WIDE: bool>(src: &[u8], width: u32, position: &mut usize, out: &mut [u32]) -> usize {
        let lanes = lanes_32(width as usize);
        let window = 3 * width as usize + WINDOW32;
        short_runs::take(src, width, window, position, out, |run, payload, block| {
            let repeated = _mm256_set1_epi32(run.value as i32);
            let lanes = lanes.masked(_mm256_and_si256(lanes.mask(), _mm256_set1_epi32(run.packed_mask as i32)));
            for (index, group) in block.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let first = payload.as_ptr().wrapping_add(index * width as usize);
                // SAFETY: the payload is at least three groups and the window of the fourth.
                let unpacked = unsafe { unpack_group_32::<WIDE>(&lanes, first) };
                let values = _mm256_or_si256(unpacked, repeated);
                // SAFETY: the group is eight values long.
                unsafe { _mm256_storeu_si256(group.as_mut_ptr().cast(), values) };
            }
        })
    }

    /// `width` is 1 to 8.
    fn short_runs_u8(src: &[u8], width: u32, position: &mut usize, out: &mut [u8]) -> usize {
        let lanes = lanes_8(width as usize);
        let window = 3 * width as usize + 16;
        short_runs::take(src, width, window, position, out, |run, payload, block| {
            // SAFETY: the payload is at least three groups and 16 bytes.
            let unpacked = unsafe { unpack_block_8(&lanes, payload.as_ptr()) };
            let unpacked = _mm256_and_si256(unpacked, _mm256_set1_epi32(run.packed_mask as i32));
            let values = _mm256_or_si256(unpacked, _mm256_set1_epi8(run.value as i8));
            // SAFETY: the block is 32 bytes.
            unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), values) };
        })
    }
}

//! Runs one by one, long ones by [`bitpack`](crate::bitpack) and filling; short ones (at most 32 values, a header of
//! one byte) without a branch that depends on their kind or length:
//!
//! ```text
//! unpacked   32 values from behind the header on, masked by the width, or by zero if the run is repeated
//! repeated   32 times the value behind the header, or zero if the run is bit-packed
//! out        unpacked | repeated, all 32 stored; then the output moves by the run's length, the input by its bytes
//! ```
//!
//! What is stored past the length is overwritten by the next run. A run costs about 45 instructions whatever it is, and
//! twelve cycles of latency from its header to the next one; a mispredicted branch alone costs more.
#![expect(unsafe_code, reason = "stores through pointers")]

use std::arch::x86_64::*;

use super::Decoder;
use super::short_runs::ShortRuns;
use crate::KernelError;
use crate::bitpack::avx2::{self as bitpack, NARROW32, WINDOW32, lanes_32, unpack_group_32};
use crate::tier::avx2;

/// Values of a run that is short.
const SHORT: usize = 32;

avx2! {
    pub(super) fn decode_u32(decoder: &mut Decoder, src: &[u8], out: &mut [u32]) -> Result<usize, KernelError> {
        decoder.decode_with(
            src,
            out,
            |src, width, out| bitpack::unpack_u32(src, width, out),
            |src, width, position, out| {
                if width as usize <= NARROW32 {
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
            |src, width, position, out| short_runs_u8(src, width, position, out),
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

    fn short_runs_u32<const WIDE: bool>(src: &[u8], width: u32, position: &mut usize, out: &mut [u32]) -> usize {
        let lanes = lanes_32(width as usize);
        let runs = ShortRuns::new(width);
        // The header and four groups, the last one's loads included.
        let window = 1 + 3 * width as usize + WINDOW32;
        let (mut at, mut written) = (*position, 0);
        while src.len().saturating_sub(at) >= window
            && let Some(block) = out.get_mut(written..).and_then(<[u32]>::first_chunk_mut::<SHORT>)
        {
            // SAFETY: the window has the header, and at least 8 bytes behind it.
            let word = unsafe { src.as_ptr().wrapping_add(at).cast::<u64>().read_unaligned() };
            let Some(run) = runs.parse(u64::from_le(word)) else { break };
            let repeated = _mm256_set1_epi32(run.value as i32);
            let kept = _mm256_and_si256(lanes.mask, _mm256_set1_epi32(run.packed_mask as i32));
            let mut kept_lanes = lanes;
            kept_lanes.mask = kept;
            for (index, group) in block.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                // SAFETY: the window has the header and all groups.
                let first = unsafe { src.as_ptr().add(at + 1 + index * width as usize) };
                // SAFETY: the window ends with the last group's window.
                let unpacked = unsafe { unpack_group_32::<WIDE>(&kept_lanes, first) };
                let values = _mm256_or_si256(unpacked, repeated);
                // SAFETY: the group is eight values long.
                unsafe { _mm256_storeu_si256(group.as_mut_ptr().cast(), values) };
            }
            written += run.length;
            at += run.bytes;
        }
        *position = at;
        written
    }

    fn short_runs_u8(src: &[u8], width: u32, position: &mut usize, out: &mut [u8]) -> usize {
        let lanes = bitpack::lanes_8(width as usize);
        let runs = ShortRuns::new(width);
        let window = 1 + 3 * width as usize + 16;
        let (mut at, mut written) = (*position, 0);
        while src.len().saturating_sub(at) >= window
            && let Some(block) = out.get_mut(written..).and_then(<[u8]>::first_chunk_mut::<SHORT>)
        {
            // SAFETY: the window has the header, and at least 8 bytes behind it.
            let word = unsafe { src.as_ptr().wrapping_add(at).cast::<u64>().read_unaligned() };
            let Some(run) = runs.parse(u64::from_le(word)) else { break };
            // SAFETY: the window has the header and four groups' 16-byte loads.
            let first = unsafe { src.as_ptr().add(at + 1) };
            // SAFETY: as above.
            let unpacked = unsafe { bitpack::unpack_block_8(&lanes, first) };
            let unpacked = _mm256_and_si256(unpacked, _mm256_set1_epi32(run.packed_mask as i32));
            let values = _mm256_or_si256(unpacked, _mm256_set1_epi8(run.value as i8));
            // SAFETY: the block is 32 bytes.
            unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), values) };
            written += run.length;
            at += run.bytes;
        }
        *position = at;
        written
    }
}

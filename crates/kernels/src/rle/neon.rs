//! Long runs use [`bitpack`](crate::bitpack) and filling, short ones [`short_runs`](super::short_runs): four groups of
//! eight values are unpacked whatever the run is.
#![expect(unsafe_code, reason = "stores through pointers")]

use std::arch::aarch64::*;

use super::{Decoder, short_runs};
use crate::KernelError;
use crate::bitpack::lanes::{NARROW32, WINDOW32};
use crate::bitpack::neon::{self as bitpack, lanes_8, lanes_32, unpack_group_8, unpack_half_32};
use crate::tier::neon;

neon! {
    pub(super) fn decode_u32(decoder: &mut Decoder, src: &[u8], out: &mut [u32]) -> Result<usize, KernelError> {
        decoder.decode_with(src, out, |src, width, out| bitpack::unpack_u32(src, width, out), |src, width, position, out| {
            if width as usize <= NARROW32 {
                short_runs_u32::<false>(src, width, position, out)
            } else {
                short_runs_u32::<true>(src, width, position, out)
            }
        })
    }

    /// The decoder's width is at most 8.
    pub(super) fn decode_u8(decoder: &mut Decoder, src: &[u8], out: &mut [u8]) -> Result<usize, KernelError> {
        decoder.decode_with(src, out, |src, width, out| bitpack::unpack_u8(src, width, out), |src, width, position, out| short_runs_u8(src, width, position, out))
    }

    /// `width` is 1 to 25, or with `WIDE` to 32.
    fn short_runs_u32<const WIDE: bool>(src: &[u8], width: u32, position: &mut usize, out: &mut [u32]) -> usize {
        let lanes = lanes_32(width as usize);
        let window = 3 * width as usize + WINDOW32;
        short_runs::take(src, width, window, position, out, |run, payload, block| {
            let repeated = vdupq_n_u32(run.value);
            let packed = vdupq_n_u32(run.packed_mask);
            for (index, out) in block.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let first = payload.as_ptr().wrapping_add(index / 2 * width as usize);
                // SAFETY: the payload is at least three groups and the window of the fourth.
                let unpacked = unsafe { unpack_half_32::<WIDE>(&lanes, first, index % 2) };
                let values = vbslq_u32(packed, unpacked, repeated);
                // SAFETY: the half group is four values long.
                unsafe { vst1q_u32(out.as_mut_ptr(), values) };
            }
        })
    }

    /// `width` is 1 to 8.
    fn short_runs_u8(src: &[u8], width: u32, position: &mut usize, out: &mut [u8]) -> usize {
        let lanes = lanes_8(width as usize);
        let window = 3 * width as usize + 16;
        short_runs::take(src, width, window, position, out, |run, payload, block| {
            let repeated = vdup_n_u8(run.value as u8);
            let packed = vdup_n_u8(run.packed_mask as u8);
            for (index, out) in block.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let first = payload.as_ptr().wrapping_add(index * width as usize);
                // SAFETY: the payload is at least three groups and 16 bytes.
                let unpacked = unsafe { unpack_group_8(&lanes, first) };
                // SAFETY: the group is eight bytes.
                unsafe { vst1_u8(out.as_mut_ptr(), vbsl_u8(packed, unpacked, repeated)) };
            }
        })
    }
}

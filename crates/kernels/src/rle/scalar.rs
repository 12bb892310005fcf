//! Portable: runs one by one, with the portable unpacking.

use super::Decoder;
use crate::KernelError;
use crate::bitpack::scalar;

pub(super) fn decode_u32(decoder: &mut Decoder, src: &[u8], out: &mut [u32]) -> Result<usize, KernelError> {
    decoder.decode_with(src, out, scalar::unpack_u32, |_, _, _, _| 0)
}

/// The decoder's width is at most 8.
pub(super) fn decode_u8(decoder: &mut Decoder, src: &[u8], out: &mut [u8]) -> Result<usize, KernelError> {
    decoder.decode_with(src, out, scalar::unpack_u8, |_, _, _, _| 0)
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

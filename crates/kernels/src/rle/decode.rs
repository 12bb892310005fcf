//! Decoding with the kernels of the current tier.

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::{Decoder, scalar};
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::KernelError;
use crate::tier::dispatch;

impl Decoder {
    /// Decodes the next values into `out`.
    ///
    /// # Errors
    /// If a run's header or value is truncated, too long, or wider than the width.
    pub fn decode_u32(&mut self, src: &[u8], out: &mut [u32]) -> Result<usize, KernelError> {
        dispatch!(decode_u32(self, src, out): avx512 avx2 neon)
    }

    /// Decodes the next values, of a width of at most 8, into `out`.
    ///
    /// # Errors
    /// The same as [`Decoder::decode_u32`], or if the width is over 8.
    pub fn decode_u8(&mut self, src: &[u8], out: &mut [u8]) -> Result<usize, KernelError> {
        self.check_width(8)?;
        dispatch!(decode_u8(self, src, out): avx512 avx2 neon)
    }

    /// Decodes the next `count` values, of width 1, into the bits of `out` from bit `out_bit_offset` on (bit 0 of byte
    /// 0 is the least significant). Bits outside of that range stay unchanged, and bits within it that get no value are
    /// undefined. [`Decoder::ones`] counts along.
    ///
    /// # Errors
    /// The same as [`Decoder::decode_u32`], or if the width is over 1, or `out` has too few bits.
    pub fn decode_bits(
        &mut self,
        src: &[u8],
        out: &mut [u8],
        out_bit_offset: usize,
        count: usize,
    ) -> Result<usize, KernelError> {
        self.check_width(1)?;
        let expected = out_bit_offset.saturating_add(count).div_ceil(8);
        if out.len() < expected {
            return Err(KernelError::LengthMismatch { expected, actual: out.len() });
        }
        dispatch!(decode_bits(self, src, out, out_bit_offset, count): avx2)
    }

    fn check_width(&self, max: u32) -> Result<(), KernelError> {
        if self.width() > max { Err(KernelError::WidthOutOfRange { width: self.width(), max }) } else { Ok(()) }
    }
}

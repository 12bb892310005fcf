//! [DELTA_BINARY_PACKED](https://parquet.apache.org/docs/file-format/data-pages/encodings/#delta-encoding-delta_binary_packed--5):
//! a first value, then blocks of differences, bit-packed above each block's smallest difference.
//!
//! ```text
//! header   block size | miniblocks per block | total count | first value        three ULEB128, one zigzag
//! block    min delta | width × miniblocks | miniblock | miniblock | …           zigzag, bytes, bit-packed
//! value    previous + min delta + packed, modulo 2^32 (i32) or 2^64 (i64)
//! ```
//!
//! A miniblock is unpacked, raised by the min delta and summed in one pass, from registers to the output. [`Decoder`]
//! resumes anywhere, so a page can be decoded in batches of any size; [`encode_i32`] and [`encode_i64`] encode all
//! values of a page at once.
//!
//! If writers differ from the letter of the format, this reads everything that is well-defined: widths above 32 in an
//! i32 column (arithmetic is modulo 2^32 all the same), any bytes as the widths of miniblocks that are not stored, and
//! a last miniblock without its padding.
//!
//! [`lengths_to_offsets_i32`] and [`lengths_to_offsets_i64`] convert the lengths of
//! [DELTA_LENGTH_BYTE_ARRAY](https://parquet.apache.org/docs/file-format/data-pages/encodings/#delta-length-byte-array-delta_length_byte_array--6)
//! to offsets, and detect negative lengths and overflow in the same pass.
#![expect(unsafe_code, reason = "calls the tier that the processor has")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod decoder;
mod encode;
#[cfg(target_arch = "aarch64")]
mod neon;
mod offsets;
#[cfg(test)]
mod reference;
mod scalar;
#[cfg(test)]
mod tests;

pub use decoder::Decoder;
pub use encode::{encode_i32, encode_i64, max_encoded_len};

use crate::KernelError;
use crate::tier::dispatch;

/// A [`Decoder`] for an INT32 column.
pub type DecoderI32 = Decoder<i32>;
/// A [`Decoder`] for an INT64 column.
pub type DecoderI64 = Decoder<i64>;

/// The physical types that DELTA_BINARY_PACKED stores.
pub trait Integer: private::Integer {}

impl Integer for i32 {}
impl Integer for i64 {}

mod private {
    use super::decoder::Decoder;
    use crate::KernelError;

    /// The requirements of [`Decoder`] on an element type: not for other crates to implement or call.
    pub trait Integer: Copy + std::fmt::Debug + Default + PartialEq {
        /// The value modulo the type's size.
        fn wrap(value: i64) -> Self;
        /// The sum modulo the type's size.
        fn wrapping_add(self, other: Self) -> Self;
        /// The difference modulo the type's size.
        fn wrapping_sub(self, other: Self) -> Self;
        /// Decodes at the current tier.
        fn decode(decoder: &mut Decoder<Self>, src: &[u8], out: &mut [Self]) -> Result<usize, KernelError>
        where
            Self: super::Integer;
    }
}

impl private::Integer for i32 {
    #[inline]
    fn wrap(value: i64) -> Self {
        value as Self
    }

    #[inline]
    fn wrapping_add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline]
    fn wrapping_sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn decode(decoder: &mut Decoder<Self>, src: &[u8], out: &mut [Self]) -> Result<usize, KernelError> {
        dispatch!(decode_i32(decoder, src, out): avx512 avx2 neon)
    }
}

impl private::Integer for i64 {
    #[inline]
    fn wrap(value: i64) -> Self {
        value
    }

    #[inline]
    fn wrapping_add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline]
    fn wrapping_sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn decode(decoder: &mut Decoder<Self>, src: &[u8], out: &mut [Self]) -> Result<usize, KernelError> {
        dispatch!(decode_i64(decoder, src, out): avx512 avx2 neon)
    }
}

/// Writes the end of value `i` to `out[i]`; the first value begins at `start`. Returns the last end.
///
/// ```
/// let mut ends = [0; 3];
/// assert_eq!(lath_kernels::delta::lengths_to_offsets_i32(&[3, 0, 4], 10, &mut ends)?, 17);
/// assert_eq!(ends, [13, 13, 17]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// If a length is negative, an end is over `i32::MAX`, `start` is negative, or the slices differ in length.
pub fn lengths_to_offsets_i32(lengths: &[i32], start: i32, out: &mut [i32]) -> Result<i32, KernelError> {
    offsets::check(lengths, start.into(), out.len())?;
    match sum_lengths_i32(lengths, start, out) {
        Some(end) => Ok(end),
        None => Err(offsets::explain(lengths, start.into(), i32::MAX.into())),
    }
}

/// Writes the end of value `i` to `out[i]`; the first value begins at `start`. Returns the last end.
///
/// # Errors
/// If a length is negative, an end is over `i64::MAX`, `start` is negative, or the slices differ in length.
pub fn lengths_to_offsets_i64(lengths: &[i32], start: i64, out: &mut [i64]) -> Result<i64, KernelError> {
    offsets::check(lengths, start, out.len())?;
    match sum_lengths_i64(lengths, start, out) {
        Some(end) => Ok(end),
        None => Err(offsets::explain(lengths, start, i64::MAX)),
    }
}

/// `None` if a length is negative or an end overflows; the same for the next one.
fn sum_lengths_i32(lengths: &[i32], start: i32, out: &mut [i32]) -> Option<i32> {
    dispatch!(sum_lengths_i32(lengths, start, out): avx2)
}

fn sum_lengths_i64(lengths: &[i32], start: i64, out: &mut [i64]) -> Option<i64> {
    dispatch!(sum_lengths_i64(lengths, start, out): avx2)
}

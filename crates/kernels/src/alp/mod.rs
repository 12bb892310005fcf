//! [ALP](https://github.com/apache/parquet-format/blob/master/AlpEncoding.md) (Adaptive Lossless floating-Point),
//! encoding 10 of FLOAT and DOUBLE: decimal numbers stored as integers, bit-packed above a frame of reference. Values
//! that are no short decimals are exceptions, stored as they are.
//!
//! A page is a header, the offsets of its vectors, and the vectors. The header has the number of values in each vector;
//! the last vector has the rest. Numbers are little-endian; offsets count from the first offset.
//!
//! ```text
//! byte    0        1         2             3           7              7 + 4 × vectors
//!       ┌────────┬─────────┬─────────────┬───────────┬──────────────┬──────────┬──────────┬───
//! page  │ mode 0 │ integer │ log2 of the │ number of │ offset  × as │ vector 0 │ vector 1 │ …
//!       │        │ enc. 0  │ vector size │ values    │ many vectors │          │          │
//!       └────────┴─────────┴─────────────┴───────────┴──────────────┴──────────┴──────────┴───
//!
//! byte    0          1        2            4           8 or 12     9 or 13
//!       ┌──────────┬────────┬────────────┬───────────┬───────────┬───────────┬────────────┬────────────┐
//! vector│ exponent │ factor │ number of  │ frame of  │ bit width │ packed    │ positions  │ exceptions │
//!       │          │        │ exceptions │ reference │           │ integers  │ of 2 bytes │ of 4 or 8  │
//!       └──────────┴────────┴────────────┴───────────┴───────────┴───────────┴────────────┴────────────┘
//! ```
//!
//! A value is `(frame + packed) × 10^factor × 10^-exponent`, the sum modulo 2^32 (FLOAT) or 2^64 (DOUBLE) and signed, then
//! two multiplications in the type itself. Every tier computes exactly that, so all of them give the same bits.
//!
//! [`decode`] decodes any range of a page's values. [`encode`] writes a page of vectors of 1,024 values; [`Candidates`]
//! are the pairs of exponent and factor that it chooses from, found once per column chunk, and [`estimate_len`]
//! predicts the size of a page.
#![expect(unsafe_code, reason = "calls the tier that the processor has")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod encode;
#[cfg(target_arch = "aarch64")]
mod neon;
mod page;
#[cfg(test)]
mod reference;
mod scalar;
mod scale;
#[cfg(test)]
mod tests;

pub use encode::{Candidates, encode, estimate_len, max_encoded_len};

use std::fmt::Debug;

use crate::KernelError;
use crate::tier::dispatch;
use page::{PackedIntegers, Page};
use scale::{POWERS_F32, POWERS_F64, Powers, Scale};

/// The physical types that ALP stores: `f32` for FLOAT and `f64` for DOUBLE.
pub trait Float: private::Float {}

impl Float for f32 {}
impl Float for f64 {}

/// The number of values in the page at the start of `src`.
///
/// # Errors
/// If `src` ends before the last vector's offset, or its header violates the specification.
pub fn value_count(src: &[u8]) -> Result<usize, KernelError> {
    Ok(Page::open(src)?.value_count())
}

/// Decodes the values from `first` on of the page in `src`, as many as fit into `out`. Bytes after the page are
/// ignored.
///
/// The vectors of these values are checked, the others are not read.
///
/// ```
/// use lath_kernels::alp;
///
/// let prices = [12.5, 0.99, f64::INFINITY, -3.25];
/// let mut page = vec![0; alp::max_encoded_len::<f64>(prices.len())];
/// let len = alp::encode(&prices, &alp::Candidates::find(&prices), &mut page)?;
/// let mut last_three = [0.0; 3];
/// alp::decode(&page[..len], 1, &mut last_three)?;
/// assert_eq!(last_three, prices[1..]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// [`KernelError::InputTooShort`] if the page ends early or has fewer values; [`KernelError::WidthOutOfRange`] and
/// [`KernelError::Malformed`] if it violates the specification.
pub fn decode<T: Float>(src: &[u8], first: usize, out: &mut [T]) -> Result<(), KernelError> {
    Page::open(src)?.decode(first, out)
}

mod private {
    use super::encode::BLOCK;
    use super::page::PackedIntegers;
    use super::scale::{Powers, Scale};

    /// The requirements on an element type: not for other crates to implement or call.
    pub trait Float: Copy + super::Debug + Default + PartialOrd + Sized + 'static {
        /// The unsigned integer of the same size.
        type Bits: Copy + super::Debug + Default + Into<u64>;
        /// Powers of ten, to the largest exponent.
        const POWERS: Powers<Self>;
        /// The low bits of an integer.
        fn truncate(bits: u64) -> Self::Bits;
        /// The value with these bits.
        fn from_bits(bits: Self::Bits) -> Self;
        /// The bits of the value.
        fn to_bits(self) -> Self::Bits;
        /// The value as an integer, in two's complement.
        fn to_integer(self) -> Self::Bits;
        /// Decodes integers at the current tier.
        fn decode(packed: &PackedIntegers<'_, Self>, out: &mut [Self]);
        /// Converts values to integers at the current tier.
        fn digitize(
            values: &[[Self; BLOCK]],
            scale: &Scale<Self>,
            out: &mut [[Self::Bits; BLOCK]],
            misses: &mut [u64],
        ) -> (Self, Self);
        /// Subtracts `base` from each integer at the current tier.
        fn rebase(integers: &mut [Self::Bits], base: Self::Bits);
        /// Packs integers into exactly the bytes of `out`.
        fn pack(integers: &[Self::Bits], width: u32, out: &mut [u8]);
    }
}

impl private::Float for f32 {
    type Bits = u32;
    const POWERS: Powers<Self> = POWERS_F32;

    #[inline]
    fn truncate(bits: u64) -> u32 {
        bits as u32
    }

    #[inline]
    fn from_bits(bits: u32) -> Self {
        Self::from_bits(bits)
    }

    #[inline]
    fn to_bits(self) -> u32 {
        self.to_bits()
    }

    #[inline]
    fn to_integer(self) -> u32 {
        (self as i32).cast_unsigned()
    }

    fn decode(packed: &PackedIntegers<'_, Self>, out: &mut [Self]) {
        dispatch!(decode_f32(packed, out): avx512 avx2 neon);
    }

    fn digitize(
        values: &[[Self; encode::BLOCK]],
        scale: &Scale<Self>,
        out: &mut [[u32; encode::BLOCK]],
        misses: &mut [u64],
    ) -> (Self, Self) {
        encode::digitize_f32(values, scale, out, misses)
    }

    fn rebase(integers: &mut [u32], base: u32) {
        encode::rebase_u32(integers, base);
    }

    fn pack(integers: &[u32], width: u32, out: &mut [u8]) {
        crate::bitpack::pack::pack_checked_u32(integers, width, out);
    }
}

impl private::Float for f64 {
    type Bits = u64;
    const POWERS: Powers<Self> = POWERS_F64;

    #[inline]
    fn truncate(bits: u64) -> u64 {
        bits
    }

    #[inline]
    fn from_bits(bits: u64) -> Self {
        Self::from_bits(bits)
    }

    #[inline]
    fn to_bits(self) -> u64 {
        self.to_bits()
    }

    #[inline]
    fn to_integer(self) -> u64 {
        (self as i64).cast_unsigned()
    }

    fn decode(packed: &PackedIntegers<'_, Self>, out: &mut [Self]) {
        dispatch!(decode_f64(packed, out): avx512 avx2 neon);
    }

    fn digitize(
        values: &[[Self; encode::BLOCK]],
        scale: &Scale<Self>,
        out: &mut [[u64; encode::BLOCK]],
        misses: &mut [u64],
    ) -> (Self, Self) {
        encode::digitize_f64(values, scale, out, misses)
    }

    fn rebase(integers: &mut [u64], base: u64) {
        encode::rebase_u64(integers, base);
    }

    fn pack(integers: &[u64], width: u32, out: &mut [u8]) {
        crate::bitpack::pack::pack_checked_u64(integers, width, out);
    }
}

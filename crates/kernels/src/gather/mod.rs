//! Dictionary decoding: `out[i] = dict[indices[i]]` for values of any width, including string views.
//!
//! Indices come from the page, so they are untrusted. One pass over each block for its maximum proves them in range,
//! after which the loads of that block need no checks.
//! [Specification](https://parquet.apache.org/docs/file-format/data-pages/encodings/#dictionary-encoding-plain_dictionary--2-and-rle_dictionary--8).

#![expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[cfg(test)]
mod tests;

use crate::KernelError;
use crate::tier::dispatch;

macro_rules! gather_of {
    ($name:ident $value:ty, $what:literal: $($tier:ident)*) => {
        #[doc = concat!("Writes `dict[indices[i]]` to `out[i]`, ", $what, " each.")]
        ///
        /// # Errors
        /// [`KernelError::IndexOutOfRange`] if an index is not less than `dict.len()`; [`KernelError::LengthMismatch`]
        /// if `out` and `indices` differ in length.
        pub fn $name(dict: &[$value], indices: &[u32], out: &mut [$value]) -> Result<(), KernelError> {
            check_len(indices.len(), out.len())?;
            dispatch!($name(dict, indices, out): $($tier)*)
        }
    };
}

gather_of!(gather_u8 u8, "one byte":);
gather_of!(gather_u16 u16, "two bytes":);
gather_of!(gather_u32 u32, "four bytes": avx512 avx2 neon);
gather_of!(gather_u64 u64, "eight bytes": avx512 avx2 neon);
gather_of!(gather_u128 u128, "16 bytes (values as well as string views)": avx512 avx2 neon);

/// Writes entry `indices[i]` of a dictionary of `width`-byte values to `out[i * width ..]`.
///
/// Bytes of `dict` after its last whole value are no entry. A `width` of zero requires an empty `out`, and then accepts
/// every index.
///
/// # Errors
/// [`KernelError::IndexOutOfRange`] if an index has no entry; [`KernelError::LengthMismatch`] if `out` does not have
/// `width` bytes for each index.
pub fn gather_bytes(dict: &[u8], width: usize, indices: &[u32], out: &mut [u8]) -> Result<(), KernelError> {
    check_len(indices.len().saturating_mul(width), out.len())?;
    match width {
        0 => Ok(()),
        1 => gather_u8(dict, indices, out),
        2 => scalar::gather_arrays::<2>(dict, indices, out),
        3 => scalar::gather_arrays::<3>(dict, indices, out),
        4 => scalar::gather_arrays::<4>(dict, indices, out),
        5 => scalar::gather_arrays::<5>(dict, indices, out),
        6 => scalar::gather_arrays::<6>(dict, indices, out),
        7 => scalar::gather_arrays::<7>(dict, indices, out),
        8 => scalar::gather_arrays::<8>(dict, indices, out),
        9 => scalar::gather_arrays::<9>(dict, indices, out),
        10 => scalar::gather_arrays::<10>(dict, indices, out),
        11 => scalar::gather_arrays::<11>(dict, indices, out),
        12 => scalar::gather_arrays::<12>(dict, indices, out),
        13 => scalar::gather_arrays::<13>(dict, indices, out),
        14 => scalar::gather_arrays::<14>(dict, indices, out),
        15 => scalar::gather_arrays::<15>(dict, indices, out),
        16 => scalar::gather_arrays::<16>(dict, indices, out),
        17 => scalar::gather_arrays::<17>(dict, indices, out),
        18 => scalar::gather_arrays::<18>(dict, indices, out),
        19 => scalar::gather_arrays::<19>(dict, indices, out),
        20 => scalar::gather_arrays::<20>(dict, indices, out),
        21 => scalar::gather_arrays::<21>(dict, indices, out),
        22 => scalar::gather_arrays::<22>(dict, indices, out),
        23 => scalar::gather_arrays::<23>(dict, indices, out),
        24 => scalar::gather_arrays::<24>(dict, indices, out),
        25 => scalar::gather_arrays::<25>(dict, indices, out),
        26 => scalar::gather_arrays::<26>(dict, indices, out),
        27 => scalar::gather_arrays::<27>(dict, indices, out),
        28 => scalar::gather_arrays::<28>(dict, indices, out),
        29 => scalar::gather_arrays::<29>(dict, indices, out),
        30 => scalar::gather_arrays::<30>(dict, indices, out),
        31 => scalar::gather_arrays::<31>(dict, indices, out),
        32 => scalar::gather_arrays::<32>(dict, indices, out),
        _ => scalar::gather_slices(dict, width, indices, out),
    }
}

/// The largest index, or `None` without indices.
pub fn max_index(indices: &[u32]) -> Option<u32> {
    dispatch!(max_index(indices): avx2 neon)
}

/// Checks a block of indices by the largest of them.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline]
pub(crate) fn judge(largest: u32, len: usize) -> Result<(), KernelError> {
    if (largest as usize) < len { Ok(()) } else { Err(KernelError::IndexOutOfRange { index: largest, len }) }
}

fn check_len(expected: usize, actual: usize) -> Result<(), KernelError> {
    if expected == actual { Ok(()) } else { Err(KernelError::LengthMismatch { expected, actual }) }
}

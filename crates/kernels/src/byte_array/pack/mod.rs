//! Byte strings to pages: lengths and bytes separately, or interleaved for PLAIN.
//!
//! ```text
//! strings   hello │ hi │ you
//! lengths   5 2 3                                          DELTA_LENGTH_BYTE_ARRAY: delta-encoded, then
//! concat    h e l l o h i y o u                            the bytes
//! PLAIN     05 00 00 00 h e l l o 02 00 00 00 h i 03 …
//! ```

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod scalar;

#[cfg(test)]
mod tests;

use crate::byte_strings::{Source, with_source};
use crate::tier::dispatch;
use crate::{ByteStrings, KernelError};

/// Writes the length of each string, and returns their sum.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if there are not as many lengths as strings; [`KernelError::Malformed`] if offsets
/// leave their bytes or fall; [`KernelError::OffsetOverflow`] if a length is over `i32::MAX`.
pub fn lengths(strings: ByteStrings<'_>, out: &mut [i32]) -> Result<usize, KernelError> {
    if strings.len() != out.len() {
        return Err(KernelError::LengthMismatch { expected: strings.len(), actual: out.len() });
    }
    with_source!(strings, |source| dispatch_lengths(source, out))
}

/// Writes the bytes of all strings one after another, and returns their number: the sum that [`lengths`] returns.
///
/// Later bytes of `out` may be overwritten.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if `out` is too short; [`KernelError::Malformed`] if a string does not lie in its
/// bytes.
pub fn concat(strings: ByteStrings<'_>, out: &mut [u8]) -> Result<usize, KernelError> {
    with_source!(strings, |source| match source.joined() {
        Some(bytes) => {
            let actual = out.len();
            let Some(place) = out.get_mut(..bytes.len()) else {
                return Err(KernelError::LengthMismatch { expected: bytes.len(), actual });
            };
            place.copy_from_slice(bytes);
            Ok(bytes.len())
        }
        None => dispatch_concat(source, out),
    })
}

/// Writes all strings PLAIN-encoded, and returns the number of bytes: the sum that [`lengths`] returns, and four for
/// each string.
///
/// Later bytes of `out` may be overwritten.
///
/// # Errors
/// The same as [`concat()`]; [`KernelError::OffsetOverflow`] if a length is over `i32::MAX`.
pub fn encode_plain(strings: ByteStrings<'_>, out: &mut [u8]) -> Result<usize, KernelError> {
    with_source!(strings, |source| dispatch_encode_plain(source, out))
}

fn dispatch_lengths<'s>(source: impl Source<'s>, out: &mut [i32]) -> Result<usize, KernelError> {
    dispatch!(lengths(source, out): avx2)
}

fn dispatch_concat<'s>(source: impl Source<'s>, out: &mut [u8]) -> Result<usize, KernelError> {
    dispatch!(concat(source, out): avx2)
}

fn dispatch_encode_plain<'s>(source: impl Source<'s>, out: &mut [u8]) -> Result<usize, KernelError> {
    dispatch!(encode_plain(source, out): avx2)
}

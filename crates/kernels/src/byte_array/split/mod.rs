//! The inverse of DELTA_BYTE_ARRAY: the prefix that each string shares with the previous one, and the rest.
//!
//! ```text
//! strings          h e l l o    h e l l o ␣ y o u    h e l p
//! prefix lengths   0            5                    3
//! suffixes         h e l l o              ␣ y o u          p
//! ```
//!
//! [Specification](https://parquet.apache.org/docs/file-format/data-pages/encodings/#delta-strings-delta_byte_array--7).

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod scalar;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use crate::byte_strings::{Source, Span, with_source};
use crate::tier::dispatch;
use crate::{ByteStrings, KernelError};

/// Writes for each string the length of the longest prefix that it shares with the previous string, the length of the
/// suffix, and all suffixes one after another. Returns the number of bytes of the suffixes.
///
/// `previous` is the string before the first one, empty at the start of a page. `suffixes` need not have room for more
/// bytes than all strings together, the sum of [`lengths`](super::lengths); bytes after the suffixes may be
/// overwritten.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if there are not as many lengths as strings, or `suffixes` is too short;
/// [`KernelError::Malformed`] if a string does not lie in its bytes; [`KernelError::OffsetOverflow`] if the length of
/// a string is over `i32::MAX`.
pub fn prefix_split(
    strings: ByteStrings<'_>,
    previous: &[u8],
    prefix_lengths: &mut [i32],
    suffix_lengths: &mut [i32],
    suffixes: &mut [u8],
) -> Result<usize, KernelError> {
    for lengths in [&prefix_lengths, &suffix_lengths] {
        if lengths.len() != strings.len() {
            return Err(KernelError::LengthMismatch { expected: strings.len(), actual: lengths.len() });
        }
    }
    let lengths = Lengths { prefixes: prefix_lengths, suffixes: suffix_lengths };
    let previous = Span { home: previous, start: 0, len: previous.len() };
    with_source!(strings, |source| split(source, previous, lengths, suffixes))
}

/// As many prefix lengths as suffix lengths.
struct Lengths<'a> {
    prefixes: &'a mut [i32],
    suffixes: &'a mut [i32],
}

fn split<'s>(
    source: impl Source<'s>,
    previous: Span<'s>,
    lengths: Lengths<'_>,
    suffixes: &mut [u8],
) -> Result<usize, KernelError> {
    dispatch!(split(source, previous, lengths, suffixes): avx2)
}

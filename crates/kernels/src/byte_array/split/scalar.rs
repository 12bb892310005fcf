//! Portable splitting: eight bytes at a time while they are equal, then a copy.

use super::Lengths;
use crate::KernelError;
use crate::byte_strings::{Source, Span};
use crate::bytes::common_prefix_len;

pub(super) fn split<'s>(
    source: impl Source<'s>,
    mut previous: Span<'s>,
    lengths: Lengths<'_>,
    out: &mut [u8],
) -> Result<usize, KernelError> {
    let mut end = 0;
    let lengths = lengths.prefixes.iter_mut().zip(lengths.suffixes);
    for (position, (span, (prefix_len, suffix_len))) in source.spans().zip(lengths).enumerate() {
        let span = span?;
        (*prefix_len, *suffix_len, end) = split_one(position, previous, span, out, end)?;
        previous = span;
    }
    Ok(end)
}

/// Writes the suffix of one string at `at`. Returns the lengths of prefix and suffix, and the end of the suffix.
pub(super) fn split_one(
    position: usize,
    previous: Span<'_>,
    span: Span<'_>,
    out: &mut [u8],
    at: usize,
) -> Result<(i32, i32, usize), KernelError> {
    let len = i32::try_from(span.len).map_err(|_| KernelError::OffsetOverflow { position })?;
    let prefix = common_prefix_len(previous.bytes(), span.bytes());
    let suffix = &span.bytes()[prefix..];
    let end = at.saturating_add(suffix.len());
    let available = out.len();
    let Some(place) = out.get_mut(at..end) else {
        return Err(KernelError::LengthMismatch { expected: end, actual: available });
    };
    place.copy_from_slice(suffix);
    Ok((prefix as i32, len - prefix as i32, end))
}

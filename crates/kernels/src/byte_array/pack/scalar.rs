//! Portable packing: one copy per string.

use crate::KernelError;
use crate::byte_strings::{Source, Span};

pub(super) fn lengths<'s>(source: impl Source<'s>, out: &mut [i32]) -> Result<usize, KernelError> {
    source.lengths(out)
}

pub(super) fn concat<'s>(source: impl Source<'s>, out: &mut [u8]) -> Result<usize, KernelError> {
    let mut end = 0;
    for span in source.spans() {
        end = append(span?, out, end)?;
    }
    Ok(end)
}

pub(super) fn encode_plain<'s>(source: impl Source<'s>, out: &mut [u8]) -> Result<usize, KernelError> {
    let mut end = 0;
    for (position, span) in source.spans().enumerate() {
        let span = span?;
        append_len(position, span.len, out, end)?;
        end = append(span, out, end + 4)?;
    }
    Ok(end)
}

/// Writes the length of string `position` at `at`.
pub(super) fn append_len(position: usize, len: usize, out: &mut [u8], at: usize) -> Result<(), KernelError> {
    let len = i32::try_from(len).map_err(|_| KernelError::OffsetOverflow { position })?;
    let available = out.len();
    let Some(field) = out.get_mut(at..at + 4) else {
        return Err(KernelError::LengthMismatch { expected: at + 4, actual: available });
    };
    field.copy_from_slice(&len.to_le_bytes());
    Ok(())
}

/// Writes a string at `at`, and returns its end.
pub(super) fn append(span: Span<'_>, out: &mut [u8], at: usize) -> Result<usize, KernelError> {
    let end = at.saturating_add(span.len);
    let available = out.len();
    let Some(place) = out.get_mut(at..end) else {
        return Err(KernelError::LengthMismatch { expected: end, actual: available });
    };
    place.copy_from_slice(span.bytes());
    Ok(end)
}

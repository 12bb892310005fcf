//! Strings are copied as 64 or 128 bytes, past their ends, into the room of later strings, which are written
//! afterwards.
//!
//! A branch on every 32 bytes would be mispredicted for strings of 10 to 60 bytes.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};

use super::scalar;
use crate::KernelError;
use crate::byte_strings::{Source, Span};
use crate::tier::avx2;

/// The bytes copied of each string.
const AT_ONCE: usize = 64;

/// The bytes copied of longer strings.
const AT_MOST: usize = 128;

avx2! {
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
            match out.get_mut(end..end + 4 + AT_ONCE) {
                Some(place) if span.len <= AT_ONCE => {
                    let (field, place) = place.split_at_mut(4);
                    field.copy_from_slice(&(span.len as u32).to_le_bytes());
                    if let (Some(from), Some(to)) = (span.head::<AT_ONCE>(), place.first_chunk_mut::<AT_ONCE>()) {
                        copy(from, to);
                        end += 4 + span.len;
                        continue;
                    }
                }
                _ => scalar::append_len(position, span.len, out, end)?,
            }
            end = append(span, out, end + 4)?;
        }
        Ok(end)
    }

    /// Writes a string at `at`, and returns its end.
    #[inline]
    fn append(span: Span<'_>, out: &mut [u8], at: usize) -> Result<usize, KernelError> {
        if let Some(end) = place::<AT_ONCE>(span, out, at) {
            return Ok(end);
        }
        match place::<AT_MOST>(span, out, at) {
            Some(end) => Ok(end),
            None => scalar::append(span, out, at),
        }
    }

    /// Writes a string of up to `N` bytes at `at`, and returns its end, if there are as many bytes to read and room.
    #[inline]
    fn place<const N: usize>(span: Span<'_>, out: &mut [u8], at: usize) -> Option<usize> {
        if span.len > N {
            return None;
        }
        copy::<N>(span.head()?, out.get_mut(at..at + N)?.first_chunk_mut()?);
        Some(at + span.len)
    }

    #[inline]
    fn copy<const N: usize>(from: &[u8; N], to: &mut [u8; N]) {
        for (from, to) in from.as_chunks::<32>().0.iter().zip(to.as_chunks_mut::<32>().0) {
            // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
            let vector = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
            // SAFETY: the reference is to 32 writable bytes, and this store takes any alignment.
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), vector) }
        }
    }
}

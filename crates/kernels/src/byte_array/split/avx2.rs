//! A string of up to 64 bytes takes one compare of 32 bytes with the previous one, which stays in registers, and rarely
//! a second one; its suffix is a copy of 64 bytes, past its end into the room of later ones.
//!
//! ```text
//! before    h e l l o ␣ y o u ? ? …
//! string    h e l p ? ? ? ? ? ? ? …
//! equal     1 1 1 0 …                 the first zero, or the end of the shorter one
//! ```
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{__m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_storeu_si256};

use super::{Lengths, scalar};
use crate::KernelError;
use crate::byte_strings::{Source, Span};
use crate::tier::avx2;

/// The maximum length of a string that is kept in registers.
const AT_MOST: usize = 64;

avx2! {
    pub(super) fn split<'s>(
        source: impl Source<'s>,
        mut previous: Span<'s>,
        lengths: Lengths<'_>,
        out: &mut [u8],
    ) -> Result<usize, KernelError> {
        let mut end = 0;
        let mut before = first(previous);
        let lengths = lengths.prefixes.iter_mut().zip(lengths.suffixes);
        for (position, (span, (prefix_len, suffix_len))) in source.spans().zip(lengths).enumerate() {
            let span = span?;
            // The suffix is loaded from within the string, so as many bytes must follow the string.
            if span.len <= AT_MOST
                && let Some(own) = span.head::<{ 2 * AT_MOST }>()
                && let Some(to) = out.get_mut(end..end + AT_MOST).and_then(<[u8]>::first_chunk_mut::<AT_MOST>)
            {
                let string = [load(own, 0), load(own, 32)];
                let mut agreed = agreement(string[0], before[0]);
                if agreed == 32 {
                    agreed += agreement(string[1], before[1]);
                }
                let prefix = agreed.min(span.len).min(previous.len);
                store(to, 0, load(own, prefix));
                store(to, 32, load(own, prefix + 32));
                (*prefix_len, *suffix_len) = (prefix as i32, (span.len - prefix) as i32);
                end += span.len - prefix;
                before = string;
            } else {
                (*prefix_len, *suffix_len, end) = scalar::split_one(position, previous, span, out, end)?;
                before = first(span);
            }
            previous = span;
        }
        Ok(end)
    }

    /// The number of bytes before the first that differs.
    #[inline]
    fn agreement(a: __m256i, b: __m256i) -> usize {
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)).trailing_ones() as usize
    }

    /// The first bytes of a string, and any bytes after them.
    #[inline]
    fn first(span: Span<'_>) -> [__m256i; 2] {
        let mut head = [0; AT_MOST];
        let kept = span.len.min(AT_MOST);
        head[..kept].copy_from_slice(&span.bytes()[..kept]);
        [load(&head, 0), load(&head, 32)]
    }

    /// 32 bytes from `at` on.
    #[inline]
    fn load<const N: usize>(from: &[u8; N], at: usize) -> __m256i {
        let from: &[u8] = &from[at..at + 32];
        // SAFETY: the slice is 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    /// Stores 32 bytes from `at` on.
    #[inline]
    fn store<const N: usize>(to: &mut [u8; N], at: usize, value: __m256i) {
        let to: &mut [u8] = &mut to[at..at + 32];
        // SAFETY: the slice is 32 writable bytes, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
    }
}

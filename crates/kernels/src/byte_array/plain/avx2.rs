//! One 16-byte load per value: the length and the first twelve bytes, of which a mask keeps the part that belongs to
//! the view.
//!
//! ```text
//! page         05 00 00 00  h e l l o  02 00 00 00  h i …
//! load         05 00 00 00  h e l l o  02 00 00 00  h i …     16 bytes from the value's start
//! kept         05 00 00 00  h e l l o  00 00 00 00  0 0 0     and for over twelve bytes: buffer and offset in the rest
//! ```
//!
//! The chain from value to value is one load and one add; the rest of the work runs in parallel.
//!
//! Bytes are copied 32 or 128 at a time, past the end of a value into the room of later values, which are written
//! afterwards: a branch on each 32 bytes would be mispredicted for about every value of 40 to 100 bytes (three times
//! the time).
#![expect(unsafe_code, reason = "vector loads and stores within limits that the loops keep")]

use std::arch::x86_64::{
    __m128i, __m256i, _MM_HINT_T0, _mm_and_si128, _mm_cmpgt_epi32, _mm_loadu_si128, _mm_or_si128, _mm_prefetch,
    _mm_set_epi32, _mm_set1_epi32, _mm_storeu_si128, _mm256_loadu_si256, _mm256_storeu_si256,
};

use super::scalar::{self, Walk};
use super::{PlainScan, value_at, view};
use crate::KernelError;
use crate::tier::avx2;

/// The number of bytes that are prefetched ahead of the chain.
const AHEAD: usize = 1024;

/// Values up to this many bytes are copied in one go, so as much room must follow each value.
const SLACK: usize = 128;

avx2! {
    pub(super) fn plain_views(
        page: &[u8],
        position: usize,
        buffer_index: u32,
        out: &mut [u128],
    ) -> Result<PlainScan, KernelError> {
        let mut walk = Walk { at: position, index: 0, max_len: 0 };
        // Values that start at this limit or before have 16 bytes, and an offset that fits a view.
        if let Some(limit) = page.len().min(view::MAX_OFFSET).checked_sub(16) {
            walk = walk_while(page, walk, limit, out, |slot, len, at| {
                // SAFETY: the limit is 16 bytes before the end of the page.
                let start = unsafe { page.as_ptr().add(at) };
                // SAFETY: as above; this load takes any alignment.
                let word = unsafe { _mm_loadu_si128(start.cast()) };
                store_view(slot, make_view(len, word, buffer_index, at as u32 + 4));
            })?;
        }
        let done = walk.index;
        walk.views(page, buffer_index, &mut out[done..])?;
        Ok(walk.scan(position))
    }

    pub(super) fn plain_lengths(page: &[u8], position: usize, out: &mut [i32]) -> Result<PlainScan, KernelError> {
        let mut walk = Walk { at: position, index: 0, max_len: 0 };
        if let Some(limit) = page.len().checked_sub(4) {
            walk = walk_while(page, walk, limit, out, |slot, len, _| *slot = len.cast_signed())?;
        }
        let done = walk.index;
        walk.lengths(page, &mut out[done..])?;
        Ok(walk.scan(position))
    }

    /// Continues while values start at `limit` or before, which is at least four bytes before the end of the page.
    #[inline]
    fn walk_while<T>(
        page: &[u8],
        walk: Walk,
        limit: usize,
        out: &mut [T],
        write: impl Fn(&mut T, u32, usize),
    ) -> Result<Walk, KernelError> {
        let Walk { mut at, mut index, mut max_len } = walk;
        let mut last = at;
        while let Some(slot) = out.get_mut(index)
            && at <= limit
        {
            last = at;
            // SAFETY: the limit is at least four bytes before the end of the page.
            let start = unsafe { page.as_ptr().add(at) };
            // In a mapped file, the processor by itself prefetches too few lines ahead of the chain.
            _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(AHEAD).cast());
            // SAFETY: as above; this load takes any alignment.
            let len = unsafe { start.cast::<u32>().read_unaligned() };
            write(slot, len, at);
            at += 4 + len as usize;
            max_len = max_len.max(len);
            index += 1;
        }
        if max_len > i32::MAX as u32 || at > page.len() {
            // The invalid value was the last one, because no walk continues after it.
            value_at(page, last, index.saturating_sub(1))?;
        }
        Ok(Walk { at, index, max_len })
    }

    #[inline]
    fn make_view(len: u32, word: __m128i, buffer_index: u32, offset: u32) -> __m128i {
        let keep = &view::KEEP[(len as usize).min(view::INLINE_LEN + 1)];
        // SAFETY: the reference is to 16 readable bytes, and this load takes any alignment.
        let keep = unsafe { _mm_loadu_si128(std::ptr::from_ref(keep).cast()) };
        let reference = _mm_set_epi32(offset.cast_signed(), buffer_index.cast_signed(), 0, 0);
        let is_long = _mm_cmpgt_epi32(_mm_set1_epi32(len.cast_signed()), _mm_set1_epi32(view::INLINE_LEN as i32));
        _mm_or_si128(_mm_and_si128(word, keep), _mm_and_si128(reference, is_long))
    }

    #[inline]
    fn store_view(to: &mut u128, view: __m128i) {
        // SAFETY: the reference is to 16 writable bytes, and this store takes any alignment.
        unsafe { _mm_storeu_si128(std::ptr::from_mut(to).cast(), view) }
    }

    pub(super) fn copy_values(values: &[u8], lengths: &[i32], out: &mut [u8]) {
        let mut done = 0;
        let mut to = 0;
        for &len in lengths {
            let len = len as usize;
            if to + len + SLACK > out.len() {
                break;
            }
            let from = to + 4 * (done + 1);
            // SAFETY: `out` has that many bytes from the value's start on, and `values` has as many as `out`.
            unsafe { copy::<1>(values, from, out, to) };
            if len > SLACK {
                out[to..to + len].copy_from_slice(&values[from..from + len]);
            } else if len > 32 {
                // SAFETY: as above.
                unsafe { copy::<{ SLACK / 32 }>(values, from, out, to) };
            }
            to += len;
            done += 1;
        }
        scalar::copy_values(&values[to + 4 * done..], &lengths[done..], &mut out[to..]);
    }

    /// # Safety
    /// `values` has `N` times 32 bytes from `from` on, and `out` has as many from `to` on.
    #[inline]
    unsafe fn copy<const N: usize>(values: &[u8], from: usize, out: &mut [u8], to: usize) {
        for i in 0..N {
            // SAFETY: the caller guarantees this.
            let vector = unsafe { load(values, from + 32 * i) };
            // SAFETY: the caller guarantees this.
            unsafe { store(out, to + 32 * i, vector) };
        }
    }

    /// # Safety
    /// `bytes` has 32 bytes from `at` on.
    #[inline]
    unsafe fn load(bytes: &[u8], at: usize) -> __m256i {
        debug_assert!(at + 32 <= bytes.len());
        // SAFETY: the caller guarantees this.
        let from = unsafe { bytes.as_ptr().add(at) };
        // SAFETY: the caller guarantees the bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    /// # Safety
    /// `bytes` has 32 bytes from `at` on.
    #[inline]
    unsafe fn store(bytes: &mut [u8], at: usize, vector: __m256i) {
        debug_assert!(at + 32 <= bytes.len());
        // SAFETY: the caller guarantees this.
        let to = unsafe { bytes.as_mut_ptr().add(at) };
        // SAFETY: the caller guarantees the bytes, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(to.cast(), vector) }
    }
}

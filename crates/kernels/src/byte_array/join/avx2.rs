//! A value of up to 32 bytes is one blend: the value before it, in a register, below the prefix length, and above it
//! the suffix, loaded from as far before its start as the prefix is long, so that it already stands in its place.
//!
//! ```text
//! value before    h e l l o ␣ y o u · · ·
//! suffixes        … ? ? ? p …                from the suffix's start minus three
//! prefix 3        ▓ ▓ ▓ ░ ░ ░ ░ ░ ░ ░ ░ ░    ▓ from the value before, ░ from the suffixes
//! value           h e l p ? ? ? …            bytes behind the value are overwritten by the next one
//! ```
//!
//! Values of up to 64 bytes take a second register in the same way. Beyond, the value before is read back from `out`,
//! which costs a failed store forwarding: its tail was overwritten by the start of this value. (Reading back from 32
//! bytes on made sorted URLs of 57 bytes a third slower.) Copying prefix and suffix one after the other fails to
//! forward too, for every value, and takes about three times as long.
//!
//! A block without prefixes is one copy.
#![expect(unsafe_code, reason = "vector loads and stores within limits that the loop keeps")]

use std::arch::x86_64::{__m256i, _mm256_blendv_epi8, _mm256_loadu_si256, _mm256_setzero_si256, _mm256_storeu_si256};

use super::scalar::Join;
use super::{BLOCK, Lengths, copy_block, value_len, without_prefixes};
use crate::KernelError;
use crate::tier::avx2;

/// 32 bytes from `32 - n` on have their first `n` bytes set.
static SET_THEN_CLEAR: [u8; 64] = {
    let mut bytes = [0; 64];
    let mut i = 0;
    while i < 32 {
        bytes[i] = 0xFF;
        i += 1;
    }
    bytes
};

avx2! {
    pub(super) fn join(
        lengths: Lengths<'_>,
        suffixes: &[u8],
        previous: &[u8],
        out: &mut [u8],
        out_lengths: &mut [i32],
    ) -> Result<(), KernelError> {
        let mut join = Join { index: 0, from: 0, to: 0, last_len: previous.len() };
        let count = out_lengths.len();
        while join.index < count {
            let end = count.min(join.index + BLOCK);
            if without_prefixes(lengths, join.index..end) {
                copy_block(&mut join, end, lengths, suffixes, out, out_lengths);
                continue;
            }
            if join.index == 0 {
                // The value before the first is not in `out`.
                join.step(lengths, suffixes, previous, out, out_lengths)?;
            }
            join_block(&mut join, end, lengths, suffixes, out, out_lengths)?;
        }
        Ok(())
    }

    /// Values up to number `end`, the value before them being in `out`.
    fn join_block(
        join: &mut Join,
        end: usize,
        lengths: Lengths<'_>,
        suffixes: &[u8],
        out: &mut [u8],
        out_lengths: &mut [i32],
    ) -> Result<(), KernelError> {
        let mut last = first_64(&out[join.to - join.last_len..]);
        while join.index < end {
            let Join { index, from, to, last_len } = *join;
            let (prefix, suffix) = (lengths.prefixes[index] as usize, lengths.suffixes[index] as usize);
            let len = prefix + suffix;
            if prefix > from || from + suffix + 32 > suffixes.len() || to + len + 32 > out.len() {
                join.step(lengths, suffixes, &[], out, out_lengths)?;
                last = first_64(&out[to..]);
                continue;
            }
            out_lengths[index] = value_len(index, prefix, suffix, last_len)?;
            // SAFETY: `prefix` is no more than `from`, and from there to 32 bytes behind the suffix `suffixes` has all.
            let own = unsafe { load(suffixes, from - prefix) };
            last[0] = blend(own, last[0], prefix);
            // SAFETY: `out` has 32 bytes behind the value.
            unsafe { store(out, to, last[0]) };
            if len > 32 {
                // SAFETY: 32 is within the value, which ends 32 bytes before the end of `suffixes`.
                let own = unsafe { load(suffixes, from - prefix + 32) };
                // A prefix over 32 means that the value before was longer than that and is in the register.
                last[1] = blend(own, last[1], prefix.saturating_sub(32));
                // SAFETY: 32 is within the value, which ends 32 bytes before the end of `out`.
                unsafe { store(out, to + 32, last[1]) };
            }
            let mut done = 64;
            while done < len {
                // SAFETY: `done` is within the value, which ends 32 bytes before the end of `suffixes`.
                let own = unsafe { load(suffixes, from - prefix + done) };
                // SAFETY: the value before starts before this one, which ends 32 bytes before the end of `out`.
                let before = unsafe { load(out, to - last_len + done) };
                let value = blend(own, before, prefix.saturating_sub(done));
                // SAFETY: `done` is within the value, which ends 32 bytes before the end of `out`.
                unsafe { store(out, to + done, value) };
                done += 32;
            }
            *join = Join { index: index + 1, from: from + suffix, to: to + len, last_len: len };
        }
        Ok(())
    }

    /// The first `prefix` bytes of `before`, then bytes of `own`.
    #[inline]
    fn blend(own: __m256i, before: __m256i, prefix: usize) -> __m256i {
        // SAFETY: the table has 64 bytes, and the subtraction gives at most 32.
        let mask = unsafe { load(&SET_THEN_CLEAR, 32 - prefix.min(32)) };
        _mm256_blendv_epi8(own, before, mask)
    }

    /// The first 64 bytes in two vectors; zeros for one that the bytes do not fill, which then is not used.
    #[inline]
    fn first_64(bytes: &[u8]) -> [__m256i; 2] {
        let mut vectors = [_mm256_setzero_si256(); 2];
        for (vector, chunk) in vectors.iter_mut().zip(bytes.chunks_exact(32)) {
            // SAFETY: the chunk has 32 bytes.
            *vector = unsafe { load(chunk, 0) };
        }
        vectors
    }

    /// # Safety
    /// `bytes` has 32 bytes from `at` on.
    #[inline]
    unsafe fn load(bytes: &[u8], at: usize) -> __m256i {
        debug_assert!(at + 32 <= bytes.len());
        // SAFETY: the caller's promise.
        let from = unsafe { bytes.as_ptr().add(at) };
        // SAFETY: the caller's promise, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    /// # Safety
    /// `bytes` has 32 bytes from `at` on.
    #[inline]
    unsafe fn store(bytes: &mut [u8], at: usize, vector: __m256i) {
        debug_assert!(at + 32 <= bytes.len());
        // SAFETY: the caller's promise.
        let to = unsafe { bytes.as_mut_ptr().add(at) };
        // SAFETY: the caller's promise, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(to.cast(), vector) }
    }
}

//! As [`super::avx2`], with 64 bytes at a time and the prefix as a mask.
#![expect(unsafe_code, reason = "vector loads and stores within limits that the loop keeps")]

use std::arch::x86_64::{
    __m512i, _bzhi_u64, _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_setzero_si512, _mm512_storeu_si512,
};

use super::scalar::Join;
use super::{BLOCK, Lengths, copy_block, value_len, without_prefixes};
use crate::KernelError;
use crate::tier::avx512;

avx512! {
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
            if prefix > from || from + suffix + 64 > suffixes.len() || to + len + 64 > out.len() {
                join.step(lengths, suffixes, &[], out, out_lengths)?;
                last = first_64(&out[to..]);
                continue;
            }
            out_lengths[index] = value_len(index, prefix, suffix, last_len)?;
            // SAFETY: `prefix` is no more than `from`, and from there to 64 bytes behind the suffix `suffixes` has all.
            let own = unsafe { load(suffixes, from - prefix) };
            last = blend(own, last, prefix);
            // SAFETY: `out` has 64 bytes behind the value.
            unsafe { store(out, to, last) };
            let mut done = 64;
            while done < len {
                // SAFETY: `done` is within the value, which ends 64 bytes before the end of `suffixes`.
                let own = unsafe { load(suffixes, from - prefix + done) };
                // SAFETY: the value before starts before this one, which ends 64 bytes before the end of `out`.
                let before = unsafe { load(out, to - last_len + done) };
                let value = blend(own, before, prefix.saturating_sub(done));
                // SAFETY: `done` is within the value, which ends 64 bytes before the end of `out`.
                unsafe { store(out, to + done, value) };
                done += 64;
            }
            *join = Join { index: index + 1, from: from + suffix, to: to + len, last_len: len };
        }
        Ok(())
    }

    /// The first `prefix` bytes of `before`, then bytes of `own`.
    #[inline]
    fn blend(own: __m512i, before: __m512i, prefix: usize) -> __m512i {
        _mm512_mask_blend_epi8(_bzhi_u64(u64::MAX, prefix.min(64) as u32), own, before)
    }

    /// The first 64 bytes, or zeros if there are not as many: then the vector is not used.
    #[inline]
    fn first_64(bytes: &[u8]) -> __m512i {
        if bytes.len() < 64 {
            return _mm512_setzero_si512();
        }
        // SAFETY: there are at least 64 bytes.
        unsafe { load(bytes, 0) }
    }

    /// # Safety
    /// `bytes` has 64 bytes from `at` on.
    #[inline]
    unsafe fn load(bytes: &[u8], at: usize) -> __m512i {
        debug_assert!(at + 64 <= bytes.len());
        // SAFETY: the caller's promise.
        let from = unsafe { bytes.as_ptr().add(at) };
        // SAFETY: the caller's promise, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    /// # Safety
    /// `bytes` has 64 bytes from `at` on.
    #[inline]
    unsafe fn store(bytes: &mut [u8], at: usize, vector: __m512i) {
        debug_assert!(at + 64 <= bytes.len());
        // SAFETY: the caller's promise.
        let to = unsafe { bytes.as_mut_ptr().add(at) };
        // SAFETY: the caller's promise, and this store takes any alignment.
        unsafe { _mm512_storeu_si512(to.cast(), vector) }
    }
}

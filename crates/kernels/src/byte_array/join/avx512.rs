//! Like [`super::avx2`], with 64 bytes at a time and the prefix as a mask.
#![expect(unsafe_code, reason = "vector loads and stores within limits that the loop keeps")]

use std::arch::x86_64::{
    __m512i, _bzhi_u64, _mm512_loadu_si512, _mm512_mask_blend_epi8, _mm512_setzero_si512, _mm512_storeu_si512,
};

use super::scalar::Join;
use super::{BLOCK, Lengths, SLACK, copy_block, is_short_block, value_len, without_prefixes};
use crate::KernelError;
use crate::tier::avx512;

avx512! {
    pub(super) fn join(
        mut join: Join,
        lengths: Lengths<'_>,
        suffixes: &[u8],
        out: &mut [u8],
        out_lengths: &mut [i32],
    ) -> Result<(), KernelError> {
        let count = out_lengths.len();
        while join.index < count {
            let end = count.min(join.index + BLOCK);
            join = if without_prefixes(lengths, join.index..end) {
                copy_block(join, end, lengths, suffixes, out, out_lengths)
            } else if let Some(joined) = join_short_block(join, end, lengths, suffixes, out, out_lengths) {
                joined
            } else {
                join_block(join, end, lengths, suffixes, out, out_lengths)?
            };
        }
        Ok(())
    }

    /// Joins values up to number `end`, if all of them are valid and have at most 64 bytes, with the slack after the
    /// last.
    #[inline]
    fn join_short_block(
        join: Join,
        end: usize,
        lengths: Lengths<'_>,
        suffixes: &[u8],
        out: &mut [u8],
        out_lengths: &mut [i32],
    ) -> Option<Join> {
        if !is_short_block(join, end, lengths, suffixes, out, out_lengths, 64) {
            return None;
        }
        let Join { index: start, mut from, mut to, last_len } = join;
        // SAFETY: the previous value starts `last_len` bytes before `to`, and from there on `out` has the slack.
        let mut last = unsafe { load(out, to - last_len) };
        for (&prefix, &suffix) in lengths.prefixes[start..end].iter().zip(&lengths.suffixes[start..end]) {
            let (prefix, suffix) = (prefix.cast_unsigned() as usize, suffix.cast_unsigned() as usize);
            // SAFETY: `prefix` is at most 64, and there are that many bytes before `from`, which never decreases; from
            // there on `suffixes` has the bytes and the slack.
            let own = unsafe { load(suffixes, from - prefix) };
            last = blend(own, last, prefix);
            // SAFETY: `out` has the slack after each value of the block.
            unsafe { store(out, to, last) };
            from += suffix;
            to += prefix + suffix;
        }
        Some(Join { index: end, from, to, last_len: out_lengths[end - 1] as usize })
    }

    /// Joins values up to number `end`; the value before them is in `out`.
    fn join_block(
        join: Join,
        end: usize,
        lengths: Lengths<'_>,
        suffixes: &[u8],
        out: &mut [u8],
        out_lengths: &mut [i32],
    ) -> Result<Join, KernelError> {
        let mut last = first(&out[join.to - join.last_len..]);
        // Local copies, so that they stay in registers.
        let Join { index: start, mut from, mut to, mut last_len } = join;
        let range = start..end;
        let values = lengths.prefixes[range.clone()].iter().zip(&lengths.suffixes[range.clone()]);
        for (i, ((&prefix, &suffix), out_len)) in values.zip(&mut out_lengths[range]).enumerate() {
            let (prefix, suffix) = (prefix as usize, suffix as usize);
            let len = prefix + suffix;
            *out_len = value_len(start + i, prefix, suffix, last_len)?;
            if prefix > from || from + suffix + SLACK > suffixes.len() || to + len + SLACK > out.len() {
                Join { index: start + i, from, to, last_len }.copy(prefix, suffix, suffixes, out);
                last = first(&out[to..]);
                (from, to, last_len) = (from + suffix, to + len, len);
                continue;
            }
            // SAFETY: `prefix` is at most `from`, and from there on `suffixes` has the bytes and the slack.
            let own = unsafe { load(suffixes, from - prefix) };
            last[0] = blend(own, last[0], prefix);
            // SAFETY: `out` has the slack after the value.
            unsafe { store(out, to, last[0]) };
            if len > 64 {
                for (i, last) in last.iter_mut().enumerate().skip(1) {
                    // SAFETY: `suffixes` has the slack after the value.
                    let own = unsafe { load(suffixes, from - prefix + 64 * i) };
                    *last = blend(own, *last, prefix.saturating_sub(64 * i));
                    // SAFETY: `out` has the slack after the value.
                    unsafe { store(out, to + 64 * i, *last) };
                }
            }
            if len > SLACK {
                if prefix > SLACK {
                    out.copy_within(to - last_len + SLACK..to - last_len + prefix, to + SLACK);
                }
                let done = prefix.max(SLACK);
                out[to + done..to + len].copy_from_slice(&suffixes[from - prefix + done..from + suffix]);
            }
            (from, to, last_len) = (from + suffix, to + len, len);
        }
        Ok(Join { index: end, from, to, last_len })
    }

    /// The first `prefix` bytes of `before`, then bytes of `own`.
    #[inline]
    fn blend(own: __m512i, before: __m512i, prefix: usize) -> __m512i {
        _mm512_mask_blend_epi8(_bzhi_u64(u64::MAX, prefix.min(64) as u32), own, before)
    }

    /// The first bytes, or zeros if there are fewer than the slack: then the vectors are not used.
    #[inline]
    fn first(bytes: &[u8]) -> [__m512i; SLACK / 64] {
        if bytes.len() < SLACK {
            return [_mm512_setzero_si512(); SLACK / 64];
        }
        // SAFETY: there are at least as many bytes as the slack.
        std::array::from_fn(|i| unsafe { load(bytes, 64 * i) })
    }

    /// # Safety
    /// `bytes` has 64 bytes from `at` on.
    #[inline]
    unsafe fn load(bytes: &[u8], at: usize) -> __m512i {
        debug_assert!(at + 64 <= bytes.len());
        // SAFETY: the caller guarantees this.
        let from = unsafe { bytes.as_ptr().add(at) };
        // SAFETY: the caller guarantees the bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    /// # Safety
    /// `bytes` has 64 bytes from `at` on.
    #[inline]
    unsafe fn store(bytes: &mut [u8], at: usize, vector: __m512i) {
        debug_assert!(at + 64 <= bytes.len());
        // SAFETY: the caller guarantees this.
        let to = unsafe { bytes.as_mut_ptr().add(at) };
        // SAFETY: the caller guarantees the bytes, and this store takes any alignment.
        unsafe { _mm512_storeu_si512(to.cast(), vector) }
    }
}

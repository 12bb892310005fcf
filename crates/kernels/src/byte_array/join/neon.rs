//! Like the AVX2 kernel, with 16 bytes at a time.
#![expect(unsafe_code, reason = "vector loads and stores within limits that the loop keeps")]

use std::arch::aarch64::{uint8x16_t, vbslq_u8, vcltq_u8, vdupq_n_u8, vld1q_u8, vst1q_u8};

use super::scalar::Join;
use super::{BLOCK, Lengths, copy_block, value_len, without_prefixes};
use crate::KernelError;

static BYTE_NUMBERS: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

#[target_feature(enable = "neon")]
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
        } else {
            join_block(join, end, lengths, suffixes, out, out_lengths)?
        };
    }
    Ok(())
}

/// Joins values up to number `end`; the value before them is in `out`.
#[target_feature(enable = "neon")]
fn join_block(
    mut join: Join,
    end: usize,
    lengths: Lengths<'_>,
    suffixes: &[u8],
    out: &mut [u8],
    out_lengths: &mut [i32],
) -> Result<Join, KernelError> {
    while join.index < end {
        let Join { index, from, to, last_len } = join;
        let (prefix, suffix) = lengths.of(index);
        let len = prefix + suffix;
        out_lengths[index] = value_len(join.index, prefix, suffix, join.last_len)?;
        if prefix > from || from + suffix + 16 > suffixes.len() || to + len + 16 > out.len() {
            join = join.copy(prefix, suffix, suffixes, out);
            continue;
        }
        let mut done = 0;
        while done < len {
            // SAFETY: `prefix` is at most `from`, and the value ends 16 bytes before the end of `suffixes`.
            let own = unsafe { load(suffixes, from - prefix + done) };
            // SAFETY: the previous value starts before this one, which ends 16 bytes before the end of `out`.
            let before = unsafe { load(out, to - last_len + done) };
            let value = blend(own, before, prefix.saturating_sub(done));
            // SAFETY: `done` is within the value, which ends 16 bytes before the end of `out`.
            let target = unsafe { out.as_mut_ptr().add(to + done) };
            // SAFETY: as above.
            unsafe { vst1q_u8(target, value) };
            done += 16;
        }
        join = join.after(prefix, suffix);
    }
    Ok(join)
}

/// The first `prefix` bytes of `before`, then bytes of `own`.
#[target_feature(enable = "neon")]
#[inline]
fn blend(own: uint8x16_t, before: uint8x16_t, prefix: usize) -> uint8x16_t {
    // SAFETY: the array has 16 bytes.
    let numbers = unsafe { vld1q_u8(BYTE_NUMBERS.as_ptr()) };
    vbslq_u8(vcltq_u8(numbers, vdupq_n_u8(prefix.min(16) as u8)), before, own)
}

/// # Safety
/// `bytes` has 16 bytes from `at` on.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn load(bytes: &[u8], at: usize) -> uint8x16_t {
    debug_assert!(at + 16 <= bytes.len());
    // SAFETY: the caller guarantees this.
    let from = unsafe { bytes.as_ptr().add(at) };
    // SAFETY: the caller guarantees this.
    unsafe { vld1q_u8(from) }
}

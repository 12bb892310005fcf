//! DELTA_BYTE_ARRAY: each value is a prefix of the previous value and its own suffix.
//!
//! ```text
//! prefix lengths   0            5              3
//! suffixes         h e l l o    ␣ y o u        p
//! values           h e l l o    h e l l o ␣ y o u    h e l p
//! ```
//!
//! [Specification](https://parquet.apache.org/docs/file-format/data-pages/encodings/#delta-strings-delta_byte_array--7).

#![expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::lengths;
use crate::KernelError;
use crate::tier::dispatch;
use scalar::Join;

/// The numbers of bytes that [`prefix_join`] has read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixJoin {
    /// The number of bytes of `suffixes` that the values have used.
    pub suffix_bytes_consumed: usize,
    /// The number of bytes of `out` that the values take up.
    pub out_len: usize,
}

/// The size of the joined values in bytes: the sum of all prefix and suffix lengths.
///
/// The lengths are not validated: only [`prefix_join`] checks whether the previous value has such a prefix, so bound
/// the sum before allocating it.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if the slices differ in length; [`KernelError::NegativeLength`];
/// [`KernelError::OffsetOverflow`] if the sum is more than the address space.
pub fn prefix_join_len(prefix_lengths: &[i32], suffix_lengths: &[i32]) -> Result<usize, KernelError> {
    Ok(sums(prefix_lengths, suffix_lengths)?.0)
}

/// The sums of all lengths and of the suffixes' lengths.
fn sums(prefix_lengths: &[i32], suffix_lengths: &[i32]) -> Result<(usize, u64), KernelError> {
    check_len(prefix_lengths.len(), suffix_lengths.len())?;
    let Some((prefixes, suffixes)) = lengths::sum(prefix_lengths).zip(lengths::sum(suffix_lengths)) else {
        let negative = |(&prefix, &suffix): (&i32, &i32)| prefix < 0 || suffix < 0;
        let position = prefix_lengths.iter().zip(suffix_lengths).position(negative).unwrap_or(0);
        return Err(KernelError::NegativeLength { position });
    };
    match usize::try_from(prefixes + suffixes) {
        Ok(all) => Ok((all, suffixes)),
        Err(_) => Err(KernelError::OffsetOverflow { position: prefix_lengths.len() }),
    }
}

/// Writes the values one after another to `out` and their lengths to `out_lengths`.
///
/// `suffixes` starts with the suffix of the first value; `previous` is the value before that one, empty at the start of
/// a page. `out` must have room for all values, [`prefix_join_len`] bytes; bytes after them may be overwritten.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if the slices of lengths differ in length or `out` is too short;
/// [`KernelError::NegativeLength`]; [`KernelError::PrefixTooLong`]; [`KernelError::OffsetOverflow`] if the length of
/// a value is over `i32::MAX`; [`KernelError::InputTooShort`] if `suffixes` ends before the values.
pub fn prefix_join(
    prefix_lengths: &[i32],
    suffix_lengths: &[i32],
    suffixes: &[u8],
    previous: &[u8],
    out: &mut [u8],
    out_lengths: &mut [i32],
) -> Result<PrefixJoin, KernelError> {
    check_len(prefix_lengths.len(), out_lengths.len())?;
    let (out_len, suffix_len) = sums(prefix_lengths, suffix_lengths)?;
    if out_len > out.len() {
        return Err(KernelError::LengthMismatch { expected: out_len, actual: out.len() });
    }
    if suffix_len > suffixes.len() as u64 {
        let needed = usize::try_from(suffix_len).unwrap_or(usize::MAX);
        return Err(KernelError::InputTooShort { needed, available: suffixes.len() });
    }
    let lengths = Lengths { prefixes: prefix_lengths, suffixes: suffix_lengths };
    let (suffixes, out) = (&suffixes[..suffix_len as usize], &mut out[..out_len]);
    if !out_lengths.is_empty() {
        let first = first_value(lengths, suffixes, previous, out, out_lengths)?;
        join(first, lengths, suffixes, out, out_lengths)?;
    }
    Ok(PrefixJoin { suffix_bytes_consumed: suffix_len as usize, out_len })
}

fn check_len(expected: usize, actual: usize) -> Result<(), KernelError> {
    if expected == actual { Ok(()) } else { Err(KernelError::LengthMismatch { expected, actual }) }
}

/// As many prefix lengths as suffix lengths, none negative.
#[derive(Clone, Copy)]
struct Lengths<'a> {
    prefixes: &'a [i32],
    suffixes: &'a [i32],
}

impl Lengths<'_> {
    fn of(self, index: usize) -> (usize, usize) {
        (self.prefixes[index] as usize, self.suffixes[index] as usize)
    }
}

/// Joins the first value, the only one whose prefix is not in `out`.
fn first_value(
    lengths: Lengths<'_>,
    suffixes: &[u8],
    previous: &[u8],
    out: &mut [u8],
    out_lengths: &mut [i32],
) -> Result<Join, KernelError> {
    let (prefix, suffix) = lengths.of(0);
    let join = Join { index: 0, from: 0, to: 0, last_len: previous.len() };
    out_lengths[0] = value_len(0, prefix, suffix, join.last_len)?;
    out[..prefix].copy_from_slice(&previous[..prefix]);
    out[prefix..prefix + suffix].copy_from_slice(&suffixes[..suffix]);
    Ok(join.after(prefix, suffix))
}

/// Joins all further values. `suffixes` is exactly the suffixes, and `out` exactly as long as all values.
fn join(
    first: Join,
    lengths: Lengths<'_>,
    suffixes: &[u8],
    out: &mut [u8],
    out_lengths: &mut [i32],
) -> Result<(), KernelError> {
    dispatch!(join(first, lengths, suffixes, out, out_lengths): avx512 avx2 neon)
}

/// The bytes of the previous value that vector tiers keep in registers; as much room must follow each value.
#[cfg(target_arch = "x86_64")]
const SLACK: usize = 128;

/// The number of values that are tested for prefixes at once.
const BLOCK: usize = 64;

/// Returns whether no value of the range has a prefix.
#[inline]
fn without_prefixes(lengths: Lengths<'_>, range: Range<usize>) -> bool {
    lengths.prefixes[range].iter().fold(0, |any, len| any | len) == 0
}

/// Copies values without prefixes up to number `end`.
fn copy_block(
    join: Join,
    end: usize,
    lengths: Lengths<'_>,
    suffixes: &[u8],
    out: &mut [u8],
    out_lengths: &mut [i32],
) -> Join {
    let Join { index, from, to, last_len } = join;
    let lengths = &lengths.suffixes[index..end];
    let total: usize = lengths.iter().map(|&len| len as usize).sum();
    out_lengths[index..end].copy_from_slice(lengths);
    out[to..to + total].copy_from_slice(&suffixes[from..from + total]);
    let last_len = lengths.last().map_or(last_len, |&len| len as usize);
    Join { index: end, from: from + total, to: to + total, last_len }
}

/// Returns whether the values up to number `end` are valid and none is longer than `longest`, a vector, with `longest`
/// suffix bytes before them and the slack after them. Writes their lengths. The value before them is in `lengths` too.
///
/// Inlined into each tier's function, which has instructions to check several values at once.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn is_short_block(
    join: Join,
    end: usize,
    lengths: Lengths<'_>,
    suffixes: &[u8],
    out: &[u8],
    out_lengths: &mut [i32],
    longest: usize,
) -> bool {
    let Join { index: start, from, to, .. } = join;
    let Some(start_before) = start.checked_sub(1) else { return false };
    let (range, before) = (start..end, start_before..end - 1);
    let own = lengths.prefixes[range.clone()].iter().zip(&lengths.suffixes[range.clone()]);
    let before = lengths.prefixes[before.clone()].iter().zip(&lengths.suffixes[before]);
    let (mut max_len, mut suffix_bytes, mut value_bytes, mut without_prefix) = (0, 0_u32, 0_u32, 0);
    for ((out_len, (&prefix, &suffix)), (&prefix_before, &suffix_before)) in
        out_lengths[range].iter_mut().zip(own).zip(before)
    {
        // The sum of two lengths is below 2^32; a sum of more is used only if all are short.
        let (prefix, suffix) = (prefix.cast_unsigned(), suffix.cast_unsigned());
        let len = prefix + suffix;
        max_len = max_len.max(len);
        suffix_bytes = suffix_bytes.wrapping_add(suffix);
        value_bytes = value_bytes.wrapping_add(len);
        without_prefix |= u32::from(prefix > prefix_before.cast_unsigned() + suffix_before.cast_unsigned());
        *out_len = len.cast_signed();
    }
    max_len as usize <= longest
        && without_prefix == 0
        && from >= longest
        && from + suffix_bytes as usize + SLACK <= suffixes.len()
        && to + value_bytes as usize + SLACK <= out.len()
}

/// The length of value `position`, if it is valid and the previous value has the prefix.
#[inline(always)]
fn value_len(position: usize, prefix: usize, suffix: usize, last_len: usize) -> Result<i32, KernelError> {
    if prefix > last_len {
        return Err(KernelError::PrefixTooLong { position });
    }
    i32::try_from(prefix + suffix).map_err(|_| KernelError::OffsetOverflow { position })
}

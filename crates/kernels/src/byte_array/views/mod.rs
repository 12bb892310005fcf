//! DELTA_LENGTH_BYTE_ARRAY: the decoded lengths, and the bytes of all values one after another.
//!
//! ```text
//! lengths   5, 2, 0, 3 …
//! data      h e l l o h i y o u …
//! ```
//!
//! [Specification](https://parquet.apache.org/docs/file-format/data-pages/encodings/#delta-length-byte-array-delta_length_byte_array--6).

#![expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[cfg(test)]
mod tests;

use super::{lengths, view};
use crate::KernelError;
use crate::tier::dispatch;

/// Builds one view for each length, for values that are one after another in `data` from `base` on. Returns the offset
/// of the end of the last one.
///
/// Long views get `buffer_index` and the offset of their bytes in `data`.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if `out` is not as long as `lengths`; [`KernelError::NegativeLength`];
/// [`KernelError::InputTooShort`] if `data` ends before the values; [`KernelError::OffsetOverflow`] if a value
/// ends past 2 GiB, for which a view has no offset.
pub fn length_views(
    data: &[u8],
    base: usize,
    lengths: &[i32],
    buffer_index: u32,
    out: &mut [u128],
) -> Result<usize, KernelError> {
    if lengths.len() != out.len() {
        return Err(KernelError::LengthMismatch { expected: lengths.len(), actual: out.len() });
    }
    let end = checked_end(base, lengths)?;
    if end > data.len() {
        return Err(KernelError::InputTooShort { needed: end, available: data.len() });
    }
    build(&data[..end], base, lengths, buffer_index, out);
    Ok(end)
}

fn build(data: &[u8], base: usize, lengths: &[i32], buffer_index: u32, out: &mut [u128]) {
    dispatch!(build(data, base, lengths, buffer_index, out): avx512 avx2 neon);
}

/// The end of values with these lengths, if no length is negative and the end is an offset that fits a view.
fn checked_end(base: usize, lengths: &[i32]) -> Result<usize, KernelError> {
    if lengths.is_empty() {
        return Ok(base);
    }
    lengths::sum(lengths)
        .and_then(|sum| sum.checked_add(base as u64))
        .filter(|&end| end <= view::MAX_OFFSET as u64)
        .map_or_else(|| Err(first_bad(base, lengths)), |end| Ok(end as usize))
}

#[cold]
fn first_bad(base: usize, lengths: &[i32]) -> KernelError {
    let mut end = base as u64;
    for (position, &len) in lengths.iter().enumerate() {
        let Ok(len) = u64::try_from(len) else {
            return KernelError::NegativeLength { position };
        };
        end = end.saturating_add(len);
        if end > view::MAX_OFFSET as u64 {
            return KernelError::OffsetOverflow { position };
        }
    }
    KernelError::OffsetOverflow { position: lengths.len() }
}

/// The end of each value.
#[cfg(target_arch = "x86_64")]
#[inline]
fn ends<const N: usize>(start: usize, lengths: &[i32; N]) -> [usize; N] {
    let mut at = start;
    lengths.map(|len| {
        at += len as usize;
        at
    })
}

//! PLAIN BYTE_ARRAY: each value is its length in four little-endian bytes, then its bytes.
//!
//! ```text
//! page   │ 05 00 00 00 │ h e l l o │ 02 00 00 00 │ h i │ …
//! ```
//!
//! The start of a value depends on all lengths before it, so a walk takes at least the latency of a load and an add for
//! each value; the functions here do their other work in the shadow of that chain.
//! [Specification](https://parquet.apache.org/docs/file-format/data-pages/encodings/#plain-plain--0).

#![expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use super::{lengths, view};
use crate::KernelError;
use crate::tier::dispatch;

/// The result of a walk over PLAIN values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainScan {
    /// The start of the next value.
    pub position: usize,
    /// The sum of the lengths of the values.
    pub total_len: usize,
    /// The length of the longest value, zero without values.
    pub max_len: u32,
}

/// Builds one view for each element of `out` from the values that start at `position` in `page`.
///
/// Long views get `buffer_index` and the offset of their bytes in `page`.
///
/// # Errors
/// [`KernelError::InputTooShort`] if `page` ends before the values; [`KernelError::NegativeLength`];
/// [`KernelError::OffsetOverflow`] if a long value starts past 2 GiB, which a view cannot say.
pub fn plain_views(
    page: &[u8],
    position: usize,
    buffer_index: u32,
    out: &mut [u128],
) -> Result<PlainScan, KernelError> {
    dispatch!(plain_views(page, position, buffer_index, out): avx2)
}

/// Writes the length of one value for each element of `out`, from the values that start at `position` in `page`.
///
/// # Errors
/// [`KernelError::InputTooShort`] if `page` ends before the values; [`KernelError::NegativeLength`].
pub fn plain_lengths(page: &[u8], position: usize, out: &mut [i32]) -> Result<PlainScan, KernelError> {
    dispatch!(plain_lengths(page, position, out): avx2)
}

/// Copies the bytes of values with the given lengths, the first of which starts at `position` in `page`, one after
/// another to `out`. Returns the start of the next value.
///
/// The lengths must be the ones that [`plain_lengths`] returned; the lengths in `page` are not read again.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if `out` is not as long as all values together;
/// [`KernelError::InputTooShort`] if `page` ends before the values; [`KernelError::NegativeLength`].
pub fn copy_plain(page: &[u8], position: usize, lengths: &[i32], out: &mut [u8]) -> Result<usize, KernelError> {
    let Some(total) = lengths::sum(lengths) else {
        return Err(KernelError::NegativeLength { position: lengths::first_negative(lengths) });
    };
    if total != out.len() as u64 {
        let expected = usize::try_from(total).unwrap_or(usize::MAX);
        return Err(KernelError::LengthMismatch { expected, actual: out.len() });
    }
    let needed = out.len().saturating_add(lengths.len().saturating_mul(4)).saturating_add(position);
    if needed > page.len() {
        return Err(KernelError::InputTooShort { needed, available: page.len() });
    }
    copy_values(&page[position..needed], lengths, out);
    Ok(needed)
}

fn copy_values(values: &[u8], lengths: &[i32], out: &mut [u8]) {
    dispatch!(copy_values(values, lengths, out): avx2 neon);
}

/// The value at `position`, which is number `index` of the batch.
#[inline(always)]
pub(crate) fn value_at(page: &[u8], position: usize, index: usize) -> Result<&[u8], KernelError> {
    let rest = page.get(position..).unwrap_or_default();
    let Some((len, bytes)) = rest.split_first_chunk::<4>() else {
        return Err(KernelError::InputTooShort { needed: position.saturating_add(4), available: page.len() });
    };
    let len = i32::from_le_bytes(*len);
    let len = usize::try_from(len).map_err(|_| KernelError::NegativeLength { position: index })?;
    match bytes.get(..len) {
        Some(value) => Ok(value),
        None => {
            let needed = position.saturating_add(4).saturating_add(len);
            Err(KernelError::InputTooShort { needed, available: page.len() })
        }
    }
}

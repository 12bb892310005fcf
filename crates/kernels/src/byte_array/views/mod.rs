//! DELTA_LENGTH_BYTE_ARRAY: the lengths, decoded, and the bytes of all values one after another.
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

use super::view;
use crate::KernelError;
use crate::tier::dispatch;

/// Builds one view for each length, over values that lie one after another in `data` from `base` on, and returns the
/// offset at which the last one ends.
///
/// Long views get `buffer_index` and the offset of their bytes in `data`.
///
/// # Errors
/// [`KernelError::LengthMismatch`] where `out` is not as long as `lengths`; [`KernelError::NegativeLength`];
/// [`KernelError::InputTooShort`] where `data` ends before the values; [`KernelError::OffsetOverflow`] where a value
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
    let end = end_of(base, lengths)?;
    if end > data.len() {
        return Err(KernelError::InputTooShort { needed: end, available: data.len() });
    }
    build(&data[..end], base, lengths, buffer_index, out);
    Ok(end)
}

fn build(data: &[u8], base: usize, lengths: &[i32], buffer_index: u32, out: &mut [u128]) {
    dispatch!(build(data, base, lengths, buffer_index, out): avx512 avx2 neon);
}

/// Where values of these lengths end, no length being negative and the end being an offset that a view can hold.
fn end_of(base: usize, lengths: &[i32]) -> Result<usize, KernelError> {
    let mut signs = 0;
    let mut sum = 0_u64;
    for &len in lengths {
        signs |= len;
        sum = sum.wrapping_add(u64::from(len as u32));
    }
    let end = sum.checked_add(base as u64).filter(|&end| end <= view::MAX_OFFSET as u64);
    match end {
        Some(end) if signs >= 0 => Ok(end as usize),
        _ if lengths.is_empty() => Ok(base),
        _ => Err(first_bad(base, lengths)),
    }
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

/// By length, up to one over what a view holds itself: which of the loaded bytes goes where in the view, or none.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static PLACES: [[u8; 16]; view::INLINE_LEN + 2] = {
    let mut places = [[0x80; 16]; view::INLINE_LEN + 2];
    let mut len = 0;
    while len < places.len() {
        let kept = if len > view::INLINE_LEN { 4 } else { len };
        let mut i = 0;
        while i < kept {
            places[len][4 + i] = i as u8;
            i += 1;
        }
        len += 1;
    }
    places
};

//! Encoding: distributes the bytes of values to the streams.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[cfg(test)]
mod tests;

use crate::KernelError;
use crate::tier::dispatch;

/// Encodes values of `width` bytes as the values from `first` on of a page of `value_count` values.
///
/// `out` is the page's body: `width` streams of `value_count` bytes one after another, of which only the bytes of the
/// given values are written. Bytes after the streams stay unchanged.
///
/// # Errors
/// [`KernelError::LengthMismatch`] if `values` is no multiple of `width`, if `out` is shorter than its streams, or if
/// there are more values than the page has from `first` on.
pub fn encode(
    values: &[u8],
    value_count: usize,
    width: usize,
    first: usize,
    out: &mut [u8],
) -> Result<(), KernelError> {
    if values.is_empty() {
        return Ok(());
    }
    let count = values.len().checked_div(width).unwrap_or(0);
    if count * width != values.len() {
        return Err(KernelError::LengthMismatch { expected: count * width, actual: values.len() });
    }
    if value_count.saturating_mul(width) > out.len() {
        return Err(KernelError::LengthMismatch { expected: value_count.saturating_mul(width), actual: out.len() });
    }
    if first.checked_add(count).is_none_or(|end| end > value_count) {
        return Err(KernelError::LengthMismatch { expected: value_count.saturating_sub(first), actual: count });
    }
    match width {
        1 => out[first..first + count].copy_from_slice(values),
        2 => deal_2(values, streams(out, value_count, first, count)),
        4 => deal_4(values, streams(out, value_count, first, count)),
        8 => deal_8(values, streams(out, value_count, first, count)),
        _ => deal_any(values, width, out, value_count, first),
    }
    Ok(())
}

/// The part of each of `K` streams with the values `first .. first + count`.
fn streams<const K: usize>(mut out: &mut [u8], value_count: usize, first: usize, count: usize) -> [&mut [u8]; K] {
    std::array::from_fn(|_| {
        let (stream, rest) = std::mem::take(&mut out).split_at_mut(value_count);
        out = rest;
        &mut stream[first..first + count]
    })
}

fn deal_2(values: &[u8], streams: [&mut [u8]; 2]) {
    dispatch!(deal_2(values, streams): avx512 avx2 neon);
}

fn deal_4(values: &[u8], streams: [&mut [u8]; 4]) {
    dispatch!(deal_4(values, streams): avx512 avx2 neon);
}

fn deal_8(values: &[u8], streams: [&mut [u8]; 8]) {
    dispatch!(deal_8(values, streams): avx512 avx2 neon);
}

fn deal_any(values: &[u8], width: usize, out: &mut [u8], stride: usize, first: usize) {
    dispatch!(deal_any(values, width, out, stride, first): avx512 avx2);
}

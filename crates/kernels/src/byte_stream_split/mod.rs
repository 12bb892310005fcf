//! BYTE_STREAM_SPLIT: the k-th byte of every value is in the k-th stream; decoding interleaves the streams again.
//!
//! ```text
//!             stream 0         stream 1         stream 2         stream 3
//! page   a0 a1 a2 a3 …    b0 b1 b2 b3 …    c0 c1 c2 c3 …    d0 d1 d2 d3 …     value_count bytes each
//! values a0 b0 c0 d0   a1 b1 c1 d1   a2 b2 c2 d2   …                          width bytes each
//! ```
//!
//! The bytes of a value come out in the order of the page: little-endian numbers for INT32, INT64, FLOAT and DOUBLE,
//! the bytes as written for FIXED_LEN_BYTE_ARRAY.
//! [Specification](https://parquet.apache.org/docs/file-format/data-pages/encodings/#byte-stream-split-byte_stream_split--9).

#![expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod encode;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

pub use encode::encode;

use crate::KernelError;
use crate::tier::dispatch;

/// Decodes the values from `first` on of a page of `value_count` values of `width` bytes each, as many as fit into
/// `out`.
///
/// `src` is the page's body: `width` streams of `value_count` bytes one after another. Bytes after the streams are
/// ignored.
///
/// # Errors
/// [`KernelError::InputTooShort`] if `src` is shorter than its streams or `out` has room for values after the last one;
/// [`KernelError::LengthMismatch`] if `out` is no multiple of `width`.
pub fn decode(src: &[u8], value_count: usize, width: usize, first: usize, out: &mut [u8]) -> Result<(), KernelError> {
    if out.is_empty() {
        return Ok(());
    }
    let count = out.len().checked_div(width).unwrap_or(0);
    if count * width != out.len() {
        return Err(KernelError::LengthMismatch { expected: count * width, actual: out.len() });
    }
    let stream_bytes = value_count.saturating_mul(width);
    if stream_bytes > src.len() {
        return Err(KernelError::InputTooShort { needed: stream_bytes, available: src.len() });
    }
    if first.checked_add(count).is_none_or(|end| end > value_count) {
        let needed = first.saturating_add(count).saturating_mul(width);
        return Err(KernelError::InputTooShort { needed, available: stream_bytes });
    }
    match width {
        1 => out.copy_from_slice(&src[first..first + count]),
        2 => interleave_2(streams(src, value_count, first, count), out),
        4 => interleave_4(streams(src, value_count, first, count), out),
        8 => interleave_8(streams(src, value_count, first, count), out),
        _ => interleave_any(src, value_count, width, first, out),
    }
    Ok(())
}

/// The part of each of `K` streams with the values `first .. first + count`.
fn streams<const K: usize>(src: &[u8], value_count: usize, first: usize, count: usize) -> [&[u8]; K] {
    std::array::from_fn(|k| &src[k * value_count + first..][..count])
}

fn interleave_2(streams: [&[u8]; 2], out: &mut [u8]) {
    dispatch!(interleave_2(streams, out): avx512 avx2 neon);
}

fn interleave_4(streams: [&[u8]; 4], out: &mut [u8]) {
    dispatch!(interleave_4(streams, out): avx512 avx2 neon);
}

fn interleave_8(streams: [&[u8]; 8], out: &mut [u8]) {
    dispatch!(interleave_8(streams, out): avx512 avx2 neon);
}

fn interleave_any(src: &[u8], stride: usize, width: usize, first: usize, out: &mut [u8]) {
    dispatch!(interleave_any(src, stride, width, first, out): avx512 avx2);
}

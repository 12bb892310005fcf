//! Converts views to arrays: validates them, and copies them for offsets and decimals.

#![expect(unsafe_code, reason = "view arrays of validated parts skip Arrow's own, value-by-value validation")]

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::ByteViewType;
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, GenericBinaryArray, GenericByteViewArray, GenericStringArray, OffsetSizeTrait,
    StringViewArray, make_array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::aligned::AlignedBytes;
use super::big_endian::int_from_big_endian;
use crate::error::{Error, Result};

pub(super) fn not_utf8() -> Error {
    Error::corrupt("a STRING value that is not UTF-8")
}

/// Checks values one by one.
pub(super) fn check_utf8_values<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Result<()> {
    if values.all(|value| simdutf8::basic::from_utf8(value).is_ok()) { Ok(()) } else { Err(not_utf8()) }
}

/// Checks values that lie one after another in `bytes[range]`: first all bytes, then that no value begins inside a character.
pub(super) fn check_utf8_whole(bytes: &[u8], range: Range<usize>, lengths: &[i32]) -> Result<()> {
    let all = &bytes[range];
    if all.is_ascii() {
        return Ok(());
    }
    let text = simdutf8::basic::from_utf8(all).map_err(|_| not_utf8())?;
    let mut position = 0;
    for &len in lengths {
        if !text.is_char_boundary(position) {
            return Err(not_utf8());
        }
        position += len as usize;
    }
    Ok(())
}

/// An array of views built by the kernels.
pub(super) fn view_array(
    data_type: &DataType,
    views: Buffer,
    buffers: Vec<Buffer>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let views = ScalarBuffer::from(views);
    if *data_type == DataType::Utf8View {
        // SAFETY: the kernels make views that lie within the buffer they name, with its prefix; null slots hold empty
        // views; every value was checked to be UTF-8 before its view was appended.
        Arc::new(unsafe { StringViewArray::new_unchecked(views, buffers, nulls) })
    } else {
        // SAFETY: the kernels make views that lie within the buffer they name, with its prefix; null slots hold empty
        // views.
        Arc::new(unsafe { BinaryViewArray::new_unchecked(views, buffers, nulls) })
    }
}

/// The view of `len` bytes from `start` on in a buffer, which must have them.
pub(super) fn view(bytes: &[u8], start: usize, len: u32, buffer_index: u32) -> u128 {
    let rest = &bytes[start..];
    let head = match rest.first_chunk::<16>() {
        Some(head) => u128::from_le_bytes(*head),
        None => {
            let mut head = [0; 16];
            head[..rest.len()].copy_from_slice(rest);
            u128::from_le_bytes(head)
        }
    };
    if len <= 12 {
        (head & ((1 << (8 * len)) - 1)) << 32 | u128::from(len)
    } else {
        u128::from(head as u32) << 32 | u128::from(len) | u128::from(buffer_index) << 64 | (start as u128) << 96
    }
}

/// Bytes copied at once.
const STEP: usize = 64;

/// Copies the bytes of values to a separate buffer, so that the pages are no longer referenced; `None` if that takes more than
/// `max_bytes` bytes, or more than one buffer may have.
pub(crate) fn detach_views<T: ByteViewType>(array: &GenericByteViewArray<T>, max_bytes: usize) -> Option<ArrayRef> {
    let outside = |view: &u128| u64::from(*view as u32) * u64::from(*view as u32 > 12);
    let total = array.views().iter().map(outside).sum::<u64>();
    if total > max_bytes.min(i32::MAX as usize) as u64 {
        return None;
    }
    let total = total as usize;
    let mut bytes = vec![0; total + STEP];
    let mut end = 0;
    let detach = |view: &u128| {
        let len = *view as u32 as usize;
        if len <= 12 {
            return *view;
        }
        let (buffer, start) = ((view >> 64) as u32 as usize, (view >> 96) as usize);
        let (src, out) = (&array.data_buffers()[buffer][start..], &mut bytes[end..]);
        // Most values are no longer than a step, and not the last of their page: a copy without a branch on their length.
        match (src.first_chunk::<STEP>(), out.first_chunk_mut::<STEP>()) {
            (Some(src), Some(out)) if len <= STEP => *out = *src,
            _ => out[..len].copy_from_slice(&src[..len]),
        }
        let start = end as u128;
        end += len;
        // Length and prefix stay; buffer 0, and the position in it.
        view & u128::from(u64::MAX) | start << 96
    };
    let views: Vec<u128> = array.views().iter().map(detach).collect();
    let buffers = if total == 0 { Vec::new() } else { vec![Buffer::from_vec(bytes).slice_with_length(0, total)] };
    Some(view_array(&T::DATA_TYPE, Buffer::from_vec(views), buffers, array.nulls().cloned()))
}

/// The bytes of a view, inline or in its buffer.
fn viewed<'a>(view: &'a [u8; 16], buffers: &'a [Buffer]) -> &'a [u8] {
    let word = |i: usize| u32::from_le_bytes([view[i], view[i + 1], view[i + 2], view[i + 3]]) as usize;
    let len = word(0);
    if len <= 12 { &view[4..4 + len] } else { &buffers[word(8)][word(12)..word(12) + len] }
}

/// Space after the last value for copies in whole steps.
const SLACK: usize = 16;

/// Copies the bytes of a view to the start of `out`, in steps of a fixed size that may exceed its end by less than [`SLACK`]
/// bytes: most strings are one or two such steps, which take a third of the time of the system's copy function.
fn copy_viewed(view: &[u8; 16], buffers: &[Buffer], out: &mut [u8]) {
    let word = |i: usize| u32::from_le_bytes([view[i], view[i + 1], view[i + 2], view[i + 3]]) as usize;
    let len = word(0);
    if len <= 12 {
        out[..12].copy_from_slice(&view[4..]);
        return;
    }
    let src = &buffers[word(8)][word(12)..];
    let steps = len.div_ceil(SLACK);
    if len > 8 * SLACK || src.len() < steps * SLACK {
        out[..len].copy_from_slice(&src[..len]);
        return;
    }
    let (src, _) = src[..steps * SLACK].as_chunks::<SLACK>();
    let (out, _) = out[..steps * SLACK].as_chunks_mut::<SLACK>();
    for (out, src) in out.iter_mut().zip(src) {
        *out = *src;
    }
}

/// Copies the bytes of the views into one buffer with offsets.
pub(super) fn offset_array<O: OffsetSizeTrait>(
    data_type: &DataType,
    views: &[u8],
    buffers: &[Buffer],
    nulls: Option<NullBuffer>,
    out: &mut AlignedBytes,
) -> Result<ArrayRef> {
    let (views, _) = views.as_chunks::<16>();
    let len = |view: &[u8; 16]| u32::from_le_bytes([view[0], view[1], view[2], view[3]]) as usize;
    let total: usize = views.iter().map(len).sum();
    if O::from_usize(total).is_none() {
        return Err(Error::limit(
            "string bytes of a batch (read as views, or with a smaller batch size)",
            i32::MAX as u64,
            total as u64,
        ));
    }
    out.clear();
    let bytes = out.grow(total + SLACK);
    let mut offsets = Vec::with_capacity(views.len() + 1);
    offsets.push(O::usize_as(0));
    let mut end = 0;
    for view in views {
        copy_viewed(view, buffers, &mut bytes[end..]);
        end += len(view);
        offsets.push(O::usize_as(end));
    }
    // SAFETY: the offsets begin at 0 and each is the one before plus a length.
    let offsets = unsafe { OffsetBuffer::new_unchecked(ScalarBuffer::from(offsets)) };
    let bytes = out.finish().slice_with_length(0, total);
    Ok(if matches!(data_type, DataType::Utf8 | DataType::LargeUtf8) {
        // SAFETY: the offsets are in order and within the bytes; every value was checked to be UTF-8 when it was decoded.
        Arc::new(unsafe { GenericStringArray::<O>::new_unchecked(offsets, bytes, nulls) })
    } else {
        // SAFETY: the offsets are in order and within the bytes.
        Arc::new(unsafe { GenericBinaryArray::<O>::new_unchecked(offsets, bytes, nulls) })
    })
}

/// Reads the bytes of the views as big-endian two's complement integers.
pub(super) fn decimal_array(
    data_type: &DataType,
    width: usize,
    views: Buffer,
    buffers: &[Buffer],
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let (views, _) = views.as_chunks::<16>();
    let mut bytes = Vec::with_capacity(views.len() * width);
    for view in views {
        let value = viewed(view, buffers);
        if value.len() > width {
            return Err(Error::corrupt(format!("a DECIMAL of {} bytes in a column of {data_type}", value.len())));
        }
        bytes.extend_from_slice(&int_from_big_endian::<32>(value)[..width]);
    }
    let mut aligned = AlignedBytes::default();
    aligned.grow(bytes.len()).copy_from_slice(&bytes);
    let data = ArrayData::builder(data_type.clone()).len(views.len()).add_buffer(aligned.finish()).nulls(nulls).build();
    Ok(make_array(data.map_err(|error| Error::from_arrow(&error))?))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use lath_testkit::Seeded;

    use super::*;

    #[test]
    fn detached_views_show_the_same_values_without_the_pages() {
        let mut random = Seeded::new("detached views show the same values without the pages");
        let letters = "The quick brown fox jumps over the lazy dog. ".repeat(20);
        let page: StringViewArray = (0..2000)
            .map(|_| {
                let len = match random.u8(..4) {
                    0 => return None,
                    1 => random.usize(..16),
                    2 => random.usize(..100),
                    _ => random.usize(..letters.len()),
                };
                Some(&letters[letters.len() - len..])
            })
            .collect();
        for (offset, len) in [(0, 0), (0, 1), (0, 2000), (1990, 10), (77, 500)] {
            let array = page.slice(offset, len);
            let used = array.total_buffer_bytes_used();
            let detached = detach_views(&array, used).unwrap();
            assert_eq!(detached.as_string_view(), &array);
            let held: usize = detached.as_string_view().data_buffers().iter().map(Buffer::len).sum();
            assert_eq!(held, used);
            if used > 0 {
                assert!(detach_views(&page.slice(offset, len), used - 1).is_none());
            }
        }
    }
}

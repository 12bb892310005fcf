//! Portable code, 64 slots at a time: whole blocks of one kind are moved or cleared at once, mixed blocks go slot by
//! slot without a branch. The public functions have checked every length.

use super::bitmap::{BitAppender, gather_bits, load_word, low_mask, scatter_bits};

/// An element that becomes zero for a null.
pub(super) trait Element: Copy {
    const ZERO: Self;

    /// `self` if `valid` is one, zero if it is zero, without a branch.
    fn kept_if(self, valid: u64) -> Self;
}

macro_rules! elements {
    ($($element:ty)*) => { $(
        impl Element for $element {
            const ZERO: Self = 0;

            #[inline(always)]
            fn kept_if(self, valid: u64) -> Self {
                self & (0 as Self).wrapping_sub(valid as Self)
            }
        }
    )* };
}
elements!(u8 u16 u32 u64 u128);

macro_rules! element_functions {
    ($($element:ty, $expand:ident, $compress:ident;)*) => { $(
        pub(super) fn $expand(values: &mut [$element], value_count: usize, validity: &[u8], bit_offset: usize) {
            expand(values, value_count, validity, bit_offset);
        }

        pub(super) fn $compress(
            values: &[$element],
            selection: &[u8],
            bit_offset: usize,
            out: &mut [$element],
        ) -> usize {
            compress(values, selection, bit_offset, out)
        }
    )* };
}
element_functions! {
    u8, expand_u8, compress_u8;
    u16, expand_u16, compress_u16;
    u32, expand_u32, compress_u32;
    u64, expand_u64, compress_u64;
    u128, expand_u128, compress_u128;
}

/// Spreads the last `value_count` elements over the valid slots. Reads never fall behind writes: at least as many slots
/// as values remain, so the unread values are at or beyond the end of the block that is written.
fn expand<T: Element>(values: &mut [T], value_count: usize, validity: &[u8], bit_offset: usize) {
    let len = values.len();
    let mut read = len - value_count;
    let mut slot = 0;
    // Once the two meet, every remaining slot is valid and in place.
    while slot < len && read > slot {
        let count = (len - slot).min(64);
        let word = load_word(validity, bit_offset + slot, count);
        if word == 0 {
            values[slot..slot + count].fill(T::ZERO);
        } else if word == low_mask(count) {
            values.copy_within(read..read + count, slot);
            read += count;
        } else {
            for index in 0..count {
                let valid = (word >> index) & 1;
                // After the last value there is nothing to read; the remaining slots are null.
                let value = values[read.min(len - 1)];
                values[slot + index] = value.kept_if(valid);
                read += valid as usize;
            }
        }
        slot += count;
    }
}

/// Like [`expand_in_place`], for values of `width` bytes, run by run.
pub(super) fn expand_bytes(width: usize, values: &mut [u8], value_count: usize, validity: &[u8], bit_offset: usize) {
    let len = values.len() / width;
    let mut read = len - value_count;
    let mut slot = 0;
    while slot < len && read > slot {
        let block = (len - slot).min(64);
        let mut word = load_word(validity, bit_offset + slot, block);
        let end = slot + block;
        while slot < end {
            let nulls = (word.trailing_zeros() as usize).min(end - slot);
            values[slot * width..(slot + nulls) * width].fill(0);
            slot += nulls;
            if slot == end {
                break;
            }
            word >>= nulls;
            let valid = (word.trailing_ones() as usize).min(end - slot);
            values.copy_within(read * width..(read + valid) * width, slot * width);
            read += valid;
            slot += valid;
            word = if valid == 64 { 0 } else { word >> valid };
        }
    }
}

pub(super) fn expand_bits(
    src: &[u8],
    src_offset: usize,
    validity: &[u8],
    validity_offset: usize,
    len: usize,
    out: &mut [u8],
    out_offset: usize,
) {
    expand_bits_by(src, src_offset, validity, validity_offset, len, out, out_offset, scatter_bits);
}

/// `scatter(bits, mask)` moves the low bits to the positions of the mask.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "three bitmaps, each with its offset")]
pub(super) fn expand_bits_by(
    src: &[u8],
    src_offset: usize,
    validity: &[u8],
    validity_offset: usize,
    len: usize,
    out: &mut [u8],
    out_offset: usize,
    scatter: impl Fn(u64, u64) -> u64,
) {
    let mut read = src_offset;
    let mut appender = BitAppender::new(out, out_offset);
    for slot in (0..len).step_by(64) {
        let count = (len - slot).min(64);
        let valid = load_word(validity, validity_offset + slot, count);
        let value_count = valid.count_ones() as usize;
        appender.push(scatter(load_word(src, read, value_count), valid), count);
        read += value_count;
    }
    appender.finish();
}

/// Moves the selected values to the front of `out`, which has room for them.
fn compress<T: Element>(values: &[T], selection: &[u8], bit_offset: usize, out: &mut [T]) -> usize {
    let mut written = 0;
    let mut slot = 0;
    while slot < values.len() {
        let count = (values.len() - slot).min(64);
        let mut word = load_word(selection, bit_offset + slot, count);
        let block = &values[slot..slot + count];
        if word == low_mask(count) {
            out[written..written + count].copy_from_slice(block);
            written += count;
        } else {
            while word != 0 {
                out[written] = block[word.trailing_zeros() as usize];
                written += 1;
                word &= word - 1;
            }
        }
        slot += count;
    }
    written
}

pub(super) fn compress_bits(
    src: &[u8],
    src_offset: usize,
    selection: &[u8],
    selection_offset: usize,
    len: usize,
    out: &mut [u8],
    out_offset: usize,
) -> usize {
    compress_bits_by(src, src_offset, selection, selection_offset, len, out, out_offset, gather_bits)
}

/// `gather(bits, mask)` moves the bits at the positions of the mask to the low end.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "three bitmaps, each with its offset")]
pub(super) fn compress_bits_by(
    src: &[u8],
    src_offset: usize,
    selection: &[u8],
    selection_offset: usize,
    len: usize,
    out: &mut [u8],
    out_offset: usize,
    gather: impl Fn(u64, u64) -> u64,
) -> usize {
    let mut written = 0;
    let mut appender = BitAppender::new(out, out_offset);
    for slot in (0..len).step_by(64) {
        let count = (len - slot).min(64);
        let selected = load_word(selection, selection_offset + slot, count);
        let selected_count = selected.count_ones() as usize;
        appender.push(gather(load_word(src, src_offset + slot, count), selected), selected_count);
        written += selected_count;
    }
    appender.finish();
    written
}

pub(super) fn count_ones(bitmap: &[u8], bit_offset: usize, len: usize) -> usize {
    count_ones_inline(bitmap, bit_offset, len)
}

#[inline(always)]
pub(super) fn count_ones_inline(bitmap: &[u8], bit_offset: usize, len: usize) -> usize {
    // Bytes up to the first boundary, whole words, the rest.
    let head = ((8 - bit_offset % 8) % 8).min(len);
    let mut total = load_word(bitmap, bit_offset, head).count_ones() as usize;
    let words = (len - head) / 64;
    let first = (bit_offset + head) / 8;
    let (chunks, _) = bitmap[first..first + words * 8].as_chunks::<8>();
    total += chunks.iter().map(|chunk| u64::from_le_bytes(*chunk).count_ones() as usize).sum::<usize>();
    let done = head + words * 64;
    total + load_word(bitmap, bit_offset + done, len - done).count_ones() as usize
}

pub(super) fn copy_bits(src: &[u8], src_offset: usize, dst: &mut [u8], dst_offset: usize, len: usize) {
    let mut appender = BitAppender::new(dst, dst_offset);
    for done in (0..len).step_by(64) {
        let count = (len - done).min(64);
        appender.push(load_word(src, src_offset + done, count), count);
    }
    appender.finish();
}

pub(super) fn fill_bits(dst: &mut [u8], offset: usize, len: usize, value: bool) {
    let ones = if value { u64::MAX } else { 0 };
    let head = ((8 - offset % 8) % 8).min(len);
    let mut appender = BitAppender::new(dst, offset);
    appender.push(ones & low_mask(head), head);
    appender.finish();
    let first = (offset + head) / 8;
    let bytes = (len - head) / 8;
    dst[first..first + bytes].fill(ones as u8);
    let done = head + bytes * 8;
    let mut appender = BitAppender::new(dst, offset + done);
    appender.push(ones & low_mask(len - done), len - done);
    appender.finish();
}

#![expect(
    unsafe_code,
    reason = "copies whole words past the end of an element, within margins checked once per element"
)]
//! Elements copied in words of 8 and 16 bytes, whatever their length, while both slices have margins left.
//!
//! What bounds the speed is the chain from one tag to the next, since a tag says where the next one is. Loading each tag
//! from memory costs a load and some arithmetic per element; here the eight bytes that start with a copy's tag are loaded
//! for its offset anyway, and the next tag is shifted out of them, so that the load is not on the chain.
//!
//! TPC-H lineitem's pages (124 MB), ratio to the `snap` crate: 1.30; l_comment alone, in copies of 6.5 bytes, 1.25;
//! decimals and keys 1.45. Tried and rejected, as ratios to the same: a table of lengths and steps with the next tag loaded
//! from memory 0.89, the step computed instead 1.10; 32 bytes per element 0.81, since wider stores meet more of the
//! loads that follow; literals and copies without a branch between them 0.98 to 1.09; a branch per kind of copy 0.90.

use std::ptr;

use super::{BAD_OFFSET, Position, SLACK_LEN, scalar};
use crate::KernelError;

/// Bytes that are read from an element's tag on: the tag, a literal of 64 and the next tag.
const READ_MARGIN: usize = 66;

/// Bytes that are written from an element's output on: 64, or 63 and a word in the pattern of a short offset.
const WRITE_MARGIN: usize = SLACK_LEN;

/// By tag of a copy: the length in the low byte, above it the offset's bits 8 to 10.
const COPIES: [u16; 256] = {
    let mut copies = [0; 256];
    let mut tag = 0;
    while tag < 256 {
        copies[tag] = match tag as u16 & 3 {
            1 => (((tag as u16 >> 2) & 7) + 4) | ((tag as u16 >> 5) << 8),
            _ => (tag as u16 >> 2) + 1,
        };
        tag += 1;
    }
    copies
};

/// By kind of copy: which of the bytes behind the tag are the offset's.
const OFFSET_MASKS: [u64; 4] = [0, 0xff, 0xffff, 0];

/// By offset below 8: a factor that repeats the offset's lowest bytes all over a word.
const REPEAT: [u64; 8] = [
    0,
    0x0101_0101_0101_0101,
    0x0001_0001_0001_0001,
    0x0001_0000_0100_0001,
    0x0000_0001_0000_0001,
    0x0000_0100_0000_0001,
    0x0001_0000_0000_0001,
    0x0100_0000_0000_0001,
];

/// By offset below 8: its largest multiple that is at most 8, after which the same word comes again.
const STRIDES: [u8; 8] = [8, 8, 8, 6, 8, 5, 6, 7];

/// Decompresses elements from `at` on, for as long as there are margins; returns where it stopped. The last element may
/// reach past `len`.
pub(super) fn decompress(src: &[u8], dst: &mut [u8], len: usize, at: Position) -> Result<Position, KernelError> {
    let Position { mut read, mut written } = at;
    let Some(read_end) = src.len().checked_sub(READ_MARGIN) else { return Ok(at) };
    let Some(write_end) = dst.len().checked_sub(WRITE_MARGIN) else { return Ok(at) };
    // Past the stated length there is nothing to be written, with care or without.
    let write_end = write_end.min(len);

    while read < read_end && written <= write_end {
        let mut tag = usize::from(src[read]);
        while read < read_end && written <= write_end {
            let kind = tag & 3;
            if kind == 0 {
                let literal_len = (tag >> 2) + 1;
                if literal_len > 60 {
                    break;
                }
                let source = src.as_ptr().wrapping_add(read + 1);
                // SAFETY: `read` is below `src.len() - READ_MARGIN` and `written` at most `dst.len() - WRITE_MARGIN`, so
                // that 64 bytes from `read + 1` and from `written` on are within the slices, which do not overlap.
                unsafe { copy_up_to_64(source, dst.as_mut_ptr().wrapping_add(written), literal_len) };
                read += 1 + literal_len;
                written += literal_len;
                // SAFETY: `read` was below `src.len() - READ_MARGIN` and has grown by at most 61.
                tag = usize::from(unsafe { *src.get_unchecked(read) });
                continue;
            }
            if kind == 3 {
                break;
            }
            // SAFETY: `read` is below `src.len() - READ_MARGIN`, so that 8 bytes from there on are within `src`.
            let word = u64::from_le(unsafe { ptr::read_unaligned(src.as_ptr().wrapping_add(read).cast::<u64>()) });
            let copy = usize::from(COPIES[tag]);
            let copy_len = copy & 0xff;
            let offset = (copy & 0x700) + ((word >> 8) & OFFSET_MASKS[kind]) as usize;
            tag = (word >> (8 * (kind + 1))) as usize & 0xff;
            read += kind + 1;
            if offset.wrapping_sub(1) >= written {
                return Err(BAD_OFFSET);
            }
            let target = dst.as_mut_ptr().wrapping_add(written);
            // SAFETY: `offset` is from 1 to `written`, and `written` at most `dst.len() - WRITE_MARGIN`, so that `offset`
            // bytes before `target` and `WRITE_MARGIN` from there on are within `dst`.
            unsafe { copy_back(target, offset, copy_len) };
            written += copy_len;
        }
        if read < read_end && written <= write_end {
            // A literal with a length of its own, or an offset of four bytes: too rare for the loop.
            Position { read, written } = scalar::element(src, dst, Position { read, written })?;
        }
    }
    Ok(Position { read, written })
}

/// Copies `len` bytes, at most 64, and some more up to that.
///
/// # Safety
///
/// 64 bytes must be readable from `source` and writable at `target`. The two may overlap if `target` is at least 16
/// bytes behind `source`: bytes are then copied as if one after the other.
#[inline(always)]
unsafe fn copy_up_to_64(source: *const u8, target: *mut u8, len: usize) {
    // SAFETY: 16 of the 64 bytes that the caller vouches for.
    unsafe { copy_16(source, target) };
    if len > 16 {
        for at in [16, 32, 48] {
            // SAFETY: `at` and the 16 bytes from there on are within the 64 that the caller vouches for.
            unsafe { copy_16(source.wrapping_add(at), target.wrapping_add(at)) };
        }
    }
}

/// # Safety
///
/// 16 bytes must be readable from `source` and writable at `target`.
#[inline(always)]
unsafe fn copy_16(source: *const u8, target: *mut u8) {
    // SAFETY: the caller vouches for the 16 bytes; an array of words has no invalid values.
    let words = unsafe { ptr::read_unaligned(source.cast::<[u64; 2]>()) };
    // SAFETY: as above.
    unsafe { ptr::write_unaligned(target.cast::<[u64; 2]>(), words) };
}

/// Copies `len` bytes, at most 64, from `offset` bytes before `target`, as if one after the other.
///
/// # Safety
///
/// `offset` must be at least 1, that many bytes before `target` readable, and [`WRITE_MARGIN`] bytes from `target` on
/// readable and writable.
#[inline(always)]
unsafe fn copy_back(target: *mut u8, offset: usize, len: usize) {
    let source = target.wrapping_sub(offset).cast_const();
    if offset >= 16 {
        // SAFETY: the bytes from `source` on are those before `target` and some behind it, all vouched for by the caller;
        // the distance is at least 16.
        unsafe { copy_up_to_64(source, target, len) };
        return;
    }
    if offset >= 8 {
        let mut at = 0;
        while at < len {
            // SAFETY: `at` is at most 56, and `source` is before `target`.
            let word = unsafe { ptr::read_unaligned(source.wrapping_add(at).cast::<u64>()) };
            // SAFETY: `at` is at most 56, so that the word ends within 64 bytes of `target`.
            unsafe { ptr::write_unaligned(target.wrapping_add(at).cast::<u64>(), word) };
            at += 8;
        }
        return;
    }
    // SAFETY: `source` is before `target`, from which on more than 8 bytes are readable.
    let word = u64::from_le(unsafe { ptr::read_unaligned(source.cast::<u64>()) });
    let pattern = (word & (u64::MAX >> (64 - 8 * offset))).wrapping_mul(REPEAT[offset]).to_le();
    let stride = usize::from(STRIDES[offset]);
    let mut at = 0;
    // Not `step_by`, which divides to know its number of steps.
    while at < len {
        // SAFETY: `at` is at most 63, so that the word ends within 71 bytes of `target`.
        unsafe { ptr::write_unaligned(target.wrapping_add(at).cast::<u64>(), pattern) };
        at += stride;
    }
}

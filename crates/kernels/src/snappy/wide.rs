#![expect(
    unsafe_code,
    reason = "copies whole words past the end of an element, within margins checked once for many elements"
)]
//! Elements are copied in words of 8 and 16 bytes, whatever their length, while both slices have margins left.
//!
//! A step of the loop is a literal, if there is one, and the copy that nearly always follows it. The remaining lengths
//! of both slices give a number of steps that cannot leave them, after which they are checked again.
//!
//! The speed is bound by the chain from one tag to the next, because a tag determines the position of the next one, and
//! by the number of instructions. The eight bytes after a copy's tag are loaded for its offset anyway, and the next tag
//! is shifted out of them, so no load is on the chain. A table decodes a copy's tag, in a form that sends long copies,
//! short offsets and invalid ones off the loop's path by one comparison.
//!
//! A load that overlaps a recent store waits until the store has reached the cache, unless the store covers the load.
//! Copies of up to 16 bytes therefore move eight bytes twice, and copies of up to eight move the same ones twice: the
//! second move then waits for no other store than the first, without a branch on the length, which is hard to predict
//! in text.

use std::ptr;

use super::{BAD_OFFSET, Position, SLACK_LEN, scalar};
use crate::KernelError;

/// The maximum number of bytes that a step consumes: a literal of 60 and a copy of 64 with an offset of two bytes.
const STEP_READ: usize = 61 + 3;
const STEP_WRITTEN: usize = 60 + 64;

/// The number of bytes that are read from a step's start: a literal of 60 and a copy with an offset of four bytes,
/// which the loop only then finds unsupported, the tag after them and a word.
pub(super) const READ_MARGIN: usize = 61 + 4 + 1 + 8;

/// The number of bytes that are written from a step's start in the output: a literal of 60, then 63 and a word in the
/// pattern of a short offset.
pub(super) const WRITE_MARGIN: usize = SLACK_LEN;

/// The minimum offset for copies in words.
const NEAREST: usize = 8;

/// The first tag of literals with a separate length.
pub(super) const LONG_LITERAL: usize = 60 << 2;

/// A copy, decoded from its tag.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    /// The offset's bits from 8 on, and [`ASIDE`].
    pub(super) high: u32,
    /// A mask of the two bytes after the tag that belong to the offset.
    pub(super) mask: u16,
    pub(super) len: u8,
    /// The position of the second word: after the first if the copy is longer, otherwise the same.
    second: u8,
}

/// Turns the offset of a copy of more than 16 bytes into one that no output reaches back to.
const ASIDE: u32 = 1 << 31;

/// By tag. A copy with an offset of four bytes looks like one with an offset of 0.
pub(super) const TAGS: [Tag; 256] = {
    let mut tags = [Tag { high: 0, mask: 0, len: 0, second: 0 }; 256];
    let mut tag = 0;
    while tag < 256 {
        let bits = tag as u8;
        let (high, mask, len) = match bits & 3 {
            1 => ((bits as u32 >> 5) << 8, 0xff, ((bits >> 2) & 7) + 4),
            2 => (0, 0xffff, (bits >> 2) + 1),
            _ => (0, 0, 0),
        };
        let aside = if len > 16 { ASIDE } else { 0 };
        tags[tag] = Tag { high: high | aside, mask, len, second: if len > 8 { 8 } else { 0 } };
        tag += 1;
    }
    tags
};

/// By offset below 8: a factor that repeats the offset's lowest bytes throughout a word.
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

/// By offset below 8: its largest multiple that is at most 8, after which the same word repeats.
const STRIDES: [u8; 8] = [8, 8, 8, 6, 8, 5, 6, 7];

/// Decompresses elements from `at` on, as long as there are margins, and returns the position at which it stopped. The
/// last element may reach past `len`.
pub(super) fn decompress(src: &[u8], dst: &mut [u8], len: usize, mut at: Position) -> Result<Position, KernelError> {
    // Nothing may be written past the stated length, and `ASIDE` must stay out of reach.
    let end = dst.len().min(len.saturating_add(WRITE_MARGIN)).min(ASIDE as usize);
    let dst = &mut dst[..end];
    while let Some(count) = steps_within(src.len(), dst.len(), at) {
        if at.written >= NEAREST {
            let all;
            (at, all) = steps(src, dst, at, count)?;
            if all {
                continue;
            }
        }
        // The first bytes, a literal with a separate length, or an offset of four bytes: too rare for the loop.
        at = scalar::element(src, dst, at)?;
    }
    Ok(at)
}

/// The number of steps from `at` on that cannot leave slices of these lengths: at least one, or `None` if no step is
/// safe.
fn steps_within(src_len: usize, dst_len: usize, at: Position) -> Option<usize> {
    let read = src_len.checked_sub(at.read + READ_MARGIN)? / STEP_READ;
    let written = dst_len.checked_sub(at.written + WRITE_MARGIN)? / STEP_WRITTEN;
    Some(read.min(written) + 1)
}

/// Takes `count` steps from `at` on, or fewer up to an element that this loop does not support. Returns the position at
/// which it stopped, and whether all steps were taken.
///
/// `count` is at most what [`steps_within`] says, and [`NEAREST`] bytes have been written.
#[inline(always)]
fn steps(src: &[u8], dst: &mut [u8], at: Position, count: usize) -> Result<(Position, bool), KernelError> {
    // A step starts at most `STEP_READ` bytes after the start of the one before, in the output `STEP_WRITTEN`, so that
    // even from the last one's start on `READ_MARGIN` and `WRITE_MARGIN` bytes are within the slices.
    let mut next = src.as_ptr().wrapping_add(at.read);
    let near = dst.as_mut_ptr().wrapping_add(NEAREST);
    // Written, less `NEAREST`: the output's end is as far after `near`.
    let mut room = at.written - NEAREST;
    let mut all = true;

    // SAFETY: the first step starts at `next`.
    let mut tag = unsafe { load_tag(next) };
    // SAFETY: as above.
    let mut rest = unsafe { load_rest(next) };
    // Counting down takes one instruction less.
    for _ in (0..count).rev() {
        if tag & 3 == 0 {
            if tag >= LONG_LITERAL {
                all = false;
                break;
            }
            // SAFETY: the step starts here, and has margins of more than 65 and 64 bytes; the slices do not overlap.
            unsafe { copy_literal(next.wrapping_add(1), near.wrapping_add(room), tag) };
            let less_one = tag >> 2;
            next = next.wrapping_add(less_one + 2);
            room += less_one + 1;
            // SAFETY: at most 61 bytes of the step's `READ_MARGIN` are consumed.
            tag = unsafe { load_tag(next) };
            // SAFETY: as above.
            rest = unsafe { load_rest(next) };
            if tag & 3 == 0 {
                continue;
            }
        }
        let kind = tag & 3;
        let Tag { high, mask, .. } = TAGS[tag];
        let len = usize::from(TAGS[tag].len);
        let second = usize::from(TAGS[tag].second);
        let offset = ((rest as u32 & u32::from(mask)) + high) as usize;
        let target = near.wrapping_add(room);
        let copy = next;
        tag = (rest >> (8 * kind)) as usize & 0xff;
        next = next.wrapping_add(kind + 1);
        // SAFETY: at most 61 and 4 bytes of the step's `READ_MARGIN` are consumed, which leaves the 9.
        rest = unsafe { load_rest(next) };
        if offset.wrapping_sub(NEAREST) > room {
            if kind == 3 {
                next = copy;
                all = false;
                break;
            }
            let offset = offset & !(ASIDE as usize);
            if offset.wrapping_sub(1) >= room + NEAREST {
                return Err(BAD_OFFSET);
            }
            // SAFETY: `offset` is from 1 to what has been written, and of the step's `WRITE_MARGIN` of 131 bytes at most 60
            // are taken.
            unsafe { copy_irregular(target, offset, len) };
        } else {
            let source = target.wrapping_sub(offset).cast_const();
            // SAFETY: `offset` is from 8 to what has been written, and at most 60 bytes of the step's `WRITE_MARGIN` are
            // taken.
            unsafe { copy_8(source, target) };
            // SAFETY: as above, `second` being 0 or 8.
            unsafe { copy_8(source.wrapping_add(second), target.wrapping_add(second)) };
        }
        room += len;
    }
    let read = next.addr() - src.as_ptr().addr();
    Ok((Position { read, written: room + NEAREST }, all))
}

/// # Safety
///
/// The byte at `next` must be readable.
#[inline(always)]
unsafe fn load_tag(next: *const u8) -> usize {
    // SAFETY: the caller vouches for the byte.
    usize::from(unsafe { ptr::read(next) })
}

/// The eight bytes after a tag.
///
/// # Safety
///
/// The 8 bytes from one after `next` on must be readable.
#[inline(always)]
unsafe fn load_rest(next: *const u8) -> u64 {
    // SAFETY: the caller vouches for the bytes.
    u64::from_le(unsafe { ptr::read_unaligned(next.wrapping_add(1).cast::<u64>()) })
}

/// Copies the literal of a tag below [`LONG_LITERAL`], and some more.
///
/// # Safety
///
/// 64 bytes must be readable from `source` and writable at `target`, and these must not overlap.
#[inline(always)]
unsafe fn copy_literal(source: *const u8, target: *mut u8, tag: usize) {
    if tag >> 2 < 16 {
        // SAFETY: 16 of the 64 bytes that the caller guarantees.
        unsafe { copy_16(source, target) };
    } else {
        // SAFETY: the caller vouches for 64 bytes that do not overlap.
        unsafe { copy_64(source, target) };
    }
}

/// # Safety
///
/// 64 bytes must be readable from `source` and writable at `target`. The two may overlap if `target` is at least 16
/// bytes after `source`: bytes are then copied as if one after the other.
#[inline(always)]
unsafe fn copy_64(source: *const u8, target: *mut u8) {
    for at in [0, 16, 32, 48] {
        // SAFETY: `at` and the 16 bytes from there on are within the 64 that the caller guarantees, and the distance is
        // at least 16.
        unsafe { copy_16(source.wrapping_add(at), target.wrapping_add(at)) };
    }
}

/// # Safety
///
/// 16 bytes must be readable from `source` and writable at `target`, and these must not overlap.
#[inline(always)]
pub(super) unsafe fn copy_16(source: *const u8, target: *mut u8) {
    // SAFETY: the caller vouches for the bytes.
    unsafe { ptr::copy_nonoverlapping(source, target, 16) };
}

/// # Safety
///
/// 8 bytes must be readable from `source` and writable at `target`, and these must not overlap.
#[inline(always)]
unsafe fn copy_8(source: *const u8, target: *mut u8) {
    // SAFETY: the caller vouches for the bytes.
    unsafe { ptr::copy_nonoverlapping(source, target, 8) };
}

/// Copies `len` bytes, at most 64, from `offset` bytes before `target`, as if one after the other, and some more.
///
/// # Safety
///
/// `offset` must be at least 1, that many bytes before `target` readable, and 71 bytes from `target` on readable and
/// writable.
#[inline(always)]
unsafe fn copy_irregular(target: *mut u8, offset: usize, len: usize) {
    let source = target.wrapping_sub(offset).cast_const();
    if offset >= 16 {
        // SAFETY: the bytes from `source` on are before `target` and some after it, all guaranteed by the caller; the
        // distance is at least 16.
        unsafe { copy_64(source, target) };
        return;
    }
    if offset >= 8 {
        for at in [0, 8, 16, 24, 32, 40, 48, 56] {
            // SAFETY: `at` is at most 56, and `source` is at least 8 bytes before `target`.
            unsafe { copy_8(source.wrapping_add(at), target.wrapping_add(at)) };
        }
        return;
    }
    // SAFETY: `source` is before `target`, from which on more than 8 bytes are readable.
    let word = u64::from_le(unsafe { ptr::read_unaligned(source.cast::<u64>()) });
    let pattern = (word & (u64::MAX >> (64 - 8 * offset))).wrapping_mul(REPEAT[offset]).to_le();
    let stride = usize::from(STRIDES[offset]);
    let mut at = 0;
    // Not `step_by`, which divides to compute its number of steps.
    while at < len {
        // SAFETY: `at` is at most 63, so that the word ends within 71 bytes of `target`.
        unsafe { ptr::write_unaligned(target.wrapping_add(at).cast::<u64>(), pattern) };
        at += stride;
    }
}

#![expect(
    unsafe_code,
    reason = "copies whole words past the end of an element, within margins checked once for many elements"
)]
//! Records of one length: a literal and a copy that come again and again with the same tags.
//!
//! Strings of one length, each with its length before it, and numbers of which the high bytes agree are compressed to that:
//! what differs is a literal, and a copy repeats what is the same from one record before. The same bytes are then copied each
//! time, so that they are kept in a register; and as long as the tags are the expected ones, which is a branch that is
//! predicted, the next record's place does not depend on what is read, so that no tag is waited for.
//!
//! Pages are of one kind of data: what does not begin with records is left to `wide` at once.

use std::ptr;

use super::wide::{LONG_LITERAL, READ_MARGIN, TAGS, Tag, WRITE_MARGIN, copy_16};
use super::{Position, scalar};
use crate::KernelError;

/// Elements that are no records, one after another, with which a page is not one of records any more.
const MAX_OTHERS: usize = 8;

/// Bytes of input in records that are alike from which on they are a run.
const MANY: usize = 64;

/// A literal and a copy from one record before.
struct Record {
    literal_len: usize,
    copy_len: usize,
    literal_tag: u8,
    /// Tag and offset of the copy, and which bytes of a word these are.
    copy: u32,
    mask: u32,
    /// Bytes of the whole in the input.
    read: usize,
}

impl Record {
    /// The record at `at`, if one is there; within `src` there is room for the longest.
    fn at(src: &[u8], at: Position) -> Option<Record> {
        let literal_tag = src[at.read];
        if literal_tag & 3 != 0 || usize::from(literal_tag) >= LONG_LITERAL {
            return None;
        }
        let literal_len = usize::from(literal_tag >> 2) + 1;
        let copy = src[at.read + 1 + literal_len..].first_chunk::<4>()?;
        let kind = usize::from(copy[0] & 3);
        let Tag { high, mask, len, .. } = TAGS[usize::from(copy[0])];
        let offset = u32::from(u16::from_le_bytes([copy[1], copy[2]]) & mask) + high;
        // No record for copies of more than 16 bytes, and what is no copy or has an offset of four bytes: of their offsets the
        // table makes ones that are too large, or 0.
        let copy_len = usize::from(len);
        let is_one = offset as usize == literal_len + copy_len && copy_len <= at.written;
        let mask = u32::MAX >> (8 * (3 - kind));
        is_one.then_some(Record {
            literal_len,
            copy_len,
            literal_tag,
            copy: u32::from_le_bytes(*copy) & mask,
            mask,
            read: 1 + literal_len + 1 + kind,
        })
    }
}

/// Decompresses a page of records from its start on, as long as it is one; returns where it stopped.
pub(super) fn decompress(src: &[u8], dst: &mut [u8], len: usize, mut at: Position) -> Result<Position, KernelError> {
    let mut others = 0;
    while others < MAX_OTHERS {
        let start = at.read;
        at = run(src, dst, at);
        if at.written >= len || at.read >= src.len() {
            break;
        }
        others = if at.read - start < MANY { others + 1 } else { 0 };
        at = scalar::element(src, &mut dst[..len], at)?;
    }
    Ok(at)
}

/// Decompresses records that are alike from `at` on, as long as there are margins; returns where it stopped.
fn run(src: &[u8], dst: &mut [u8], at: Position) -> Position {
    let Some((read, written)) =
        src.len().checked_sub(at.read + READ_MARGIN).zip(dst.len().checked_sub(at.written + WRITE_MARGIN))
    else {
        return at;
    };
    let Some(record) = Record::at(src, at) else {
        return at;
    };
    let count = (read / record.read).min(written / (record.literal_len + record.copy_len)) + 1;
    match record.literal_len.div_ceil(16) {
        1 => alike::<1>(src, dst, at, &record, count),
        2 => alike::<2>(src, dst, at, &record, count),
        3 => alike::<3>(src, dst, at, &record, count),
        _ => alike::<4>(src, dst, at, &record, count),
    }
}

/// At most `count` records like the one at `at`, of which the literals take `WORDS` times 16 bytes at most.
///
/// From the start of the last of `count` records on, `READ_MARGIN` bytes of `src` and `WRITE_MARGIN` bytes of `dst` must be
/// there, and `copy_len` bytes before the first.
#[inline(always)]
fn alike<const WORDS: usize>(src: &[u8], dst: &mut [u8], at: Position, record: &Record, count: usize) -> Position {
    let &Record { literal_len, copy_len, literal_tag, copy, mask, read } = record;
    let mut next = src.as_ptr().wrapping_add(at.read);
    let mut target = dst.as_mut_ptr().wrapping_add(at.written);
    // SAFETY: `copy_len` bytes before `target` are within `dst`, and `WRITE_MARGIN` bytes behind it.
    let same = unsafe { ptr::read_unaligned(target.wrapping_sub(copy_len).cast::<u128>()) };
    let mut taken = 0;
    while taken < count {
        // SAFETY: a record starts here, and takes at most 61 and 3 bytes of `READ_MARGIN`: the word ends within 65.
        let word = u32::from_le(unsafe { ptr::read_unaligned(next.wrapping_add(1 + literal_len).cast::<u32>()) });
        // SAFETY: as above.
        if word & mask != copy || unsafe { ptr::read(next) } != literal_tag {
            break;
        }
        for at in 0..WORDS {
            // SAFETY: at most 64 bytes, of `READ_MARGIN` behind the tag, and of `WRITE_MARGIN`; the slices do not overlap.
            unsafe { copy_16(next.wrapping_add(1 + 16 * at), target.wrapping_add(16 * at)) };
        }
        // SAFETY: 16 bytes behind at most 60, of `WRITE_MARGIN`.
        unsafe { ptr::write_unaligned(target.wrapping_add(literal_len).cast::<u128>(), same) };
        next = next.wrapping_add(read);
        target = target.wrapping_add(literal_len + copy_len);
        taken += 1;
    }
    Position { read: at.read + taken * read, written: at.written + taken * (literal_len + copy_len) }
}

#![expect(
    unsafe_code,
    reason = "copies whole words past the end of an element, within margins checked once for many elements"
)]
//! Records of one length: a literal and a copy that repeat with the same tags.
//!
//! Strings of one length, each preceded by its length, and numbers with equal high bytes compress to such records: the
//! difference is a literal, and a copy repeats the rest from the previous record. The copy always copies the same
//! bytes, so they are kept in a register. As long as the tags are the expected ones, which is a predicted branch, the
//! position of the next record does not depend on loaded data, so nothing waits for a tag.
//!
//! Pages have one kind of data: any page that does not begin with records is left to `wide` at once.

use std::ptr;

use super::wide::{LONG_LITERAL, READ_MARGIN, TAGS, Tag, WRITE_MARGIN, copy_16};
use super::{Position, scalar};
use crate::KernelError;

/// The number of consecutive elements that are no records after which a page no longer counts as one of records.
const MAX_OTHERS: usize = 8;

/// The number of input bytes in equal records that make a run.
const MANY: usize = 64;

/// A literal and a copy from the previous record.
struct Record {
    literal_len: usize,
    copy_len: usize,
    literal_tag: u8,
    /// Tag and offset of the copy, and a mask of their bytes in a word.
    copy: u32,
    mask: u32,
    /// The size of the record in the input.
    read: usize,
}

impl Record {
    /// The record at `at`, if there is one; within `src` there is room for the longest.
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
        // No record for copies of more than 16 bytes, for literals, or for offsets of four bytes: the table turns the
        // offsets of these into ones that are too large, or 0.
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

/// Decompresses a page of records from its start, as long as it is one, and returns the position at which it stopped.
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

/// Decompresses equal records from `at` on, as long as there are margins, and returns the position at which it stopped.
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

/// Decompresses at most `count` records like the one at `at`, whose literals take at most `WORDS` times 16 bytes.
///
/// From the start of the last of `count` records on, `READ_MARGIN` bytes of `src` and `WRITE_MARGIN` bytes of `dst`
/// must be there, and `copy_len` bytes before the first.
#[inline(always)]
fn alike<const WORDS: usize>(src: &[u8], dst: &mut [u8], at: Position, record: &Record, count: usize) -> Position {
    let &Record { literal_len, copy_len, literal_tag, copy, mask, read } = record;
    let mut next = src.as_ptr().wrapping_add(at.read);
    let mut target = dst.as_mut_ptr().wrapping_add(at.written);
    // SAFETY: `copy_len` bytes before `target` are within `dst`, and `WRITE_MARGIN` bytes after it.
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
            // SAFETY: at most 64 bytes, of `READ_MARGIN` after the tag, and of `WRITE_MARGIN`; the slices do not
            // overlap.
            unsafe { copy_16(next.wrapping_add(1 + 16 * at), target.wrapping_add(16 * at)) };
        }
        // SAFETY: 16 bytes from at most 60 on, of `WRITE_MARGIN`.
        unsafe { ptr::write_unaligned(target.wrapping_add(literal_len).cast::<u128>(), same) };
        next = next.wrapping_add(read);
        target = target.wrapping_add(literal_len + copy_len);
        taken += 1;
    }
    Position { read: at.read + taken * read, written: at.written + taken * (literal_len + copy_len) }
}

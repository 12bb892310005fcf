//! Finds the runs that pay and writes all runs, with a tier's comparison and packing.

use crate::bitpack::packed_len;
use crate::varint::write_uleb128;

/// The maximum length of a repeated run, and number of groups in a bit-packed one: their headers are 32 bits with a bit
/// for the kind.
const LONGEST: usize = (1 << 31) - 1;
/// The number of values packed at a time by every tier's fastest loop.
const BLOCK: usize = 32;
/// The first of each eight values.
const GROUPS: u64 = 0x0101_0101_0101_0101;

/// The input of an encoder, as a tier sees it.
pub(super) struct Page<Repeats, Value, Pack> {
    pub(super) count: usize,
    pub(super) width: u32,
    /// A mask of the values of a word that equal the next one; clear for the last value and after it.
    pub(super) repeats: Repeats,
    /// A value.
    pub(super) value: Value,
    /// Packs a number of values from one on; may write anything after them in the output.
    pub(super) pack: Pack,
}

/// Encodes a page into `out`, which has the bytes of [`max_encoded_len`](super::max_encoded_len), and returns the
/// length.
#[inline(always)]
pub(super) fn encode<Repeats, Value, Pack>(page: &Page<Repeats, Value, Pack>, out: &mut [u8]) -> usize
where
    Repeats: Fn(usize) -> u64,
    Value: Fn(usize) -> u32,
    Pack: Fn(usize, usize, &mut [u8]),
{
    if page.width == 0 {
        // Nothing is stored for the values, but readers expect a header.
        let mut position = 0;
        write_repeated(page, 0, page.count, out, &mut position);
        return position;
    }
    let groups = shortest_in_groups(page.width);
    let words = page.count.div_ceil(64);
    // The first value that is not encoded yet, and the end of the output.
    let (mut first, mut position) = (0_usize, 0);
    let mut index = 0;
    let mut word = (page.repeats)(0);
    while index < words {
        let mut next = (page.repeats)(index + 1);
        let mut starts = starts(word, next, groups);
        loop {
            let passed = first.saturating_sub(index * 64) as u32;
            let here = starts & GROUPS << (first % 8) & u64::MAX.checked_shl(passed).unwrap_or(0);
            if here == 0 {
                break;
            }
            let start = here.trailing_zeros();
            let mut end = start + (!(word >> start)).trailing_zeros();
            write_packed(page, first, index * 64 + start as usize - first, out, &mut position);
            first = index * 64 + start as usize;
            if end == 64 {
                while {
                    index += 1;
                    word = next;
                    next = (page.repeats)(index + 1);
                    word == u64::MAX
                } {}
                end = word.trailing_ones();
                starts = self::starts(word, next, groups);
            }
            let end = index * 64 + end as usize + 1;
            write_repeated(page, first, end - first, out, &mut position);
            first = end;
        }
        index += 1;
        word = next;
    }
    write_rest(page, first, out, &mut position);
    position
}

/// Writes the values after the last run that pays: one repeated run if they are equal but too few to be detected as a
/// run.
#[inline(always)]
fn write_rest<Repeats, Value, Pack>(
    page: &Page<Repeats, Value, Pack>,
    first: usize,
    out: &mut [u8],
    position: &mut usize,
) where
    Repeats: Fn(usize) -> u64,
    Value: Fn(usize) -> u32,
    Pack: Fn(usize, usize, &mut [u8]),
{
    let count = page.count - first;
    let equal = count <= BLOCK && (first + 1..page.count).all(|at| (page.value)(at) == (page.value)(first));
    if equal {
        write_repeated(page, first, count, out, position);
    } else {
        write_packed(page, first, count, out, position);
    }
}

/// The minimum number of groups of equal values in a repeated run.
fn shortest_in_groups(width: u32) -> usize {
    match width {
        1 => 4,
        2 | 3 => 2,
        _ => 1,
    }
}

/// The positions at which this many groups of equal values start, for any value of `word`: bits followed by enough set
/// bits, one less than eight for each group.
#[inline(always)]
fn starts(word: u64, next: u64, groups: usize) -> u64 {
    if word & (word >> 1 | next << 63) == 0 {
        return 0;
    }
    let ones_1 = u128::from(word) | u128::from(next) << 64;
    let ones_2 = ones_1 & ones_1 >> 1;
    let ones_4 = ones_2 & ones_2 >> 2;
    if groups == 1 {
        return (ones_4 & ones_4 >> 3) as u64;
    }
    let ones_8 = ones_4 & ones_4 >> 4;
    if groups == 2 {
        return (ones_8 & ones_8 >> 7) as u64;
    }
    let ones_16 = ones_8 & ones_8 >> 8;
    (ones_16 & ones_16 >> 15) as u64
}

/// Writes one repeated run, or several if the length exceeds a run's maximum.
#[inline(always)]
fn write_repeated<Repeats, Value, Pack>(
    page: &Page<Repeats, Value, Pack>,
    first: usize,
    mut count: usize,
    out: &mut [u8],
    position: &mut usize,
) where
    Value: Fn(usize) -> u32,
{
    while count > 0 {
        let length = count.min(LONGEST);
        write_uleb128((length as u64) << 1, out, position);
        let value = if page.width == 0 { 0 } else { (page.value)(first) & u32::MAX >> (32 - page.width) };
        out[*position..*position + 4].copy_from_slice(&value.to_le_bytes());
        *position += page.width.div_ceil(8) as usize;
        count -= length;
    }
}

/// Writes no bit-packed run for no values, one otherwise, or several if the length exceeds a run's maximum.
#[inline(always)]
fn write_packed<Repeats, Value, Pack>(
    page: &Page<Repeats, Value, Pack>,
    mut first: usize,
    mut count: usize,
    out: &mut [u8],
    position: &mut usize,
) where
    Pack: Fn(usize, usize, &mut [u8]),
{
    while count > 0 {
        let length = count.min(LONGEST * 8);
        let groups = length.div_ceil(8);
        write_uleb128((groups as u64) << 1 | 1, out, position);
        let out = &mut out[*position..];
        // Whole blocks are faster; bytes after the run are overwritten, or cut off.
        let blocks = length.next_multiple_of(BLOCK);
        let room = blocks <= page.count - first && out.len() >= blocks / 8 * page.width as usize;
        (page.pack)(first, if room { blocks } else { length }, out);
        // The last group is whole too.
        out[packed_len(length, page.width)..groups * page.width as usize].fill(0);
        *position += groups * page.width as usize;
        first += length;
        count -= length;
    }
}

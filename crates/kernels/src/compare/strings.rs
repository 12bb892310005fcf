//! Byte strings against literals. Numbers decide as much as possible, for some hundreds of strings at a time: a view's
//! length and first bytes, the first bytes of a string of fixed length, or the lengths between offsets. Only strings
//! that remain undecided are read.
//!
//! ```text
//! view        length (4) │ first bytes (4) │ the rest, or where it is (8)
//! equal       all 16 bytes of strings that fit; else the first eight, then the string
//! less        the first bytes, big-endian; where they are the same, the string
//! ```

use std::cmp::Ordering;

use super::{Comparison, check_words, compare, in_set, or, word_count};
use crate::{ByteStrings, KernelError};

/// The number of strings whose numbers are on the stack at a time.
const PART: usize = 512;

/// The maximum length of a literal within a view.
const INLINE: usize = 12;

/// The number of set members that are compared at a time.
const WANTED: usize = 16;

/// Compares each of `strings` with `literal`, by unsigned bytes; a prefix comes before a longer string.
///
/// In Arrow's views that contain their string, the bytes after it are zeros.
///
/// # Errors
/// If `out` does not have one word per 64 strings, rounded up, or a string that has to be read lies outside of its
/// bytes.
pub fn compare_strings(
    strings: ByteStrings<'_>,
    op: Comparison,
    literal: &[u8],
    out: &mut [u64],
) -> Result<(), KernelError> {
    check_words(strings.len(), out)?;
    match op {
        Comparison::Equal => strings_in_set(strings, &[literal], out),
        Comparison::NotEqual => {
            strings_in_set(strings, &[literal], out)?;
            invert(strings.len(), out);
            Ok(())
        }
        _ => in_parts(strings, out, |part, less| order(part, op, literal, less)),
    }
}

/// Finds the strings that equal one of `set`, which is in ascending order.
///
/// # Errors
/// The same as [`compare_strings`].
pub fn strings_in_set(strings: ByteStrings<'_>, set: &[&[u8]], out: &mut [u64]) -> Result<(), KernelError> {
    check_words(strings.len(), out)?;
    in_parts(strings, out, |part, found| {
        let mut some = [0; word_count(PART)];
        let some = &mut some[..found.len()];
        for set in set.chunks(WANTED) {
            match part {
                ByteStrings::Views { views, .. } => views_in_set(part, views, set, some)?,
                ByteStrings::Offsets32 { offsets, .. } => {
                    let lens = |at: usize| offsets[at + 1].wrapping_sub(offsets[at]) as u64;
                    by_numbers(part, lens, set, |wanted| wanted.len() as u64, some)?;
                }
                ByteStrings::Offsets64 { offsets, .. } => {
                    let lens = |at: usize| offsets[at + 1].wrapping_sub(offsets[at]).cast_unsigned();
                    by_numbers(part, lens, set, |wanted| wanted.len() as u64, some)?;
                }
                ByteStrings::Fixed { data, width } => fixed_in_set(part, data, width, set, some)?,
            }
            or(found, some)?;
        }
        Ok(())
    })
}

/// Finds the strings that start with `prefix`.
///
/// # Errors
/// The same as [`compare_strings`].
pub fn strings_start_with(strings: ByteStrings<'_>, prefix: &[u8], out: &mut [u64]) -> Result<(), KernelError> {
    check_words(strings.len(), out)?;
    if prefix.is_empty() {
        set_all(strings.len(), out);
        return Ok(());
    }
    in_parts(strings, out, |part, found| {
        match part {
            ByteStrings::Views { views, .. } => {
                let (bits, mask) = first_four(prefix);
                let numbers = numbers(part.len(), |at| (views[at] >> 32) as u32 & mask);
                compare(&numbers[..part.len()], Comparison::Equal, bits, found)?;
            }
            _ => set_all(part.len(), found),
        }
        keep(part, found, |string| string.starts_with(prefix))
    })
}

/// Passes parts of the strings, with their words, which are zeros, to `test`.
fn in_parts<'a>(
    strings: ByteStrings<'a>,
    out: &mut [u64],
    test: impl Fn(ByteStrings<'a>, &mut [u64]) -> Result<(), KernelError>,
) -> Result<(), KernelError> {
    out.fill(0);
    for (index, words) in out.chunks_mut(word_count(PART)).enumerate() {
        let first = index * PART;
        test(strings.slice(first, PART.min(strings.len() - first))?, words)?;
    }
    Ok(())
}

/// A number for each of `count` strings, at most [`PART`].
#[inline(always)]
fn numbers<T: Copy + Default>(count: usize, number: impl Fn(usize) -> T) -> [T; PART] {
    let mut numbers = [T::default(); PART];
    for (at, to) in numbers[..count].iter_mut().enumerate() {
        *to = number(at);
    }
    numbers
}

/// Keeps the bits of the strings for which `holds` is true.
fn keep(strings: ByteStrings<'_>, bits: &mut [u64], holds: impl Fn(&[u8]) -> bool) -> Result<(), KernelError> {
    for (index, word) in bits.iter_mut().enumerate() {
        let mut open = *word;
        while open != 0 {
            let bit = open & open.wrapping_neg();
            open ^= bit;
            if !holds(strings.get(64 * index + bit.trailing_zeros() as usize)?) {
                *word ^= bit;
            }
        }
    }
    Ok(())
}

/// Compares strings in full if their number equals the number of a set member.
fn by_numbers(
    strings: ByteStrings<'_>,
    number: impl Fn(usize) -> u64,
    set: &[&[u8]],
    wanted: impl Fn(&[u8]) -> u64,
    out: &mut [u64],
) -> Result<(), KernelError> {
    let count = strings.len();
    let mut keys = [0; WANTED];
    for (key, string) in keys.iter_mut().zip(set) {
        *key = wanted(string);
    }
    in_set(&numbers(count, number)[..count], &keys[..set.len()], out)?;
    keep(strings, out, |string| set.iter().any(|wanted| are_equal(wanted, string)))
}

fn are_equal(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && (left.is_empty() || left == right)
}

/// Like `left.cmp(right)`, without a call of the C library if one is empty: its load under an empty mask takes 80 ns at
/// AVX-512 if the address is not mapped, as for an empty literal or buffer.
#[inline(always)]
fn by_bytes(left: &[u8], right: &[u8]) -> Ordering {
    if left.is_empty() || right.is_empty() { left.len().cmp(&right.len()) } else { left.cmp(right) }
}

/// At most [`WANTED`] strings.
fn views_in_set(strings: ByteStrings<'_>, views: &[u128], set: &[&[u8]], out: &mut [u64]) -> Result<(), KernelError> {
    let mut held = [0; WANTED];
    let mut count = 0;
    let mut long: [&[u8]; WANTED] = [&[]; WANTED];
    let mut long_count = 0;
    for &wanted in set {
        if wanted.len() <= INLINE {
            held[count] = view(wanted);
            count += 1;
        } else {
            long[long_count] = wanted;
            long_count += 1;
        }
    }
    in_set(views, &held[..count], out)?;
    if long_count > 0 {
        let mut found = [0; word_count(PART)];
        let found = &mut found[..out.len()];
        by_numbers(strings, |at| views[at] as u64, &long[..long_count], |wanted| view(wanted) as u64, found)?;
        or(out, found)?;
    }
    Ok(())
}

/// The view of a string of up to twelve bytes; for a longer one, only its lower half is valid.
fn view(string: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&(string.len() as u32).to_le_bytes());
    for (to, &from) in bytes[4..].iter_mut().zip(string) {
        *to = from;
    }
    u128::from_le_bytes(bytes)
}

/// Finds strings of one length that equal one of at most [`WANTED`] strings.
fn fixed_in_set(
    strings: ByteStrings<'_>,
    data: &[u8],
    width: usize,
    set: &[&[u8]],
    out: &mut [u64],
) -> Result<(), KernelError> {
    let mut alike: [&[u8]; WANTED] = [&[]; WANTED];
    let mut count = 0;
    for &wanted in set.iter().filter(|wanted| wanted.len() == width) {
        alike[count] = wanted;
        count += 1;
    }
    let set = &alike[..count];
    let value = |at: usize| &data[at * width..(at + 1) * width];
    macro_rules! of_bytes {
        ($number:ty) => {{
            let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| <$number>::from_le_bytes(*bytes));
            let mut keys = [0; WANTED];
            for (key, wanted) in keys.iter_mut().zip(set) {
                *key = number(wanted);
            }
            let numbers = numbers(strings.len(), |at| number(value(at)));
            in_set(&numbers[..strings.len()], &keys[..count], out)
        }};
    }
    match width {
        _ if count == 0 => {
            out.fill(0);
            Ok(())
        }
        1 => of_bytes!(u8),
        2 => of_bytes!(u16),
        4 => of_bytes!(u32),
        8 => of_bytes!(u64),
        16 => of_bytes!(u128),
        _ => by_numbers(strings, |at| first_eight(value(at)), set, first_eight, out),
    }
}

/// `op` is not an equality or its inverse. `out` is zeros.
fn order(strings: ByteStrings<'_>, op: Comparison, literal: &[u8], out: &mut [u64]) -> Result<(), KernelError> {
    let count = strings.len();
    // Strings that the numbers leave undecided.
    let mut open = [0; word_count(PART)];
    let open = &mut open[..out.len()];
    let first =
        if matches!(op, Comparison::Less | Comparison::LessOrEqual) { Comparison::Less } else { Comparison::Greater };
    match strings {
        ByteStrings::Views { views, .. } => {
            let numbers = numbers(count, |at| ((views[at] >> 32) as u32).swap_bytes());
            let key = (first_eight(literal) >> 32) as u32;
            compare(&numbers[..count], first, key, out)?;
            compare(&numbers[..count], Comparison::Equal, key, open)?;
        }
        ByteStrings::Fixed { data, width } => {
            let numbers = numbers(count, |at| first_eight(&data[at * width..(at + 1) * width]));
            let key = first_eight(literal);
            compare(&numbers[..count], first, key, out)?;
            compare(&numbers[..count], Comparison::Equal, key, open)?;
        }
        _ => set_all(count, open),
    }
    keep(strings, open, |string| match by_bytes(string, literal) {
        Ordering::Less => first == Comparison::Less,
        Ordering::Greater => first == Comparison::Greater,
        Ordering::Equal => matches!(op, Comparison::LessOrEqual | Comparison::GreaterOrEqual),
    })?;
    or(out, open)
}

/// The first eight bytes as a big-endian number, padded with zeros.
#[inline(always)]
fn first_eight(string: &[u8]) -> u64 {
    if let Some(&bytes) = string.first_chunk() {
        return u64::from_be_bytes(bytes);
    }
    string.iter().enumerate().fold(0, |number, (place, &byte)| number | u64::from(byte) << (56 - 8 * place))
}

/// Up to four bytes in the form of a view, and a mask of their bits.
fn first_four(prefix: &[u8]) -> (u32, u32) {
    let mut bytes = [0; 4];
    let mut mask = [0; 4];
    for ((byte, mask), &from) in bytes.iter_mut().zip(&mut mask).zip(prefix) {
        (*byte, *mask) = (from, 0xff);
    }
    (u32::from_le_bytes(bytes), u32::from_le_bytes(mask))
}

/// Sets the bits of all strings.
fn set_all(count: usize, out: &mut [u64]) {
    out.fill(0);
    invert(count, out);
}

/// Inverts the bits of `count` strings.
fn invert(count: usize, out: &mut [u64]) {
    for word in &mut *out {
        *word = !*word;
    }
    if let (Some(last), 1..) = (out.last_mut(), count % 64) {
        *last &= (1 << (count % 64)) - 1;
    }
}

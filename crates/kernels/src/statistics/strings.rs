//! Positions of the smallest and largest string, by keys: the first eight bytes as a big-endian number, padded with
//! zeros. Strings are compared in full only if their keys are equal, as with long common prefixes.

use std::cmp::Ordering;

use super::extreme_positions;
use crate::byte_strings::{Source, Span};
use crate::{ByteStrings, KernelError};

/// Bytes of a key.
const KEY: usize = size_of::<u64>();

/// Positions of the smallest and the largest string by unsigned comparison of bytes, a prefix before a longer string;
/// among equal ones, the first. `None` without strings.
///
/// ```
/// use lath_kernels::{ByteStrings, statistics};
///
/// let strings = ByteStrings::Offsets32 { data: b"bananapearapple", offsets: &[0, 6, 10, 15] };
/// assert_eq!(statistics::min_max_strings(strings)?, Some((2, 1)));
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// If offsets or views leave the bytes that they refer to.
pub fn min_max_strings(strings: ByteStrings<'_>) -> Result<Option<(usize, usize)>, KernelError> {
    extreme_positions(strings, 0)
}

/// Positions of the smallest and the largest of values of `width` bytes, one after another, by their value as
/// big-endian two's complement; among equal ones, the first. `None` without values, and for width 0.
///
/// # Errors
/// If `data` is not a whole number of values.
pub fn min_max_big_endian(data: &[u8], width: usize) -> Result<Option<(usize, usize)>, KernelError> {
    if width == 0 {
        return Ok(None);
    }
    extreme_positions(ByteStrings::Fixed { data, width }, 1 << 63)
}

/// A string that others are compared with.
#[derive(Clone, Copy)]
struct Extreme<'a> {
    position: usize,
    key: u64,
    bytes: &'a [u8],
}

/// `sign` is the bit of keys that is ordered the other way round.
#[inline(always)]
pub(super) fn positions<'a>(source: impl Source<'a>, sign: u64) -> Result<Option<(usize, usize)>, KernelError> {
    let mut spans = source.spans().enumerate();
    let Some((position, first)) = spans.next() else { return Ok(None) };
    let first = first?;
    let first = Extreme { position, key: key(first) ^ sign, bytes: first.bytes() };
    let (mut min, mut max) = (first, first);
    for (position, span) in spans {
        let span = span?;
        let this = Extreme { position, key: key(span) ^ sign, bytes: span.bytes() };
        if this.key < min.key {
            min = this;
        } else if this.key > max.key {
            max = this;
        } else if this.key == min.key || this.key == max.key {
            match stands(&this, &min, &max) {
                Ordering::Less => min = this,
                Ordering::Greater => max = this,
                Ordering::Equal => {}
            }
        }
    }
    Ok(Some((min.position, max.position)))
}

/// Below the minimum, above the maximum, or between: for a string with the key of one of them.
#[inline(never)]
fn stands(this: &Extreme<'_>, min: &Extreme<'_>, max: &Extreme<'_>) -> Ordering {
    // The eight bytes after the key decide for most of them.
    let next = |extreme: &Extreme<'_>| (extreme.key, padded_key(extreme.bytes.get(KEY..).unwrap_or_default()));
    let (this_next, min_next, max_next) = (next(this), next(min), next(max));
    if this_next < min_next || this_next == min_next && this.bytes < min.bytes {
        Ordering::Less
    } else if this_next > max_next || this_next == max_next && this.bytes > max.bytes {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

#[inline(always)]
fn key(span: Span<'_>) -> u64 {
    let head = match span.head::<KEY>() {
        Some(&head) => u64::from_be_bytes(head),
        None => return padded_key(span.bytes()),
    };
    // Twice half the shift, which may be all 64 bits.
    let half = 4 * KEY.saturating_sub(span.len) as u32;
    head & u64::MAX << half << half
}

/// The first bytes of a string, or zeros.
#[inline(always)]
fn padded_key(bytes: &[u8]) -> u64 {
    if let Some(&head) = bytes.first_chunk() {
        return u64::from_be_bytes(head);
    }
    bytes.iter().enumerate().fold(0, |key, (place, &byte)| key | u64::from(byte) << (56 - 8 * place))
}

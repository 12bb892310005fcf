//! Snappy's raw format: a decompressed length, then literals and copies of earlier output.
//!
//! ```text
//! tag, low two bits    high six bits                 then
//! 00 literal           length − 1, or 59 + n         n bytes of length − 1 (n = 1…4), the bytes themselves
//! 01 copy              offset 8…10 (3), length − 4   1 byte: offset 0…7
//! 10 copy              length − 1                    2 bytes: offset
//! 11 copy              length − 1                    4 bytes: offset
//! ```
//!
//! <https://github.com/google/snappy/blob/main/format_description.txt>
//!
//! Records of one length at the start come first (`records`). Output goes to the front of a slice that may be longer;
//! the bytes after the data are then undefined. The decoder that copies in whole words (`wide`) works while there are
//! some bytes to spare on both sides and leaves the rest to the checked one (`scalar`), so a slice with `SLACK_LEN`
//! bytes to spare is decompressed faster to its end. None of them reads or writes outside the slices. There are no
//! tiers: elements are too short for vectors to pay.

mod records;
#[cfg(test)]
mod reference;
mod scalar;
mod wide;

#[cfg(test)]
mod tests;

use crate::KernelError;

/// The number of spare bytes after the data with which the whole output can be written without per-byte checks.
pub const SLACK_LEN: usize = 131;

/// The maximum length of the length field.
const MAX_LENGTH_LEN: usize = 5;

/// The decompressed length in `src`.
///
/// # Errors
///
/// [`KernelError::Malformed`] if there is no length of at most 32 bits.
pub fn decompressed_len(src: &[u8]) -> Result<usize, KernelError> {
    read_length(src).map(|(len, _)| len)
}

/// Decompresses `src` to the front of `dst`, and returns the number of bytes there.
///
/// # Errors
///
/// [`KernelError::LengthMismatch`] if `dst` is shorter than the stated length or the elements do not add up to that;
/// [`KernelError::InputTooShort`] if `src` ends within an element; [`KernelError::Malformed`] for a length of more than 32
/// bits and for a copy from before the output's start.
pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<usize, KernelError> {
    let (len, start) = read_length(src)?;
    if dst.len() < len {
        return Err(KernelError::LengthMismatch { expected: len, actual: dst.len() });
    }
    let at = records::decompress(src, dst, len, Position { read: start, written: 0 })?;
    let at = wide::decompress(src, dst, len, at)?;
    if at.written > len {
        return Err(KernelError::LengthMismatch { expected: len, actual: at.written });
    }
    let at = scalar::decompress(src, &mut dst[..len], at)?;
    if at.written != len {
        return Err(KernelError::LengthMismatch { expected: len, actual: at.written });
    }
    Ok(len)
}

/// The progress of decompression: the next element starts at `read`, its output goes to `written`.
#[derive(Debug, Clone, Copy)]
struct Position {
    read: usize,
    written: usize,
}

/// The stated length, and the start of the elements.
fn read_length(src: &[u8]) -> Result<(usize, usize), KernelError> {
    let mut len = 0;
    for (position, &byte) in src.iter().take(MAX_LENGTH_LEN).enumerate() {
        len |= u64::from(byte & 0x7f) << (7 * position);
        if byte < 0x80 {
            return match u32::try_from(len) {
                Ok(len) => Ok((len as usize, position + 1)),
                Err(_) => break,
            };
        }
    }
    Err(KernelError::Malformed { what: "Snappy length" })
}

/// The error of a copy that reaches before the output's start, or has an offset of 0.
const BAD_OFFSET: KernelError = KernelError::Malformed { what: "Snappy copy offset" };

//! One element after the other with every bound checked: the portable contract, and the end of every input.

use super::{BAD_OFFSET, Position};
use crate::KernelError;

/// Decompresses all elements from `at` on; `dst` is as long as the data.
pub(super) fn decompress(src: &[u8], dst: &mut [u8], mut at: Position) -> Result<Position, KernelError> {
    while at.read < src.len() {
        at = element(src, dst, at)?;
    }
    Ok(at)
}

/// Decompresses the element at `at`, which is below the end of `src`.
pub(super) fn element(src: &[u8], dst: &mut [u8], at: Position) -> Result<Position, KernelError> {
    let Position { mut read, written } = at;
    let tag = src[read];
    read += 1;
    let high = usize::from(tag >> 2);
    let (len, offset) = match tag & 3 {
        0 if high < 60 => (high + 1, None),
        0 => (little_endian(src, &mut read, high - 59)?.saturating_add(1), None),
        1 => {
            let low = little_endian(src, &mut read, 1)?;
            ((high & 7) + 4, Some((usize::from(tag >> 5) << 8) | low))
        }
        2 => (high + 1, Some(little_endian(src, &mut read, 2)?)),
        _ => (high + 1, Some(little_endian(src, &mut read, 4)?)),
    };
    if len > dst.len() - written {
        return Err(KernelError::LengthMismatch { expected: dst.len(), actual: written.saturating_add(len) });
    }
    match offset {
        None => {
            let literal = bytes(src, &mut read, len)?;
            dst[written..written + len].copy_from_slice(literal);
        }
        Some(offset) if offset == 0 || offset > written => return Err(BAD_OFFSET),
        // Source and target overlap, and recent output is read again.
        Some(offset) if offset < len => {
            for position in written..written + len {
                dst[position] = dst[position - offset];
            }
        }
        Some(offset) => dst.copy_within(written - offset..written - offset + len, written),
    }
    Ok(Position { read, written: written + len })
}

fn little_endian(src: &[u8], read: &mut usize, len: usize) -> Result<usize, KernelError> {
    Ok(bytes(src, read, len)?.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte)))
}

fn bytes<'a>(src: &'a [u8], read: &mut usize, len: usize) -> Result<&'a [u8], KernelError> {
    let available = src.len() - *read;
    if len > available {
        return Err(KernelError::InputTooShort { needed: len, available });
    }
    let start = *read;
    *read += len;
    Ok(&src[start..*read])
}

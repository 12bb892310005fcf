//! ULEB128 and zigzag integers, as in run headers and DELTA headers.

use crate::KernelError;

/// Reads a ULEB128 integer of at most 64 bits at `*position` and moves `*position` past it.
#[inline]
pub(crate) fn read_uleb128(src: &[u8], position: &mut usize, what: &'static str) -> Result<u64, KernelError> {
    read_uleb128_by(src, position, what, join_sevens)
}

/// Like [`read_uleb128`], with a tier's way to join the low seven bits of every byte.
#[inline(always)]
fn read_uleb128_by(
    src: &[u8],
    position: &mut usize,
    what: &'static str,
    join_sevens: impl Fn(u64) -> u64,
) -> Result<u64, KernelError> {
    if let Some(&[byte]) = src.get(*position..).and_then(<[u8]>::first_chunk)
        && byte < 0x80
    {
        *position += 1;
        return Ok(u64::from(byte));
    }
    if let Some(&bytes) = src.get(*position..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(bytes);
        let stops = !word & 0x8080_8080_8080_8080;
        if stops != 0 {
            // All bits up to the first byte without a continuation bit, including that byte's top bit (a zero).
            let kept = word & (stops ^ (stops - 1));
            *position += (stops.trailing_zeros() as usize + 1) / 8;
            return Ok(join_sevens(kept));
        }
    }
    read_slowly(src, position, what)
}

/// Reads a zigzag ULEB128 integer at `*position` and moves `*position` past it.
#[inline]
pub(crate) fn read_zigzag(src: &[u8], position: &mut usize, what: &'static str) -> Result<i64, KernelError> {
    read_zigzag_by(src, position, what, join_sevens)
}

/// Like [`read_zigzag`], with a tier's [`join_sevens`].
#[inline(always)]
pub(crate) fn read_zigzag_by(
    src: &[u8],
    position: &mut usize,
    what: &'static str,
    join_sevens: impl Fn(u64) -> u64,
) -> Result<i64, KernelError> {
    let value = read_uleb128_by(src, position, what, join_sevens)?;
    Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

/// Writes a ULEB128 integer at `*position`, which has the bytes, and moves `*position` past it.
#[inline]
pub(crate) fn write_uleb128(mut value: u64, out: &mut [u8], position: &mut usize) {
    while value >= 0x80 {
        out[*position] = value as u8 | 0x80;
        *position += 1;
        value >>= 7;
    }
    out[*position] = value as u8;
    *position += 1;
}

/// Writes a zigzag ULEB128 integer at `*position`, which has the bytes, and moves `*position` past it.
#[inline]
pub(crate) fn write_zigzag(value: i64, out: &mut [u8], position: &mut usize) {
    write_uleb128((value << 1 ^ value >> 63).cast_unsigned(), out, position);
}

/// Joins the low seven bits of every byte.
#[inline]
pub(crate) fn join_sevens(word: u64) -> u64 {
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

#[cold]
fn read_slowly(src: &[u8], position: &mut usize, what: &'static str) -> Result<u64, KernelError> {
    let mut value = 0;
    for (index, &byte) in src.get(*position..).unwrap_or_default().iter().take(10).enumerate() {
        // The tenth byte holds bit 63 alone.
        if index == 9 && byte > 1 {
            return Err(KernelError::Malformed { what });
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            *position += index + 1;
            return Ok(value);
        }
    }
    let available = src.len().saturating_sub(*position);
    if available >= 10 {
        return Err(KernelError::Malformed { what });
    }
    Err(KernelError::InputTooShort { needed: available + 1, available })
}

#[cfg(test)]
mod tests {
    use super::{read_uleb128, read_zigzag};
    use crate::KernelError;

    fn encode(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    #[test]
    fn every_length_reads_back_with_and_without_trailing_bytes() {
        for bit in 0..64 {
            for value in [1 << bit, (1_u64 << bit).wrapping_sub(1), u64::MAX >> bit] {
                for behind in [0, 1, 16] {
                    let mut bytes = encode(value);
                    let length = bytes.len();
                    bytes.resize(length + behind, 0xff);
                    let mut position = 0;
                    assert_eq!(read_uleb128(&bytes, &mut position, "integer"), Ok(value));
                    assert_eq!(position, length);
                }
            }
        }
    }

    #[test]
    fn zigzag_alternates_signs() {
        for (byte, expected) in [(0, 0), (1, -1), (2, 1), (3, -2), (127, -64)] {
            assert_eq!(read_zigzag(&[byte], &mut 0, "integer"), Ok(expected));
        }
        assert_eq!(read_zigzag(&encode(u64::MAX), &mut 0, "integer"), Ok(i64::MIN));
    }

    #[test]
    fn truncated_and_oversized_integers_are_errors() {
        assert!(matches!(read_uleb128(&[0x80; 5], &mut 0, "integer"), Err(KernelError::InputTooShort { .. })));
        assert!(matches!(read_uleb128(&[], &mut 3, "integer"), Err(KernelError::InputTooShort { .. })));
        assert_eq!(read_uleb128(&[0x80; 12], &mut 0, "integer"), Err(KernelError::Malformed { what: "integer" }));
        let mut over = [0xff; 10];
        over[9] = 2;
        assert_eq!(read_uleb128(&over, &mut 0, "integer"), Err(KernelError::Malformed { what: "integer" }));
    }
}

//! The specification, value by value, and an encoder that writes everything the format allows.

use lath_testkit::Seeded;

use crate::bitpack;

/// Block and miniblock sizes and widths of a test's data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) block_len: usize,
    pub(super) miniblocks: usize,
    /// Width of every miniblock, or random widths up to it.
    pub(super) width: u32,
    pub(super) mixed: bool,
}

/// A number of at most `width` bits.
fn bits(random: &mut Seeded, width: u32) -> u64 {
    random.u64(..).checked_shr(64 - width).unwrap_or(0)
}

fn write_uleb128(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn write_zigzag(value: i64, bytes: &mut Vec<u8>) {
    write_uleb128((value << 1 ^ value >> 63).cast_unsigned(), bytes);
}

/// Encoded data of `count` values with random min deltas of at most `min_delta_bits` and random deltas, and the values
/// modulo 2^64. Widths of miniblocks that are not stored are garbage.
pub(super) fn encode(random: &mut Seeded, shape: Shape, count: usize, min_delta_bits: u32) -> (Vec<u8>, Vec<i64>) {
    let mut bytes = Vec::new();
    let mut value = random.i64(..) >> (64 - min_delta_bits);
    write_uleb128(shape.block_len as u64, &mut bytes);
    write_uleb128(shape.miniblocks as u64, &mut bytes);
    write_uleb128(count as u64, &mut bytes);
    write_zigzag(value, &mut bytes);
    let mut values = vec![value; count.min(1)];
    let miniblock_len = shape.block_len / shape.miniblocks;
    while values.len() < count {
        let min_delta = random.i64(..) >> (64 - min_delta_bits);
        write_zigzag(min_delta, &mut bytes);
        let width = |random: &mut Seeded| {
            if shape.mixed { random.usize(..shape.width as usize + 1) as u32 } else { shape.width }
        };
        let widths: Vec<u32> = (0..shape.miniblocks).map(|_| width(random)).collect();
        let at = bytes.len();
        bytes.extend(widths.iter().map(|&width| width as u8));
        for (miniblock, &width) in widths.iter().enumerate() {
            if values.len() == count {
                bytes[at + miniblock] = 0xee;
                continue;
            }
            // Padding is garbage too.
            let packed: Vec<u64> = (0..miniblock_len).map(|_| bits(random, width)).collect();
            bytes.extend(bitpack::reference::pack(&packed, width));
            for delta in packed {
                if values.len() < count {
                    value = value.wrapping_add(min_delta).wrapping_add(delta.cast_signed());
                    values.push(value);
                }
            }
        }
    }
    (bytes, values)
}

/// The values of well-formed data, modulo 2^64, and the offset past its end.
pub(super) fn decode(src: &[u8]) -> (Vec<i64>, usize) {
    let mut at = 0;
    let uleb128 = |at: &mut usize| {
        let mut value = 0_u64;
        for place in (0..).step_by(7) {
            let byte = src[*at];
            *at += 1;
            value |= u64::from(byte & 0x7f) << place;
            if byte < 0x80 {
                break;
            }
        }
        value
    };
    let zigzag = |value: u64| (value >> 1).cast_signed() ^ -(value & 1).cast_signed();
    let block_len = uleb128(&mut at) as usize;
    let miniblocks = uleb128(&mut at) as usize;
    let count = uleb128(&mut at) as usize;
    let mut value = zigzag(uleb128(&mut at));
    let mut values = vec![value; count.min(1)];
    while values.len() < count {
        let min_delta = zigzag(uleb128(&mut at));
        let widths = &src[at..at + miniblocks];
        at += miniblocks;
        for &width in widths {
            if values.len() < count {
                let len = block_len / miniblocks;
                let bytes = len * usize::from(width) / 8;
                for delta in bitpack::reference::unpack(&src[at..at + bytes], width.into(), len) {
                    if values.len() < count {
                        value = value.wrapping_add(min_delta).wrapping_add(delta.cast_signed());
                        values.push(value);
                    }
                }
                at += bytes;
            }
        }
    }
    (values, at)
}

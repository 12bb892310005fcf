//! Headers and blocks, from a tier's analysis of a block's values.

use super::super::Integer;
use crate::varint::{write_uleb128, write_zigzag};

/// The number of values in a block.
pub(super) const BLOCK: usize = 128;
/// The number of miniblocks in a block.
pub(super) const MINIBLOCKS: usize = 4;
/// The number of values in a miniblock.
pub(super) const MINIBLOCK: usize = BLOCK / MINIBLOCKS;

/// A block's values and the one before them.
pub(super) type Values<T> = [T; BLOCK + 1];

/// The parameters for packing a block.
#[derive(Clone, Copy)]
pub(super) struct Shape<T> {
    pub(super) min_delta: T,
    /// Bits of the widest delta of each miniblock, above the smallest one of the block.
    pub(super) widths: [u32; MINIBLOCKS],
}

/// Encodes `values` into `out`, which has the bytes of [`max_encoded_len`](super::max_encoded_len), and returns the
/// length.
///
/// `measure` analyses a block. `pack` packs the deltas of a miniblock's values, above the given one, to the given
/// number of bits. The values come with the one before them. It may write anything after them.
#[inline(always)]
pub(super) fn encode<T: Integer + Ord + Into<i64>>(
    values: &[T],
    out: &mut [u8],
    measure: impl Fn(&Values<T>) -> Shape<T>,
    pack: impl Fn(&[T; MINIBLOCK + 1], T, u32, &mut [u8]),
) -> usize {
    let mut position = 0;
    write_uleb128(BLOCK as u64, out, &mut position);
    write_uleb128(MINIBLOCKS as u64, out, &mut position);
    write_uleb128(values.len() as u64, out, &mut position);
    let first = values.first().copied().unwrap_or_default();
    write_zigzag(first.into(), out, &mut position);

    let mut rest = values;
    let mut last = [T::default(); BLOCK + 1];
    while rest.len() > 1 {
        let (block, behind) = match rest.first_chunk() {
            Some(block) => (block, &rest[BLOCK..]),
            None => {
                fill_up(rest, &mut last);
                (&last, &rest[..0])
            }
        };
        let Shape { min_delta, widths } = measure(block);
        write_zigzag(min_delta.into(), out, &mut position);
        out[position..position + MINIBLOCKS].copy_from_slice(&widths.map(|width| width as u8));
        position += MINIBLOCKS;
        for (index, width) in widths.into_iter().enumerate() {
            if let Some(miniblock) = block[index * MINIBLOCK..].first_chunk() {
                pack(miniblock, min_delta, width, &mut out[position..]);
            }
            position += MINIBLOCK / 8 * width as usize;
        }
        rest = behind;
    }
    position
}

/// Copies two values or more to `block`, and pads it with values whose deltas are the smallest one.
fn fill_up<T: Integer + Ord>(values: &[T], block: &mut Values<T>) {
    let deltas = values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
    let min_delta = deltas.min().unwrap_or_default();
    let mut last = T::default();
    for (index, value) in block.iter_mut().enumerate() {
        last = values.get(index).copied().unwrap_or_else(|| last.wrapping_add(min_delta));
        *value = last;
    }
}

//! RLE of booleans: the hybrid encoding with width 1, after its length in four bytes.

use arrow_buffer::MutableBuffer;
use lath_kernels::{rle, select};
use lath_parquet::Result;

use super::not_encoded;
use crate::physical::Values;

pub(super) fn max_len(pieces: &[Values]) -> usize {
    4 + rle::max_encoded_len(pieces.iter().map(Values::len).sum(), 1)
}

pub(super) fn encode(pieces: &[Values], out: &mut [u8]) -> Result<usize> {
    let (len_bytes, runs) = out.split_at_mut(4);
    let len = match pieces {
        [] => 0,
        [Values::Booleans(bits)] => rle::encode_bits(bits.values(), bits.offset(), bits.len(), runs)?,
        pieces => {
            let count = pieces.iter().map(Values::len).sum();
            let mut joined = MutableBuffer::from_len_zeroed(usize::div_ceil(count, 8));
            let mut at = 0;
            for piece in pieces {
                let Values::Booleans(bits) = piece else { return Err(not_encoded("RLE")) };
                select::copy_bits(bits.values(), bits.offset(), &mut joined, at, bits.len())?;
                at += bits.len();
            }
            rle::encode_bits(&joined, 0, count, runs)?
        }
    };
    len_bytes.copy_from_slice(&(len as u32).to_le_bytes());
    Ok(4 + len)
}

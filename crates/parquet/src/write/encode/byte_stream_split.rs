//! BYTE_STREAM_SPLIT: the first bytes of all values, then their second ones, and so on.

use super::not_encoded;
use crate::error::Result;
use crate::write::physical::Values;

pub(super) fn encode(pieces: &[Values], out: &mut [u8]) -> Result<usize> {
    let value_count = pieces.iter().map(Values::len).sum();
    let (mut first, mut len) = (0, 0);
    for piece in pieces {
        let (bytes, width): (&[u8], usize) = match piece {
            Values::Words32(words) => (bytemuck::cast_slice(words), 4),
            Values::Words64(words) => (bytemuck::cast_slice(words), 8),
            Values::Fixed { width, bytes, .. } => (bytes, *width),
            _ => return Err(not_encoded("BYTE_STREAM_SPLIT")),
        };
        deal(bytes, value_count, width, first, out);
        first += piece.len();
        len += bytes.len();
    }
    Ok(len)
}

fn deal(values: &[u8], value_count: usize, width: usize, first: usize, out: &mut [u8]) {
    for (index, value) in values.chunks_exact(width.max(1)).enumerate() {
        for (stream, byte) in value.iter().enumerate() {
            out[stream * value_count + first + index] = *byte;
        }
    }
}

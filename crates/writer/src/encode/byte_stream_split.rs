//! BYTE_STREAM_SPLIT: the first bytes of all values, then their second ones, and so on.

use lath_kernels::byte_stream_split;
use lath_parquet::Result;

use super::not_encoded;
use crate::physical::Values;

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
        byte_stream_split::encode(bytes, value_count, width, first, out)?;
        first += piece.len();
        len += bytes.len();
    }
    Ok(len)
}

use lath_kernels::{byte_array, select};
use lath_parquet::Result;

use super::not_encoded;
use crate::physical::Values;

/// Encoded size of the values.
pub(super) fn len(pieces: &[Values]) -> usize {
    match pieces.first() {
        // The bits of a piece follow the bits of the piece before.
        Some(Values::Booleans(_)) => pieces.iter().map(Values::len).sum::<usize>().div_ceil(8),
        _ => pieces.iter().map(Values::plain_len).sum(),
    }
}

/// Encodes values one after another, little-endian; byte arrays after their lengths; booleans as bits.
pub(super) fn encode(pieces: &[Values], out: &mut [u8]) -> Result<usize> {
    let len = len(pieces);
    let out = &mut out[..len];
    let mut at = 0;
    for piece in pieces {
        match piece {
            Values::Booleans(bits) => {
                if at == 0
                    && let Some(last) = out.last_mut()
                {
                    // The bits after the last value.
                    *last = 0;
                }
                select::copy_bits(bits.values(), bits.offset(), out, at, bits.len())?;
                at += bits.len();
            }
            Values::Words32(words) => copy(bytemuck::cast_slice(words), out, &mut at),
            Values::Words64(words) => copy(bytemuck::cast_slice(words), out, &mut at),
            Values::Fixed { bytes, .. } => copy(bytes, out, &mut at),
            Values::Strings(strings) => {
                at += strings.with(|strings| byte_array::encode_plain(strings, &mut out[at..]))?;
            }
            Values::Codes { .. } => return Err(not_encoded("PLAIN")),
            Values::Nothing => {}
        }
    }
    Ok(len)
}

fn copy(bytes: &[u8], out: &mut [u8], at: &mut usize) {
    out[*at..*at + bytes.len()].copy_from_slice(bytes);
    *at += bytes.len();
}

//! DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY: lengths before bytes, and prefixes shared with the previous value.
//!
//! ```text
//! DELTA_LENGTH_BYTE_ARRAY   | lengths, DELTA_BINARY_PACKED | bytes |
//! DELTA_BYTE_ARRAY          | prefix lengths, DELTA_BINARY_PACKED | suffixes, DELTA_LENGTH_BYTE_ARRAY |
//! ```

use lath_kernels::{ByteStrings, byte_array, delta};
use lath_parquet::Result;

use super::not_encoded;
use crate::physical::Values;

/// Buffers for lengths.
#[derive(Debug, Default)]
pub(super) struct Lengths {
    prefixes: Vec<i32>,
    lengths: Vec<i32>,
}

/// Bytes of all values, without lengths.
fn data_len(pieces: &[Values]) -> usize {
    pieces.iter().map(|piece| piece.byte_array_len().unwrap_or_else(|| piece.plain_len())).sum()
}

fn count(pieces: &[Values]) -> usize {
    pieces.iter().map(Values::len).sum()
}

impl Lengths {
    pub(super) fn max_delta_length_len(pieces: &[Values]) -> usize {
        delta::max_encoded_len::<i32>(count(pieces)) + data_len(pieces)
    }

    pub(super) fn max_delta_byte_array_len(pieces: &[Values]) -> usize {
        2 * delta::max_encoded_len::<i32>(count(pieces)) + data_len(pieces)
    }

    pub(super) fn encode_delta_length(&mut self, pieces: &[Values], out: &mut [u8]) -> Result<usize> {
        self.lengths.resize(count(pieces), 0);
        let mut first = 0;
        for piece in pieces {
            let Values::Strings(strings) = piece else { return Err(not_encoded("DELTA_LENGTH_BYTE_ARRAY")) };
            let lengths = &mut self.lengths[first..first + piece.len()];
            strings.with(|strings| byte_array::lengths(strings, lengths))?;
            first += piece.len();
        }
        let mut at = delta::encode_i32(&self.lengths, out)?;
        for piece in pieces {
            if let Values::Strings(strings) = piece {
                at += strings.with(|strings| byte_array::concat(strings, &mut out[at..]))?;
            }
        }
        Ok(at)
    }

    pub(super) fn encode_delta_byte_array(&mut self, pieces: &[Values], out: &mut [u8]) -> Result<usize> {
        let count = count(pieces);
        self.prefixes.resize(count, 0);
        self.lengths.resize(count, 0);
        // Suffixes are written where there is space for any lengths before them.
        let wait_at = 2 * delta::max_encoded_len::<i32>(count);
        let mut end = wait_at;
        let mut first = 0;
        let mut previous: &[u8] = &[];
        for piece in pieces {
            let range = first..first + piece.len();
            let (prefixes, lengths) = (&mut self.prefixes[range.clone()], &mut self.lengths[range]);
            let suffixes = &mut out[end..];
            end += match piece {
                // Empty strings, which kernels cannot count.
                Values::Fixed { width: 0, .. } => {
                    prefixes.fill(0);
                    lengths.fill(0);
                    0
                }
                Values::Fixed { width, bytes, .. } => {
                    let strings = ByteStrings::Fixed { data: bytes, width: *width };
                    let len = byte_array::prefix_split(strings, previous, prefixes, lengths, suffixes)?;
                    previous = bytes.rchunks(*width).next().unwrap_or(previous);
                    len
                }
                Values::Strings(strings) => {
                    let split = |strings: ByteStrings<'_>| {
                        byte_array::prefix_split(strings, previous, prefixes, lengths, suffixes)
                    };
                    let len = strings.with(split)?;
                    previous = strings.len().checked_sub(1).map_or(previous, |last| strings.get(last));
                    len
                }
                _ => return Err(not_encoded("DELTA_BYTE_ARRAY")),
            };
            first += piece.len();
        }
        let mut at = delta::encode_i32(&self.prefixes, out)?;
        at += delta::encode_i32(&self.lengths, &mut out[at..wait_at])?;
        out.copy_within(wait_at..end, at);
        Ok(at + end - wait_at)
    }
}

//! DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY: lengths before bytes, and prefixes shared with the value before.
//!
//! ```text
//! DELTA_LENGTH_BYTE_ARRAY   | lengths, DELTA_BINARY_PACKED | bytes |
//! DELTA_BYTE_ARRAY          | prefix lengths, DELTA_BINARY_PACKED | suffixes, DELTA_LENGTH_BYTE_ARRAY |
//! ```

use lath_kernels::{bytes, delta};

use super::not_encoded;
use crate::error::{Error, Result};
use crate::write::physical::Values;

/// Lengths on their way to a page.
#[derive(Debug, Default)]
pub(super) struct Lengths {
    prefixes: Vec<i32>,
    lengths: Vec<i32>,
}

/// Bytes of all values, lengths not counted.
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
        self.lengths.clear();
        for piece in pieces {
            let Values::Strings(strings) = piece else { return Err(not_encoded("DELTA_LENGTH_BYTE_ARRAY")) };
            for string in strings.iter() {
                self.lengths.push(length(string.len())?);
            }
        }
        let mut at = delta::encode_i32(&self.lengths, out)?;
        for piece in pieces {
            if let Values::Strings(strings) = piece {
                strings.append_data(out, &mut at);
            }
        }
        Ok(at)
    }

    pub(super) fn encode_delta_byte_array(&mut self, pieces: &[Values], out: &mut [u8]) -> Result<usize> {
        self.prefixes.clear();
        self.lengths.clear();
        let mut previous: &[u8] = &[];
        for piece in pieces {
            for value in values(piece)? {
                let prefix = bytes::common_prefix_len(previous, value);
                self.prefixes.push(length(prefix)?);
                self.lengths.push(length(value.len() - prefix)?);
                previous = value;
            }
        }
        let mut at = delta::encode_i32(&self.prefixes, out)?;
        at += delta::encode_i32(&self.lengths, &mut out[at..])?;
        let mut prefixes = self.prefixes.iter();
        for piece in pieces {
            for (value, prefix) in values(piece)?.zip(&mut prefixes) {
                let suffix = &value[*prefix as usize..];
                out[at..at + suffix.len()].copy_from_slice(suffix);
                at += suffix.len();
            }
        }
        Ok(at)
    }
}

/// The values of a BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY column.
fn values(piece: &Values) -> Result<Box<dyn Iterator<Item = &[u8]> + '_>> {
    match piece {
        Values::Strings(strings) => Ok(Box::new(strings.iter())),
        Values::Fixed { width: 0, len, .. } => Ok(Box::new(std::iter::repeat_n(&[][..], *len))),
        Values::Fixed { width, bytes, .. } => Ok(Box::new(bytes.chunks_exact(*width))),
        _ => Err(not_encoded("DELTA_BYTE_ARRAY")),
    }
}

fn length(len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| Error::limit("bytes of a BYTE_ARRAY value", i32::MAX as u64, len as u64))
}

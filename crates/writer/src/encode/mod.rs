//! Encodes values to the bytes of a page, one module for each encoding.
//!
//! The values of a page come in pieces, as batches brought them; nothing is copied before the encoding copies it.
//!
//! <https://parquet.apache.org/docs/file-format/data-pages/encodings/>

mod alp;
mod boolean;
mod byte_array;
mod byte_stream_split;
pub(super) mod dictionary;
pub(super) mod levels;
mod pieces;
mod plain;

use lath_format::Encoding;
use lath_format::schema::PhysicalType;
use lath_kernels::delta;
use lath_parquet::{Error, Result};

use self::alp::Alp;
use self::byte_array::Lengths;
use self::pieces::JoinedPieces;
use super::options::ValueEncoding;
use super::physical::Values;

/// The encodings of values without a dictionary that `physical` has, the simplest first.
fn supported(physical: PhysicalType) -> &'static [Encoding] {
    match physical {
        PhysicalType::BOOLEAN => &[Encoding::Plain, Encoding::Rle],
        PhysicalType::INT32 | PhysicalType::INT64 => {
            &[Encoding::Plain, Encoding::DeltaBinaryPacked, Encoding::ByteStreamSplit]
        }
        PhysicalType::FLOAT | PhysicalType::DOUBLE => &[Encoding::Plain, Encoding::ByteStreamSplit, Encoding::Alp],
        PhysicalType::BYTE_ARRAY => &[Encoding::Plain, Encoding::DeltaLengthByteArray, Encoding::DeltaByteArray],
        PhysicalType::FIXED_LEN_BYTE_ARRAY => &[Encoding::Plain, Encoding::ByteStreamSplit, Encoding::DeltaByteArray],
        PhysicalType::INT96 => &[Encoding::Plain],
    }
}

/// The encodings that a sample chooses from, the simplest first. ALP is a preview in the specification, for use where the readers are
/// known.
pub(super) fn candidates(physical: PhysicalType, with_previews: bool) -> Vec<Encoding> {
    supported(physical).iter().copied().filter(|&encoding| with_previews || encoding != Encoding::Alp).collect()
}

/// The encoding of an option, if `physical` has it: the simplest, until there is a sample.
pub(super) fn requested(option: ValueEncoding, physical: PhysicalType) -> Option<Encoding> {
    let encoding = option.id().unwrap_or(Encoding::Plain);
    supported(physical).contains(&encoding).then_some(encoding)
}

/// Encodes pages of values; keeps the memory that encodings need.
#[derive(Debug, Default)]
pub(super) struct ValueEncoder {
    words32: JoinedPieces<u32>,
    words64: JoinedPieces<u64>,
    lengths: Lengths,
    alp: Alp,
}

impl ValueEncoder {
    /// Drops state learned from the pages of a chunk, so that the next chunk depends on its own values alone.
    pub(super) fn end_chunk(&mut self) {
        self.alp = Alp::default();
    }

    /// Maximum encoded size of the values.
    pub(super) fn max_len(&self, encoding: Encoding, pieces: &[Values]) -> usize {
        match encoding {
            Encoding::Plain | Encoding::ByteStreamSplit => plain::len(pieces),
            Encoding::Rle => boolean::max_len(pieces),
            Encoding::DeltaBinaryPacked => delta::max_encoded_len::<i64>(pieces.iter().map(Values::len).sum()),
            Encoding::DeltaLengthByteArray => Lengths::max_delta_length_len(pieces),
            Encoding::DeltaByteArray => Lengths::max_delta_byte_array_len(pieces),
            Encoding::Alp => Alp::max_len(pieces),
            _ => 0,
        }
    }

    /// Encodes to the front of `out`, of at least [`max_len`](Self::max_len) bytes; returns the number of bytes written.
    pub(super) fn encode(&mut self, encoding: Encoding, pieces: &[Values], out: &mut [u8]) -> Result<usize> {
        match encoding {
            Encoding::Plain => plain::encode(pieces, out),
            Encoding::Rle => boolean::encode(pieces, out),
            Encoding::DeltaBinaryPacked => {
                // A page without values is the same for both types.
                if let Some(words) = self.words32.join(pieces, pieces::words32) {
                    Ok(delta::encode_i32(bytemuck::cast_slice(words), out)?)
                } else if let Some(words) = self.words64.join(pieces, pieces::words64) {
                    Ok(delta::encode_i64(bytemuck::cast_slice(words), out)?)
                } else {
                    Err(not_encoded("DELTA_BINARY_PACKED"))
                }
            }
            Encoding::DeltaLengthByteArray => self.lengths.encode_delta_length(pieces, out),
            Encoding::DeltaByteArray => self.lengths.encode_delta_byte_array(pieces, out),
            Encoding::ByteStreamSplit => byte_stream_split::encode(pieces, out),
            Encoding::Alp => self.alp.encode(pieces, &mut self.words32, &mut self.words64, out),
            other => Err(not_encoded(&other.to_string())),
        }
    }
}

fn not_encoded(encoding: &str) -> Error {
    Error::unsupported(format!("{encoding} for values of this type"))
}

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

use self::alp::Alp;
use self::byte_array::Lengths;
use self::pieces::Joined;
use super::options::ValueEncoding;
use super::physical::Values;
use crate::error::{Error, Result};

/// Encoding of the values of a page without a dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageEncoding {
    Plain,
    Rle,
    DeltaBinaryPacked,
    DeltaLengthByteArray,
    DeltaByteArray,
    ByteStreamSplit,
    Alp,
}

impl PageEncoding {
    /// The encoding's id in metadata.
    pub(super) fn id(self) -> Encoding {
        match self {
            Self::Plain => Encoding::Plain,
            Self::Rle => Encoding::Rle,
            Self::DeltaBinaryPacked => Encoding::DeltaBinaryPacked,
            Self::DeltaLengthByteArray => Encoding::DeltaLengthByteArray,
            Self::DeltaByteArray => Encoding::DeltaByteArray,
            Self::ByteStreamSplit => Encoding::ByteStreamSplit,
            Self::Alp => Encoding::Alp,
        }
    }

    /// The encodings of `physical`, the simplest first.
    fn of_type(physical: PhysicalType) -> &'static [Self] {
        match physical {
            PhysicalType::BOOLEAN => &[Self::Plain, Self::Rle],
            PhysicalType::INT32 | PhysicalType::INT64 => &[Self::Plain, Self::DeltaBinaryPacked, Self::ByteStreamSplit],
            PhysicalType::FLOAT | PhysicalType::DOUBLE => &[Self::Plain, Self::ByteStreamSplit, Self::Alp],
            PhysicalType::BYTE_ARRAY => &[Self::Plain, Self::DeltaLengthByteArray, Self::DeltaByteArray],
            PhysicalType::FIXED_LEN_BYTE_ARRAY => &[Self::Plain, Self::ByteStreamSplit, Self::DeltaByteArray],
            PhysicalType::INT96 => &[Self::Plain],
        }
    }

    /// The encodings that a sample chooses from, the simplest first.
    pub(super) fn candidates(physical: PhysicalType, with_previews: bool) -> Vec<Self> {
        Self::of_type(physical).iter().copied().filter(|encoding| with_previews || !encoding.is_preview()).collect()
    }

    /// Whether the encoding is a preview in the specification, for use where the readers are known.
    fn is_preview(self) -> bool {
        self == Self::Alp
    }

    /// The requested encoding, if `physical` has it.
    pub(super) fn new(encoding: ValueEncoding, physical: PhysicalType) -> Option<Self> {
        let encoding = match encoding {
            // The simplest, until there is a sample.
            ValueEncoding::Plain | ValueEncoding::Sampled => Self::Plain,
            ValueEncoding::Rle => Self::Rle,
            ValueEncoding::DeltaBinaryPacked => Self::DeltaBinaryPacked,
            ValueEncoding::DeltaLengthByteArray => Self::DeltaLengthByteArray,
            ValueEncoding::DeltaByteArray => Self::DeltaByteArray,
            ValueEncoding::ByteStreamSplit => Self::ByteStreamSplit,
            ValueEncoding::Alp => Self::Alp,
        };
        Self::of_type(physical).contains(&encoding).then_some(encoding)
    }
}

/// Encodes pages of values; keeps the memory that encodings need.
#[derive(Debug, Default)]
pub(super) struct ValueEncoder {
    words32: Joined<u32>,
    words64: Joined<u64>,
    lengths: Lengths,
    alp: Alp,
}

impl ValueEncoder {
    /// Drops state learned from the pages of a chunk, so that the next chunk depends on its own values alone.
    pub(super) fn end_chunk(&mut self) {
        self.alp = Alp::default();
    }

    /// Maximum encoded size of the values.
    pub(super) fn max_len(&self, encoding: PageEncoding, pieces: &[Values]) -> usize {
        match encoding {
            PageEncoding::Plain | PageEncoding::ByteStreamSplit => plain::len(pieces),
            PageEncoding::Rle => boolean::max_len(pieces),
            PageEncoding::DeltaBinaryPacked => delta::max_encoded_len::<i64>(pieces.iter().map(Values::len).sum()),
            PageEncoding::DeltaLengthByteArray => Lengths::max_delta_length_len(pieces),
            PageEncoding::DeltaByteArray => Lengths::max_delta_byte_array_len(pieces),
            PageEncoding::Alp => Alp::max_len(pieces),
        }
    }

    /// Encodes to the front of `out`, of at least [`max_len`](Self::max_len) bytes; returns the number of bytes written.
    pub(super) fn encode(&mut self, encoding: PageEncoding, pieces: &[Values], out: &mut [u8]) -> Result<usize> {
        match encoding {
            PageEncoding::Plain => plain::encode(pieces, out),
            PageEncoding::Rle => boolean::encode(pieces, out),
            PageEncoding::DeltaBinaryPacked => {
                // A page without values is the same for both types.
                if let Some(words) = self.words32.join(pieces, pieces::words32) {
                    Ok(delta::encode_i32(bytemuck::cast_slice(words), out)?)
                } else if let Some(words) = self.words64.join(pieces, pieces::words64) {
                    Ok(delta::encode_i64(bytemuck::cast_slice(words), out)?)
                } else {
                    Err(not_encoded("DELTA_BINARY_PACKED"))
                }
            }
            PageEncoding::DeltaLengthByteArray => self.lengths.encode_delta_length(pieces, out),
            PageEncoding::DeltaByteArray => self.lengths.encode_delta_byte_array(pieces, out),
            PageEncoding::ByteStreamSplit => byte_stream_split::encode(pieces, out),
            PageEncoding::Alp => self.alp.encode(pieces, &mut self.words32, &mut self.words64, out),
        }
    }
}

fn not_encoded(encoding: &str) -> Error {
    Error::unsupported(format!("{encoding} for values of this type"))
}

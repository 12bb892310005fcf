//! A data page of values of fixed width, as stored.

use arrow_buffer::Buffer;
use lath_format::schema::PhysicalType;
use lath_kernels::{alp, byte_stream_split, delta};

use super::dictionary::decode_entries;
use crate::decode::chunk_values::OpenPage;
use crate::decode::page_values::{DictionaryIndices, EncodedValues, values_missing};
use crate::decode::prefix_stream::PrefixStream;
use crate::error::{Error, Result};
use crate::page::Encoding;

#[derive(Debug)]
pub(super) enum Page {
    Plain { src: Buffer, position: usize },
    ByteStreamSplit { src: Buffer, value_count: usize, next: usize },
    Alp { src: Buffer, value_count: usize, next: usize },
    DeltaI32 { src: Buffer, decoder: delta::DecoderI32 },
    DeltaI64 { src: Buffer, decoder: delta::DecoderI64 },
    DeltaByteArray(PrefixStream),
    Dictionary(DictionaryIndices),
}

impl OpenPage for Page {
    fn indices(&mut self) -> Option<&mut DictionaryIndices> {
        match self {
            Self::Dictionary(indices) => Some(indices),
            _ => None,
        }
    }

    fn is_dictionary(&self) -> bool {
        matches!(self, Self::Dictionary(_))
    }
}

impl Page {
    /// Opens a page of values of `width` bytes each.
    pub(super) fn open(values: EncodedValues, physical_type: PhysicalType, width: usize) -> Result<Self> {
        let EncodedValues { encoding, bytes: src } = values;
        Ok(match (encoding, physical_type) {
            (Encoding::Plain, _) => Self::Plain { src, position: 0 },
            (Encoding::PlainDictionary | Encoding::RleDictionary, _) => Self::Dictionary(DictionaryIndices::new(&src)?),
            (Encoding::ByteStreamSplit, _) => {
                if width == 0 || src.len() % width != 0 {
                    return Err(Error::corrupt("a BYTE_STREAM_SPLIT page that is not a whole number of values"));
                }
                let value_count = src.len() / width;
                Self::ByteStreamSplit { src, value_count, next: 0 }
            }
            (Encoding::Alp, PhysicalType::FLOAT | PhysicalType::DOUBLE) => {
                Self::Alp { value_count: alp::value_count(&src)?, src, next: 0 }
            }
            (Encoding::DeltaBinaryPacked, PhysicalType::INT32) => {
                Self::DeltaI32 { decoder: delta::DecoderI32::new(&src)?, src }
            }
            (Encoding::DeltaBinaryPacked, PhysicalType::INT64) => {
                Self::DeltaI64 { decoder: delta::DecoderI64::new(&src)?, src }
            }
            (Encoding::DeltaByteArray, PhysicalType::FIXED_LEN_BYTE_ARRAY) => {
                Self::DeltaByteArray(PrefixStream::new(src)?)
            }
            (encoding, physical_type) => {
                return Err(Error::unsupported(format!("encoding {encoding} of {physical_type} values")));
            }
        })
    }

    /// Decodes `count` stored values of `width` bytes; `out` has space for exactly these. `dictionary` has the entries of the
    /// chunk's dictionary as stored.
    pub(super) fn decode(&mut self, dictionary: &[u8], width: usize, out: &mut [u8], count: usize) -> Result<()> {
        match self {
            Self::Plain { src, position } => out.copy_from_slice(take(src, position, count * width)?),
            Self::ByteStreamSplit { src, value_count, next } => {
                if count > *value_count - *next {
                    return Err(values_missing());
                }
                byte_stream_split::decode(src, *value_count, width, *next, out)?;
                *next += count;
            }
            Self::Alp { src, value_count, next } => {
                if count > *value_count - *next {
                    return Err(values_missing());
                }
                match width {
                    4 => alp::decode::<f32>(src, *next, bytemuck::cast_slice_mut(out))?,
                    _ => alp::decode::<f64>(src, *next, bytemuck::cast_slice_mut(out))?,
                }
                *next += count;
            }
            Self::DeltaI32 { src, decoder } => {
                if decoder.decode(src, bytemuck::cast_slice_mut(out))? < count {
                    return Err(values_missing());
                }
            }
            Self::DeltaI64 { src, decoder } => {
                if decoder.decode(src, bytemuck::cast_slice_mut(out))? < count {
                    return Err(values_missing());
                }
            }
            Self::DeltaByteArray(stream) => {
                let mut done = 0;
                while done < count {
                    let (bytes, lengths) = stream.next(count - done)?;
                    if lengths.iter().any(|&len| len as usize != width) {
                        return Err(Error::corrupt(format!("a value whose length is not the column's {width} bytes")));
                    }
                    out[done * width..][..bytes.len()].copy_from_slice(&bytes);
                    done += lengths.len();
                }
            }
            Self::Dictionary(indices) => decode_entries(indices, dictionary, width, out, count)?,
        }
        Ok(())
    }

    /// The next `len` bytes of a page whose stored values are contiguous.
    pub(super) fn take_plain(&mut self, len: usize) -> Option<Result<&[u8]>> {
        match self {
            Self::Plain { src, position } => Some(take(src, position, len)),
            _ => None,
        }
    }

    /// Skips values of `width` bytes each, decoding them only if the encoding needs it.
    pub(super) fn skip(&mut self, value_count: usize, width: usize) -> Result<()> {
        let skipped = match self {
            Self::Plain { src, position } => {
                take(src, position, value_count.saturating_mul(width))?;
                value_count
            }
            Self::ByteStreamSplit { value_count: all, next, .. } | Self::Alp { value_count: all, next, .. } => {
                let skipped = value_count.min(*all - *next);
                *next += skipped;
                skipped
            }
            Self::DeltaI32 { src, decoder } => decoder.skip(src, value_count)?,
            Self::DeltaI64 { src, decoder } => decoder.skip(src, value_count)?,
            Self::Dictionary(indices) => return indices.skip(value_count),
            Self::DeltaByteArray(stream) => return stream.skip(value_count),
        };
        if skipped < value_count { Err(values_missing()) } else { Ok(()) }
    }
}

fn take<'a>(src: &'a [u8], position: &mut usize, len: usize) -> Result<&'a [u8]> {
    let bytes = src.get(*position..).and_then(|rest| rest.get(..len)).ok_or_else(values_missing)?;
    *position += len;
    Ok(bytes)
}

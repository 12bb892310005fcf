//! Compression of blocks.

use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::error::{Error, Result};

/// A block does not become more bytes than this number times its own, which is the highest ratio of deflate, and this many more.
const MAX_RATIO: u64 = 1032;
const MIN_LIMIT_BYTES: u64 = 1 << 16;

/// Maximum bytes of a block.
const LIMIT_BYTES: u64 = 1 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Null,
    Deflate,
    Snappy,
    Zstandard,
}

impl Codec {
    pub(super) fn parse(name: &[u8]) -> Result<Self> {
        match name {
            b"null" | b"" => Ok(Self::Null),
            b"deflate" => Ok(Self::Deflate),
            b"snappy" => Ok(Self::Snappy),
            b"zstandard" => Ok(Self::Zstandard),
            _ => Err(Error::unsupported(format!("Avro's codec {:?}", String::from_utf8_lossy(name)))),
        }
    }

    /// Decompresses a block.
    pub(super) fn decompress(self, bytes: &[u8], what: &'static str) -> Result<Vec<u8>> {
        let limit = (bytes.len() as u64).saturating_mul(MAX_RATIO).clamp(MIN_LIMIT_BYTES, LIMIT_BYTES);
        let error =
            |error: &dyn std::fmt::Display| Error::corrupt(what, format!("a block cannot be decompressed: {error}"));
        let read = |reader: &mut dyn Read| {
            let mut data = Vec::new();
            reader.take(limit + 1).read_to_end(&mut data).map_err(|cause| error(&cause))?;
            if data.len() as u64 > limit { Err(error(&"it has too many bytes")) } else { Ok(data) }
        };
        match self {
            Self::Null => Ok(bytes.to_vec()),
            Self::Deflate => read(&mut DeflateDecoder::new(bytes)),
            Self::Zstandard => read(&mut zstd::stream::read::Decoder::new(bytes).map_err(|cause| error(&cause))?),
            Self::Snappy => {
                // The checksum of the data is behind it.
                let (block, checksum) = bytes.split_last_chunk::<4>().ok_or_else(|| error(&"it has no checksum"))?;
                let length = snap::raw::decompress_len(block).map_err(|cause| error(&cause))?;
                if length as u64 > limit {
                    return Err(error(&"it has too many bytes"));
                }
                let data = snap::raw::Decoder::new().decompress_vec(block).map_err(|cause| error(&cause))?;
                if crc32fast::hash(&data) != u32::from_be_bytes(*checksum) {
                    return Err(error(&"its checksum is another"));
                }
                Ok(data)
            }
        }
    }
}

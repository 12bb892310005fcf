//! Compression of blocks.

use std::io::Read;

use flate2::{Decompress, FlushDecompress, Status};

use crate::error::{Error, Result};

/// A block does not become more bytes than this number times its own, which is the highest ratio of deflate, and this many more.
const MAX_RATIO: u64 = 1032;
const MIN_LIMIT_BYTES: u64 = 1 << 16;

/// Bytes of the first buffer.
const FIRST_BYTES: usize = 4096;

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
}

/// Decompresses the blocks of a container. All blocks share its memory: some writers make a block of each record.
#[derive(Debug)]
pub(super) struct Decompressor {
    codec: Codec,
    inflate: Option<Decompress>,
    data: Vec<u8>,
}

impl Decompressor {
    pub(super) fn new(codec: Codec) -> Self {
        Self { codec, inflate: None, data: Vec::new() }
    }

    /// The data of a block.
    pub(super) fn decompress<'d>(&'d mut self, bytes: &'d [u8], what: &'static str) -> Result<&'d [u8]> {
        let limit = (bytes.len() as u64).saturating_mul(MAX_RATIO).clamp(MIN_LIMIT_BYTES, LIMIT_BYTES);
        let error =
            |error: &dyn std::fmt::Display| Error::corrupt(what, format!("a block cannot be decompressed: {error}"));
        self.data.clear();
        match self.codec {
            Codec::Null => return Ok(bytes),
            Codec::Deflate => self.inflate(bytes, limit).map_err(|cause| error(&cause))?,
            Codec::Zstandard => {
                let reader = zstd::stream::read::Decoder::new(bytes).map_err(|cause| error(&cause))?;
                reader.take(limit + 1).read_to_end(&mut self.data).map_err(|cause| error(&cause))?;
            }
            Codec::Snappy => {
                // The checksum of the data is behind it.
                let (block, checksum) = bytes.split_last_chunk::<4>().ok_or_else(|| error(&"it has no checksum"))?;
                let length = snap::raw::decompress_len(block).map_err(|cause| error(&cause))?;
                if length as u64 > limit {
                    return Err(error(&"it has too many bytes"));
                }
                self.data = snap::raw::Decoder::new().decompress_vec(block).map_err(|cause| error(&cause))?;
                if crc32fast::hash(&self.data) != u32::from_be_bytes(*checksum) {
                    return Err(error(&"its checksum is another"));
                }
            }
        }
        if self.data.len() as u64 > limit { Err(error(&"it has too many bytes")) } else { Ok(&self.data) }
    }

    /// Decompresses a block of deflate, up to somewhat more than `limit` bytes.
    fn inflate(&mut self, bytes: &[u8], limit: u64) -> Result<(), String> {
        let inflate = self.inflate.get_or_insert_with(|| Decompress::new(false));
        inflate.reset(false);
        while self.data.len() as u64 <= limit {
            if self.data.len() == self.data.capacity() {
                self.data.reserve(self.data.len().max(bytes.len()).max(FIRST_BYTES));
            }
            let before = (inflate.total_in(), inflate.total_out());
            // No more than the block was read from it.
            let rest = &bytes[before.0 as usize..];
            let status = inflate.decompress_vec(rest, &mut self.data, FlushDecompress::None);
            if status.map_err(|error| error.to_string())? == Status::StreamEnd {
                return Ok(());
            }
            if (inflate.total_in(), inflate.total_out()) == before {
                return Err("it ends early".to_owned());
            }
        }
        Ok(())
    }
}

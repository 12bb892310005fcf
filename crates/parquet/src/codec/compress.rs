//! The other direction: bytes of a page become fewer.

use std::fmt;

use brotli::enc::BrotliEncoderParams;
use libdeflater::CompressionLvl;
use parquet::basic::Compression;

use crate::error::{Error, Result};

/// Compresses the pages of a column chunk; keeps what a codec can use again.
pub(crate) enum Compressor {
    Uncompressed,
    Snappy(Box<snap::raw::Encoder>),
    Gzip(libdeflater::Compressor),
    Brotli {
        params: Box<BrotliEncoderParams>,
        /// Output, which the encoder wants to grow.
        out: Vec<u8>,
    },
    Zstd(zstd::bulk::Compressor<'static>),
    Lz4Raw,
}

impl Compressor {
    /// A compressor for `codec` at the level that it carries.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for the deprecated codecs, which are read only.
    pub(crate) fn new(codec: Compression) -> Result<Self> {
        Ok(match codec {
            Compression::UNCOMPRESSED => Self::Uncompressed,
            Compression::SNAPPY => Self::Snappy(Box::new(snap::raw::Encoder::new())),
            Compression::GZIP(level) => {
                let level =
                    i32::try_from(level.compression_level()).ok().and_then(|level| CompressionLvl::new(level).ok());
                let level = level.ok_or_else(|| Error::invalid("Gzip has no such level"))?;
                Self::Gzip(libdeflater::Compressor::new(level))
            }
            Compression::BROTLI(level) => {
                let quality = i32::try_from(level.compression_level()).unwrap_or(i32::MAX);
                let params = Box::new(BrotliEncoderParams { quality, ..BrotliEncoderParams::default() });
                Self::Brotli { params, out: Vec::new() }
            }
            Compression::ZSTD(level) => {
                let compressor = zstd::bulk::Compressor::new(level.compression_level());
                Self::Zstd(compressor.map_err(|error| Error::io("start Zstandard", error))?)
            }
            Compression::LZ4_RAW => Self::Lz4Raw,
            Compression::LZ4 | Compression::LZO => {
                return Err(Error::unsupported(format!("writing with the deprecated codec {codec}")));
            }
        })
    }

    /// Whether pages are stored as they are, so that there is nothing to do.
    pub(crate) fn copies_nothing(&self) -> bool {
        matches!(self, Self::Uncompressed)
    }

    /// The most bytes that `len` bytes can become.
    pub(crate) fn max_len(&mut self, len: usize) -> usize {
        match self {
            Self::Uncompressed => len,
            Self::Snappy(_) => snap::raw::max_compress_len(len),
            Self::Gzip(compressor) => compressor.gzip_compress_bound(len),
            // What cannot be compressed is stored in pieces of at least 16 KiB, each with a few bytes before it.
            Self::Brotli { .. } => len + len / 256 + 1024,
            Self::Zstd(_) => zstd::zstd_safe::compress_bound(len),
            Self::Lz4Raw => lz4_flex::block::get_maximum_output_size(len),
        }
    }

    /// Compresses `src` to the front of `dst`, which has room for [`max_len`](Self::max_len) bytes; returns how many were
    /// written.
    pub(crate) fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let failed = |codec: &str, error: &dyn fmt::Display| {
            Error::io("compress a page", std::io::Error::other(format!("{codec}: {error}")))
        };
        match self {
            Self::Uncompressed => {
                let len = src.len();
                let room = dst.get_mut(..len).ok_or_else(|| failed("no codec", &"no room"))?;
                room.copy_from_slice(src);
                Ok(len)
            }
            Self::Snappy(encoder) => encoder.compress(src, dst).map_err(|error| failed("Snappy", &error)),
            Self::Gzip(compressor) => compressor.gzip_compress(src, dst).map_err(|error| failed("Gzip", &error)),
            Self::Brotli { params, out } => {
                out.clear();
                let mut src = src;
                brotli::BrotliCompress(&mut src, out, params).map_err(|error| failed("Brotli", &error))?;
                let room = dst.get_mut(..out.len()).ok_or_else(|| failed("Brotli", &"no room"))?;
                room.copy_from_slice(out);
                Ok(out.len())
            }
            Self::Zstd(compressor) => {
                compressor.compress_to_buffer(src, dst).map_err(|error| failed("Zstandard", &error))
            }
            Self::Lz4Raw => lz4_flex::block::compress_into(src, dst).map_err(|error| failed("LZ4", &error)),
        }
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uncompressed => "Uncompressed",
            Self::Snappy(_) => "Snappy",
            Self::Gzip(_) => "Gzip",
            Self::Brotli { .. } => "Brotli",
            Self::Zstd(_) => "Zstd",
            Self::Lz4Raw => "Lz4Raw",
        })
    }
}

#[cfg(test)]
mod tests {
    use lath_testkit::Seeded;
    use parquet::basic::{BrotliLevel, GzipLevel, ZstdLevel};

    use super::Compressor;
    use crate::codec::Decompressor;
    use parquet::basic::Compression;

    fn codecs() -> Vec<Compression> {
        vec![
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::LZ4_RAW,
            Compression::GZIP(GzipLevel::try_new(1).expect("a level")),
            Compression::GZIP(GzipLevel::try_new(9).expect("a level")),
            Compression::BROTLI(BrotliLevel::try_new(0).expect("a level")),
            Compression::BROTLI(BrotliLevel::try_new(5).expect("a level")),
            Compression::ZSTD(ZstdLevel::try_new(1).expect("a level")),
            Compression::ZSTD(ZstdLevel::try_new(19).expect("a level")),
        ]
    }

    #[test]
    fn what_is_compressed_within_the_bound_is_decompressed_again() {
        let mut random = Seeded::new("what_is_compressed_within_the_bound_is_decompressed_again");
        for codec in codecs() {
            let mut compressor = Compressor::new(codec).expect("a codec that is written");
            for len in [0, 1, 2, 17, 1000, 70_000, 300_000] {
                let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
                let text: Vec<u8> = noise.iter().map(|byte| b'a' + byte % 3).collect();
                for bytes in [noise, text] {
                    let mut stored = vec![0xA5; compressor.max_len(len)];
                    let stored_len = compressor.compress(&bytes, &mut stored).expect("room");
                    let mut back = Vec::new();
                    let mut decompressor = Decompressor::new(codec).expect("a codec");
                    decompressor.decompress(&stored[..stored_len], &mut back, len).expect("what was compressed");
                    assert!(back.starts_with(&bytes), "{codec}, {len} bytes");
                }
            }
        }
    }

    #[test]
    fn deprecated_codecs_are_not_written() {
        assert!(Compressor::new(Compression::LZO).is_err());
        assert!(Compressor::new(Compression::LZ4).is_err());
    }
}

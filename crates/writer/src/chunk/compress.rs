//! Compresses pages.

use std::fmt;

use crate::options::Codec;
use brotli::enc::BrotliEncoderParams;
use lath_parquet::{Error, Result};
use libdeflater::CompressionLvl;

/// Compresses the pages of a column chunk; keeps the codec's reusable state.
pub(crate) enum Compressor {
    Uncompressed,
    Snappy(Box<snap::raw::Encoder>),
    Gzip(libdeflater::Compressor),
    Brotli {
        params: Box<BrotliEncoderParams>,
        /// Output buffer, which the encoder grows.
        out: Vec<u8>,
    },
    Zstd(zstd::bulk::Compressor<'static>),
    Lz4Raw,
}

impl Compressor {
    /// A compressor for `codec`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a level out of range.
    pub(crate) fn new(codec: Codec) -> Result<Self> {
        let no_level = || Error::invalid(format!("{codec:?} has no such level"));
        if !codec.has_level() {
            return Err(no_level());
        }
        // All levels are below 23.
        let level = |level: u32| level.cast_signed();
        Ok(match codec {
            Codec::Uncompressed => Self::Uncompressed,
            Codec::Snappy => Self::Snappy(Box::new(snap::raw::Encoder::new())),
            Codec::Gzip { level: gzip } => {
                let level = CompressionLvl::new(level(gzip)).map_err(|_| no_level())?;
                Self::Gzip(libdeflater::Compressor::new(level))
            }
            Codec::Brotli { level: quality } => {
                let params = BrotliEncoderParams { quality: level(quality), ..BrotliEncoderParams::default() };
                Self::Brotli { params: Box::new(params), out: Vec::new() }
            }
            Codec::Zstd { level: zstd } => {
                let compressor = zstd::bulk::Compressor::new(level(zstd));
                Self::Zstd(compressor.map_err(|error| Error::io("start Zstandard", error))?)
            }
            Codec::Lz4Raw => Self::Lz4Raw,
        })
    }

    /// Whether pages are stored uncompressed.
    pub(crate) fn copies_nothing(&self) -> bool {
        matches!(self, Self::Uncompressed)
    }

    /// Maximum compressed size of `len` bytes.
    pub(crate) fn max_len(&mut self, len: usize) -> usize {
        match self {
            Self::Uncompressed => len,
            Self::Snappy(_) => snap::raw::max_compress_len(len),
            Self::Gzip(compressor) => compressor.gzip_compress_bound(len),
            // Incompressible data is stored in pieces of at least 16 KiB, each with a few bytes before it.
            Self::Brotli { .. } => len + len / 256 + 1024,
            Self::Zstd(_) => zstd::zstd_safe::compress_bound(len),
            Self::Lz4Raw => lz4_flex::block::get_maximum_output_size(len),
        }
    }

    /// Compresses `src` to the front of `dst`, which has space for [`max_len`](Self::max_len) bytes; returns the number of bytes
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

    use lath_format::CompressionCodec;

    use super::Compressor;
    use crate::Codec;
    use lath_parquet::internal::decompress;

    /// Codecs for writing, and for reading.
    fn codecs() -> [(Codec, CompressionCodec); 9] {
        [
            (Codec::Uncompressed, CompressionCodec::Uncompressed),
            (Codec::Snappy, CompressionCodec::Snappy),
            (Codec::Lz4Raw, CompressionCodec::Lz4Raw),
            (Codec::Gzip { level: 1 }, CompressionCodec::Gzip),
            (Codec::Gzip { level: 9 }, CompressionCodec::Gzip),
            (Codec::Brotli { level: 0 }, CompressionCodec::Brotli),
            (Codec::Brotli { level: 5 }, CompressionCodec::Brotli),
            (Codec::Zstd { level: 1 }, CompressionCodec::Zstd),
            (Codec::Zstd { level: 19 }, CompressionCodec::Zstd),
        ]
    }

    #[test]
    fn what_is_compressed_within_the_bound_is_decompressed_again() {
        let mut random = Seeded::new("what_is_compressed_within_the_bound_is_decompressed_again");
        for (codec, as_read) in codecs() {
            let mut compressor = Compressor::new(codec).expect("a codec that is written");
            for len in [0, 1, 2, 17, 1000, 70_000, 300_000] {
                let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(len).collect();
                let text: Vec<u8> = noise.iter().map(|byte| b'a' + byte % 3).collect();
                for bytes in [noise, text] {
                    let mut stored = vec![0xA5; compressor.max_len(len)];
                    let stored_len = compressor.compress(&bytes, &mut stored).expect("room");
                    let back = decompress(as_read, &stored[..stored_len], len).expect("a compressed page");
                    assert_eq!(back, bytes, "{codec:?}, {len} bytes");
                }
            }
        }
    }

    #[test]
    fn levels_that_a_codec_lacks_are_refused() {
        for codec in [
            Codec::Gzip { level: 0 },
            Codec::Gzip { level: 10 },
            Codec::Brotli { level: 12 },
            Codec::Zstd { level: 0 },
            Codec::Zstd { level: 23 },
            Codec::Zstd { level: u32::MAX },
        ] {
            assert!(Compressor::new(codec).is_err(), "{codec:?}");
        }
    }
}

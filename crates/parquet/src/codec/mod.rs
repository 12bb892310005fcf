//! Codecs: decompress pages.
//!
//! A codec writes exactly as many bytes as the page header states, and else fails. Before memory is allocated, the stated length
//! is compared with the longest output that the input could have, so that a short page cannot request gigabytes.
//!
//! <https://github.com/apache/parquet-format/blob/master/Compression.md>

mod brotli;
mod gzip;
mod hadoop;
mod lz4;
mod lzo;
mod snappy;
mod zstd;

#[cfg(test)]
mod tests;

use lath_format::CompressionCodec;

use crate::error::{Error, Result};

/// Minimum bytes of a page whose memory is reserved before decompression.
const LARGE_PAGE_BYTES: usize = 64 << 20;
/// The page, its values, and the output, which grows by doubling.
const COPIES_OF_LARGE_PAGE: usize = 4;
/// Maximum expansion of all codecs except Brotli; a page with a larger one is refused by its codec.
const MAX_RATIO: usize = 40_000;

/// Decompresses the pages of a column chunk; keeps the codec's reusable state.
#[derive(Debug)]
pub(crate) enum Decompressor {
    Uncompressed,
    Snappy,
    Gzip(gzip::Decoder),
    Brotli(brotli::Decoder),
    Zstd(zstd::Decoder),
    /// The deprecated codec with its several framings.
    Lz4,
    Lz4Raw,
    Lzo,
}

impl Decompressor {
    /// A decompressor for `codec`.
    pub(crate) fn new(codec: CompressionCodec) -> Result<Self> {
        Ok(match codec {
            CompressionCodec::Uncompressed => Self::Uncompressed,
            CompressionCodec::Snappy => Self::Snappy,
            CompressionCodec::Gzip => Self::Gzip(gzip::Decoder::new()),
            CompressionCodec::Brotli => Self::Brotli(brotli::Decoder),
            CompressionCodec::Zstd => Self::Zstd(zstd::Decoder::new()?),
            CompressionCodec::Lz4 => Self::Lz4,
            CompressionCodec::Lz4Raw => Self::Lz4Raw,
            CompressionCodec::Lzo => Self::Lzo,
            other => return Err(Error::unsupported(format!("compression by {other}"))),
        })
    }

    /// Whether this decompressor can be used for `codec`.
    pub(crate) fn is_for(&self, codec: CompressionCodec) -> bool {
        match self {
            Self::Uncompressed => codec == CompressionCodec::Uncompressed,
            Self::Snappy => codec == CompressionCodec::Snappy,
            Self::Gzip(_) => codec == CompressionCodec::Gzip,
            Self::Brotli(_) => codec == CompressionCodec::Brotli,
            Self::Zstd(_) => codec == CompressionCodec::Zstd,
            Self::Lz4 => codec == CompressionCodec::Lz4,
            Self::Lz4Raw => codec == CompressionCodec::Lz4Raw,
            Self::Lzo => codec == CompressionCodec::Lzo,
        }
    }

    /// Whether pages are stored uncompressed.
    pub(crate) fn copies_nothing(&self) -> bool {
        matches!(self, Self::Uncompressed)
    }

    /// Decompresses `src`, which must yield exactly `len` bytes, to the front of `dst`.
    ///
    /// `dst` may have any length and contents; afterwards it has at least `len` bytes, and the bytes after the first `len` are
    /// undefined.
    pub(crate) fn decompress(&mut self, src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<()> {
        if len == 0 {
            // Writers differ in how they compress an empty page, and some store nothing at all.
            return Ok(());
        }
        // Brotli is checked while it produces output.
        if !matches!(self, Self::Brotli(_)) && len <= src.len().saturating_mul(MAX_RATIO) {
            check_room(len)?;
        }
        let written = match self {
            Self::Uncompressed => {
                dst.clear();
                dst.extend_from_slice(src);
                src.len()
            }
            Self::Snappy => snappy::decompress(src, dst, len)?,
            Self::Gzip(decoder) => decoder.decompress(src, dst, len)?,
            Self::Brotli(decoder) => decoder.decompress(src, dst, len)?,
            Self::Zstd(decoder) => decoder.decompress(src, dst, len)?,
            Self::Lz4 => lz4::decompress_any_framing(src, dst, len)?,
            Self::Lz4Raw => lz4::decompress_raw(src, dst, len)?,
            Self::Lzo => lzo::decompress(src, dst, len)?,
        };
        if written != len {
            return Err(Error::corrupt(format!("page decompresses to {written} bytes where its header says {len}")));
        }
        Ok(())
    }
}

/// Decompresses a page of `len` bytes.
///
/// # Errors
/// [`Error::Corrupt`] if `src` is malformed or has another length, [`Error::Unsupported`] for an unknown codec.
pub fn decompress(codec: CompressionCodec, src: &[u8], len: usize) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Decompressor::new(codec)?.decompress(src, &mut page, len)?;
    page.truncate(len);
    Ok(page)
}

/// Checks that there is memory to decode a page of `len` bytes. Otherwise the process would be aborted in the middle of decoding;
/// so the memory for a large page is allocated and freed before.
fn check_room(len: usize) -> Result<()> {
    if len < LARGE_PAGE_BYTES {
        return Ok(());
    }
    let is_there = |bytes: usize| Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    let needed = len.saturating_mul(COPIES_OF_LARGE_PAGE);
    if is_there(needed) {
        return Ok(());
    }
    let mut room = needed / 2;
    while room > 0 && !is_there(room) {
        room /= 2;
    }
    let what = format!("bytes of free memory to decode a page of {len} bytes");
    Err(Error::limit(what, room as u64, needed as u64))
}

/// Refuses a stated length that no input of `src_len` bytes can have if every byte expands to at most `ratio` bytes.
fn check_ratio(codec: &str, src_len: usize, len: usize, ratio: usize) -> Result<()> {
    if len <= src_len.saturating_mul(ratio) {
        return Ok(());
    }
    Err(Error::corrupt(format!("{src_len} bytes of {codec} cannot decompress to {len} bytes")))
}

/// The first `len` bytes of `dst`, which is replaced if it is too short.
fn room(dst: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if dst.len() < len {
        // Not grown: that would copy the old bytes, and fresh zeroed memory needs no clearing. After a shorter page a little more
        // than requested: later pages may be a little longer still.
        let spare = if dst.is_empty() { 0 } else { len / 16 };
        *dst = Vec::new();
        *dst = vec![0; len + spare];
    }
    &mut dst[..len]
}

//! Bytes that are compressed on their way.

use std::io::{self, Write};

use flate2::write::GzEncoder;

use crate::format::Compression;

/// A destination whose bytes are compressed as a whole, or not.
pub(super) enum CompressingWriter<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> CompressingWriter<W> {
    pub(super) fn new(target: W, compression: Option<Compression>) -> io::Result<Self> {
        Ok(match compression {
            None => Self::Plain(target),
            Some(Compression::Gzip) => Self::Gzip(GzEncoder::new(target, flate2::Compression::default())),
            Some(Compression::Zstd) => Self::Zstd(zstd::stream::write::Encoder::new(target, 0)?),
        })
    }

    /// The destination.
    pub(super) fn target(&self) -> &W {
        match self {
            Self::Plain(target) => target,
            Self::Gzip(encoder) => encoder.get_ref(),
            Self::Zstd(encoder) => encoder.get_ref(),
        }
    }

    /// Writes the end of the compressed bytes.
    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(target) => Ok(target),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for CompressingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(target) => target.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(target) => target.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}

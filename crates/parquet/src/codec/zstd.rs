use std::fmt;

use super::{check_ratio, room};
use crate::error::{Error, Result};

/// Maximum output per input byte: a block of 128 KiB that repeats one byte takes four.
const MAX_RATIO: usize = 32 << 10;

/// Zstandard, with one or several frames.
///
/// <https://www.rfc-editor.org/rfc/rfc8878>
pub(crate) struct Decoder {
    decoder: zstd::bulk::Decompressor<'static>,
}

impl Decoder {
    pub(super) fn new() -> Result<Self> {
        let decoder = zstd::bulk::Decompressor::new().map_err(|error| Error::io("start Zstandard", error))?;
        Ok(Self { decoder })
    }

    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
        check_ratio("Zstandard", src.len(), len, MAX_RATIO)?;
        self.decoder
            .decompress_to_buffer(src, room(dst, len))
            .map_err(|error| Error::corrupt(format!("Zstandard: {error}")))
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

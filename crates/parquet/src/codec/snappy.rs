use super::{check_ratio, room};
use crate::error::{Error, Result};

/// The longest output per byte: copies of 64 bytes take three.
const MAX_RATIO: usize = 22;

/// Snappy's raw format: the decompressed length, then literals and copies.
///
/// <https://github.com/google/snappy/blob/main/format_description.txt>
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    decoder: snap::raw::Decoder,
}

impl Decoder {
    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
        let corrupt = |error: snap::Error| Error::corrupt(format!("Snappy: {error}"));
        let stated = snap::raw::decompress_len(src).map_err(corrupt)?;
        if stated != len {
            return Ok(stated);
        }
        check_ratio("Snappy", src.len(), len, MAX_RATIO)?;
        self.decoder.decompress(src, room(dst, len)).map_err(corrupt)
    }
}

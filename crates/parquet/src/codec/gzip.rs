use std::fmt;

use flate2::{Decompress, FlushDecompress, Status};

use super::{check_ratio, room};
use crate::error::{Error, Result};

/// The longest output per byte: a copy of 258 bytes takes two bits.
const MAX_RATIO: usize = 1032;

/// Base-2 logarithm of Deflate's largest window.
const WINDOW_BITS: u8 = 15;

/// Gzip, one member or several; also Zlib's framing, which some writers mistook for it.
///
/// <https://www.rfc-editor.org/rfc/rfc1952>
#[derive(Default)]
pub(crate) struct Decoder {
    gzip: Option<Decompress>,
    zlib: Option<Decompress>,
}

impl Decoder {
    pub(super) fn decompress(&mut self, mut src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
        check_ratio("Gzip", src.len(), len, MAX_RATIO)?;
        let dst = room(dst, len);
        let mut written = 0;
        loop {
            let (read, wrote) = self.member(src, &mut dst[written..])?;
            src = &src[read..];
            written += wrote;
            // Zero bytes may pad the last member to a block, as the format's own tool allows.
            if src.iter().all(|&byte| byte == 0) {
                return Ok(written);
            }
        }
    }

    /// Decompresses one member; returns how many bytes it took and gave.
    fn member(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(usize, usize)> {
        let decoder = if src.starts_with(&[0x1f, 0x8b]) {
            let decoder = self.gzip.get_or_insert_with(|| Decompress::new_gzip(WINDOW_BITS));
            // `reset` turns to the Zlib framing or to none, so the decoder for Gzip starts anew.
            *decoder = Decompress::new_gzip(WINDOW_BITS);
            decoder
        } else {
            let decoder = self.zlib.get_or_insert_with(|| Decompress::new(true));
            decoder.reset(true);
            decoder
        };
        match decoder.decompress(src, dst, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => Ok((decoder.total_in() as usize, decoder.total_out() as usize)),
            Ok(_) if decoder.total_out() as usize == dst.len() => {
                Err(Error::corrupt("Gzip: more data than the page header says"))
            }
            Ok(_) => Err(Error::corrupt("Gzip: data ends within a member")),
            Err(error) => Err(Error::corrupt(format!("Gzip: {error}"))),
        }
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

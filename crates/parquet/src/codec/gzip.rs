use std::fmt;

use flate2::{Decompress, FlushDecompress, Status};

use super::{check_ratio, room};
use crate::error::{Error, Result};

/// Maximum output per input byte: a copy of 258 bytes takes two bits.
const MAX_RATIO: usize = 1032;

/// Base-2 logarithm of Deflate's largest window.
const WINDOW_BITS: u8 = 15;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Gzip, with one or several members; also Zlib's framing, which some writers use instead.
///
/// Libdeflate decompresses a single member, which nearly all pages are: on TPC-H lineitem in 0.60 of the time of `zlib-rs`, which
/// handles the rest and reports errors.
///
/// <https://www.rfc-editor.org/rfc/rfc1952>
pub(crate) struct Decoder {
    whole: libdeflater::Decompressor,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self { whole: libdeflater::Decompressor::new() }
    }

    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
        check_ratio("Gzip", src.len(), len, MAX_RATIO)?;
        let dst = room(dst, len);
        let whole = if src.starts_with(&GZIP_MAGIC) {
            // The last member ends with its length: if it differs from the whole, there are several.
            let is_whole = src.last_chunk().is_some_and(|&last| u32::from_le_bytes(last) as usize == len);
            if is_whole { self.whole.gzip_decompress(src, dst).ok() } else { None }
        } else {
            self.whole.zlib_decompress(src, dst).ok()
        };
        if whole == Some(len) { Ok(len) } else { members(src, dst) }
    }
}

/// Decompresses one member after another.
fn members(mut src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let mut written = 0;
    loop {
        let mut decoder =
            if src.starts_with(&GZIP_MAGIC) { Decompress::new_gzip(WINDOW_BITS) } else { Decompress::new(true) };
        let room = &mut dst[written..];
        match decoder.decompress(src, room, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => {}
            Ok(_) if decoder.total_out() as usize == room.len() => {
                return Err(Error::corrupt("Gzip: more data than the page header says"));
            }
            Ok(_) => return Err(Error::corrupt("Gzip: data ends within a member")),
            Err(error) => return Err(Error::corrupt(format!("Gzip: {error}"))),
        }
        written += decoder.total_out() as usize;
        src = &src[decoder.total_in() as usize..];
        // Zero bytes may pad the last member to a block, as the format's own tool does.
        if src.iter().all(|&byte| byte == 0) {
            return Ok(written);
        }
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

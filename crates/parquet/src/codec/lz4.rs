//! LZ4: the raw block format (LZ4_RAW), and the deprecated codec (LZ4) with three framings.
//!
//! ```text
//! Hadoop   | as the module of that name has it |
//! frame    | 04 22 4d 18 | … |
//! raw      | block |
//! ```

use std::io::Read;

use super::{check_ratio, hadoop, room};
use crate::error::{Error, Result};

/// Maximum output per input byte: each byte that lengthens a match stands for 255.
const MAX_RATIO: usize = 255;

const FRAME_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// One LZ4 block.
///
/// <https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>
pub(super) fn decompress_raw(src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
    check_ratio("LZ4", src.len(), len, MAX_RATIO)?;
    block(src, room(dst, len))
}

/// Any of the framings.
pub(super) fn decompress_any_framing(src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
    check_ratio("LZ4", src.len(), len, MAX_RATIO)?;
    let dst = room(dst, len);
    if src.starts_with(&FRAME_MAGIC) {
        return frame(src, dst);
    }
    // A block can look like Hadoop's framing only by chance, and then its lengths do not add up.
    let framed = hadoop::decompress(src, dst, |src, dst| lz4_flex::block::decompress_into(src, dst).ok());
    framed.map_or_else(|| block(src, dst), Ok)
}

fn block(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    lz4_flex::block::decompress_into(src, dst).map_err(|error| Error::corrupt(format!("LZ4: {error}")))
}

fn frame(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let corrupt = |error: std::io::Error| Error::corrupt(format!("LZ4: {error}"));
    let mut decoder = lz4_flex::frame::FrameDecoder::new(src);
    let mut written = 0;
    while written < dst.len() {
        match decoder.read(&mut dst[written..]).map_err(corrupt)? {
            0 => return Ok(written),
            len => written += len,
        }
    }
    // Reading on shows whether there is more data.
    match decoder.read(&mut [0]).map_err(corrupt)? {
        0 => Ok(written),
        _ => Err(Error::corrupt("LZ4: more data than the page header says")),
    }
}

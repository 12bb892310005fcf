use lath_kernels::snappy;

use super::{check_ratio, room};
use crate::error::{Error, Result};

/// The longest output per byte: copies of 64 bytes take three.
const MAX_RATIO: usize = 22;

/// Snappy's raw format. Output gets room to spare, which spares the decoder its care.
pub(super) fn decompress(src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
    let stated = snappy::decompressed_len(src)?;
    if stated != len {
        return Ok(stated);
    }
    check_ratio("Snappy", src.len(), len, MAX_RATIO)?;
    // The room is there: whatever the kernel refuses, the stated length too, is in the stream.
    snappy::decompress(src, room(dst, len + snappy::SLACK_LEN))
        .map_err(|error| Error::corrupt(format!("Snappy: {error}")))
}

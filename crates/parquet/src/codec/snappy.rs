use lath_kernels::snappy;

use super::{check_ratio, room};
use crate::error::{Error, Result};

/// Maximum output per input byte: copies of 64 bytes take three.
const MAX_RATIO: usize = 22;

/// Snappy's raw format. Slack after the output saves bounds checks in the decoder.
pub(super) fn decompress(src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
    let stated = snappy::decompressed_len(src)?;
    if stated != len {
        return Ok(stated);
    }
    check_ratio("Snappy", src.len(), len, MAX_RATIO)?;
    // There is enough space: any error of the kernel, including a wrong length, is in the stream.
    snappy::decompress(src, room(dst, len + snappy::SLACK_LEN))
        .map_err(|error| Error::corrupt(format!("Snappy: {error}")))
}

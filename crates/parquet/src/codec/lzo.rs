use super::{check_ratio, hadoop, room};
use crate::error::{Error, Result};

/// Maximum output per input byte: each byte that lengthens a copy stands for 255.
const MAX_RATIO: usize = 255;

/// LZO1X in Hadoop's framing, as its codec writes it; else one block, as the codec's name suggests.
pub(super) fn decompress(src: &[u8], dst: &mut Vec<u8>, len: usize) -> Result<usize> {
    check_ratio("LZO", src.len(), len, MAX_RATIO)?;
    let dst = room(dst, len);
    let framed = hadoop::decompress(src, dst, |src, dst| lzo::decompress_into(src, dst).ok());
    framed.map_or_else(|| lzo::decompress_into(src, dst).map_err(|error| Error::corrupt(format!("LZO: {error}"))), Ok)
}

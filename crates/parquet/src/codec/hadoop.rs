//! Framing of Hadoop's block codecs: units of data, each in one or more compressed blocks.
//!
//! ```text
//! | u32 BE length of the data | u32 BE length of a block | block | … |  repeated
//! ```

/// Decompresses all units with `decompress_block`, if `src` has this framing and fills `dst`.
pub(super) fn decompress(
    mut src: &[u8],
    dst: &mut [u8],
    decompress_block: impl Fn(&[u8], &mut [u8]) -> Option<usize>,
) -> Option<usize> {
    let mut written = 0;
    while !src.is_empty() {
        let data_end = take_length(&mut src)?.checked_add(written)?;
        if data_end > dst.len() {
            return None;
        }
        while written < data_end {
            let block_len = take_length(&mut src)?;
            let (block, rest) = src.split_at_checked(block_len)?;
            src = rest;
            let block_written = decompress_block(block, &mut dst[written..data_end])?;
            if block_written == 0 {
                return None;
            }
            written += block_written;
        }
    }
    (written == dst.len()).then_some(written)
}

fn take_length(src: &mut &[u8]) -> Option<usize> {
    let (length, rest) = src.split_first_chunk::<4>()?;
    *src = rest;
    usize::try_from(u32::from_be_bytes(*length)).ok()
}

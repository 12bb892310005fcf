//! The 64 bytes to read for a range of at most as many.

use super::BLOCK_LEN;

/// A block that contains all of a range, and the range's position in it.
pub(super) struct Window<'a> {
    pub(super) block: &'a [u8; BLOCK_LEN],
    /// Bytes of the block before the range, modulo 64: it is 64 or more only if the range is empty.
    pub(super) before: u32,
    /// The number of existing bytes of the range, at most 64.
    pub(super) len: u32,
}

/// The window of a range, unless `bytes` is shorter than a block.
///
/// The block is the one that starts with the range, or the last one, without a branch.
#[inline]
pub(super) fn window(bytes: &[u8], start: usize, len: usize) -> Option<Window<'_>> {
    let last = bytes.len().checked_sub(BLOCK_LEN)?;
    let from = start.min(last);
    let block = bytes[from..].first_chunk()?;
    let len = len.min(bytes.len().saturating_sub(start)).min(BLOCK_LEN);
    Some(Window { block, before: (start - from) as u32 % BLOCK_LEN as u32, len: len as u32 })
}

//! Value nodes: a value too large for a leaf.
//!
//! ```text
//! body   12 length u64 │ 20 the value …
//! ```

use super::{BODY_HEAD, CHECKSUM_LEN, COMMON};
use crate::error::{Error, Result};
use crate::extent::UNIT;

/// Bytes of a node before the value, including its checksum.
pub(crate) const HEAD: usize = CHECKSUM_LEN + COMMON + 8;

/// The maximum length of a value.
pub(crate) const MAX_LEN: u64 = 1 << 32;

/// The length of the value in the node with this head.
pub(crate) fn len(head: &[u8; BODY_HEAD]) -> u64 {
    let mut len = [0; 8];
    len.copy_from_slice(&head[COMMON..COMMON + 8]);
    u64::from_le_bytes(len)
}

/// Units of a node for a value of `len` bytes.
pub(crate) fn units(len: u64) -> Result<u32> {
    if len > MAX_LEN {
        return Err(Error::Limit { what: "the length of a value", limit: MAX_LEN });
    }
    Ok((len + HEAD as u64).div_ceil(UNIT) as u32)
}

/// Writes the value into the body of a fresh value node.
pub(crate) fn write(body: &mut [u8], value: &[u8]) {
    body[COMMON..COMMON + 8].copy_from_slice(&(value.len() as u64).to_le_bytes());
    body[COMMON + 8..][..value.len()].copy_from_slice(value);
}

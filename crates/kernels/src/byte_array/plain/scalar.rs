//! Portable walks. PLAIN has the length right before the bytes, as a view does, so the 16 bytes at a value's start with
//! the bytes of the next values cleared are already the view of a short one.

use super::{PlainScan, value_at, view};
use crate::KernelError;

pub(super) fn plain_views(
    page: &[u8],
    position: usize,
    buffer_index: u32,
    out: &mut [u128],
) -> Result<PlainScan, KernelError> {
    let mut at = position;
    let mut max_len = 0;
    for (i, slot) in out.iter_mut().enumerate() {
        let value = value_at(page, at, i)?;
        let len = value.len() as u32;
        *slot = match page[at..].first_chunk::<16>() {
            Some(word) if at + 4 <= view::MAX_OFFSET => {
                view::from_word(len, u128::from_le_bytes(*word), view::reference(buffer_index, at as u32 + 4))
            }
            _ => {
                let offset = offset_of(value, at, i)?;
                view::from_value(value, buffer_index, offset)
            }
        };
        max_len = max_len.max(len);
        at += 4 + value.len();
    }
    Ok(PlainScan { position: at, total_len: at - position - 4 * out.len(), max_len })
}

/// What the view of value `i`, which starts at `at`, says where its bytes are.
fn offset_of(value: &[u8], at: usize, i: usize) -> Result<u32, KernelError> {
    if value.len() <= view::INLINE_LEN {
        Ok(0)
    } else if at + 4 > view::MAX_OFFSET {
        Err(KernelError::OffsetOverflow { position: i })
    } else {
        Ok(at as u32 + 4)
    }
}

pub(super) fn plain_lengths(page: &[u8], position: usize, out: &mut [i32]) -> Result<PlainScan, KernelError> {
    let mut at = position;
    let mut max_len = 0;
    for (i, slot) in out.iter_mut().enumerate() {
        let value = value_at(page, at, i)?;
        *slot = value.len() as i32;
        max_len = max_len.max(value.len() as u32);
        at += 4 + value.len();
    }
    Ok(PlainScan { position: at, total_len: at - position - 4 * out.len(), max_len })
}

/// `values` is exactly the lengths and bytes, and `out` exactly the bytes.
pub(super) fn copy_plain(values: &[u8], lengths: &[i32], out: &mut [u8]) {
    let mut from = 0;
    let mut to = 0;
    for &len in lengths {
        let len = len as usize;
        from += 4;
        out[to..to + len].copy_from_slice(&values[from..from + len]);
        from += len;
        to += len;
    }
}

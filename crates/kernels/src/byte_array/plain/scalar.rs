//! Portable walks. PLAIN has the length right before the bytes, like a view, so the 16 bytes at a value's start, with
//! the bytes of the next values cleared, are already the view of a short value.

use super::{PlainScan, value_at, view};
use crate::KernelError;

pub(super) fn plain_views(
    page: &[u8],
    position: usize,
    buffer_index: u32,
    out: &mut [u128],
) -> Result<PlainScan, KernelError> {
    let mut walk = Walk { at: position, index: 0, max_len: 0 };
    walk.views(page, buffer_index, out)?;
    Ok(walk.scan(position))
}

pub(super) fn plain_lengths(page: &[u8], position: usize, out: &mut [i32]) -> Result<PlainScan, KernelError> {
    let mut walk = Walk { at: position, index: 0, max_len: 0 };
    walk.lengths(page, out)?;
    Ok(walk.scan(position))
}

/// A walk in progress; other tiers finish their walks with it.
pub(super) struct Walk {
    /// The start of the next value.
    pub(super) at: usize,
    /// Its index in the batch.
    pub(super) index: usize,
    pub(super) max_len: u32,
}

impl Walk {
    pub(super) fn views(&mut self, page: &[u8], buffer_index: u32, out: &mut [u128]) -> Result<(), KernelError> {
        for slot in out {
            let at = self.at;
            let value = self.step(page)?;
            *slot = match page[at..].first_chunk::<16>() {
                Some(word) if at + 4 <= view::MAX_OFFSET => {
                    let reference = view::reference(buffer_index, at as u32 + 4);
                    view::from_word(value.len() as u32, u128::from_le_bytes(*word), reference)
                }
                _ => {
                    let offset = view_offset(value, at, self.index - 1)?;
                    view::from_value(value, buffer_index, offset)
                }
            };
        }
        Ok(())
    }

    pub(super) fn lengths(&mut self, page: &[u8], out: &mut [i32]) -> Result<(), KernelError> {
        for slot in out {
            *slot = self.step(page)?.len() as i32;
        }
        Ok(())
    }

    pub(super) fn scan(&self, position: usize) -> PlainScan {
        PlainScan { position: self.at, total_len: self.at - position - 4 * self.index, max_len: self.max_len }
    }

    /// Reads the next value.
    #[inline(always)]
    fn step<'a>(&mut self, page: &'a [u8]) -> Result<&'a [u8], KernelError> {
        let value = value_at(page, self.at, self.index)?;
        self.at += 4 + value.len();
        self.index += 1;
        self.max_len = self.max_len.max(value.len() as u32);
        Ok(value)
    }
}

/// The offset in the view of value `i`, which starts at `at`.
fn view_offset(value: &[u8], at: usize, i: usize) -> Result<u32, KernelError> {
    if value.len() <= view::INLINE_LEN {
        Ok(0)
    } else if at + 4 > view::MAX_OFFSET {
        Err(KernelError::OffsetOverflow { position: i })
    } else {
        Ok(at as u32 + 4)
    }
}

/// `values` is exactly the lengths and bytes, and `out` exactly the bytes.
pub(super) fn copy_values(values: &[u8], lengths: &[i32], out: &mut [u8]) {
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

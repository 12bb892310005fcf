//! Portable joining: two copies a value.

use super::{BLOCK, Lengths, copy_block, value_len, without_prefixes};
use crate::KernelError;

pub(super) fn join(
    mut join: Join,
    lengths: Lengths<'_>,
    suffixes: &[u8],
    out: &mut [u8],
    out_lengths: &mut [i32],
) -> Result<(), KernelError> {
    let count = out_lengths.len();
    while join.index < count {
        let end = count.min(join.index + BLOCK);
        if without_prefixes(lengths, join.index..end) {
            join = copy_block(join, end, lengths, suffixes, out, out_lengths);
        }
        while join.index < end {
            let (prefix, suffix) = lengths.of(join.index);
            out_lengths[join.index] = value_len(join.index, prefix, suffix, join.last_len)?;
            join = join.copy(prefix, suffix, suffixes, out);
        }
    }
    Ok(())
}

/// A join in progress. Other tiers use single steps of it at the ends of buffers.
#[derive(Clone, Copy)]
pub(super) struct Join {
    /// The index of the next value.
    pub(super) index: usize,
    /// The start of its suffix.
    pub(super) from: usize,
    /// The position of its start, right after the previous value.
    pub(super) to: usize,
    /// The length of the value before.
    pub(super) last_len: usize,
}

impl Join {
    /// Writes the next value, whose prefix the previous value has.
    #[inline(always)]
    pub(super) fn copy(self, prefix: usize, suffix: usize, suffixes: &[u8], out: &mut [u8]) -> Self {
        let Self { from, to, last_len, .. } = self;
        let last = to - last_len;
        out.copy_within(last..last + prefix, to);
        out[to + prefix..to + prefix + suffix].copy_from_slice(&suffixes[from..from + suffix]);
        self.after(prefix, suffix)
    }

    /// The join after the next value is written.
    #[inline(always)]
    pub(super) fn after(self, prefix: usize, suffix: usize) -> Self {
        let len = prefix + suffix;
        Self { index: self.index + 1, from: self.from + suffix, to: self.to + len, last_len: len }
    }
}

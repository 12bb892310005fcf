//! Portable joining: two copies a value.

use super::{BLOCK, Lengths, copy_block, value_len, without_prefixes};
use crate::KernelError;

pub(super) fn join(
    lengths: Lengths<'_>,
    suffixes: &[u8],
    previous: &[u8],
    out: &mut [u8],
    out_lengths: &mut [i32],
) -> Result<(), KernelError> {
    let mut join = Join { index: 0, from: 0, to: 0, last_len: previous.len() };
    let count = out_lengths.len();
    while join.index < count {
        let end = count.min(join.index + BLOCK);
        if without_prefixes(lengths, join.index..end) {
            copy_block(&mut join, end, lengths, suffixes, out, out_lengths);
        }
        while join.index < end {
            join.step(lengths, suffixes, previous, out, out_lengths)?;
        }
    }
    Ok(())
}

/// A join in progress; other tiers take single steps of it where they have no room for theirs.
pub(super) struct Join {
    /// The number of the next value.
    pub(super) index: usize,
    /// Where its suffix starts.
    pub(super) from: usize,
    /// Where it is to start.
    pub(super) to: usize,
    /// The length of the value before it, which ends at `to`, or is `previous`.
    pub(super) last_len: usize,
}

impl Join {
    pub(super) fn step(
        &mut self,
        lengths: Lengths<'_>,
        suffixes: &[u8],
        previous: &[u8],
        out: &mut [u8],
        out_lengths: &mut [i32],
    ) -> Result<(), KernelError> {
        let Self { index, from, to, last_len } = *self;
        let (prefix, suffix) = (lengths.prefixes[index] as usize, lengths.suffixes[index] as usize);
        out_lengths[index] = value_len(index, prefix, suffix, last_len)?;
        if index == 0 {
            out[..prefix].copy_from_slice(&previous[..prefix]);
        } else {
            let last = to - last_len;
            out.copy_within(last..last + prefix, to);
        }
        out[to + prefix..to + prefix + suffix].copy_from_slice(&suffixes[from..from + suffix]);
        *self = Self { index: index + 1, from: from + suffix, to: to + prefix + suffix, last_len: prefix + suffix };
        Ok(())
    }
}

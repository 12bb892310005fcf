//! Portable joining: two copies a value.

use super::value_len;
use crate::KernelError;

/// No length is negative, `suffixes` has all suffixes, and `out` has room for all values.
pub(super) fn join(
    prefix_lengths: &[i32],
    suffix_lengths: &[i32],
    suffixes: &[u8],
    previous: &[u8],
    out: &mut [u8],
    out_lengths: &mut [i32],
) -> Result<(), KernelError> {
    let mut last_len = previous.len();
    let mut to = 0;
    let mut from = 0;
    for (i, ((&prefix, &suffix), out_len)) in
        prefix_lengths.iter().zip(suffix_lengths).zip(out_lengths.iter_mut()).enumerate()
    {
        let (prefix, suffix) = (prefix as usize, suffix as usize);
        *out_len = value_len(i, prefix, suffix, last_len)?;
        if i == 0 {
            out[..prefix].copy_from_slice(&previous[..prefix]);
        } else {
            let last = to - last_len;
            out.copy_within(last..last + prefix, to);
        }
        out[to + prefix..to + prefix + suffix].copy_from_slice(&suffixes[from..from + suffix]);
        from += suffix;
        to += prefix + suffix;
        last_len = prefix + suffix;
    }
    Ok(())
}

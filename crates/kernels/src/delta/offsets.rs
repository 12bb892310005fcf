//! Checks around lengths to offsets. Tiers sum with wrapping, and collect all possible failures in one word, whose sign
//! reports them at the end. Only then is the failure located.

use crate::KernelError;

pub(super) fn check(lengths: &[i32], start: i64, out_len: usize) -> Result<(), KernelError> {
    if out_len != lengths.len() {
        return Err(KernelError::LengthMismatch { expected: lengths.len(), actual: out_len });
    }
    if start < 0 {
        return Err(KernelError::Malformed { what: "start offset" });
    }
    Ok(())
}

/// The error of lengths that cannot be summed.
#[cold]
pub(super) fn explain(lengths: &[i32], start: i64, max: i64) -> KernelError {
    let mut end = start;
    for (position, &length) in lengths.iter().enumerate() {
        if length < 0 {
            return KernelError::NegativeLength { position };
        }
        match end.checked_add(length.into()) {
            Some(sum) if sum <= max => end = sum,
            _ => return KernelError::OffsetOverflow { position },
        }
    }
    KernelError::OffsetOverflow { position: lengths.len() }
}

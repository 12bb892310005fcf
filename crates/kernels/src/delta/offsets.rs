//! Lengths to offsets, scalar: the sum wraps, and all that could have gone wrong is collected in one word whose sign
//! says so in the end. Where it did is looked for only then.

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

/// The last end, or nothing if a length is negative or an end overflows.
pub(super) fn sum_i32(lengths: &[i32], start: i32, out: &mut [i32]) -> Option<i32> {
    // Both terms of a sum are below 2^31 while nothing went wrong, so the first sum to overflow is negative.
    let (mut end, mut seen) = (start, 0);
    for (out, &length) in out.iter_mut().zip(lengths) {
        end = end.wrapping_add(length);
        seen |= length | end;
        *out = end;
    }
    (seen >= 0).then_some(end)
}

/// The last end, or nothing if a length is negative or an end overflows.
pub(super) fn sum_i64(lengths: &[i32], start: i64, out: &mut [i64]) -> Option<i64> {
    let (mut end, mut seen) = (start, 0);
    for (out, &length) in out.iter_mut().zip(lengths) {
        end = end.wrapping_add(length.into());
        seen |= i64::from(length) | end;
        *out = end;
    }
    (seen >= 0).then_some(end)
}

/// The error of lengths that do not sum up.
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

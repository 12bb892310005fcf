//! Dictionary codes to bits, by a bitmap of the dictionary's entries that pass.

use super::truth::Truth;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use super::{check_words, scalar};
use crate::KernelError;
use crate::tier::dispatch;

/// Writes for each code whether its entry passes.
///
/// ```
/// use lath_kernels::compare::{Truth, codes};
///
/// // Of three entries, the first and the last pass.
/// let truth = Truth::new(&[0b101], 3)?;
/// let mut bits = [0];
/// codes(&[1, 0, 0, 2, 1], truth, &mut bits)?;
/// assert_eq!(bits, [0b01110]);
/// # Ok::<(), lath_kernels::KernelError>(())
/// ```
///
/// # Errors
/// If a code is not less than the number of entries, or `out` does not have one word per 64 codes, rounded up.
pub fn codes(codes: &[u32], truth: Truth<'_>, out: &mut [u64]) -> Result<(), KernelError> {
    check_words(codes.len(), out)?;
    dispatch!(codes(codes, truth, out): avx512 avx2)
}

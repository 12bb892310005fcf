//! Sums of unvalidated lengths from a page.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")
)]

use crate::tier::dispatch;

/// The sum, or `None` if a length is negative.
pub(super) fn sum(lengths: &[i32]) -> Option<u64> {
    dispatch!(sum(lengths): avx2)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::scalar;
    use crate::tier::avx2;

    avx2! {
        pub(super) fn sum(lengths: &[i32]) -> Option<u64> {
            scalar::sum(lengths)
        }
    }
}

mod scalar {
    /// Halves are summed separately, so that no element needs widening: a block has at most 65,536 of each, which fit
    /// 32 bits.
    #[inline(always)]
    pub(super) fn sum(lengths: &[i32]) -> Option<u64> {
        let mut signs = 0;
        let mut total = 0;
        for block in lengths.chunks(1 << 16) {
            let (mut lower, mut upper) = (0_u32, 0_u32);
            for &len in block {
                signs |= len;
                lower = lower.wrapping_add(len as u32 & 0xFFFF);
                upper = upper.wrapping_add(len as u32 >> 16);
            }
            total += u64::from(lower) + (u64::from(upper) << 16);
        }
        (signs >= 0).then_some(total)
    }
}

/// The position of the first negative length, or zero if there is none.
#[cold]
pub(super) fn first_negative(lengths: &[i32]) -> usize {
    lengths.iter().position(|&len| len < 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{first_negative, sum};

    #[test]
    fn the_largest_lengths_of_many_values_are_summed() {
        for count in [0, 1, 7, 65_535, 65_536, 65_537, 200_000] {
            assert_eq!(sum(&vec![i32::MAX; count]), Some(count as u64 * i32::MAX as u64));
            assert_eq!(sum(&vec![0xFFFF; count]), Some(count as u64 * 0xFFFF));
        }
    }

    #[test]
    fn negative_length_anywhere_is_refused() {
        for (position, negative) in [(0, -1), (3, i32::MIN), (70_000, -5)] {
            let mut lengths = vec![1; 70_001];
            lengths[position] = negative;
            assert_eq!(sum(&lengths), None);
            assert_eq!(first_negative(&lengths), position);
        }
    }
}

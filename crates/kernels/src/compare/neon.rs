//! Comparisons of 128 bits, narrowed to bytes by taking every other lane; then, like level masks, they become bits: a
//! bit for each byte at its position, added pairwise three times.
#![expect(unsafe_code, reason = "vector loads at addresses within arrays")]

use std::arch::aarch64::*;

use super::blocks::{BLOCK, test, test_pairs};
use crate::tier::neon;

neon! {
    /// Lanes of ones or zeros of 64 bytes.
    #[inline]
    fn mask_8(vector: impl Fn(usize) -> uint8x16_t) -> u64 {
        const PLACES: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: the array is 16 bytes.
        let places = unsafe { vld1q_u8(PLACES.as_ptr()) };
        let low = vpaddq_u8(vandq_u8(vector(0), places), vandq_u8(vector(1), places));
        let high = vpaddq_u8(vandq_u8(vector(2), places), vandq_u8(vector(3), places));
        let sums = vpaddq_u8(low, high);
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
    }

    #[inline]
    fn mask_16(vector: impl Fn(usize) -> uint16x8_t) -> u64 {
        mask_8(|at| {
            let (a, b) = (vreinterpretq_u8_u16(vector(2 * at)), vreinterpretq_u8_u16(vector(2 * at + 1)));
            vuzp1q_u8(a, b)
        })
    }

    #[inline]
    fn mask_32(vector: impl Fn(usize) -> uint32x4_t) -> u64 {
        mask_16(|at| {
            let (a, b) = (vreinterpretq_u16_u32(vector(2 * at)), vreinterpretq_u16_u32(vector(2 * at + 1)));
            vuzp1q_u16(a, b)
        })
    }

    #[inline]
    fn mask_64(vector: impl Fn(usize) -> uint64x2_t) -> u64 {
        mask_32(|at| {
            let (a, b) = (vreinterpretq_u32_u64(vector(2 * at)), vreinterpretq_u32_u64(vector(2 * at + 1)));
            vuzp1q_u32(a, b)
        })
    }

    /// Inverts all lanes.
    #[inline]
    fn not_64(lanes: uint64x2_t) -> uint64x2_t {
        vreinterpretq_u64_u8(vmvnq_u8(vreinterpretq_u8_u64(lanes)))
    }
}

macro_rules! integers {
    ($($integer:ty, $lanes:literal, $mask:ident, $load:ident $set:ident $sub:ident $le:ident $lt:ident $eq:ident $xor:ident
        $or:ident: $within:ident $less:ident $equal:ident $in_set:ident;)*) => { neon! { $(
        pub(super) fn $within(values: &[$integer], low: $integer, span: $integer, inverted: bool, out: &mut [u64]) {
            let (low, span) = ($set(low), $set(span));
            test(values, inverted, out, |block| {
                let (vectors, _) = block.as_chunks::<$lanes>();
                // SAFETY: the array is a vector long.
                $mask(|at| $le($sub(unsafe { $load(vectors[at].as_ptr()) }, low), span))
            });
        }

        pub(super) fn $less(left: &[$integer], right: &[$integer], turn: $integer, inverted: bool, out: &mut [u64]) {
            let turn = $set(turn);
            test_pairs(left, right, inverted, out, |left, right| {
                let (left, _) = left.as_chunks::<$lanes>();
                let (right, _) = right.as_chunks::<$lanes>();
                $mask(|at| {
                    // SAFETY: the array is a vector long.
                    let left = unsafe { $load(left[at].as_ptr()) };
                    // SAFETY: as above.
                    let right = unsafe { $load(right[at].as_ptr()) };
                    $lt($xor(left, turn), $xor(right, turn))
                })
            });
        }

        pub(super) fn $equal(left: &[$integer], right: &[$integer], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                let (left, _) = left.as_chunks::<$lanes>();
                let (right, _) = right.as_chunks::<$lanes>();
                $mask(|at| {
                    // SAFETY: the array is a vector long.
                    let left = unsafe { $load(left[at].as_ptr()) };
                    // SAFETY: as above.
                    let right = unsafe { $load(right[at].as_ptr()) };
                    $eq(left, right)
                })
            });
        }

        pub(super) fn $in_set(values: &[$integer], set: &[$integer], out: &mut [u64]) {
            test(values, false, out, |block| {
                let (vectors, _) = block.as_chunks::<$lanes>();
                let mut found = [$set(0); BLOCK / $lanes];
                for &wanted in set {
                    let wanted = $set(wanted);
                    for (found, vector) in found.iter_mut().zip(vectors) {
                        // SAFETY: the array is a vector long.
                        let value = unsafe { $load(vector.as_ptr()) };
                        *found = $or(*found, $eq(value, wanted));
                    }
                }
                $mask(|at| found[at])
            });
        }
    )* } };
}

integers! {
    u8, 16, mask_8, vld1q_u8 vdupq_n_u8 vsubq_u8 vcleq_u8 vcltq_u8 vceqq_u8 veorq_u8 vorrq_u8:
        within_u8 less_u8 equal_u8 in_set_u8;
    u16, 8, mask_16, vld1q_u16 vdupq_n_u16 vsubq_u16 vcleq_u16 vcltq_u16 vceqq_u16 veorq_u16 vorrq_u16:
        within_u16 less_u16 equal_u16 in_set_u16;
    u32, 4, mask_32, vld1q_u32 vdupq_n_u32 vsubq_u32 vcleq_u32 vcltq_u32 vceqq_u32 veorq_u32 vorrq_u32:
        within_u32 less_u32 equal_u32 in_set_u32;
    u64, 2, mask_64, vld1q_u64 vdupq_n_u64 vsubq_u64 vcleq_u64 vcltq_u64 vceqq_u64 veorq_u64 vorrq_u64:
        within_u64 less_u64 equal_u64 in_set_u64;
}

macro_rules! floats {
    ($($float:ty, $lanes:literal, $mask:ident, $load:ident $set:ident $zero:expr, $ge:ident $le:ident $eq:ident $and:ident
        $or:ident $not:ident: $within:ident $less:ident $equal:ident $in_set:ident;)*) => { neon! { $(
        pub(super) fn $within(values: &[$float], low: $float, high: $float, inverted: bool, out: &mut [u64]) {
            let (low, high) = ($set(low), $set(high));
            test(values, inverted, out, |block| {
                let (vectors, _) = block.as_chunks::<$lanes>();
                $mask(|at| {
                    // SAFETY: the array is a vector long.
                    let value = unsafe { $load(vectors[at].as_ptr()) };
                    $and($ge(value, low), $le(value, high))
                })
            });
        }

        pub(super) fn $less(left: &[$float], right: &[$float], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                let (left, _) = left.as_chunks::<$lanes>();
                let (right, _) = right.as_chunks::<$lanes>();
                $mask(|at| {
                    // SAFETY: the array is a vector long.
                    let left = unsafe { $load(left[at].as_ptr()) };
                    // SAFETY: as above.
                    let right = unsafe { $load(right[at].as_ptr()) };
                    // Less, or one of them is a NaN, but not the left one.
                    $and($not($ge(left, right)), $eq(left, left))
                })
            });
        }

        pub(super) fn $equal(left: &[$float], right: &[$float], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                let (left, _) = left.as_chunks::<$lanes>();
                let (right, _) = right.as_chunks::<$lanes>();
                $mask(|at| {
                    // SAFETY: the array is a vector long.
                    let left = unsafe { $load(left[at].as_ptr()) };
                    // SAFETY: as above.
                    let right = unsafe { $load(right[at].as_ptr()) };
                    let nan = $and($not($eq(left, left)), $not($eq(right, right)));
                    $or($eq(left, right), nan)
                })
            });
        }

        pub(super) fn $in_set(values: &[$float], set: &[$float], out: &mut [u64]) {
            let nan = set.iter().any(|wanted| wanted.is_nan());
            test(values, false, out, |block| {
                let (vectors, _) = block.as_chunks::<$lanes>();
                let mut found = [$zero; BLOCK / $lanes];
                for &wanted in set {
                    let wanted = $set(wanted);
                    for (found, vector) in found.iter_mut().zip(vectors) {
                        // SAFETY: the array is a vector long.
                        let value = unsafe { $load(vector.as_ptr()) };
                        *found = $or(*found, $eq(value, wanted));
                    }
                }
                $mask(|at| {
                    // SAFETY: the array is a vector long.
                    let value = unsafe { $load(vectors[at].as_ptr()) };
                    if nan { $or(found[at], $not($eq(value, value))) } else { found[at] }
                })
            });
        }
    )* } };
}

floats! {
    f32, 4, mask_32, vld1q_f32 vdupq_n_f32 vdupq_n_u32(0), vcgeq_f32 vcleq_f32 vceqq_f32 vandq_u32 vorrq_u32 vmvnq_u32:
        within_f32 less_f32 equal_f32 in_set_f32;
    f64, 2, mask_64, vld1q_f64 vdupq_n_f64 vdupq_n_u64(0), vcgeq_f64 vcleq_f64 vceqq_f64 vandq_u64 vorrq_u64 not_64:
        within_f64 less_f64 equal_f64 in_set_f64;
}

//! Comparisons of 512 bits, which give bits directly: a mask register has what [`super::avx2`] packs and moves.
//!
//! Dictionaries of 257 to 1,024 entries are in two registers of words that a permute chooses from.
#![expect(unsafe_code, reason = "vector loads from references to arrays")]

use std::arch::x86_64::*;
use std::cell::Cell;

use super::avx2;
use super::blocks::{BLOCK, test, test_pairs};
use super::truth::{Truth, check_codes};
use crate::KernelError;
use crate::tier::avx512;

avx512! {
    #[inline]
    fn load<T, const N: usize>(values: &[T; N]) -> __m512i {
        const { assert!(size_of::<[T; N]>() == 64) };
        // SAFETY: the array is 64 bytes, by the assertion, of plain numbers, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
    }

    /// The masks of a block, as bits of one word.
    ///
    /// One after another: from masks shifted by multiples of their length and joined by OR, the compiler makes a
    /// vector, byte by byte, whose lanes it shifts and joins, in twice the time of the comparisons.
    #[inline]
    fn join<M: Copy + Into<u64>, const N: usize>(masks: [M; N]) -> u64 {
        const { assert!(N > 0 && size_of::<[M; N]>() == BLOCK / 8) };
        masks.iter().rev().fold(0, |word: u64, &mask| (word << (BLOCK / N - 1) << 1) | mask.into())
    }

    #[inline]
    fn load_f32(values: &[f32; 16]) -> __m512 {
        _mm512_castsi512_ps(load(values))
    }

    #[inline]
    fn load_f64(values: &[f64; 8]) -> __m512d {
        _mm512_castsi512_pd(load(values))
    }
}

macro_rules! integers {
    ($($integer:ty, $signed:ty, $lanes:literal, $set:ident $sub:ident $le:ident $lt:ident $eq:ident:
        $within:ident $less:ident $equal:ident $in_set:ident;)*) => { avx512! { $(
        pub(super) fn $within(values: &[$integer], low: $integer, span: $integer, inverted: bool, out: &mut [u64]) {
            let (low, span) = ($set(low.cast_signed()), $set(span.cast_signed()));
            test(values, inverted, out, |block| {
                let mut masks = [0; BLOCK / $lanes];
                for (index, vector) in block.as_chunks::<$lanes>().0.iter().enumerate() {
                    masks[index] = $le($sub(load(vector), low), span);
                }
                join(masks)
            });
        }

        pub(super) fn $less(left: &[$integer], right: &[$integer], turn: $integer, inverted: bool, out: &mut [u64]) {
            let turn = $set(turn.cast_signed());
            test_pairs(left, right, inverted, out, |left, right| {
                let mut masks = [0; BLOCK / $lanes];
                let pairs = left.as_chunks::<$lanes>().0.iter().zip(right.as_chunks::<$lanes>().0);
                for (index, (left, right)) in pairs.enumerate() {
                    let (left, right) = (_mm512_xor_si512(load(left), turn), _mm512_xor_si512(load(right), turn));
                    masks[index] = $lt(left, right);
                }
                join(masks)
            });
        }

        pub(super) fn $equal(left: &[$integer], right: &[$integer], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                let mut masks = [0; BLOCK / $lanes];
                let pairs = left.as_chunks::<$lanes>().0.iter().zip(right.as_chunks::<$lanes>().0);
                for (index, (left, right)) in pairs.enumerate() {
                    masks[index] = $eq(load(left), load(right));
                }
                join(masks)
            });
        }

        pub(super) fn $in_set(values: &[$integer], set: &[$integer], out: &mut [u64]) {
            test(values, false, out, |block| {
                let (vectors, _) = block.as_chunks::<$lanes>();
                let mut masks = [0; BLOCK / $lanes];
                for wanted in set {
                    let wanted = $set(wanted.cast_signed());
                    for (mask, vector) in masks.iter_mut().zip(vectors) {
                        *mask |= $eq(load(vector), wanted);
                    }
                }
                join(masks)
            });
        }
    )* } };
}

integers! {
    u8, i8, 64, _mm512_set1_epi8 _mm512_sub_epi8 _mm512_cmple_epu8_mask _mm512_cmplt_epu8_mask _mm512_cmpeq_epi8_mask:
        within_u8 less_u8 equal_u8 in_set_u8;
    u16, i16, 32, _mm512_set1_epi16 _mm512_sub_epi16 _mm512_cmple_epu16_mask _mm512_cmplt_epu16_mask
        _mm512_cmpeq_epi16_mask: within_u16 less_u16 equal_u16 in_set_u16;
    u32, i32, 16, _mm512_set1_epi32 _mm512_sub_epi32 _mm512_cmple_epu32_mask _mm512_cmplt_epu32_mask
        _mm512_cmpeq_epi32_mask: within_u32 less_u32 equal_u32 in_set_u32;
    u64, i64, 8, _mm512_set1_epi64 _mm512_sub_epi64 _mm512_cmple_epu64_mask _mm512_cmplt_epu64_mask
        _mm512_cmpeq_epi64_mask: within_u64 less_u64 equal_u64 in_set_u64;
}

macro_rules! floats {
    ($($float:ty, $lanes:literal, $load:ident $set:ident $cmp:ident $and_cmp:ident:
        $within:ident $less:ident $equal:ident $in_set:ident;)*) => { avx512! { $(
        pub(super) fn $within(values: &[$float], low: $float, high: $float, inverted: bool, out: &mut [u64]) {
            let (low, high) = ($set(low), $set(high));
            test(values, inverted, out, |block| {
                let mut masks = [0; BLOCK / $lanes];
                for (index, vector) in block.as_chunks::<$lanes>().0.iter().enumerate() {
                    let value = $load(vector);
                    let above = $cmp::<_CMP_GE_OQ>(value, low);
                    masks[index] = $and_cmp::<_CMP_LE_OQ>(above, value, high);
                }
                join(masks)
            });
        }

        pub(super) fn $less(left: &[$float], right: &[$float], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                let mut masks = [0; BLOCK / $lanes];
                let pairs = left.as_chunks::<$lanes>().0.iter().zip(right.as_chunks::<$lanes>().0);
                for (index, (left, right)) in pairs.enumerate() {
                    let (left, right) = ($load(left), $load(right));
                    // Less, or one of them is a NaN, but not the left one.
                    let number = $cmp::<_CMP_ORD_Q>(left, left);
                    masks[index] = $and_cmp::<_CMP_NGE_UQ>(number, left, right);
                }
                join(masks)
            });
        }

        pub(super) fn $equal(left: &[$float], right: &[$float], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                let mut masks = [0; BLOCK / $lanes];
                let pairs = left.as_chunks::<$lanes>().0.iter().zip(right.as_chunks::<$lanes>().0);
                for (index, (left, right)) in pairs.enumerate() {
                    let (left, right) = ($load(left), $load(right));
                    let nan = $cmp::<_CMP_UNORD_Q>(left, left);
                    let nan = $and_cmp::<_CMP_UNORD_Q>(nan, right, right);
                    masks[index] = $cmp::<_CMP_EQ_OQ>(left, right) | nan;
                }
                join(masks)
            });
        }

        pub(super) fn $in_set(values: &[$float], set: &[$float], out: &mut [u64]) {
            let nan = set.iter().any(|wanted| wanted.is_nan());
            test(values, false, out, |block| {
                let (vectors, _) = block.as_chunks::<$lanes>();
                let mut masks = [0; BLOCK / $lanes];
                if nan {
                    for (mask, vector) in masks.iter_mut().zip(vectors) {
                        let value = $load(vector);
                        *mask = $cmp::<_CMP_UNORD_Q>(value, value);
                    }
                }
                for &wanted in set {
                    let wanted = $set(wanted);
                    for (mask, vector) in masks.iter_mut().zip(vectors) {
                        *mask |= $cmp::<_CMP_EQ_OQ>($load(vector), wanted);
                    }
                }
                join(masks)
            });
        }
    )* } };
}

floats! {
    f32, 16, load_f32 _mm512_set1_ps _mm512_cmp_ps_mask _mm512_mask_cmp_ps_mask:
        within_f32 less_f32 equal_f32 in_set_f32;
    f64, 8, load_f64 _mm512_set1_pd _mm512_cmp_pd_mask _mm512_mask_cmp_pd_mask:
        within_f64 less_f64 equal_f64 in_set_f64;
}

avx512! {
    /// The lower and the upper halves of eight values.
    #[inline]
    fn halves(eight: &[u128; 8]) -> (__m512i, __m512i) {
        let (four, _) = eight.as_chunks::<4>();
        let (a, b) = (load(&four[0]), load(&four[1]));
        let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
        let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
        (_mm512_permutex2var_epi64(a, even, b), _mm512_permutex2var_epi64(a, odd, b))
    }

    #[inline]
    fn set_128(value: u128) -> (__m512i, __m512i) {
        (_mm512_set1_epi64(value as i64), _mm512_set1_epi64((value >> 64) as i64))
    }

    pub(super) fn within_u128(values: &[u128], low: u128, span: u128, inverted: bool, out: &mut [u64]) {
        let ((low_low, low_high), (span_low, span_high)) = (set_128(low), set_128(span));
        let one = _mm512_set1_epi64(1);
        test(values, inverted, out, |block| {
            let mut masks = [0; BLOCK / 8];
            for (index, eight) in block.as_chunks::<8>().0.iter().enumerate() {
                let (low, high) = halves(eight);
                let borrow = _mm512_cmplt_epu64_mask(low, low_low);
                let low = _mm512_sub_epi64(low, low_low);
                let high = _mm512_sub_epi64(high, low_high);
                let high = _mm512_mask_sub_epi64(high, borrow, high, one);
                let below = _mm512_cmplt_epu64_mask(high, span_high);
                let same = _mm512_cmpeq_epi64_mask(high, span_high);
                let inside = below | _mm512_mask_cmple_epu64_mask(same, low, span_low);
                masks[index] = inside;
            }
            join(masks)
        });
    }

    pub(super) fn less_u128(left: &[u128], right: &[u128], turn: u128, inverted: bool, out: &mut [u64]) {
        let (_, turn) = set_128(turn);
        test_pairs(left, right, inverted, out, |left, right| {
            let mut masks = [0; BLOCK / 8];
            let pairs = left.as_chunks::<8>().0.iter().zip(right.as_chunks::<8>().0);
            for (index, (left, right)) in pairs.enumerate() {
                let ((left_low, left_high), (right_low, right_high)) = (halves(left), halves(right));
                let same = _mm512_cmpeq_epi64_mask(left_high, right_high);
                let high = _mm512_cmplt_epu64_mask(_mm512_xor_si512(left_high, turn), _mm512_xor_si512(right_high, turn));
                masks[index] = high | _mm512_mask_cmplt_epu64_mask(same, left_low, right_low);
            }
            join(masks)
        });
    }

    pub(super) fn equal_u128(left: &[u128], right: &[u128], inverted: bool, out: &mut [u64]) {
        test_pairs(left, right, inverted, out, |left, right| {
            let mut masks = [0; BLOCK / 8];
            let pairs = left.as_chunks::<8>().0.iter().zip(right.as_chunks::<8>().0);
            for (index, (left, right)) in pairs.enumerate() {
                let ((left_low, left_high), (right_low, right_high)) = (halves(left), halves(right));
                let low = _mm512_cmpeq_epi64_mask(left_low, right_low);
                masks[index] = _mm512_mask_cmpeq_epi64_mask(low, left_high, right_high);
            }
            join(masks)
        });
    }

    pub(super) fn in_set_u128(values: &[u128], set: &[u128], out: &mut [u64]) {
        test(values, false, out, |block| {
            let mut masks = [0; BLOCK / 8];
            for (index, eight) in block.as_chunks::<8>().0.iter().enumerate() {
                let (low, high) = halves(eight);
                let mut found = 0;
                for &wanted in set {
                    let (wanted_low, wanted_high) = set_128(wanted);
                    let same = _mm512_cmpeq_epi64_mask(low, wanted_low);
                    found |= _mm512_mask_cmpeq_epi64_mask(same, high, wanted_high);
                }
                masks[index] = found;
            }
            join(masks)
        });
    }

    pub(super) fn codes(codes: &[u32], truth: Truth<'_>, out: &mut [u64]) -> Result<(), KernelError> {
        if truth.len() <= 256 || truth.len() > 1024 {
            return avx2::codes(codes, truth, out);
        }
        let table: [u32; 32] = truth.table();
        let (words, _) = table.as_chunks::<16>();
        let (first, second) = (load(&words[0]), load(&words[1]));
        let low = _mm512_set1_epi32(31);
        let one = _mm512_set1_epi32(1);
        let largest = Cell::new(_mm512_setzero_si512());
        test(codes, false, out, |block| {
            let mut masks = [0; BLOCK / 16];
            for (index, vector) in block.as_chunks::<16>().0.iter().enumerate() {
                let code = load(vector);
                largest.set(_mm512_max_epu32(largest.get(), code));
                let word = _mm512_permutex2var_epi32(first, _mm512_srli_epi32::<5>(code), second);
                let bit = _mm512_sllv_epi32(one, _mm512_and_si512(code, low));
                masks[index] = _mm512_test_epi32_mask(word, bit);
            }
            join(masks)
        });
        check_codes(codes, _mm512_reduce_max_epu32(largest.get()), truth)
    }
}

//! Comparisons of 256 bits, whose lanes of ones and zeros are packed to bytes; MOVEMASK turns 32 of them into bits.
//!
//! ```text
//! 32-bit lanes   a0…a3 | a4…a7   b   c   d                     four comparisons
//! packed twice   a0…a3 b0…b3 c0…c3 d0…d3 | a4…a7 b4…b7 …       within halves of registers
//! permuted       a0…a7 b0…b7 | c0…c7 d0…d7                     bits 0 to 31
//! ```
//!
//! Packing saturates, so it keeps the signs, and MOVEMASK reads only signs. 64-bit lanes are packed by taking every
//! other half of two registers first. A block of 64 values of 32 bits costs 8 loads and twice 8 instructions for a
//! range, and 10 to pack.
//!
//! 128-bit values are separated into lower and upper halves, four at a time; a comparison computes the carry of their
//! subtraction.
#![expect(unsafe_code, reason = "vector loads from references to arrays")]

use std::arch::x86_64::*;

use super::blocks::{BLOCK, test, test_pairs};
use super::truth::{Truth, check_codes};
use crate::KernelError;
use crate::tier::avx2;

avx2! {
    #[inline]
    fn load<T, const N: usize>(values: &[T; N]) -> __m256i {
        const { assert!(size_of::<[T; N]>() == 32) };
        // SAFETY: the array is 32 bytes, by the assertion, of plain numbers, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
    }

    #[inline]
    fn load_f32(values: &[f32; 8]) -> __m256 {
        _mm256_castsi256_ps(load(values))
    }

    #[inline]
    fn load_f64(values: &[f64; 4]) -> __m256d {
        _mm256_castsi256_pd(load(values))
    }

    /// The signs of 32 bytes.
    #[inline]
    fn signs(bytes: __m256i) -> u64 {
        u64::from(_mm256_movemask_epi8(bytes).cast_unsigned())
    }

    /// The signs of 8-bit lanes in the two vectors of a block.
    #[inline]
    fn mask_8(vector: impl Fn(usize) -> __m256i) -> u64 {
        signs(vector(0)) | signs(vector(1)) << 32
    }

    /// The signs of 16-bit lanes in the four vectors of a block.
    #[inline]
    fn mask_16(vector: impl Fn(usize) -> __m256i) -> u64 {
        let low = _mm256_permute4x64_epi64::<0xD8>(_mm256_packs_epi16(vector(0), vector(1)));
        let high = _mm256_permute4x64_epi64::<0xD8>(_mm256_packs_epi16(vector(2), vector(3)));
        signs(low) | signs(high) << 32
    }

    /// The signs of 32-bit lanes in the eight vectors of a block.
    #[inline]
    fn mask_32(vector: impl Fn(usize) -> __m256i) -> u64 {
        let low = pack_32([vector(0), vector(1), vector(2), vector(3)]);
        let high = pack_32([vector(4), vector(5), vector(6), vector(7)]);
        low | high << 32
    }

    #[inline]
    fn pack_32([a, b, c, d]: [__m256i; 4]) -> u64 {
        let packed = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        signs(_mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)))
    }

    /// The signs of 64-bit lanes in the sixteen vectors of a block.
    #[inline]
    fn mask_64(vector: impl Fn(usize) -> __m256i) -> u64 {
        let half = |first: usize| {
            let pair = |at: usize| upper_halves(vector(first + at), vector(first + at + 1));
            pack_64([pair(0), pair(2), pair(4), pair(6)])
        };
        half(0) | half(8) << 32
    }

    /// The half of each 64-bit lane that has the sign: `a0 a1 b0 b1 | a2 a3 b2 b3`.
    #[inline]
    fn upper_halves(a: __m256i, b: __m256i) -> __m256i {
        _mm256_castps_si256(_mm256_shuffle_ps::<0xDD>(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b)))
    }

    #[inline]
    fn pack_64([a, b, c, d]: [__m256i; 4]) -> u64 {
        // Pairs of bytes from the first halves of eight vectors, then from the second ones.
        let packed = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        let quarters = _mm256_permute4x64_epi64::<0xD8>(packed);
        let order = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
        signs(_mm256_shuffle_epi8(quarters, _mm256_broadcastsi128_si256(order)))
    }

    /// The lower and the upper halves of four values, in the order 0, 2, 1, 3.
    #[inline]
    fn halves(four: &[u128; 4]) -> (__m256i, __m256i) {
        let (two, _) = four.as_chunks::<2>();
        let (a, b) = (load(&two[0]), load(&two[1]));
        (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
    }

    /// The signs of 64-bit lanes that [`halves`] has reordered.
    #[inline]
    fn mask_128(vector: impl Fn(usize) -> __m256i) -> u64 {
        mask_64(|at| _mm256_permute4x64_epi64::<0xD8>(vector(at)))
    }

    #[inline]
    fn set_128(value: u128) -> (__m256i, __m256i) {
        (_mm256_set1_epi64x(value as i64), _mm256_set1_epi64x((value >> 64) as i64))
    }

    #[inline]
    fn not(vector: __m256i) -> __m256i {
        _mm256_xor_si256(vector, _mm256_set1_epi8(-1))
    }

    /// Lanes of ones where a value of the set equals the lane, for `N` vectors that stay in registers meanwhile.
    #[inline]
    fn find<T: Copy, const L: usize, const N: usize>(
        vectors: &[[T; L]; N],
        set: &[T],
        broadcast: impl Fn(T) -> __m256i,
        equal: impl Fn(__m256i, __m256i) -> __m256i,
    ) -> [__m256i; N] {
        let mut found = [_mm256_setzero_si256(); N];
        for &wanted in set {
            let wanted = broadcast(wanted);
            for (found, vector) in found.iter_mut().zip(vectors) {
                *found = _mm256_or_si256(*found, equal(load(vector), wanted));
            }
        }
        found
    }
}

macro_rules! integers {
    ($($integer:ty, $signed:ty, $lanes:literal, $mask:ident, $set:ident $sub:ident $greater:ident $same:ident, $any:ident:
        $within:ident $less:ident $equal:ident $in_set:ident;)*) => { avx2! { $(
        pub(super) fn $within(values: &[$integer], low: $integer, span: $integer, inverted: bool, out: &mut [u64]) {
            // The subtraction flips the sign as well, so that a signed comparison compares unsigned values.
            const SIGN: $integer = <$signed>::MIN.cast_unsigned();
            let low = $set((low ^ SIGN).cast_signed());
            let span = $set((span ^ SIGN).cast_signed());
            test(values, !inverted, out, |block| {
                let (vectors, _) = block.as_chunks::<$lanes>();
                $mask(|at| $greater($sub(load(&vectors[at]), low), span))
            });
        }

        pub(super) fn $less(left: &[$integer], right: &[$integer], turn: $integer, inverted: bool, out: &mut [u64]) {
            const SIGN: $integer = <$signed>::MIN.cast_unsigned();
            let turn = $set((turn ^ SIGN).cast_signed());
            test_pairs(left, right, inverted, out, |left, right| {
                let (left, _) = left.as_chunks::<$lanes>();
                let (right, _) = right.as_chunks::<$lanes>();
                $mask(|at| {
                    let (left, right) = (load(&left[at]), load(&right[at]));
                    $greater(_mm256_xor_si256(right, turn), _mm256_xor_si256(left, turn))
                })
            });
        }

        pub(super) fn $equal(left: &[$integer], right: &[$integer], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                let (left, _) = left.as_chunks::<$lanes>();
                let (right, _) = right.as_chunks::<$lanes>();
                $mask(|at| $same(load(&left[at]), load(&right[at])))
            });
        }

        pub(super) fn $in_set(values: &[$integer], set: &[$integer], out: &mut [u64]) {
            test(values, false, out, |block| {
                $any(block, set, |wanted| $set(wanted.cast_signed()), |a, b| $same(a, b))
            });
        }
    )* } };
}

integers! {
    u8, i8, 32, mask_8, _mm256_set1_epi8 _mm256_sub_epi8 _mm256_cmpgt_epi8 _mm256_cmpeq_epi8, any_8:
        within_u8 less_u8 equal_u8 in_set_u8;
    u16, i16, 16, mask_16, _mm256_set1_epi16 _mm256_sub_epi16 _mm256_cmpgt_epi16 _mm256_cmpeq_epi16, any_16:
        within_u16 less_u16 equal_u16 in_set_u16;
    u32, i32, 8, mask_32, _mm256_set1_epi32 _mm256_sub_epi32 _mm256_cmpgt_epi32 _mm256_cmpeq_epi32, any_32:
        within_u32 less_u32 equal_u32 in_set_u32;
    u64, i64, 4, mask_64, _mm256_set1_epi64x _mm256_sub_epi64 _mm256_cmpgt_epi64 _mm256_cmpeq_epi64, any_64:
        within_u64 less_u64 equal_u64 in_set_u64;
}

avx2! {
    #[inline]
    fn any_8(
        block: &[u8; BLOCK],
        set: &[u8],
        broadcast: impl Fn(u8) -> __m256i,
        equal: impl Fn(__m256i, __m256i) -> __m256i,
    ) -> u64 {
        let Some(vectors) = block.as_chunks::<32>().0.first_chunk::<2>() else { return 0 };
        let found = find(vectors, set, broadcast, equal);
        mask_8(|at| found[at])
    }

    #[inline]
    fn any_16(
        block: &[u16; BLOCK],
        set: &[u16],
        broadcast: impl Fn(u16) -> __m256i,
        equal: impl Fn(__m256i, __m256i) -> __m256i,
    ) -> u64 {
        let Some(vectors) = block.as_chunks::<16>().0.first_chunk::<4>() else { return 0 };
        let found = find(vectors, set, broadcast, equal);
        mask_16(|at| found[at])
    }

    #[inline]
    fn any_32<T: Copy>(
        block: &[T; BLOCK],
        set: &[T],
        broadcast: impl Fn(T) -> __m256i,
        equal: impl Fn(__m256i, __m256i) -> __m256i,
    ) -> u64 {
        let Some(vectors) = block.as_chunks::<8>().0.first_chunk::<8>() else { return 0 };
        let found = find(vectors, set, broadcast, equal);
        mask_32(|at| found[at])
    }

    #[inline]
    fn any_64<T: Copy>(
        block: &[T; BLOCK],
        set: &[T],
        broadcast: impl Fn(T) -> __m256i,
        equal: impl Fn(__m256i, __m256i) -> __m256i,
    ) -> u64 {
        let mut word = 0;
        for (index, half) in block.as_chunks::<4>().0.as_chunks::<8>().0.iter().enumerate() {
            let found = find(half, set, &broadcast, &equal);
            let pair = |at: usize| upper_halves(found[at], found[at + 1]);
            word |= pack_64([pair(0), pair(2), pair(4), pair(6)]) << (32 * index);
        }
        word
    }
}

macro_rules! floats {
    ($($float:ty, $lanes:literal, $mask:ident, $any:ident, $load:ident $set:ident $cmp:ident $and:ident $or:ident $cast:ident
        $back:ident: $within:ident $less:ident $equal:ident $in_set:ident;)*) => { avx2! { $(
        pub(super) fn $within(values: &[$float], low: $float, high: $float, inverted: bool, out: &mut [u64]) {
            let (low, high) = ($set(low), $set(high));
            test(values, inverted, out, |block| {
                let (vectors, _) = block.as_chunks::<$lanes>();
                $mask(|at| {
                    let value = $load(&vectors[at]);
                    $cast($and($cmp::<_CMP_GE_OQ>(value, low), $cmp::<_CMP_LE_OQ>(value, high)))
                })
            });
        }

        pub(super) fn $less(left: &[$float], right: &[$float], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                let (left, _) = left.as_chunks::<$lanes>();
                let (right, _) = right.as_chunks::<$lanes>();
                $mask(|at| {
                    let (left, right) = ($load(&left[at]), $load(&right[at]));
                    // Less, or one of them is a NaN, but not the left one.
                    $cast($and($cmp::<_CMP_NGE_UQ>(left, right), $cmp::<_CMP_ORD_Q>(left, left)))
                })
            });
        }

        pub(super) fn $equal(left: &[$float], right: &[$float], inverted: bool, out: &mut [u64]) {
            test_pairs(left, right, inverted, out, |left, right| {
                let (left, _) = left.as_chunks::<$lanes>();
                let (right, _) = right.as_chunks::<$lanes>();
                $mask(|at| {
                    let (left, right) = ($load(&left[at]), $load(&right[at]));
                    let nan = $and($cmp::<_CMP_UNORD_Q>(left, left), $cmp::<_CMP_UNORD_Q>(right, right));
                    $cast($or($cmp::<_CMP_EQ_OQ>(left, right), nan))
                })
            });
        }

        pub(super) fn $in_set(values: &[$float], set: &[$float], out: &mut [u64]) {
            let nan = set.iter().any(|wanted| wanted.is_nan());
            test(values, false, out, |block| {
                let numbers = $any(block, set, |wanted| $cast($set(wanted)), |a, b| {
                    $cast($cmp::<_CMP_EQ_OQ>($back(a), $back(b)))
                });
                if !nan {
                    return numbers;
                }
                let (vectors, _) = block.as_chunks::<$lanes>();
                numbers | $mask(|at| {
                    let value = $load(&vectors[at]);
                    $cast($cmp::<_CMP_UNORD_Q>(value, value))
                })
            });
        }
    )* } };
}

floats! {
    f32, 8, mask_32, any_32, load_f32 _mm256_set1_ps _mm256_cmp_ps _mm256_and_ps _mm256_or_ps _mm256_castps_si256
        _mm256_castsi256_ps: within_f32 less_f32 equal_f32 in_set_f32;
    f64, 4, mask_64, any_64, load_f64 _mm256_set1_pd _mm256_cmp_pd _mm256_and_pd _mm256_or_pd _mm256_castpd_si256
        _mm256_castsi256_pd: within_f64 less_f64 equal_f64 in_set_f64;
}

avx2! {
    /// For values `l + 2⁶⁴ h`, minus a constant: the lower halves wrap, and a comparison detects it.
    pub(super) fn within_u128(values: &[u128], low: u128, span: u128, inverted: bool, out: &mut [u64]) {
        const SIGN: u64 = 1 << 63;
        let set = |value: u64| _mm256_set1_epi64x(value.cast_signed());
        let (low_low, low_high) = (low as u64, (low >> 64) as u64);
        let subtract_low = set(low_low ^ SIGN);
        let subtract_high = set(low_high ^ SIGN);
        // x − low has wrapped if it exceeds the largest difference without wrapping.
        let most = set(!low_low ^ SIGN);
        let span_low = set(span as u64 ^ SIGN);
        let span_high = set((span >> 64) as u64 ^ SIGN);
        test(values, !inverted, out, |block| {
            let (fours, _) = block.as_chunks::<4>();
            mask_128(|at| {
                let (low, high) = halves(&fours[at]);
                let low = _mm256_sub_epi64(low, subtract_low);
                let borrow = _mm256_cmpgt_epi64(low, most);
                let high = _mm256_add_epi64(_mm256_sub_epi64(high, subtract_high), borrow);
                let above = _mm256_cmpgt_epi64(high, span_high);
                let same = _mm256_cmpeq_epi64(high, span_high);
                _mm256_or_si256(above, _mm256_and_si256(same, _mm256_cmpgt_epi64(low, span_low)))
            })
        });
    }

    pub(super) fn less_u128(left: &[u128], right: &[u128], turn: u128, inverted: bool, out: &mut [u64]) {
        let sign = _mm256_set1_epi64x(i64::MIN);
        let turn = _mm256_set1_epi64x((turn >> 64) as i64 ^ i64::MIN);
        test_pairs(left, right, inverted, out, |left, right| {
            let (left, _) = left.as_chunks::<4>();
            let (right, _) = right.as_chunks::<4>();
            mask_128(|at| {
                let (left_low, left_high) = halves(&left[at]);
                let (right_low, right_high) = halves(&right[at]);
                let same = _mm256_cmpeq_epi64(left_high, right_high);
                let low = _mm256_cmpgt_epi64(_mm256_xor_si256(right_low, sign), _mm256_xor_si256(left_low, sign));
                let high = _mm256_cmpgt_epi64(_mm256_xor_si256(right_high, turn), _mm256_xor_si256(left_high, turn));
                _mm256_or_si256(high, _mm256_and_si256(same, low))
            })
        });
    }

    pub(super) fn equal_u128(left: &[u128], right: &[u128], inverted: bool, out: &mut [u64]) {
        test_pairs(left, right, !inverted, out, |left, right| {
            let (left, _) = left.as_chunks::<4>();
            let (right, _) = right.as_chunks::<4>();
            mask_128(|at| {
                let (left_low, left_high) = halves(&left[at]);
                let (right_low, right_high) = halves(&right[at]);
                let low = _mm256_xor_si256(left_low, right_low);
                let high = _mm256_xor_si256(left_high, right_high);
                not(_mm256_cmpeq_epi64(_mm256_or_si256(low, high), _mm256_setzero_si256()))
            })
        });
    }

    pub(super) fn in_set_u128(values: &[u128], set: &[u128], out: &mut [u64]) {
        test(values, false, out, |block| {
            let mut word = 0;
            for (index, quarter) in block.as_chunks::<16>().0.iter().enumerate() {
                let (fours, _) = quarter.as_chunks::<4>();
                let [a, b, c, d] = [halves(&fours[0]), halves(&fours[1]), halves(&fours[2]), halves(&fours[3])];
                let mut found = [_mm256_setzero_si256(); 4];
                for &wanted in set {
                    let (low, high) = set_128(wanted);
                    for (found, four) in found.iter_mut().zip([a, b, c, d]) {
                        let same = _mm256_and_si256(_mm256_cmpeq_epi64(four.0, low), _mm256_cmpeq_epi64(four.1, high));
                        *found = _mm256_or_si256(*found, same);
                    }
                }
                let in_order = |at: usize| _mm256_permute4x64_epi64::<0xD8>(found[at]);
                let low = upper_halves(in_order(0), in_order(1));
                let high = upper_halves(in_order(2), in_order(3));
                // Sixteen bits: pairs from the first halves of four vectors, then from the second ones.
                let packed = _mm256_packs_epi16(_mm256_packs_epi32(low, high), _mm256_setzero_si256());
                let order = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
                let joined = _mm256_permute4x64_epi64::<0xD8>(packed);
                let bytes = _mm_shuffle_epi8(_mm256_castsi256_si128(joined), order);
                word |= (u64::from(_mm_movemask_epi8(bytes).cast_unsigned())) << (16 * index);
            }
            word
        });
    }
}

avx2! {
    /// Up to 32 entries: the table in reverse bit order, shifted left by the code, has the entry's bit in the sign. Up
    /// to 256: the same for the word that a permute chooses. More: words by loads.
    pub(super) fn codes(codes: &[u32], truth: Truth<'_>, out: &mut [u64]) -> Result<(), KernelError> {
        let table = truth.table::<8>().map(u32::reverse_bits);
        let largest = std::cell::Cell::new(_mm256_setzero_si256());
        if truth.len() <= 32 {
            let word = _mm256_set1_epi32(table[0].cast_signed());
            test(codes, false, out, |block| {
                let (vectors, _) = block.as_chunks::<8>();
                mask_32(|at| {
                    let code = load(&vectors[at]);
                    largest.set(_mm256_max_epu32(largest.get(), code));
                    _mm256_sllv_epi32(word, code)
                })
            });
        } else if truth.len() <= 256 {
            let words = load(&table);
            let low = _mm256_set1_epi32(31);
            test(codes, false, out, |block| {
                let (vectors, _) = block.as_chunks::<8>();
                mask_32(|at| {
                    let code = load(&vectors[at]);
                    largest.set(_mm256_max_epu32(largest.get(), code));
                    let word = _mm256_permutevar8x32_epi32(words, _mm256_srli_epi32::<5>(code));
                    _mm256_sllv_epi32(word, _mm256_and_si256(code, low))
                })
            });
        } else {
            return gather(codes, truth, out);
        }
        check_codes(codes, largest_lane(largest.get()), truth)
    }

    fn gather(codes: &[u32], truth: Truth<'_>, out: &mut [u64]) -> Result<(), KernelError> {
        let low = _mm256_set1_epi32(31);
        check_codes(codes, crate::gather::max_index(codes).unwrap_or(0), truth)?;
        let words: *const i32 = truth.words().as_ptr().cast();
        test(codes, false, out, |block| {
            if is_one_code(block) {
                return if truth.bit(block[0]) { u64::MAX } else { 0 };
            }
            let (vectors, _) = block.as_chunks::<8>();
            mask_32(|at| {
                let code = load(&vectors[at]);
                let at = _mm256_srli_epi32::<5>(code);
                // SAFETY: all codes are less than the number of bits, and so is the 0 after the last code.
                let word = unsafe { _mm256_i32gather_epi32::<4>(words, at) };
                _mm256_sllv_epi32(word, _mm256_andnot_si256(code, low))
            })
        });
        Ok(())
    }

    /// Returns whether a block lies within a run. The check costs next to nothing if it does not.
    #[inline]
    fn is_one_code(block: &[u32; BLOCK]) -> bool {
        let first = _mm256_set1_epi32(block[0].cast_signed());
        let differs = |vector| _mm256_xor_si256(load(vector), first);
        block[0] == block[BLOCK - 1] && {
            let (vectors, _) = block.as_chunks::<8>();
            let all = vectors.iter().fold(_mm256_setzero_si256(), |all, vector| _mm256_or_si256(all, differs(vector)));
            _mm256_testz_si256(all, all) == 1
        }
    }

    #[inline]
    fn largest_lane(vector: __m256i) -> u32 {
        let mut lanes = [0; 8];
        // SAFETY: the array is 32 bytes, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), vector) };
        lanes.into_iter().fold(0, u32::max)
    }
}

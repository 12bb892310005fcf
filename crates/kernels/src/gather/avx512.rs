//! Dictionaries of up to 64 u32, 32 u64 or 8 u128 are kept in four registers and looked up by permutes; larger ones by
//! gathers, u128 as in [`super::avx2`].
//!
//! ```text
//! up to 16 u32, 8 u64             one permute of one register             16 or 8 values
//! up to 32 u32, 16 u64, 8 u128    one permute of two                      16, 8 or 4 values
//! up to 64 u32, 32 u64            two permutes of two, and a choice by the highest index bit
//! more                            indices over the last entry's are lowered to it; a gather
//! ```
//!
//! Entries of 16 bytes are two of eight: index `i` becomes `2 i` and `2 i + 1`.
//!
//!
//! Neither leaves the dictionary, so the largest index is recorded and checked after the loop: a pass for it before the
//! gathers costs more than clamping the indices. Gathers take .16 where the loads of [`super::avx2`] take .19 (u64: .20
//! and .25); Zen 4, on which they are slower than loads, is the reason that AVX2 has none.
#![expect(unsafe_code, reason = "gathers whose indices are in range, and vector loads and stores")]

use std::arch::x86_64::*;

use super::{avx2, judge, scalar};
use crate::KernelError;
use crate::tier::avx512;

/// The minimum number of indices for which filling tables pays.
const MIN_TABLE_COUNT: usize = 64;

/// The last entry's index, unless there is none or it exceeds the positive range of gathers.
fn last_index(len: usize) -> Option<i32> {
    i32::try_from(len.checked_sub(1)?).ok()
}

avx512! {
    pub(super) fn gather_u32(dict: &[u32], indices: &[u32], out: &mut [u32]) -> Result<(), KernelError> {
        if dict.len() > 64 {
            return gather_from_memory_u32(dict, indices, out);
        }
        if indices.len() < MIN_TABLE_COUNT {
            return avx2::gather_u32(dict, indices, out);
        }
        let mut table = [0; 64];
        table[..dict.len()].copy_from_slice(dict);
        let quarters = table.as_chunks().0;
        let [a, b, c, d] = [load(&quarters[0]), load(&quarters[1]), load(&quarters[2]), load(&quarters[3])];
        let (vectors, tail) = indices.as_chunks::<16>();
        let (out_vectors, out_tail) = out.as_chunks_mut::<16>();
        let steps = vectors.iter().zip(out_vectors);
        let mut max = _mm512_setzero_si512();
        if dict.len() <= 16 {
            for (vector, out) in steps {
                let index = load(vector);
                max = _mm512_max_epu32(max, index);
                store(out, _mm512_permutexvar_epi32(index, a));
            }
        } else if dict.len() <= 32 {
            for (vector, out) in steps {
                let index = load(vector);
                max = _mm512_max_epu32(max, index);
                store(out, _mm512_permutex2var_epi32(a, index, b));
            }
        } else {
            let highest = _mm512_set1_epi32(32);
            for (vector, out) in steps {
                let index = load(vector);
                max = _mm512_max_epu32(max, index);
                let lower = _mm512_permutex2var_epi32(a, index, b);
                let upper = _mm512_permutex2var_epi32(c, index, d);
                store(out, _mm512_mask_blend_epi32(_mm512_test_epi32_mask(index, highest), lower, upper));
            }
        }
        judge(_mm512_reduce_max_epu32(max), dict.len())?;
        scalar::gather(dict, tail, out_tail)
    }

    pub(super) fn gather_u64(dict: &[u64], indices: &[u32], out: &mut [u64]) -> Result<(), KernelError> {
        if dict.len() > 32 {
            return gather_from_memory_u64(dict, indices, out);
        }
        if indices.len() < MIN_TABLE_COUNT {
            return avx2::gather_u64(dict, indices, out);
        }
        let mut table = [0; 32];
        table[..dict.len()].copy_from_slice(dict);
        let quarters = table.as_chunks().0;
        let [a, b, c, d] =
            [load_u64(&quarters[0]), load_u64(&quarters[1]), load_u64(&quarters[2]), load_u64(&quarters[3])];
        let (vectors, tail) = indices.as_chunks::<8>();
        let (out_vectors, out_tail) = out.as_chunks_mut::<8>();
        let steps = vectors.iter().zip(out_vectors);
        let mut max = _mm512_setzero_si512();
        if dict.len() <= 8 {
            for (vector, out) in steps {
                let index = _mm512_cvtepu32_epi64(load_half(vector));
                max = _mm512_max_epu64(max, index);
                store_u64(out, _mm512_permutexvar_epi64(index, a));
            }
        } else if dict.len() <= 16 {
            for (vector, out) in steps {
                let index = _mm512_cvtepu32_epi64(load_half(vector));
                max = _mm512_max_epu64(max, index);
                store_u64(out, _mm512_permutex2var_epi64(a, index, b));
            }
        } else {
            let highest = _mm512_set1_epi64(16);
            for (vector, out) in steps {
                let index = _mm512_cvtepu32_epi64(load_half(vector));
                max = _mm512_max_epu64(max, index);
                let lower = _mm512_permutex2var_epi64(a, index, b);
                let upper = _mm512_permutex2var_epi64(c, index, d);
                store_u64(out, _mm512_mask_blend_epi64(_mm512_test_epi64_mask(index, highest), lower, upper));
            }
        }
        judge(_mm512_reduce_max_epu64(max) as u32, dict.len())?;
        scalar::gather(dict, tail, out_tail)
    }

    fn gather_from_memory_u32(dict: &[u32], indices: &[u32], out: &mut [u32]) -> Result<(), KernelError> {
        let Some(last) = last_index(dict.len()) else { return scalar::gather(dict, indices, out) };
        let last = _mm512_set1_epi32(last);
        let (vectors, tail) = indices.as_chunks::<16>();
        let (out_vectors, out_tail) = out.as_chunks_mut::<16>();
        let mut max = _mm512_setzero_si512();
        for (vector, out) in vectors.iter().zip(out_vectors) {
            let index = load(vector);
            max = _mm512_max_epu32(max, index);
            let index = _mm512_min_epu32(index, last);
            // SAFETY: no index exceeds the last entry's.
            store(out, unsafe { _mm512_i32gather_epi32::<4>(index, dict.as_ptr().cast()) });
        }
        judge(_mm512_reduce_max_epu32(max), dict.len())?;
        scalar::gather(dict, tail, out_tail)
    }

    fn gather_from_memory_u64(dict: &[u64], indices: &[u32], out: &mut [u64]) -> Result<(), KernelError> {
        let Some(last) = last_index(dict.len()) else { return scalar::gather(dict, indices, out) };
        let last = _mm256_set1_epi32(last);
        let (vectors, tail) = indices.as_chunks::<8>();
        let (out_vectors, out_tail) = out.as_chunks_mut::<8>();
        let mut max = _mm256_setzero_si256();
        for (vector, out) in vectors.iter().zip(out_vectors) {
            let index = load_half(vector);
            max = _mm256_max_epu32(max, index);
            let index = _mm256_min_epu32(index, last);
            // SAFETY: no index exceeds the last entry's.
            store_u64(out, unsafe { _mm512_i32gather_epi64::<8>(index, dict.as_ptr().cast()) });
        }
        judge(_mm512_reduce_max_epu32(_mm512_zextsi256_si512(max)), dict.len())?;
        scalar::gather(dict, tail, out_tail)
    }

    pub(super) fn gather_u128(dict: &[u128], indices: &[u32], out: &mut [u128]) -> Result<(), KernelError> {
        // Two permutes for 16 entries take .36, loads .29; one for eight takes .22.
        if indices.len() < MIN_TABLE_COUNT || dict.len() > 8 {
            return avx2::gather_u128(dict, indices, out);
        }
        let mut table = [0; 16];
        for (halves, &entry) in table.as_chunks_mut::<2>().0.iter_mut().zip(dict) {
            *halves = [entry as u64, (entry >> 64) as u64];
        }
        let halves = table.as_chunks().0;
        let [a, b] = [load_u64(&halves[0]), load_u64(&halves[1])];
        let (vectors, tail) = indices.as_chunks::<8>();
        let (out_vectors, out_tail) = out.as_chunks_mut::<8>();
        let mut max = _mm512_setzero_si512();
        for (vector, out) in vectors.iter().zip(out_vectors) {
            let index = _mm512_cvtepu32_epi64(load_half(vector));
            max = _mm512_max_epu64(max, index);
            for (half, out) in half_indices(index).into_iter().zip(out.as_chunks_mut::<4>().0) {
                store_u128(out, _mm512_permutex2var_epi64(a, half, b));
            }
        }
        judge(_mm512_reduce_max_epu64(max) as u32, dict.len())?;
        scalar::gather(dict, tail, out_tail)
    }

    /// The positions of both halves of each of eight entries of 16 bytes in a table of eight-byte words: `2 i`, `2 i +
    /// 1`, for the first four and for the last four.
    #[inline]
    fn half_indices(index: __m512i) -> [__m512i; 2] {
        let which = _mm512_set_epi64(1, 0, 1, 0, 1, 0, 1, 0);
        let first = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
        let last = _mm512_set_epi64(7, 7, 6, 6, 5, 5, 4, 4);
        let doubled = _mm512_slli_epi64::<1>(index);
        let (first, last) = (_mm512_permutexvar_epi64(first, doubled), _mm512_permutexvar_epi64(last, doubled));
        [_mm512_or_si512(first, which), _mm512_or_si512(last, which)]
    }

    #[inline]
    fn load_half(from: &[u32; 8]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline]
    fn load(from: &[u32; 16]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline]
    fn load_u64(from: &[u64; 8]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline]
    fn store(to: &mut [u32; 16], value: __m512i) {
        // SAFETY: the reference is to 64 writable bytes, and this store takes any alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
    }

    #[inline]
    fn store_u128(to: &mut [u128; 4], value: __m512i) {
        // SAFETY: the reference is to 64 writable bytes, and this store takes any alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
    }

    #[inline]
    fn store_u64(to: &mut [u64; 8], value: __m512i) {
        // SAFETY: the reference is to 64 writable bytes, and this store takes any alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
    }
}

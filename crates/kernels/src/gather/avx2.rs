//! Dictionaries of a few entries are kept in registers and looked up by permutes; larger ones by plain loads.
//!
//! ```text
//! up to 8 entries    indices → vpermd of the table                                      8 values for each permute
//! up to 32 of u32    indices → vpermd of four tables, chosen among by bits 3 and 4      8 values for four
//! up to 16 of u64    the same over two tables of lower and two of upper halves
//! more               two indices from one 64-bit load, two loads, two stores
//! ```
//!
//! Permutes use only the low bits of an index, so they cannot leave the table: the largest index is recorded and
//! checked after the loop. For loads, a pass over each block of indices finds it first.
//!
//! Tried and rejected: `vpgatherdd` and `vpgatherdq` (1.6 and 1.5 times the time of loads), one load for each index
//! (1.2), joining two values for one store (1.2), eight tables for 64 entries (no faster than loads).
#![expect(unsafe_code, reason = "loads whose index is proven for a whole block, and vector loads and stores")]

use std::arch::x86_64::{
    __m256i, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps, _mm256_loadu_si256, _mm256_max_epu32,
    _mm256_permute2x128_si256, _mm256_permutevar8x32_epi32, _mm256_setzero_si256, _mm256_slli_epi32,
    _mm256_storeu_si256, _mm256_unpackhi_epi32, _mm256_unpacklo_epi32,
};

use super::{judge, scalar};
use crate::KernelError;
use crate::tier::avx2;

/// The number of indices that are checked at once: few enough to be still in L1 when they are used.
const BLOCK: usize = 1024;

/// The minimum number of indices for which filling tables pays.
const MIN_TABLE_COUNT: usize = 64;

avx2! {
    pub(super) fn max_index(indices: &[u32]) -> Option<u32> {
        let (vectors, tail) = indices.as_chunks::<8>();
        let (quads, rest) = vectors.as_chunks::<4>();
        let mut max = [_mm256_setzero_si256(); 4];
        for quad in quads {
            for (max, vector) in max.iter_mut().zip(quad) {
                *max = _mm256_max_epu32(*max, load(vector));
            }
        }
        let [a, b, c, d] = max;
        let mut max = _mm256_max_epu32(_mm256_max_epu32(a, b), _mm256_max_epu32(c, d));
        for vector in rest {
            max = _mm256_max_epu32(max, load(vector));
        }
        let in_vectors = largest_lane(max);
        let in_tail = tail.iter().copied().max();
        if vectors.is_empty() { in_tail } else { in_tail.max(Some(in_vectors)) }
    }

    pub(super) fn gather_u32(dict: &[u32], indices: &[u32], out: &mut [u32]) -> Result<(), KernelError> {
        if indices.len() < MIN_TABLE_COUNT || dict.len() > 32 {
            return gather(dict, indices, out);
        }
        let mut table = [0; 32];
        table[..dict.len()].copy_from_slice(dict);
        let (vectors, tail) = indices.as_chunks::<8>();
        let (out_vectors, out_tail) = out.as_chunks_mut::<8>();
        let tables = load_tables(&table);
        let mut max = _mm256_setzero_si256();
        if dict.len() <= 8 {
            for (vector, out) in vectors.iter().zip(out_vectors) {
                let index = load(vector);
                max = _mm256_max_epu32(max, index);
                store(out, _mm256_permutevar8x32_epi32(tables[0], index));
            }
        } else {
            for (vector, out) in vectors.iter().zip(out_vectors) {
                let index = load(vector);
                max = _mm256_max_epu32(max, index);
                let [a, b, c, d] = tables.map(|table| _mm256_permutevar8x32_epi32(table, index));
                let by_bit_3 = _mm256_slli_epi32::<28>(index);
                let lower = choose(a, b, by_bit_3);
                let upper = choose(c, d, by_bit_3);
                store(out, choose(lower, upper, _mm256_slli_epi32::<27>(index)));
            }
        }
        judge(largest_lane(max), dict.len())?;
        scalar::gather(dict, tail, out_tail)
    }

    pub(super) fn gather_u64(dict: &[u64], indices: &[u32], out: &mut [u64]) -> Result<(), KernelError> {
        if indices.len() < MIN_TABLE_COUNT || dict.len() > 16 {
            return gather(dict, indices, out);
        }
        // Lower halves of entries 0–15, then upper halves.
        let mut table = [0; 32];
        for (i, &entry) in dict.iter().enumerate() {
            table[i] = entry as u32;
            table[16 + i] = (entry >> 32) as u32;
        }
        let (vectors, tail) = indices.as_chunks::<8>();
        let (out_vectors, out_tail) = out.as_chunks_mut::<8>();
        let tables = load_tables(&table);
        let mut max = _mm256_setzero_si256();
        for (vector, out) in vectors.iter().zip(out_vectors) {
            let index = load(vector);
            max = _mm256_max_epu32(max, index);
            let [a, b, c, d] = tables.map(|table| _mm256_permutevar8x32_epi32(table, index));
            let by_bit_3 = _mm256_slli_epi32::<28>(index);
            let lower = choose(a, b, by_bit_3);
            let upper = choose(c, d, by_bit_3);
            // Values 0, 1, 4, 5 and 2, 3, 6, 7.
            let even = _mm256_unpacklo_epi32(lower, upper);
            let odd = _mm256_unpackhi_epi32(lower, upper);
            let [first, second] = out.as_chunks_mut::<4>().0 else { continue };
            store_u64(first, _mm256_permute2x128_si256::<0x20>(even, odd));
            store_u64(second, _mm256_permute2x128_si256::<0x31>(even, odd));
        }
        judge(largest_lane(max), dict.len())?;
        scalar::gather(dict, tail, out_tail)
    }

    pub(super) fn gather_u128(dict: &[u128], indices: &[u32], out: &mut [u128]) -> Result<(), KernelError> {
        gather(dict, indices, out)
    }

    #[inline]
    fn gather<T: Copy>(dict: &[T], indices: &[u32], out: &mut [T]) -> Result<(), KernelError> {
        for (indices, out) in indices.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            if let Some(largest) = max_index(indices) {
                judge(largest, dict.len())?;
            }
            let (pairs, last) = indices.as_chunks::<2>();
            let (out_pairs, out_last) = out.as_chunks_mut::<2>();
            for (pair, out) in pairs.iter().zip(out_pairs) {
                // SAFETY: the reference is to eight readable bytes, and this load takes any alignment.
                let pair = unsafe { pair.as_ptr().cast::<u64>().read_unaligned() };
                for (to, index) in out.iter_mut().zip([pair as u32 as usize, (pair >> 32) as usize]) {
                    // SAFETY: the largest index of this block is less than the dictionary's length, and this is one of
                    // its indices.
                    let from = unsafe { dict.get_unchecked(index) };
                    // A plain assignment of a `u128` goes through two general registers; this takes one vector move.
                    // SAFETY: both are references to one value, and the exclusive one cannot overlap the other.
                    unsafe { std::ptr::copy_nonoverlapping(from, to, 1) };
                }
            }
            scalar::gather(dict, last, out_last)?;
        }
        Ok(())
    }

    #[inline]
    fn load_tables(entries: &[u32; 32]) -> [__m256i; 4] {
        let tables = entries.as_chunks().0;
        [load(&tables[0]), load(&tables[1]), load(&tables[2]), load(&tables[3])]
    }

    /// Lanes of `b` where the sign of `by` is set, otherwise of `a`.
    #[inline]
    fn choose(a: __m256i, b: __m256i, by: __m256i) -> __m256i {
        let chosen = _mm256_blendv_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(by));
        _mm256_castps_si256(chosen)
    }

    #[inline]
    fn largest_lane(vector: __m256i) -> u32 {
        let mut lanes = [0; 8];
        store(&mut lanes, vector);
        lanes.into_iter().fold(0, u32::max)
    }

    #[inline]
    fn load(from: &[u32; 8]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline]
    fn store(to: &mut [u32; 8], value: __m256i) {
        // SAFETY: the reference is to 32 writable bytes, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
    }

    #[inline]
    fn store_u64(to: &mut [u64; 4], value: __m256i) {
        // SAFETY: the reference is to 32 writable bytes, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
    }
}

//! Eight hashes at a time; this tier multiplies 64 bits (`vpmullq`) and rotates them in one instruction each.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m512i, _mm256_loadu_si256, _mm512_add_epi64, _mm512_cvtepu32_epi64, _mm512_loadu_si512, _mm512_mullo_epi64,
    _mm512_permutex2var_epi64, _mm512_rol_epi64, _mm512_set1_epi64, _mm512_setr_epi64, _mm512_srli_epi64,
    _mm512_storeu_si512, _mm512_xor_si512,
};

use super::{P1, P2, P3, P4, P5, scalar};
use crate::tier::avx512;

const LANES: usize = 8;

avx512! {
    pub(super) fn hash_all_u32(values: &[u32], hashes: &mut [u64]) {
        let (blocks, tail) = values.as_chunks::<LANES>();
        let (outs, out_tail) = hashes.as_chunks_mut::<LANES>();
        for (block, out) in blocks.iter().zip(outs) {
            // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
            let narrow = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
            let product = _mm512_mullo_epi64(_mm512_cvtepu32_epi64(narrow), set(P1));
            let hash = _mm512_rol_epi64::<23>(_mm512_xor_si512(product, set(P5.wrapping_add(4))));
            store(out, avalanche(_mm512_add_epi64(_mm512_mullo_epi64(hash, set(P2)), set(P3))));
        }
        scalar::hash_all_u32(tail, out_tail);
    }

    pub(super) fn hash_all_u64(values: &[u64], hashes: &mut [u64]) {
        let (blocks, tail) = values.as_chunks::<LANES>();
        let (outs, out_tail) = hashes.as_chunks_mut::<LANES>();
        for (block, out) in blocks.iter().zip(outs) {
            store(out, avalanche(take_8(set(P5.wrapping_add(8)), load(block))));
        }
        scalar::hash_all_u64(tail, out_tail);
    }

    pub(super) fn hash_all_u128(values: &[u128], hashes: &mut [u64]) {
        let (blocks, tail) = values.as_chunks::<LANES>();
        let (outs, out_tail) = hashes.as_chunks_mut::<LANES>();
        let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
        let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
        for (block, out) in blocks.iter().zip(outs) {
            // SAFETY: the reference is to 128 readable bytes, and this load takes any alignment.
            let first = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            // SAFETY: these are the second half of them.
            let second = unsafe { _mm512_loadu_si512(block[LANES / 2..].as_ptr().cast()) };
            let lower = take_8(set(P5.wrapping_add(16)), _mm512_permutex2var_epi64(first, even, second));
            store(out, avalanche(take_8(lower, _mm512_permutex2var_epi64(first, odd, second))));
        }
        scalar::hash_all_u128(tail, out_tail);
    }

    #[inline]
    fn take_8(hash: __m512i, word: __m512i) -> __m512i {
        let round = _mm512_mullo_epi64(_mm512_rol_epi64::<31>(_mm512_mullo_epi64(word, set(P2))), set(P1));
        let mixed = _mm512_rol_epi64::<27>(_mm512_xor_si512(hash, round));
        _mm512_add_epi64(_mm512_mullo_epi64(mixed, set(P1)), set(P4))
    }

    #[inline]
    fn avalanche(hash: __m512i) -> __m512i {
        let hash = _mm512_mullo_epi64(_mm512_xor_si512(hash, _mm512_srli_epi64::<33>(hash)), set(P2));
        let hash = _mm512_mullo_epi64(_mm512_xor_si512(hash, _mm512_srli_epi64::<29>(hash)), set(P3));
        _mm512_xor_si512(hash, _mm512_srli_epi64::<32>(hash))
    }

    #[inline]
    fn set(number: u64) -> __m512i {
        _mm512_set1_epi64(number.cast_signed())
    }

    #[inline]
    fn load(from: &[u64; LANES]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline]
    fn store(to: &mut [u64; LANES], hashes: __m512i) {
        // SAFETY: the reference is to 64 writable bytes, and this store takes any alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), hashes) }
    }
}

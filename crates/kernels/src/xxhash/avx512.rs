//! Eight hashes a register; this tier multiplies 64 bits (`vpmullq`) and rotates them in one instruction each.
//!
//! A multiplication has a latency of 15 cycles and a throughput of 1.5, and a hash is four or five of them, one after
//! another: each step is written for eight registers, because the processor does not look far enough ahead to find as
//! many by itself.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m512i, _mm256_loadu_si256, _mm512_add_epi64, _mm512_cvtepu32_epi64, _mm512_loadu_si512, _mm512_mullo_epi64,
    _mm512_permutex2var_epi64, _mm512_rol_epi64, _mm512_set1_epi64, _mm512_setr_epi64, _mm512_setzero_si512,
    _mm512_srli_epi64, _mm512_storeu_si512, _mm512_xor_si512,
};
use std::array;

use super::{P1, P2, P3, P4, P5, scalar};
use crate::tier::avx512;

/// The number of hashes in a register.
const LANES: usize = 8;

/// The number of registers that go through each step together.
const TOGETHER: usize = 8;

macro_rules! hash_all {
    ($hash_all:ident, $hash:ident, $number:ty) => {
        avx512! {
            pub(super) fn $hash_all(values: &[$number], hashes: &mut [u64]) {
                let (blocks, tail) = values.as_chunks::<LANES>();
                let (outs, out_tail) = hashes.as_chunks_mut::<LANES>();
                let (groups, rest) = blocks.as_chunks::<TOGETHER>();
                let (out_groups, out_rest) = outs.as_chunks_mut::<TOGETHER>();
                for (group, out) in groups.iter().zip(out_groups) {
                    $hash(group, out);
                }
                for (block, out) in rest.iter().zip(out_rest) {
                    $hash(array::from_ref(block), array::from_mut(out));
                }
                scalar::$hash_all(tail, out_tail);
            }
        }
    };
}
hash_all!(hash_all_u32, hash_u32s, u32);
hash_all!(hash_all_u64, hash_u64s, u64);
hash_all!(hash_all_u128, hash_u128s, u128);

avx512! {
    #[inline]
    fn hash_u32s<const N: usize>(values: &[[u32; LANES]; N], out: &mut [[u64; LANES]; N]) {
        let mut hashes = [_mm512_setzero_si512(); N];
        for (hash, block) in hashes.iter_mut().zip(values) {
            // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
            *hash = _mm512_cvtepu32_epi64(unsafe { _mm256_loadu_si256(block.as_ptr().cast()) });
        }
        multiply(&mut hashes, P1);
        for hash in &mut hashes {
            *hash = _mm512_rol_epi64::<23>(_mm512_xor_si512(*hash, set(P5.wrapping_add(4))));
        }
        multiply(&mut hashes, P2);
        add(&mut hashes, P3);
        finish(hashes, out);
    }

    #[inline]
    fn hash_u64s<const N: usize>(values: &[[u64; LANES]; N], out: &mut [[u64; LANES]; N]) {
        let mut words = [_mm512_setzero_si512(); N];
        for (word, block) in words.iter_mut().zip(values) {
            // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
            *word = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
        }
        let mut hashes = [set(P5.wrapping_add(8)); N];
        take_8(&mut hashes, words);
        finish(hashes, out);
    }

    #[inline]
    fn hash_u128s<const N: usize>(values: &[[u128; LANES]; N], out: &mut [[u64; LANES]; N]) {
        let even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
        let odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
        let mut hashes = [set(P5.wrapping_add(16)); N];
        for choice in [even, odd] {
            let mut words = [_mm512_setzero_si512(); N];
            for (word, block) in words.iter_mut().zip(values) {
                // SAFETY: the reference is to 128 readable bytes, and this load takes any alignment.
                let first = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
                // SAFETY: these are the second half of them.
                let second = unsafe { _mm512_loadu_si512(block[LANES / 2..].as_ptr().cast()) };
                *word = _mm512_permutex2var_epi64(first, choice, second);
            }
            take_8(&mut hashes, words);
        }
        finish(hashes, out);
    }

    #[inline]
    fn take_8<const N: usize>(hashes: &mut [__m512i; N], mut words: [__m512i; N]) {
        multiply(&mut words, P2);
        for word in &mut words {
            *word = _mm512_rol_epi64::<31>(*word);
        }
        multiply(&mut words, P1);
        for (hash, round) in hashes.iter_mut().zip(words) {
            *hash = _mm512_rol_epi64::<27>(_mm512_xor_si512(*hash, round));
        }
        multiply(hashes, P1);
        add(hashes, P4);
    }

    /// The avalanche, and stores.
    #[inline]
    fn finish<const N: usize>(mut hashes: [__m512i; N], out: &mut [[u64; LANES]; N]) {
        fold::<33, N>(&mut hashes);
        multiply(&mut hashes, P2);
        fold::<29, N>(&mut hashes);
        multiply(&mut hashes, P3);
        fold::<32, N>(&mut hashes);
        for (to, hash) in out.iter_mut().zip(hashes) {
            // SAFETY: the reference is to 64 writable bytes, and this store takes any alignment.
            unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), hash) }
        }
    }

    #[inline]
    fn multiply<const N: usize>(hashes: &mut [__m512i; N], by: u64) {
        for hash in hashes {
            *hash = _mm512_mullo_epi64(*hash, set(by));
        }
    }

    #[inline]
    fn add<const N: usize>(hashes: &mut [__m512i; N], number: u64) {
        for hash in hashes {
            *hash = _mm512_add_epi64(*hash, set(number));
        }
    }

    #[inline]
    fn fold<const BY: u32, const N: usize>(hashes: &mut [__m512i; N]) {
        for hash in hashes {
            *hash = _mm512_xor_si512(*hash, _mm512_srli_epi64::<BY>(*hash));
        }
    }

    #[inline]
    fn set(number: u64) -> __m512i {
        _mm512_set1_epi64(number.cast_signed())
    }
}

//! A block is one register: a multiplication by all salts, a shift to bit numbers, a shift to bits.
//!
//! Nothing is looked at, so no branch waits for a block, and the processor fetches as many blocks at a time as it can.
#![expect(unsafe_code, reason = "vector loads and stores, and indices that the choice of blocks proves")]

use std::arch::x86_64::{
    __m256i, _mm256_loadu_si256, _mm256_mullo_epi32, _mm256_or_si256, _mm256_set1_epi32, _mm256_sllv_epi32,
    _mm256_srli_epi32, _mm256_storeu_si256,
};

use super::{BLOCK_LEN, SALT, block_of};
use crate::tier::avx2;

avx2! {
    pub(super) fn insert_all(blocks: &mut [[u8; BLOCK_LEN]], hashes: &[u64]) {
        let count = blocks.len();
        // SAFETY: the array is 32 readable bytes, and this load takes any alignment.
        let salt = unsafe { _mm256_loadu_si256(SALT.as_ptr().cast()) };
        for &hash in hashes {
            // SAFETY: the choice of a block is below the count of blocks.
            let block = unsafe { blocks.get_unchecked_mut(block_of(hash, count)) };
            let inserted = _mm256_or_si256(load(block), bits(hash, salt));
            store(block, inserted);
        }
    }

    /// The bit of a hash in each word.
    #[inline]
    fn bits(hash: u64, salt: __m256i) -> __m256i {
        let product = _mm256_mullo_epi32(_mm256_set1_epi32((hash as u32).cast_signed()), salt);
        _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32::<27>(product))
    }

    #[inline]
    fn load(from: &[u8; BLOCK_LEN]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline]
    fn store(to: &mut [u8; BLOCK_LEN], value: __m256i) {
        // SAFETY: the reference is to 32 writable bytes, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
    }
}

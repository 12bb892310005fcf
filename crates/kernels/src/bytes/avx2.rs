//! Compares of 32 bytes at a time.
//!
//! Counting subtracts the compare's all-ones from byte counters: four vectors of counters hide the latency, and are
//! summed before any can exceed 255. Per 128 bytes: four compares with a load, four subtractions.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_sad_epu8, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_sub_epi8,
    _mm256_testz_si256, _mm256_xor_si256,
};

use super::{MaskedBytes, scalar};
use crate::tier::avx2;

/// The number of rounds after which a byte counter is full.
const ROUNDS: usize = 255;

avx2! {
    pub(super) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
        let len = a.len().min(b.len());
        let (a_vectors, a_tail) = a[..len].as_chunks::<32>();
        let (b_vectors, b_tail) = b[..len].as_chunks::<32>();
        let (a_pairs, a_rest) = a_vectors.as_chunks::<2>();
        let (b_pairs, b_rest) = b_vectors.as_chunks::<2>();
        for (i, ([a0, a1], [b0, b1])) in a_pairs.iter().zip(b_pairs).enumerate() {
            let first = _mm256_cmpeq_epi8(load(a0), load(b0));
            let second = _mm256_cmpeq_epi8(load(a1), load(b1));
            if _mm256_movemask_epi8(_mm256_and_si256(first, second)) != -1 {
                return i * 64 + (mask(first) | mask(second) << 32).trailing_ones() as usize;
            }
        }
        if let ([a0], [b0]) = (a_rest, b_rest) {
            let equal = _mm256_cmpeq_epi8(load(a0), load(b0));
            if _mm256_movemask_epi8(equal) != -1 {
                return a_pairs.len() * 64 + mask(equal).trailing_ones() as usize;
            }
        }
        a_vectors.len() * 32 + scalar::common_prefix_len(a_tail, b_tail)
    }

    pub(super) fn count_byte(haystack: &[u8], needle: u8) -> usize {
        let wanted = _mm256_set1_epi8(needle.cast_signed());
        let (vectors, tail) = haystack.as_chunks::<32>();
        let (quads, rest) = vectors.as_chunks::<4>();
        let mut total = _mm256_setzero_si256();
        for block in quads.chunks(ROUNDS) {
            let mut counts = [_mm256_setzero_si256(); 4];
            for quad in block {
                for (count, vector) in counts.iter_mut().zip(quad) {
                    *count = _mm256_sub_epi8(*count, _mm256_cmpeq_epi8(load(vector), wanted));
                }
            }
            for count in counts {
                total = _mm256_add_epi64(total, _mm256_sad_epu8(count, _mm256_setzero_si256()));
            }
        }
        let mut count = _mm256_setzero_si256();
        for vector in rest {
            count = _mm256_sub_epi8(count, _mm256_cmpeq_epi8(load(vector), wanted));
        }
        total = _mm256_add_epi64(total, _mm256_sad_epu8(count, _mm256_setzero_si256()));
        let mut lanes = [0_u64; 4];
        // SAFETY: the array has 32 writable bytes, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), total) }
        let in_vectors: u64 = lanes.iter().sum();
        in_vectors as usize + tail.iter().filter(|&&byte| byte == needle).count()
    }

    /// Differing bits are collected over all blocks: few callers' bytes differ in the first ones.
    pub(super) fn compare_masked(bytes: &[u8], blocks: &[MaskedBytes]) -> bool {
        let (Some(last), Some(last_block)) = (bytes.last_chunk(), blocks.last()) else { return false };
        let mut differing = differing(last, last_block);
        for (bytes, block) in bytes.as_chunks().0.iter().zip(blocks) {
            differing = _mm256_or_si256(differing, self::differing(bytes, block));
        }
        _mm256_testz_si256(differing, differing) == 1
    }

    #[inline]
    fn differing(bytes: &[u8; 32], block: &MaskedBytes) -> __m256i {
        _mm256_xor_si256(_mm256_and_si256(load(bytes), load(&block.mask)), load(&block.expected))
    }

    #[inline]
    fn mask(equal: __m256i) -> u64 {
        u64::from(_mm256_movemask_epi8(equal).cast_unsigned())
    }

    #[inline]
    fn load(from: &[u8; 32]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }
}

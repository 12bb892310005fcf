//! Compares of 64 bytes at a time, to masks; the last bytes are loaded under a mask, which reads nothing else.
//!
//! Counting adds one under the compare's mask to byte counters: a compare and an addition for 64 bytes, which is what
//! two vector ports do in a cycle. A population count of the mask instead needs the same compare and three scalar
//! instructions.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_cmpeq_epi8_mask, _mm512_cmpneq_epi8_mask, _mm512_loadu_si512,
    _mm512_mask_cmpeq_epi8_mask, _mm512_mask_sub_epi8, _mm512_maskz_loadu_epi8, _mm512_reduce_add_epi64,
    _mm512_sad_epu8, _mm512_set1_epi8, _mm512_setzero_si512,
};

use crate::tier::avx512;

/// Rounds after which a byte counter is full.
const ROUNDS: usize = 255;

avx512! {
    pub(super) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
        let len = a.len().min(b.len());
        let (a_vectors, a_tail) = a[..len].as_chunks::<64>();
        let (b_vectors, b_tail) = b[..len].as_chunks::<64>();
        for (i, (a, b)) in a_vectors.iter().zip(b_vectors).enumerate() {
            let different = _mm512_cmpneq_epi8_mask(load(a), load(b));
            if different != 0 {
                return i * 64 + different.trailing_zeros() as usize;
            }
        }
        // Bytes behind the end are zero in both.
        let different = _mm512_cmpneq_epi8_mask(load_some(a_tail), load_some(b_tail));
        len.min(a_vectors.len() * 64 + different.trailing_zeros() as usize)
    }

    pub(super) fn count_byte(haystack: &[u8], needle: u8) -> usize {
        let wanted = _mm512_set1_epi8(needle.cast_signed());
        let (vectors, tail) = haystack.as_chunks::<64>();
        let (quads, rest) = vectors.as_chunks::<4>();
        let mut total = _mm512_setzero_si512();
        for block in quads.chunks(ROUNDS) {
            let mut counts = [_mm512_setzero_si512(); 4];
            for quad in block {
                for (count, vector) in counts.iter_mut().zip(quad) {
                    *count = count_in(*count, load(vector), wanted);
                }
            }
            for count in counts {
                total = _mm512_add_epi64(total, _mm512_sad_epu8(count, _mm512_setzero_si512()));
            }
        }
        let mut count = _mm512_setzero_si512();
        for vector in rest {
            count = count_in(count, load(vector), wanted);
        }
        total = _mm512_add_epi64(total, _mm512_sad_epu8(count, _mm512_setzero_si512()));
        let in_tail = _mm512_mask_cmpeq_epi8_mask(first(tail.len()), load_some(tail), wanted).count_ones();
        _mm512_reduce_add_epi64(total) as usize + in_tail as usize
    }

    /// One more for each byte that is wanted.
    #[inline]
    fn count_in(count: __m512i, bytes: __m512i, wanted: __m512i) -> __m512i {
        let found = _mm512_cmpeq_epi8_mask(bytes, wanted);
        _mm512_mask_sub_epi8(count, found, count, _mm512_set1_epi8(-1))
    }

    #[inline]
    fn load(from: &[u8; 64]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    /// Fewer than 64 bytes, and zeros behind them.
    #[inline]
    fn load_some(from: &[u8]) -> __m512i {
        // SAFETY: the mask has as many bits as the slice has bytes, and the load touches no other bytes.
        unsafe { _mm512_maskz_loadu_epi8(first(from.len()), from.as_ptr().cast()) }
    }
}

/// The mask of the first `count` of 64, for a `count` below 64.
#[inline]
fn first(count: usize) -> u64 {
    debug_assert!(count < 64);
    (1 << count) - 1
}

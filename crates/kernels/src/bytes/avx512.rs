//! Compares of 64 bytes at a time, to masks; the last bytes are loaded under a mask, which reads no others.
//!
//! Counting adds up the population counts of the masks: a compare, a move and a count for 64 bytes, each of which a
//! core has one port for. From [`MIN_ALIGNED`] bytes on the loads are aligned, because every load that crosses a cache
//! line costs as much as two.
//!
//! Tried and rejected: byte counters that are added to under the mask (as fast in 16 KiB, slower in shorter strings
//! because of their sum); subtracting the mask as a vector, which LLVM makes from a subtraction under a mask (a third
//! of the speed).
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m512i, _mm512_cmpeq_epi8_mask, _mm512_cmpneq_epi8_mask, _mm512_loadu_si512, _mm512_mask_cmpeq_epi8_mask,
    _mm512_maskz_loadu_epi8, _mm512_set1_epi8,
};

use crate::tier::avx512;

/// The number of bytes from which aligned loads are worth counting the bytes before them separately.
const MIN_ALIGNED: usize = 512;

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
        // Bytes past the end are zero in both.
        let different = _mm512_cmpneq_epi8_mask(load_some(a_tail), load_some(b_tail));
        len.min(a_vectors.len() * 64 + different.trailing_zeros() as usize)
    }

    pub(super) fn count_byte(haystack: &[u8], needle: u8) -> usize {
        let wanted = _mm512_set1_epi8(needle.cast_signed());
        let aligned_from = if haystack.len() < MIN_ALIGNED { 0 } else { haystack.as_ptr().align_offset(64) };
        let (head, haystack) = haystack.split_at(aligned_from);
        let (vectors, tail) = haystack.as_chunks::<64>();
        let (eights, rest) = vectors.as_chunks::<8>();
        let mut count = count_some(tail, wanted);
        if !head.is_empty() {
            count += count_some(head, wanted);
        }
        for vector in rest {
            count += count_vector(vector, wanted);
        }
        for eight in eights {
            // Summed separately, so that the total does not wait for each.
            count += eight.iter().map(|vector| count_vector(vector, wanted)).sum::<usize>();
        }
        count
    }

    #[inline]
    fn count_vector(bytes: &[u8; 64], wanted: __m512i) -> usize {
        _mm512_cmpeq_epi8_mask(load(bytes), wanted).count_ones() as usize
    }

    /// Counts in fewer than 64 bytes.
    #[inline]
    fn count_some(bytes: &[u8], wanted: __m512i) -> usize {
        _mm512_mask_cmpeq_epi8_mask(first(bytes.len()), load_some(bytes), wanted).count_ones() as usize
    }

    #[inline]
    fn load(from: &[u8; 64]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    /// Fewer than 64 bytes, padded with zeros.
    #[inline]
    fn load_some(from: &[u8]) -> __m512i {
        // SAFETY: the mask has as many bits as the slice has bytes, and the load accesses no other bytes.
        unsafe { _mm512_maskz_loadu_epi8(first(from.len()), from.as_ptr().cast()) }
    }
}

/// The mask of the first `count` of 64, for a `count` below 64.
#[inline]
fn first(count: usize) -> u64 {
    debug_assert!(count < 64);
    (1 << count) - 1
}

//! One or two compares for all slots.
//!
//! The minimum of a register's 16-bit lanes is one instruction for eight of them (PHMINPOSUW), after minima of the
//! rest; the first bit of a comparison then finds it. Lanes are loaded so that the packing of answers to bytes, which
//! works within halves, leaves them in order:
//!
//! ```text
//! a   0..8  | 16..24         packed   0..8 8..16 | 16..24 24..32
//! b   8..16 | 24..32
//! ```
//!
//! References are remapped by a byte shuffle of the table, whose entries are moved to the high nibble first. The last
//! register of a copy overlaps the previous one; fewer than 16 bytes are two words that overlap.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_and_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_loadu_si128,
    _mm_min_epu16, _mm_minpos_epu16, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8, _mm_shuffle_epi8, _mm_slli_epi16,
    _mm_srli_epi16, _mm_storeu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_broadcastw_epi16,
    _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_min_epu16, _mm256_movemask_epi8, _mm256_movemask_ps, _mm256_or_si256,
    _mm256_packs_epi16, _mm256_set_m128i, _mm256_set1_epi8, _mm256_set1_epi32, _mm256_shuffle_epi8, _mm256_srli_epi16,
    _mm256_storeu_si256,
};

use super::scalar;
use crate::tier::avx2;

avx2! {
    pub(super) fn find(values: &[u32; 16], wanted: u32) -> usize {
        let wanted = _mm256_set1_epi32(wanted.cast_signed());
        let (low, high) = values.split_at(8);
        // SAFETY: the slice is 32 readable bytes, and this load takes any alignment.
        let low = unsafe { _mm256_loadu_si256(low.as_ptr().cast()) };
        // SAFETY: as above.
        let high = unsafe { _mm256_loadu_si256(high.as_ptr().cast()) };
        let low = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(low, wanted)));
        let high = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(high, wanted)));
        (low | high << 8 | 1 << 16).trailing_zeros() as usize
    }

    pub(super) fn least_of_32(values: &[u16; 32]) -> usize {
        let [a, b] = load_in_turns(values);
        let least = least(_mm256_min_epu16(a, b));
        equal(a, b, least).trailing_zeros() as usize
    }

    pub(super) fn least_of_64(values: &[u16; 64]) -> usize {
        let [low, high] = values.as_chunks::<32>().0 else { return scalar::least_of_64(values) };
        let ([a, b], [c, d]) = (load_in_turns(low), load_in_turns(high));
        let least = least(_mm256_min_epu16(_mm256_min_epu16(a, b), _mm256_min_epu16(c, d)));
        (u64::from(equal(a, b, least)) | u64::from(equal(c, d, least)) << 32).trailing_zeros() as usize
    }

    pub(super) fn remap(branches: &[u8], table: &[u8; 16], out: &mut [u8]) {
        // The entries' low nibbles as high ones: no bit comes from the previous byte.
        let table = _mm_slli_epi16::<4>(_mm_and_si128(load_16(table), _mm_set1_epi8(15)));
        if let (Some(last), Some(last_out)) = (branches.last_chunk::<32>(), out.last_chunk_mut::<32>()) {
            let last = remap_32(load(last), table);
            // SAFETY: the reference is to 32 writable bytes, and this store takes any alignment.
            unsafe { _mm256_storeu_si256(last_out.as_mut_ptr().cast(), last) };
            for (from, to) in branches.as_chunks::<32>().0.iter().zip(out.as_chunks_mut::<32>().0) {
                let remapped = remap_32(load(from), table);
                // SAFETY: as above.
                unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), remapped) };
            }
        } else if let (Some(first), Some(last)) = (branches.first_chunk::<16>(), branches.last_chunk::<16>()) {
            let both = remap_32(_mm256_set_m128i(load_16(last), load_16(first)), table);
            if let Some(out) = out.first_chunk_mut() {
                store_16(_mm256_castsi256_si128(both), out);
            }
            if let Some(out) = out.last_chunk_mut() {
                store_16(_mm256_extracti128_si256::<1>(both), out);
            }
        } else if let (Some(first), Some(last)) = (branches.first_chunk::<8>(), branches.last_chunk::<8>()) {
            let both = _mm_set_epi64x(i64::from_le_bytes(*last), i64::from_le_bytes(*first));
            let both = remap_16(both, table);
            if let Some(out) = out.first_chunk_mut() {
                *out = _mm_cvtsi128_si64(both).to_le_bytes();
            }
            if let Some(out) = out.last_chunk_mut() {
                *out = _mm_extract_epi64::<1>(both).to_le_bytes();
            }
        } else if let (Some(first), Some(last)) = (branches.first_chunk::<4>(), branches.last_chunk::<4>()) {
            let both = u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
            let both = _mm_cvtsi128_si64(remap_16(_mm_cvtsi64_si128(both.cast_signed()), table));
            if let Some(out) = out.first_chunk_mut() {
                *out = (both as u32).to_le_bytes();
            }
            if let Some(out) = out.last_chunk_mut() {
                *out = ((both >> 32) as u32).to_le_bytes();
            }
        } else {
            let mut entries = [0; 16];
            store_16(table, &mut entries);
            for (to, branch) in out.iter_mut().zip(branches) {
                *to = entries[usize::from(branch >> 4)] | branch & 15;
            }
        }
    }

    /// The minimum of 16 lanes, in each lane.
    #[inline]
    fn least(values: __m256i) -> __m256i {
        let eight = _mm_min_epu16(_mm256_castsi256_si128(values), _mm256_extracti128_si256::<1>(values));
        _mm256_broadcastw_epi16(_mm_minpos_epu16(eight))
    }

    /// A bit for each of 32 values, loaded alternately, that equals the one in each lane of `value`.
    #[inline]
    fn equal(a: __m256i, b: __m256i, value: __m256i) -> u32 {
        let packed = _mm256_packs_epi16(_mm256_cmpeq_epi16(a, value), _mm256_cmpeq_epi16(b, value));
        _mm256_movemask_epi8(packed).cast_unsigned()
    }

    #[inline]
    fn load_in_turns(from: &[u16; 32]) -> [__m256i; 2] {
        [0, 8].map(|at| {
            // SAFETY: the slice is 16 readable bytes, and this load takes any alignment.
            let low = unsafe { _mm_loadu_si128(from[at..at + 8].as_ptr().cast()) };
            // SAFETY: as above.
            let high = unsafe { _mm_loadu_si128(from[at + 16..at + 24].as_ptr().cast()) };
            _mm256_set_m128i(high, low)
        })
    }

    #[inline]
    fn remap_32(branches: __m256i, table: __m128i) -> __m256i {
        let nibble = _mm256_set1_epi8(15);
        let index = _mm256_and_si256(_mm256_srli_epi16::<4>(branches), nibble);
        let high = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), index);
        _mm256_or_si256(high, _mm256_and_si256(branches, nibble))
    }

    #[inline]
    fn remap_16(branches: __m128i, table: __m128i) -> __m128i {
        let nibble = _mm_set1_epi8(15);
        let index = _mm_and_si128(_mm_srli_epi16::<4>(branches), nibble);
        _mm_or_si128(_mm_shuffle_epi8(table, index), _mm_and_si128(branches, nibble))
    }

    #[inline]
    fn load(from: &[u8; 32]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline]
    fn load_16(from: &[u8; 16]) -> __m128i {
        // SAFETY: the reference is to 16 readable bytes, and this load takes any alignment.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }

    #[inline]
    fn store_16(bytes: __m128i, to: &mut [u8; 16]) {
        // SAFETY: the reference is to 16 writable bytes, and this store takes any alignment.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), bytes) }
    }
}

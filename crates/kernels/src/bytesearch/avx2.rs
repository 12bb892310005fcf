//! Two registers of 32 bytes compared to a mask of 64 bits.
//!
//! ```text
//! bytes alone    ├──── whole words of 4, loaded under a mask ────┤
//!                                                          ├─ 4 ─┤  the last four once more
//! within         ├──────────────── 64 ──────────────────────────────┤   mask >> before, the lowest `len` bits of it
//! ```
//!
//! For bytes alone, no branch depends on their number from 4 on. Measured in nanoseconds against a branch for each
//! class of length (overlapping loads: 32 and more, 16, 8): with 20 to 48 bytes at random, 4.9 against 7.6 by
//! throughput and 13.9 against 15.1 by latency, of which some 5 are the chain around it; with always 32 bytes, 5.1
//! against 5.4 and 14.5 against 12.4. Within a node 4.4 and 12.0, whatever the lengths. SSE2, which needs neither
//! dispatch nor call, takes the same time there as this with both.
//!
//! From 65 to 256 bytes eight registers are counted whatever their number: 9 ns by throughput, against 20 for a loop
//! whose end is unpredictable, and the same as the loop if it is predictable.
#![expect(unsafe_code, reason = "vector loads")]

use std::arch::x86_64::{
    __m128i, __m256i, _bzhi_u64, _mm_add_epi64, _mm_cmpeq_epi8, _mm_cvtsi32_si128, _mm_cvtsi128_si64, _mm_max_epu8,
    _mm_min_epu8, _mm_movemask_epi8, _mm_unpackhi_epi64, _mm256_add_epi64, _mm256_castsi256_si128, _mm256_cmpeq_epi8,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_maskload_epi32, _mm256_max_epu8, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_sad_epu8, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_sub_epi8,
};

use super::comparison::{Comparison, Kind};
use super::window::{Window, window};
use super::{BLOCK_LEN, scalar};
use crate::tier::avx2;

/// Bytes of a register.
const WIDTH: usize = 32;

/// The sixteen words from the one at `16 - n` on are `n` words to be loaded, followed by words that are not.
static LOADED: [i32; 32] = {
    let mut loaded = [0; 32];
    let mut i = 0;
    while i < 16 {
        loaded[i] = -1;
        i += 1;
    }
    loaded
};

avx2! {
    pub(super) fn mask<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> u64 {
        let bytes = &bytes[..bytes.len().min(BLOCK_LEN)];
        let Some(last) = bytes.last_chunk::<4>() else {
            return scalar::mask(comparison, bytes, key);
        };
        let keys = _mm256_set1_epi8(key.cast_signed());
        let words = bytes.len() / 4;
        let [low, high] = load_words(bytes, words);
        let in_words = pair(matches(comparison, low, keys), matches(comparison, high, keys));
        let last = _mm_cvtsi32_si128(i32::from_le_bytes(*last));
        let in_last = matches_16(comparison, last, _mm256_castsi256_si128(keys)) & 0b1111;
        _bzhi_u64(in_words, words as u32 * 4) | u64::from(in_last) << (bytes.len() - 4)
    }

    pub(super) fn mask_within<C: Comparison>(comparison: C, bytes: &[u8], start: usize, len: usize, key: u8) -> u64 {
        match window(bytes, start, len) {
            Some(window) => mask_of_window(comparison, &window, key),
            None => mask(comparison, scalar::within(bytes, start, len), key),
        }
    }

    pub(super) fn count<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> usize {
        match bytes.len() {
            0..=BLOCK_LEN => mask(comparison, bytes, key).count_ones() as usize,
            65..=256 => count_up_to_256(comparison, bytes, key),
            _ => count_many(comparison, bytes, key),
        }
    }

    pub(super) fn count_within<C: Comparison>(comparison: C, bytes: &[u8], start: usize, len: usize, key: u8) -> usize {
        match window(bytes, start, len) {
            Some(window) if len <= BLOCK_LEN => mask_of_window(comparison, &window, key).count_ones() as usize,
            _ => count(comparison, scalar::within(bytes, start, len), key),
        }
    }

    #[inline]
    fn mask_of_window<C: Comparison>(comparison: C, window: &Window<'_>, key: u8) -> u64 {
        let keys = _mm256_set1_epi8(key.cast_signed());
        let (low, high) = window.block.split_at(WIDTH);
        // SAFETY: the slice is 32 readable bytes, and this load takes any alignment.
        let low = unsafe { _mm256_loadu_si256(low.as_ptr().cast()) };
        // SAFETY: as above.
        let high = unsafe { _mm256_loadu_si256(high.as_ptr().cast()) };
        let all = pair(matches(comparison, low, keys), matches(comparison, high, keys));
        _bzhi_u64(all >> window.before, window.len)
    }

    /// Counts in eight registers, whatever the length. Registers that would reach past the end start a register before
    /// it, and their repeated count is always the same.
    #[inline]
    fn count_up_to_256<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> usize {
        let Some(last) = bytes.last_chunk::<WIDTH>() else {
            return scalar::count(comparison, bytes, key);
        };
        let keys = _mm256_set1_epi8(key.cast_signed());
        let last_at = bytes.len() - WIDTH;
        let mut counts = _mm256_setzero_si256();
        for i in 0..8 {
            // SAFETY: from here on the slice has the bytes of a register; its start is the largest of these offsets.
            let from = unsafe { bytes.as_ptr().add(last_at.min(i * WIDTH)) };
            // SAFETY: as above, and this load takes any alignment.
            let vector = unsafe { _mm256_loadu_si256(from.cast()) };
            counts = _mm256_sub_epi8(counts, compare(comparison, vector, keys));
        }
        let last = matches(comparison, load(last), keys);
        let whole = bytes.len() / WIDTH;
        // From the last register, only the bytes that no whole register has counted.
        let tail = (u64::from(last) << (bytes.len() % WIDTH)) >> WIDTH;
        let twice = (8 - whole) * last.count_ones() as usize;
        sum(_mm256_sad_epu8(counts, _mm256_setzero_si256())) + tail.count_ones() as usize - twice
    }

    /// Counts in any number of bytes.
    fn count_many<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> usize {
        let keys = _mm256_set1_epi8(key.cast_signed());
        let (vectors, tail) = bytes.as_chunks::<WIDTH>();
        let mut total = _mm256_setzero_si256();
        for vectors in vectors.chunks(255) {
            let mut counts = _mm256_setzero_si256();
            for vector in vectors {
                counts = _mm256_sub_epi8(counts, compare(comparison, load(vector), keys));
            }
            total = _mm256_add_epi64(total, _mm256_sad_epu8(counts, _mm256_setzero_si256()));
        }
        sum(total) + scalar::count(comparison, tail, key)
    }

    /// The sum of four 64-bit lanes.
    #[inline]
    fn sum(lanes: __m256i) -> usize {
        let halves = _mm_add_epi64(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
        _mm_cvtsi128_si64(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves))) as usize
    }

    /// Whole words of four bytes, padded with zeros.
    #[inline]
    fn load_words(bytes: &[u8], count: usize) -> [__m256i; 2] {
        let loaded = &LOADED[16 - count.min(16)..];
        // SAFETY: sixteen words from any of the first 17 on are in the array, and this load takes any alignment.
        let low = unsafe { _mm256_loadu_si256(loaded.as_ptr().cast()) };
        // SAFETY: as above.
        let high = unsafe { _mm256_loadu_si256(loaded[8..].as_ptr().cast()) };
        let from = bytes.as_ptr().cast::<i32>();
        // SAFETY: words outside of the mask are not accessed, and there are bytes for the words in it.
        let low = unsafe { _mm256_maskload_epi32(from, low) };
        // SAFETY: as above; the address may be past the bytes, and then nothing is loaded.
        let high = unsafe { _mm256_maskload_epi32(from.wrapping_add(8), high) };
        [low, high]
    }

    /// All ones for each byte that satisfies the comparison, or, for [`Kind::Below`], does not.
    #[inline]
    fn compare_or_inverse<C: Comparison>(_: C, bytes: __m256i, keys: __m256i) -> __m256i {
        match C::KIND {
            Kind::Equal => _mm256_cmpeq_epi8(bytes, keys),
            Kind::AtMost => _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, keys), bytes),
            Kind::Below => _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, keys), bytes),
        }
    }

    /// All ones for each byte that satisfies the comparison.
    #[inline]
    fn compare<C: Comparison>(comparison: C, bytes: __m256i, keys: __m256i) -> __m256i {
        let compared = compare_or_inverse(comparison, bytes, keys);
        if C::KIND == Kind::Below { _mm256_cmpeq_epi8(compared, _mm256_setzero_si256()) } else { compared }
    }

    /// A bit for each byte that satisfies the comparison.
    #[inline]
    fn matches<C: Comparison>(comparison: C, bytes: __m256i, keys: __m256i) -> u32 {
        let mask = _mm256_movemask_epi8(compare_or_inverse(comparison, bytes, keys)).cast_unsigned();
        if C::KIND == Kind::Below { !mask } else { mask }
    }

    #[inline]
    fn matches_16<C: Comparison>(_: C, bytes: __m128i, keys: __m128i) -> u32 {
        let mask = |compared| _mm_movemask_epi8(compared).cast_unsigned();
        match C::KIND {
            Kind::Equal => mask(_mm_cmpeq_epi8(bytes, keys)),
            Kind::AtMost => mask(_mm_cmpeq_epi8(_mm_min_epu8(bytes, keys), bytes)),
            Kind::Below => !mask(_mm_cmpeq_epi8(_mm_max_epu8(bytes, keys), bytes)),
        }
    }

    #[inline]
    fn load(from: &[u8; WIDTH]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }
}

#[inline]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

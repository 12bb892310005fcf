//! Like the portable code, with 16 or 32 bytes in one register: one load, one mask, one compare.
#![expect(unsafe_code, reason = "vector loads")]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_and_si128, _mm_cmpeq_epi8, _mm_extract_epi64, _mm_loadu_si128, _mm_movemask_epi8,
    _mm_set_epi64x, _mm_xor_si128, _mm256_and_si256, _mm256_castsi256_si128, _mm256_cmpeq_epi8,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set_epi64x, _mm256_xor_si256,
};

use super::scalar::{self, KEYS, multiply};
use super::{Strings, intern_by};
use crate::KernelError;
use crate::byte_strings::Source;
use crate::tier::avx2;

avx2! {
    pub(super) fn intern<'s>(
        table: &mut Strings<'_>,
        source: impl Source<'s>,
        codes: &mut [u32],
    ) -> Result<usize, KernelError> {
        match source.max_len() {
            0..=8 => scalar::intern_8(table, source, codes),
            9..=16 => intern_16(table, source, codes),
            _ => intern_32(table, source, codes),
        }
    }

    #[inline]
    fn intern_16<'s>(
        table: &mut Strings<'_>,
        source: impl Source<'s>,
        codes: &mut [u32],
    ) -> Result<usize, KernelError> {
        let [a, b, c, d] = KEYS.map(u64::cast_signed);
        let keys = _mm_set_epi64x(b, a);
        let kept = |bytes: &[u8; 16], keep: &[u8; 16]| _mm_and_si128(load_16(bytes), load_16(keep));
        let hash = |head, len| {
            let [a, b] = words(_mm_xor_si128(head, keys));
            multiply([a, b, c.cast_unsigned(), d.cast_unsigned()], len as u64)
        };
        let equals = |head, stored: &[u8; 16], keep: &[u8; 16]| {
            _mm_movemask_epi8(_mm_cmpeq_epi8(head, kept(stored, keep))) == 0xFFFF
        };
        intern_by(table, source, codes, kept, hash, equals)
    }

    #[inline]
    fn intern_32<'s>(
        table: &mut Strings<'_>,
        source: impl Source<'s>,
        codes: &mut [u32],
    ) -> Result<usize, KernelError> {
        let [a, b, c, d] = KEYS.map(u64::cast_signed);
        let keys = _mm256_set_epi64x(d, c, b, a);
        let kept = |bytes: &[u8; 32], keep: &[u8; 32]| _mm256_and_si256(load_32(bytes), load_32(keep));
        let hash = |head, len| {
            let keyed = _mm256_xor_si256(head, keys);
            let [a, b] = words(_mm256_castsi256_si128(keyed));
            let [c, d] = words(_mm256_extracti128_si256::<1>(keyed));
            multiply([a, b, c, d], len as u64)
        };
        let equals = |head, stored: &[u8; 32], keep: &[u8; 32]| {
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(head, kept(stored, keep))) == -1
        };
        intern_by(table, source, codes, kept, hash, equals)
    }

    #[inline]
    fn words(vector: __m128i) -> [u64; 2] {
        [_mm_extract_epi64::<0>(vector).cast_unsigned(), _mm_extract_epi64::<1>(vector).cast_unsigned()]
    }

    #[inline]
    fn load_16(from: &[u8; 16]) -> __m128i {
        // SAFETY: the reference is to 16 readable bytes, and this load takes any alignment.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }

    #[inline]
    fn load_32(from: &[u8; 32]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }
}

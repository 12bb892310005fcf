//! Level masks: 64 unsigned comparisons in one instruction, whose result is the word; the last block is a masked load.
//! The rest is the same as in the AVX2 tier, which uses general registers.
#![expect(unsafe_code, reason = "vector loads at addresses within slices")]

use std::arch::x86_64::*;

use crate::tier::avx512;

avx512! {
    pub(super) fn ge_mask(levels: &[u8], threshold: u8, out: &mut [u64]) {
        let threshold = _mm512_set1_epi8(threshold as i8);
        mask_by(levels, out, |among, level| _mm512_mask_cmpge_epu8_mask(among, level, threshold));
    }

    pub(super) fn le_mask(levels: &[u8], threshold: u8, out: &mut [u64]) {
        let threshold = _mm512_set1_epi8(threshold as i8);
        mask_by(levels, out, |among, level| _mm512_mask_cmple_epu8_mask(among, level, threshold));
    }

    pub(super) fn eq_mask(levels: &[u8], value: u8, out: &mut [u64]) {
        let value = _mm512_set1_epi8(value as i8);
        mask_by(levels, out, |among, level| _mm512_mask_cmpeq_epu8_mask(among, level, value));
    }

    #[inline]
    fn mask_by(levels: &[u8], out: &mut [u64], compare: impl Fn(u64, __m512i) -> u64) {
        let (blocks, rest) = levels.as_chunks::<64>();
        let mut out = out.iter_mut();
        for (block, word) in blocks.iter().zip(&mut out) {
            // SAFETY: the array is 64 bytes.
            let levels = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            *word = compare(u64::MAX, levels);
        }
        if let Some(word) = out.next() {
            let among = (1 << rest.len()) - 1;
            // SAFETY: only the bytes of `rest` are read.
            let levels = unsafe { _mm512_maskz_loadu_epi8(among, rest.as_ptr().cast()) };
            *word = compare(among, levels);
        }
    }
}

//! Two blocks a register, and their words tested to mask bits: eight checks are eight bytes of a mask, each of which
//! must be all ones.
//!
//! One check uses half a register for its block, and so does inserting, which works like at AVX2.
#![expect(unsafe_code, reason = "vector loads, and a check as assembly")]

use std::arch::x86_64::{
    __m512i, _mm256_loadu_si256, _mm512_broadcast_i32x8, _mm512_castsi256_si512, _mm512_cmpeq_epi64_mask,
    _mm512_inserti64x4, _mm512_kunpackd, _mm512_kunpackw, _mm512_loadu_si512, _mm512_movm_epi8, _mm512_mullo_epi32,
    _mm512_permutexvar_epi32, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setr_epi32, _mm512_sllv_epi32,
    _mm512_srli_epi32, _mm512_test_epi32_mask,
};

use super::blocks::Blocks;
use super::{Block, SALT, WORD, avx2};
use crate::tier::avx512;

/// The number of checks that are reduced together.
const GROUP: usize = 8;

/// One check, inlined into the caller, without the call that code for any processor needs to reach this tier's
/// instructions.
///
/// The registers are numbered from 16, which leaves the state of the others as code without AVX expects it, so no
/// `vzeroupper` is needed.
///
/// # Safety
/// The processor must have the features of this tier.
#[inline(always)]
pub(super) unsafe fn check(block: &Block, hash: u64) -> bool {
    let is_set: u8;
    // SAFETY: the instructions are of AVX-512 F and VL, which the caller guarantees; they read the 32 bytes of the
    // block, the salts and the word after them, write no memory, and change only the named registers and the flags.
    unsafe {
        std::arch::asm!(
            "vpbroadcastd ymm16, {key:e}",
            "vpmulld ymm16, ymm16, ymmword ptr [{salt}]",
            "vpsrld ymm16, ymm16, 27",
            "vpbroadcastd ymm17, dword ptr [{salt} + 32]",
            "vpsllvd ymm16, ymm17, ymm16",
            "vptestnmd k1, ymm16, ymmword ptr [{block}]",
            "kortestw k1, k1",
            "setz {is_set}",
            key = in(reg) hash as u32,
            salt = in(reg) &raw const SALT_AND_ONE,
            block = in(reg) block.as_ptr(),
            is_set = lateout(reg_byte) is_set,
            out("xmm16") _,
            out("xmm17") _,
            out("k1") _,
            options(pure, readonly, nostack),
        );
    }
    is_set != 0
}

/// The salts, followed by the word that is shifted to the position of a bit.
static SALT_AND_ONE: [u32; 9] = [SALT[0], SALT[1], SALT[2], SALT[3], SALT[4], SALT[5], SALT[6], SALT[7], 1];

avx512! {
    #[inline]
    pub(super) fn check_hashes(blocks: Blocks<'_>, hashes: &[u64], mut take: impl FnMut(u64)) {
        let salt = salt();
        let (words, rest) = hashes.as_chunks::<WORD>();
        for word in words {
            let blocks = blocks.blocks_for(word);
            let mut answers = 0;
            let groups = word.as_chunks::<GROUP>().0.iter().zip(blocks.as_chunks::<GROUP>().0);
            for (j, (hashes, &[a, b, c, d, e, f, g, h])) in groups.enumerate() {
                let keys = load_hashes(hashes);
                let found = [
                    found(a, b, bits(keys, 0, salt)),
                    found(c, d, bits(keys, 4, salt)),
                    found(e, f, bits(keys, 8, salt)),
                    found(g, h, bits(keys, 12, salt)),
                ];
                answers |= u64::from(all_words(found)) << (j * GROUP);
            }
            take(answers);
        }
        if !rest.is_empty() {
            let answers = rest.iter().enumerate();
            take(answers.fold(0, |answers, (i, &hash)| {
                answers | u64::from(avx2::check(blocks.of(hash), hash)) << i
            }));
        }
    }

    #[inline]
    pub(super) fn check_refs(blocks: &[&Block], hash: u64) -> u64 {
        let bits = bits(load_hashes(&[hash; GROUP]), 0, salt());
        let (groups, rest) = blocks.as_chunks::<GROUP>();
        let mut answers = 0;
        for (i, &[a, b, c, d, e, f, g, h]) in groups.iter().enumerate() {
            let found = [found(a, b, bits), found(c, d, bits), found(e, f, bits), found(g, h, bits)];
            answers |= u64::from(all_words(found)) << (i * GROUP);
        }
        for (i, &block) in rest.iter().enumerate() {
            answers |= u64::from(avx2::check(block, hash)) << (groups.len() * GROUP + i);
        }
        answers
    }

    /// A bit for each word of two blocks that has its bit set.
    #[inline]
    fn found(a: &Block, b: &Block, bits: __m512i) -> u16 {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        let a = unsafe { _mm256_loadu_si256(a.as_ptr().cast()) };
        // SAFETY: as above.
        let b = unsafe { _mm256_loadu_si256(b.as_ptr().cast()) };
        _mm512_test_epi32_mask(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(a), b), bits)
    }

    /// Bit `i` of the answer tells whether byte `i` of the masks is all ones. They stay mask registers until they are
    /// joined.
    #[inline]
    fn all_words([a, b, c, d]: [u16; GROUP / 2]) -> u8 {
        let lower = _mm512_kunpackw(b.into(), a.into());
        let upper = _mm512_kunpackw(d.into(), c.into());
        let words = _mm512_movm_epi8(_mm512_kunpackd(upper.into(), lower.into()));
        _mm512_cmpeq_epi64_mask(words, _mm512_set1_epi64(-1))
    }

    /// The bits of two neighbouring hashes in each word, the first of them at word `at` of their register.
    #[inline]
    fn bits(hashes: __m512i, at: i32, salt: __m512i) -> __m512i {
        let choice = _mm512_setr_epi32(
            at, at, at, at, at, at, at, at, at + 2, at + 2, at + 2, at + 2, at + 2, at + 2, at + 2, at + 2,
        );
        let keys = _mm512_permutexvar_epi32(choice, hashes);
        _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_srli_epi32::<27>(_mm512_mullo_epi32(keys, salt)))
    }

    /// The salts, twice.
    #[inline]
    fn salt() -> __m512i {
        // SAFETY: the array is 32 readable bytes, and this load takes any alignment.
        _mm512_broadcast_i32x8(unsafe { _mm256_loadu_si256(SALT.as_ptr().cast()) })
    }

    #[inline]
    fn load_hashes(from: &[u64; GROUP]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }
}

//! A block is two registers of four words.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::aarch64::{
    uint32x4_t, vdupq_n_u32, vld1q_u8, vld1q_u32, vmulq_n_u32, vorrq_u8, vreinterpretq_s32_u32, vreinterpretq_u8_u32,
    vshlq_u32, vshrq_n_u32, vst1q_u8,
};

use super::{BLOCK_LEN, SALT, block_of};

#[target_feature(enable = "neon")]
pub(super) fn insert_all(blocks: &mut [[u8; BLOCK_LEN]], hashes: &[u64]) {
    let count = blocks.len();
    let salts = SALT.as_chunks::<4>().0;
    // SAFETY: the reference is to four readable words.
    let lower = unsafe { vld1q_u32(salts[0].as_ptr()) };
    // SAFETY: as above.
    let upper = unsafe { vld1q_u32(salts[1].as_ptr()) };
    for &hash in hashes {
        let block = &mut blocks[block_of(hash, count)];
        for (half, salt) in block.as_chunks_mut::<16>().0.iter_mut().zip([lower, upper]) {
            // SAFETY: the reference is to 16 readable bytes.
            let before = unsafe { vld1q_u8(half.as_ptr()) };
            let after = vorrq_u8(before, vreinterpretq_u8_u32(bits(hash, salt)));
            // SAFETY: the reference is to 16 writable bytes.
            unsafe { vst1q_u8(half.as_mut_ptr(), after) }
        }
    }
}

/// The bit of a hash in each of four words.
#[target_feature(enable = "neon")]
#[inline]
fn bits(hash: u64, salt: uint32x4_t) -> uint32x4_t {
    let number = vshrq_n_u32::<27>(vmulq_n_u32(salt, hash as u32));
    vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(number))
}

//! Compares of 16 bytes at a time. NEON has no mask of a vector's signs; a narrowing shift leaves four bits for each
//! byte.
#![expect(unsafe_code, reason = "vector loads")]

use std::arch::aarch64::{
    uint8x16_t, vaddlvq_u8, vandq_u8, vceqq_u8, vdupq_n_u8, veorq_u8, vget_lane_u64, vld1q_u8, vmaxvq_u8, vorrq_u8,
    vreinterpret_u64_u8, vreinterpretq_u16_u8, vshrn_n_u16, vsubq_u8,
};

use super::{MaskedBytes, scalar};

/// The number of rounds after which a byte counter is full.
const ROUNDS: usize = 255;

#[target_feature(enable = "neon")]
pub(super) fn common_prefix_len(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a_vectors, a_tail) = a[..len].as_chunks::<16>();
    let (b_vectors, b_tail) = b[..len].as_chunks::<16>();
    for (i, (a, b)) in a_vectors.iter().zip(b_vectors).enumerate() {
        let equal = vceqq_u8(load(a), load(b));
        let nibbles = vshrn_n_u16::<4>(vreinterpretq_u16_u8(equal));
        let nibbles = vget_lane_u64::<0>(vreinterpret_u64_u8(nibbles));
        if nibbles != u64::MAX {
            return i * 16 + nibbles.trailing_ones() as usize / 4;
        }
    }
    a_vectors.len() * 16 + scalar::common_prefix_len(a_tail, b_tail)
}

#[target_feature(enable = "neon")]
pub(super) fn count_byte(haystack: &[u8], needle: u8) -> usize {
    let wanted = vdupq_n_u8(needle);
    let (blocks, tail) = haystack.as_chunks::<64>();
    let mut total = 0;
    for blocks in blocks.chunks(ROUNDS) {
        let mut counts = [vdupq_n_u8(0); 4];
        for block in blocks {
            for (count, vector) in counts.iter_mut().zip(block.as_chunks::<16>().0) {
                *count = vsubq_u8(*count, vceqq_u8(load(vector), wanted));
            }
        }
        total += counts.map(|count| usize::from(vaddlvq_u8(count))).iter().sum::<usize>();
    }
    total + tail.iter().filter(|&&byte| byte == needle).count()
}

#[target_feature(enable = "neon")]
pub(super) fn compare_masked(bytes: &[u8], blocks: &[MaskedBytes]) -> bool {
    let (Some(last), Some(last_block)) = (bytes.last_chunk(), blocks.last()) else { return false };
    let mut differing = differing(last, last_block);
    for (bytes, block) in bytes.as_chunks().0.iter().zip(blocks) {
        differing = vorrq_u8(differing, self::differing(bytes, block));
    }
    vmaxvq_u8(differing) == 0
}

#[target_feature(enable = "neon")]
#[inline]
fn differing(bytes: &[u8; 32], block: &MaskedBytes) -> uint8x16_t {
    let vectors = bytes.as_chunks().0.iter().zip(block.mask.as_chunks().0).zip(block.expected.as_chunks().0);
    let mut differing = vdupq_n_u8(0);
    for ((bytes, mask), expected) in vectors {
        differing = vorrq_u8(differing, veorq_u8(vandq_u8(load(bytes), load(mask)), load(expected)));
    }
    differing
}

#[target_feature(enable = "neon")]
#[inline]
fn load(from: &[u8; 16]) -> uint8x16_t {
    // SAFETY: the reference is to 16 readable bytes.
    unsafe { vld1q_u8(from.as_ptr()) }
}

//! Four registers of 16 bytes compared; a bit of each answer is kept by its position, and neighbours are added until 64
//! bits remain.
//!
//! Bytes alone, from 16 on, are copied to a block of zeros first.
#![expect(unsafe_code, reason = "vector loads")]

use std::arch::aarch64::{
    uint8x16_t, vaddlvq_u8, vandq_u8, vceqq_u8, vcleq_u8, vcltq_u8, vdupq_n_u8, vgetq_lane_u64, vld1q_u8, vpaddq_u8,
    vreinterpretq_u64_u8, vsubq_u8,
};

use super::comparison::{Comparison, Kind};
use super::window::window;
use super::{BLOCK_LEN, scalar};
use crate::tier::neon;

/// Bytes of a register.
const WIDTH: usize = 16;

/// The bit of each byte in its byte of the mask.
static PLACES: [u8; WIDTH] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

neon! {
    pub(super) fn mask<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> u64 {
        let bytes = &bytes[..bytes.len().min(BLOCK_LEN)];
        if bytes.len() < WIDTH {
            return scalar::mask(comparison, bytes, key);
        }
        let mut block = [0; BLOCK_LEN];
        block[..bytes.len()].copy_from_slice(bytes);
        mask_of_block(comparison, &block, key) & lowest(bytes.len() as u32)
    }

    pub(super) fn mask_within<C: Comparison>(comparison: C, bytes: &[u8], start: usize, len: usize, key: u8) -> u64 {
        match window(bytes, start, len) {
            Some(window) => mask_of_block(comparison, window.block, key) >> window.before & lowest(window.len),
            None => mask(comparison, scalar::within(bytes, start, len), key),
        }
    }

    pub(super) fn count<C: Comparison>(comparison: C, bytes: &[u8], key: u8) -> usize {
        let keys = vdupq_n_u8(key);
        let (vectors, tail) = bytes.as_chunks::<WIDTH>();
        let mut total = 0;
        for vectors in vectors.chunks(255) {
            let mut counts = vdupq_n_u8(0);
            for vector in vectors {
                counts = vsubq_u8(counts, compare(comparison, load(vector), keys));
            }
            total += usize::from(vaddlvq_u8(counts));
        }
        total + scalar::count(comparison, tail, key)
    }

    pub(super) fn count_within<C: Comparison>(comparison: C, bytes: &[u8], start: usize, len: usize, key: u8) -> usize {
        if len <= BLOCK_LEN {
            mask_within(comparison, bytes, start, len, key).count_ones() as usize
        } else {
            count(comparison, scalar::within(bytes, start, len), key)
        }
    }

    #[inline]
    fn mask_of_block<C: Comparison>(comparison: C, block: &[u8; BLOCK_LEN], key: u8) -> u64 {
        let keys = vdupq_n_u8(key);
        let places = load(&PLACES);
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| {
            let vectors = block.as_chunks::<WIDTH>().0;
            vandq_u8(compare(comparison, load(&vectors[i]), keys), places)
        });
        let sums = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
    }

    /// All ones for each byte that satisfies the comparison.
    #[inline]
    fn compare<C: Comparison>(_: C, bytes: uint8x16_t, keys: uint8x16_t) -> uint8x16_t {
        match C::KIND {
            Kind::Equal => vceqq_u8(bytes, keys),
            Kind::AtMost => vcleq_u8(bytes, keys),
            Kind::Below => vcltq_u8(bytes, keys),
        }
    }

    #[inline]
    fn load(from: &[u8; WIDTH]) -> uint8x16_t {
        // SAFETY: the reference is to 16 readable bytes.
        unsafe { vld1q_u8(from.as_ptr()) }
    }
}

/// The lowest `count` bits of 64.
#[inline]
fn lowest(count: u32) -> u64 {
    !u64::MAX.unbounded_shl(count)
}

//! AArch64 stores two or four registers interleaved, which is the whole work for two and four streams. Eight streams are
//! zipped to four of byte pairs first.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::aarch64::{
    uint8x16_t, uint8x16x2_t, uint8x16x4_t, uint16x8x4_t, vld1q_u8, vreinterpretq_u16_u8, vst2q_u8, vst4q_u8,
    vst4q_u16, vzip1q_u8, vzip2q_u8,
};

use super::scalar;

/// The number of values in one round.
const BLOCK: usize = 16;

#[target_feature(enable = "neon")]
pub(super) fn interleave_2(streams: [&[u8]; 2], out: &mut [u8]) {
    interleave(streams, out, |[a, b], out| {
        let out: &mut [u8; 2 * BLOCK] = out;
        // SAFETY: the reference is to 32 writable bytes.
        unsafe { vst2q_u8(out.as_mut_ptr(), uint8x16x2_t(a, b)) }
    });
}

#[target_feature(enable = "neon")]
pub(super) fn interleave_4(streams: [&[u8]; 4], out: &mut [u8]) {
    interleave(streams, out, |[a, b, c, d], out| {
        let out: &mut [u8; 4 * BLOCK] = out;
        // SAFETY: the reference is to 64 writable bytes.
        unsafe { vst4q_u8(out.as_mut_ptr(), uint8x16x4_t(a, b, c, d)) }
    });
}

#[target_feature(enable = "neon")]
pub(super) fn interleave_8(streams: [&[u8]; 8], out: &mut [u8]) {
    interleave(streams, out, |[a, b, c, d, e, f, g, h], out| {
        let out: &mut [u8; 8 * BLOCK] = out;
        let pairs = [(a, b), (c, d), (e, f), (g, h)];
        let [ab, cd, ef, gh] = pairs.map(|(x, y)| vreinterpretq_u16_u8(vzip1q_u8(x, y)));
        // SAFETY: the reference is to 128 writable bytes, and this store takes any alignment.
        unsafe { vst4q_u16(out.as_mut_ptr().cast(), uint16x8x4_t(ab, cd, ef, gh)) }
        let [ab, cd, ef, gh] = pairs.map(|(x, y)| vreinterpretq_u16_u8(vzip2q_u8(x, y)));
        // SAFETY: the reference is to 128 writable bytes, of which these are the second half.
        let second = unsafe { out.as_mut_ptr().add(4 * BLOCK) };
        // SAFETY: as above, and this store takes any alignment.
        unsafe { vst4q_u16(second.cast(), uint16x8x4_t(ab, cd, ef, gh)) }
    });
}

/// Blocks of `N` bytes, which are `K` times [`BLOCK`]; the last one overlaps the one before it.
#[target_feature(enable = "neon")]
#[inline]
fn interleave<const K: usize, const N: usize>(
    streams: [&[u8]; K],
    out: &mut [u8],
    store: impl Fn([uint8x16_t; K], &mut [u8; N]),
) {
    let count = out.len() / K;
    if count < BLOCK {
        return scalar::interleave(streams, out);
    }
    for (i, out) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        store(streams.map(|stream| load(&stream[i * BLOCK..])), out);
    }
    if let Some(out) = out.last_chunk_mut::<N>() {
        store(streams.map(|stream| load(&stream[count - BLOCK..])), out);
    }
}

/// The first 16 bytes.
#[target_feature(enable = "neon")]
#[inline]
fn load(from: &[u8]) -> uint8x16_t {
    let from: &[u8; BLOCK] = &from.as_chunks().0[0];
    // SAFETY: the reference is to 16 readable bytes.
    unsafe { vld1q_u8(from.as_ptr()) }
}

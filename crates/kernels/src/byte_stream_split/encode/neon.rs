//! AArch64 loads two or four registers deinterleaved, which is the whole work for two and four streams. Eight streams are
//! loaded as four of byte pairs and unzipped.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::aarch64::{
    uint8x16_t, vld2q_u8, vld4q_u8, vld4q_u16, vreinterpretq_u8_u16, vst1q_u8, vuzp1q_u8, vuzp2q_u8,
};

use super::scalar;

/// The number of values in one round.
const BLOCK: usize = 16;

#[target_feature(enable = "neon")]
pub(super) fn deal_2(values: &[u8], streams: [&mut [u8]; 2]) {
    deal(values, streams, |values| {
        let values: &[u8; 2 * BLOCK] = values;
        // SAFETY: the reference is to 32 readable bytes.
        let rows = unsafe { vld2q_u8(values.as_ptr()) };
        [rows.0, rows.1]
    });
}

#[target_feature(enable = "neon")]
pub(super) fn deal_4(values: &[u8], streams: [&mut [u8]; 4]) {
    deal(values, streams, |values| {
        let values: &[u8; 4 * BLOCK] = values;
        // SAFETY: the reference is to 64 readable bytes.
        let rows = unsafe { vld4q_u8(values.as_ptr()) };
        [rows.0, rows.1, rows.2, rows.3]
    });
}

#[target_feature(enable = "neon")]
pub(super) fn deal_8(values: &[u8], streams: [&mut [u8]; 8]) {
    deal(values, streams, |values| {
        let values: &[u8; 8 * BLOCK] = values;
        // SAFETY: the reference is to 128 readable bytes, and this load takes any alignment.
        let lower = unsafe { vld4q_u16(values.as_ptr().cast()) };
        // SAFETY: these are the second half of them.
        let second = unsafe { values.as_ptr().add(4 * BLOCK) };
        // SAFETY: as above, and this load takes any alignment.
        let upper = unsafe { vld4q_u16(second.cast()) };
        let lower = [lower.0, lower.1, lower.2, lower.3].map(|pairs| vreinterpretq_u8_u16(pairs));
        let upper = [upper.0, upper.1, upper.2, upper.3].map(|pairs| vreinterpretq_u8_u16(pairs));
        std::array::from_fn(|k| {
            let (lower, upper) = (lower[k / 2], upper[k / 2]);
            if k % 2 == 0 { vuzp1q_u8(lower, upper) } else { vuzp2q_u8(lower, upper) }
        })
    });
}

/// Blocks of `N` bytes, which are `K` times [`BLOCK`]; the last one overlaps the one before it.
#[target_feature(enable = "neon")]
#[inline]
fn deal<const K: usize, const N: usize>(
    values: &[u8],
    mut streams: [&mut [u8]; K],
    load: impl Fn(&[u8; N]) -> [uint8x16_t; K],
) {
    let count = values.len() / K;
    if count < BLOCK {
        return scalar::deal::<K, K>(values, streams, 0);
    }
    let mut at = 0;
    loop {
        if let Some(block) = values[at * K..].first_chunk() {
            for (stream, row) in streams.iter_mut().zip(load(block)) {
                let to: &mut [u8] = &mut stream[at..at + BLOCK];
                // SAFETY: the slice is 16 writable bytes.
                unsafe { vst1q_u8(to.as_mut_ptr(), row) }
            }
        }
        if at + BLOCK == count {
            return;
        }
        at = (at + BLOCK).min(count - BLOCK);
    }
}

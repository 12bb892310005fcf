//! Portable: loops that the compiler vectorises, and packing by width.

use super::blocks::{self, MINIBLOCK, MINIBLOCKS, Shape, Values};
use crate::bitpack::pack::scalar;

pub(super) fn encode_i32(values: &[i32], out: &mut [u8]) -> usize {
    blocks::encode(values, out, measure_i32, |values, min_delta, width, out| {
        let mut deltas = [0; MINIBLOCK];
        for (delta, pair) in deltas.iter_mut().zip(values.windows(2)) {
            *delta = pair[1].wrapping_sub(pair[0]).wrapping_sub(min_delta).cast_unsigned();
        }
        scalar::pack_u32(&deltas, width, out);
    })
}

pub(super) fn encode_i64(values: &[i64], out: &mut [u8]) -> usize {
    blocks::encode(values, out, measure_i64, |values, min_delta, width, out| {
        let mut deltas = [0; MINIBLOCK];
        for (delta, pair) in deltas.iter_mut().zip(values.windows(2)) {
            *delta = pair[1].wrapping_sub(pair[0]).wrapping_sub(min_delta).cast_unsigned();
        }
        scalar::pack_u64(&deltas, width, out);
    })
}

fn measure_i32(values: &Values<i32>) -> Shape<i32> {
    let (mut min_delta, mut max_deltas) = (i32::MAX, [i32::MIN; MINIBLOCKS]);
    for (index, max_delta) in max_deltas.iter_mut().enumerate() {
        for pair in values[index * MINIBLOCK..][..MINIBLOCK + 1].windows(2) {
            let delta = pair[1].wrapping_sub(pair[0]);
            min_delta = min_delta.min(delta);
            *max_delta = delta.max(*max_delta);
        }
    }
    let widths = max_deltas.map(|max_delta| i32::BITS - max_delta.wrapping_sub(min_delta).leading_zeros());
    Shape { min_delta, widths }
}

fn measure_i64(values: &Values<i64>) -> Shape<i64> {
    let (mut min_delta, mut max_deltas) = (i64::MAX, [i64::MIN; MINIBLOCKS]);
    for (index, max_delta) in max_deltas.iter_mut().enumerate() {
        for pair in values[index * MINIBLOCK..][..MINIBLOCK + 1].windows(2) {
            let delta = pair[1].wrapping_sub(pair[0]);
            min_delta = min_delta.min(delta);
            *max_delta = delta.max(*max_delta);
        }
    }
    let widths = max_deltas.map(|max_delta| i64::BITS - max_delta.wrapping_sub(min_delta).leading_zeros());
    Shape { min_delta, widths }
}

//! Portable decoding: integers unpacked to the stack, then converted.

use super::page::PackedIntegers;
use crate::bitpack::scalar::{unpack_u32, unpack_u64};

/// The number of values unpacked at a time.
const CHUNK: usize = 256;

pub(super) fn decode_f32(packed: &PackedIntegers<'_, f32>, out: &mut [f32]) {
    let mut integers = [0; CHUNK];
    let [up, down] = packed.scale;
    for (index, chunk) in out.chunks_mut(CHUNK).enumerate() {
        let integers = &mut integers[..chunk.len()];
        unpack_u32(packed.skip(index * CHUNK).bytes, packed.width, integers);
        for (value, &integer) in chunk.iter_mut().zip(integers.iter()) {
            *value = packed.base.wrapping_add(integer).cast_signed() as f32 * up * down;
        }
    }
}

pub(super) fn decode_f64(packed: &PackedIntegers<'_, f64>, out: &mut [f64]) {
    let mut integers = [0; CHUNK];
    let [up, down] = packed.scale;
    for (index, chunk) in out.chunks_mut(CHUNK).enumerate() {
        let integers = &mut integers[..chunk.len()];
        unpack_u64(packed.skip(index * CHUNK).bytes, packed.width, integers);
        for (value, &integer) in chunk.iter_mut().zip(integers.iter()) {
            *value = packed.base.wrapping_add(integer).cast_signed() as f64 * up * down;
        }
    }
}

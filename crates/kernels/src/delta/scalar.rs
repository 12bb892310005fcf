//! Portable: a batch is unpacked to the stack and summed into the output.

use super::decoder::{Decoder, Miniblocks};
use crate::KernelError;
use crate::bitpack::{packed_len, scalar};

/// The number of values unpacked at a time: a multiple of 8, so that batches begin at bytes.
const BATCH: usize = 64;

pub(super) fn decode_i32(decoder: &mut Decoder<i32>, src: &[u8], out: &mut [i32]) -> Result<usize, KernelError> {
    decoder.decode_with(src, out, miniblocks_i32, miniblocks_i32)
}

pub(super) fn decode_i64(decoder: &mut Decoder<i64>, src: &[u8], out: &mut [i64]) -> Result<usize, KernelError> {
    decoder.decode_with(src, out, miniblocks_i64, miniblocks_i64)
}

fn miniblocks_i32(run: Miniblocks<'_, i32>, out: &mut [i32]) -> i32 {
    let mut last = run.last;
    let mut src = run.src;
    for (&width, out) in run.widths.iter().zip(out.chunks_mut(run.len.max(1))) {
        last = sum_i32(src, width.into(), run.min_delta, last, out);
        src = src.get(packed_len(out.len(), width.into())..).unwrap_or_default();
    }
    last
}

fn miniblocks_i64(run: Miniblocks<'_, i64>, out: &mut [i64]) -> i64 {
    let mut last = run.last;
    let mut src = run.src;
    for (&width, out) in run.widths.iter().zip(out.chunks_mut(run.len.max(1))) {
        last = sum_i64(src, width.into(), run.min_delta, last, out);
        src = src.get(packed_len(out.len(), width.into())..).unwrap_or_default();
    }
    last
}

/// Unpacks values of one width (at most 64) and sums them from `last` on. Returns the last.
pub(super) fn sum_i32(mut src: &[u8], width: u32, min_delta: i32, mut last: i32, out: &mut [i32]) -> i32 {
    for out in out.chunks_mut(BATCH) {
        if width <= 32 {
            let mut deltas = [0; BATCH];
            scalar::unpack_u32(src, width, &mut deltas[..out.len()]);
            for (out, delta) in out.iter_mut().zip(deltas) {
                last = last.wrapping_add(min_delta).wrapping_add(delta.cast_signed());
                *out = last;
            }
        } else {
            let mut deltas = [0; BATCH];
            scalar::unpack_u64(src, width, &mut deltas[..out.len()]);
            for (out, delta) in out.iter_mut().zip(deltas) {
                last = last.wrapping_add(min_delta).wrapping_add(delta as i32);
                *out = last;
            }
        }
        src = src.get(packed_len(BATCH, width)..).unwrap_or_default();
    }
    last
}

/// Unpacks values of one width (at most 64) and sums them from `last` on. Returns the last.
pub(super) fn sum_i64(mut src: &[u8], width: u32, min_delta: i64, mut last: i64, out: &mut [i64]) -> i64 {
    for out in out.chunks_mut(BATCH) {
        let mut deltas = [0; BATCH];
        scalar::unpack_u64(src, width, &mut deltas[..out.len()]);
        for (out, delta) in out.iter_mut().zip(deltas) {
            last = last.wrapping_add(min_delta).wrapping_add(delta.cast_signed());
            *out = last;
        }
        src = src.get(packed_len(BATCH, width)..).unwrap_or_default();
    }
    last
}

/// The last end, or `None` if a length is negative or an end overflows.
pub(super) fn sum_lengths_i32(lengths: &[i32], start: i32, out: &mut [i32]) -> Option<i32> {
    // Both terms of a sum are below 2^31 until a failure, so the first sum to overflow is negative.
    let (mut end, mut seen) = (start, 0);
    for (out, &length) in out.iter_mut().zip(lengths) {
        end = end.wrapping_add(length);
        seen |= length | end;
        *out = end;
    }
    (seen >= 0).then_some(end)
}

/// The last end, or `None` if a length is negative or an end overflows.
pub(super) fn sum_lengths_i64(lengths: &[i32], start: i64, out: &mut [i64]) -> Option<i64> {
    let (mut end, mut seen) = (start, 0);
    for (out, &length) in out.iter_mut().zip(lengths) {
        end = end.wrapping_add(length.into());
        seen |= i64::from(length) | end;
        *out = end;
    }
    (seen >= 0).then_some(end)
}

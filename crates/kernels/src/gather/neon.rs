//! Plain loads, with indices checked in blocks: AArch64 has no gather before SVE.
#![expect(unsafe_code, reason = "loads whose index is proven for a whole block, and vector loads")]

use std::arch::aarch64::{vdupq_n_u32, vld1q_u32, vmaxq_u32, vmaxvq_u32};

use super::judge;
use crate::KernelError;

/// The number of indices that are checked at once: few enough to be still in L1 when they are used.
const BLOCK: usize = 1024;

#[target_feature(enable = "neon")]
pub(super) fn max_index(indices: &[u32]) -> Option<u32> {
    let (blocks, tail) = indices.as_chunks::<16>();
    let mut max = [vdupq_n_u32(0); 4];
    for block in blocks {
        for (max, quad) in max.iter_mut().zip(block.as_chunks::<4>().0) {
            // SAFETY: the reference is to 16 readable bytes.
            *max = vmaxq_u32(*max, unsafe { vld1q_u32(quad.as_ptr()) });
        }
    }
    let [a, b, c, d] = max;
    let in_blocks = vmaxvq_u32(vmaxq_u32(vmaxq_u32(a, b), vmaxq_u32(c, d)));
    let in_tail = tail.iter().copied().max();
    if blocks.is_empty() { in_tail } else { in_tail.max(Some(in_blocks)) }
}

#[target_feature(enable = "neon")]
pub(super) fn gather_u32(dict: &[u32], indices: &[u32], out: &mut [u32]) -> Result<(), KernelError> {
    gather(dict, indices, out)
}

#[target_feature(enable = "neon")]
pub(super) fn gather_u64(dict: &[u64], indices: &[u32], out: &mut [u64]) -> Result<(), KernelError> {
    gather(dict, indices, out)
}

#[target_feature(enable = "neon")]
pub(super) fn gather_u128(dict: &[u128], indices: &[u32], out: &mut [u128]) -> Result<(), KernelError> {
    gather(dict, indices, out)
}

#[target_feature(enable = "neon")]
#[inline]
fn gather<T: Copy>(dict: &[T], indices: &[u32], out: &mut [T]) -> Result<(), KernelError> {
    for (indices, out) in indices.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        if let Some(largest) = max_index(indices) {
            judge(largest, dict.len())?;
        }
        for (value, &index) in out.iter_mut().zip(indices) {
            // SAFETY: the largest index of this block is less than the dictionary's length, and this is one of its
            // indices.
            *value = unsafe { *dict.get_unchecked(index as usize) };
        }
    }
    Ok(())
}

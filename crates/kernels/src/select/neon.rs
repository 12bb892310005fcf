//! Like the AVX2 tier, with a byte lookup: TBL gives zero for a lane out of range, as needed for null slots. Blocks are
//! eight bytes, eight two-byte, four four-byte or two eight-byte elements; sixteen-byte elements and bits use the
//! portable code, which moves the former with whole registers and has no competitor for the latter.
#![expect(unsafe_code, reason = "vector loads and stores, and blocks whose bounds the shared loops prove")]

use std::arch::aarch64::*;

use super::{blocks, tables};

/// Defines the functions for one element type: `$row` looks a block's lanes up.
macro_rules! element {
    ($element:ty, $slots:literal, $expand:ident by $ranks:ident, $compress:ident by $positions:ident) => {
        pub(super) unsafe fn $expand(values: &mut [$element], value_count: usize, validity: &[u8], bit_offset: usize) {
            // SAFETY: the loop gives blocks of 16 bytes to read and to write.
            let block = |from: *const $element, to: *mut $element, bits: u64| unsafe {
                look_up(from.cast(), to.cast(), &tables::$ranks[bits as usize % (1 << $slots)])
            };
            // SAFETY: `$slots` elements are 16 bytes; the callers have checked that `value_count` bits are set.
            unsafe { blocks::expand::<_, $slots>(values, value_count, validity, bit_offset, block) };
        }

        pub(super) unsafe fn $compress(
            values: &[$element],
            selection: &[u8],
            bit_offset: usize,
            out: &mut [$element],
        ) -> usize {
            // SAFETY: the loop gives blocks of 16 bytes to read and to write.
            let block = |from: *const $element, to: *mut $element, bits: u64| unsafe {
                look_up(from.cast(), to.cast(), &tables::$positions[bits as usize % (1 << $slots)])
            };
            // SAFETY: `$slots` elements are 16 bytes; the callers have checked that `out` has room.
            unsafe { blocks::compress::<_, $slots>(values, selection, bit_offset, out, block) }
        }
    };
}

element!(u16, 8, expand_u16 by RANKS_U16, compress_u16 by POSITIONS_U16);
element!(u32, 4, expand_u32 by RANKS_U32, compress_u32 by POSITIONS_U32);
element!(u64, 2, expand_u64 by RANKS_U64, compress_u64 by POSITIONS_U64);

pub(super) unsafe fn expand_u8(values: &mut [u8], value_count: usize, validity: &[u8], bit_offset: usize) {
    // SAFETY: the loop gives blocks of eight bytes to read and to write.
    let block = |from, to, bits: u64| unsafe { look_up_half(from, to, &tables::RANKS[bits as usize & 255]) };
    // SAFETY: as above; the callers have proven that `value_count` bits are set.
    unsafe { blocks::expand::<_, 8>(values, value_count, validity, bit_offset, block) };
}

pub(super) unsafe fn compress_u8(values: &[u8], selection: &[u8], bit_offset: usize, out: &mut [u8]) -> usize {
    // SAFETY: the loop gives blocks of eight bytes to read and to write.
    let block = |from, to, bits: u64| unsafe { look_up_half(from, to, &tables::POSITIONS[bits as usize & 255]) };
    // SAFETY: as above; the callers have proven that `out` has room.
    unsafe { blocks::compress::<_, 8>(values, selection, bit_offset, out, block) }
}

/// # Safety
/// 16 bytes can be read at `from` and written at `to`.
#[inline(always)]
unsafe fn look_up(from: *const u8, to: *mut u8, lanes: &[u8; 16]) {
    // SAFETY: the array is 16 bytes.
    let lanes = unsafe { vld1q_u8(lanes.as_ptr()) };
    // SAFETY: guaranteed by the contract.
    let values = unsafe { vld1q_u8(from) };
    // SAFETY: Advanced SIMD is part of the baseline.
    let moved = unsafe { vqtbl1q_u8(values, lanes) };
    // SAFETY: guaranteed by the contract.
    unsafe { vst1q_u8(to, moved) };
}

/// # Safety
/// Eight bytes can be read at `from` and written at `to`.
#[inline(always)]
unsafe fn look_up_half(from: *const u8, to: *mut u8, lanes: &[u8; 8]) {
    // SAFETY: the array is eight bytes.
    let lanes = unsafe { vld1_u8(lanes.as_ptr()) };
    // SAFETY: guaranteed by the contract.
    let values = unsafe { vld1_u8(from) };
    // SAFETY: Advanced SIMD is part of the baseline.
    let moved = unsafe { vtbl1_u8(values, lanes) };
    // SAFETY: guaranteed by the contract.
    unsafe { vst1_u8(to, moved) };
}

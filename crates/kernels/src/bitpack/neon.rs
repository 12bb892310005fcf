//! Unpacking with 128-bit registers, like the AVX2 tier does by halves: a table lookup brings each value's bytes into
//! its lane, a shift by lanes (to the right if negative) its first bit to the lane's first, and a mask clears the rest.
//!
//! ```text
//! width 11       bytes 0…15                     bytes 5…20
//! look-up        0–3   1–4   2–5   4–7          0–3   1–4   3–6   4–7      (of its load)
//! shift          0     −3    −6    −1           −4    −7    −2    −5
//! value          0     1     2     3            4     5     6     7
//! ```
//!
//! Values over 25 bits (64-bit lanes: 57) take the bytes from one further on as well, shifted left into place. For
//! output bytes, two bytes hold 8 bits at any shift; 16-bit lanes are narrowed.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::aarch64::*;

use super::lanes::{LANES8, LANES32, LANES64, NARROW32, NARROW64, WINDOW32, WINDOW64, groups_within};
use super::scalar;
use crate::tier::neon;

/// The lane constants of a width, in registers: for a group's lower and upper four values.
#[derive(Clone, Copy)]
pub(crate) struct Unpack32 {
    width: usize,
    shuffle: [uint8x16_t; 2],
    shift: [int32x4_t; 2],
    shift_back: [int32x4_t; 2],
    mask: uint32x4_t,
}

/// The lane constants of a width, in registers: for a group's four pairs of values.
#[derive(Clone, Copy)]
pub(crate) struct Unpack64 {
    width: usize,
    shuffle: [uint8x16_t; 4],
    shift: [int64x2_t; 4],
    shift_back: [int64x2_t; 4],
    mask: uint64x2_t,
}

/// The lane constants of a width, in registers, for output bytes.
#[derive(Clone, Copy)]
pub(crate) struct Unpack8 {
    shuffle: uint8x16_t,
    raise: uint16x8_t,
    lower: int16x8_t,
}

neon! {
    /// Loads 16 bytes of a table.
    #[inline]
    fn load_table(table: &[u8], at: usize) -> uint8x16_t {
        let bytes: &[u8; 16] = table[at..].first_chunk().expect("tables are whole registers");
        // SAFETY: the array is 16 bytes.
        unsafe { vld1q_u8(bytes.as_ptr()) }
    }

    /// `width` is at most 32.
    #[inline]
    pub(crate) fn lanes_32(width: usize) -> Unpack32 {
        let lanes = &LANES32[width];
        let four = |table: &[u32; 8], half: usize| {
            // SAFETY: four of eight integers, the lower or the upper ones.
            unsafe { vreinterpretq_s32_u32(vld1q_u32(table[half * 4..][..4].as_ptr())) }
        };
        Unpack32 {
            width,
            shuffle: [load_table(&lanes.shuffle, 0), load_table(&lanes.shuffle, 16)],
            shift: [vnegq_s32(four(&lanes.shift, 0)), vnegq_s32(four(&lanes.shift, 1))],
            shift_back: [four(&lanes.shift_back, 0), four(&lanes.shift_back, 1)],
            mask: vdupq_n_u32(lanes.mask[0]),
        }
    }

    /// Unpacks values 0 to 3 (`half` 0) or 4 to 7 (`half` 1) of the group from `src` on; `WIDE` for widths over
    /// [`NARROW32`].
    ///
    /// # Safety
    /// `src` has [`WINDOW32`] readable bytes.
    #[inline]
    pub(crate) unsafe fn unpack_half_32<const WIDE: bool>(lanes: &Unpack32, src: *const u8, half: usize) -> uint32x4_t {
        // SAFETY: half a width is at most 16.
        let first = unsafe { src.add(half * lanes.width / 2) };
        // SAFETY: 16 + 16 bytes are within the window.
        let bytes = unsafe { vld1q_u8(first) };
        let taken = vreinterpretq_u32_u8(vqtbl1q_u8(bytes, lanes.shuffle[half]));
        let mut values = vshlq_u32(taken, lanes.shift[half]);
        if WIDE {
            // SAFETY: 1 + 16 + 16 bytes are the window.
            let bytes = unsafe { vld1q_u8(first.wrapping_add(1)) };
            let taken = vreinterpretq_u32_u8(vqtbl1q_u8(bytes, lanes.shuffle[half]));
            values = vorrq_u32(values, vshlq_u32(taken, lanes.shift_back[half]));
        }
        vandq_u32(values, lanes.mask)
    }

    /// `width` is at most 64.
    #[inline]
    pub(crate) fn lanes_64(width: usize) -> Unpack64 {
        let lanes = &LANES64[width];
        let two = |table: &[u64; 4], at: usize| {
            // SAFETY: two of four integers, the lower or the upper ones.
            unsafe { vreinterpretq_s64_u64(vld1q_u64(table[at..][..2].as_ptr())) }
        };
        let [low, high] = &lanes.halves;
        let pairs = [(low, 0), (low, 2), (high, 0), (high, 2)];
        Unpack64 {
            width,
            shuffle: pairs.map(|(half, at)| load_table(&half.shuffle, at * 8)),
            shift: pairs.map(|(half, at)| vnegq_s64(two(&half.shift, at))),
            shift_back: pairs.map(|(half, at)| two(&half.shift_back, at)),
            mask: vdupq_n_u64(lanes.mask[0]),
        }
    }

    /// Unpacks pair `pair` (0 to 3) of the group from `src` on; `WIDE` for widths over [`NARROW64`].
    ///
    /// # Safety
    /// `src` has [`WINDOW64`] readable bytes.
    #[inline]
    pub(crate) unsafe fn unpack_pair_64<const WIDE: bool>(lanes: &Unpack64, src: *const u8, pair: usize) -> uint64x2_t {
        // SAFETY: pair 3 begins at six eighths of 8 × width bits, at most byte 48.
        let first = unsafe { src.add(pair * lanes.width / 4) };
        // SAFETY: 48 + 16 bytes are within the window.
        let bytes = unsafe { vld1q_u8(first) };
        let taken = vreinterpretq_u64_u8(vqtbl1q_u8(bytes, lanes.shuffle[pair]));
        let mut values = vshlq_u64(taken, lanes.shift[pair]);
        if WIDE {
            // SAFETY: 1 + 48 + 16 bytes are the window.
            let bytes = unsafe { vld1q_u8(first.wrapping_add(1)) };
            let taken = vreinterpretq_u64_u8(vqtbl1q_u8(bytes, lanes.shuffle[pair]));
            values = vorrq_u64(values, vshlq_u64(taken, lanes.shift_back[pair]));
        }
        vandq_u64(values, lanes.mask)
    }

    /// `width` is 1 to 8.
    #[inline]
    pub(crate) fn lanes_8(width: usize) -> Unpack8 {
        let lanes = &LANES8[width];
        // SAFETY: eight integers of sixteen.
        let raise = unsafe { vld1q_u16(lanes.raise.as_ptr()) };
        Unpack8 { shuffle: load_table(&lanes.shuffle, 0), raise, lower: vdupq_n_s16(width as i16 - 16) }
    }

    /// Unpacks the eight values from `src` on.
    ///
    /// # Safety
    /// `src` has 16 readable bytes.
    #[inline]
    pub(crate) unsafe fn unpack_group_8(lanes: &Unpack8, src: *const u8) -> uint8x8_t {
        // SAFETY: the caller guarantees this.
        let bytes = unsafe { vld1q_u8(src) };
        let raised = vmulq_u16(vreinterpretq_u16_u8(vqtbl1q_u8(bytes, lanes.shuffle)), lanes.raise);
        vmovn_u16(vshlq_u16(raised, lanes.lower))
    }

    /// `width` is at most 32.
    pub(crate) fn unpack_u32(src: &[u8], width: u32, out: &mut [u32]) {
        let done = if width as usize <= NARROW32 {
            unpack_groups_u32::<false>(src, width as usize, out)
        } else {
            unpack_groups_u32::<true>(src, width as usize, out)
        };
        if done < out.len() {
            scalar::unpack_u32(src.get(done / 8 * width as usize..).unwrap_or_default(), width, &mut out[done..]);
        }
    }

    /// Unpacks the whole groups whose window is in `src`; returns the number of values.
    #[inline]
    fn unpack_groups_u32<const WIDE: bool>(src: &[u8], width: usize, out: &mut [u32]) -> usize {
        let groups = groups_within(src.len(), width, WINDOW32, out.len() / 8);
        let lanes = lanes_32(width);
        let mut at = src.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            for (half, out) in group.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                // SAFETY: `groups_within` counted the groups with a window of bytes left.
                let values = unsafe { unpack_half_32::<WIDE>(&lanes, at, half) };
                // SAFETY: the half is four values long.
                unsafe { vst1q_u32(out.as_mut_ptr(), values) };
            }
            // A group's window is longer than the group, so the next one begins within the slice or at its end.
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    /// `width` is at most 64.
    pub(crate) fn unpack_u64(src: &[u8], width: u32, out: &mut [u64]) {
        let done = if width as usize <= NARROW64 {
            unpack_groups_u64::<false>(src, width as usize, out)
        } else {
            unpack_groups_u64::<true>(src, width as usize, out)
        };
        if done < out.len() {
            scalar::unpack_u64(src.get(done / 8 * width as usize..).unwrap_or_default(), width, &mut out[done..]);
        }
    }

    /// Unpacks the whole groups whose window is in `src`; returns the number of values.
    #[inline]
    fn unpack_groups_u64<const WIDE: bool>(src: &[u8], width: usize, out: &mut [u64]) -> usize {
        let groups = groups_within(src.len(), width, WINDOW64, out.len() / 8);
        let lanes = lanes_64(width);
        let mut at = src.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            for (pair, out) in group.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                // SAFETY: `groups_within` counted the groups with a window of bytes left.
                let values = unsafe { unpack_pair_64::<WIDE>(&lanes, at, pair) };
                // SAFETY: the pair is two values long.
                unsafe { vst1q_u64(out.as_mut_ptr(), values) };
            }
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    /// `width` is at most 8.
    pub(crate) fn unpack_u8(src: &[u8], width: u32, out: &mut [u8]) {
        let mut done = 0;
        if width > 0 {
            let groups = groups_within(src.len(), width as usize, 16, out.len() / 8);
            let lanes = lanes_8(width as usize);
            let mut at = src.as_ptr();
            for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
                // SAFETY: `groups_within` counted the groups with 16 bytes left.
                let values = unsafe { unpack_group_8(&lanes, at) };
                // SAFETY: the group is eight bytes.
                unsafe { vst1_u8(group.as_mut_ptr(), values) };
                at = at.wrapping_add(width as usize);
            }
            done = groups * 8;
        }
        if done < out.len() {
            scalar::unpack_u8(src.get(done / 8 * width as usize..).unwrap_or_default(), width, &mut out[done..]);
        }
    }
}

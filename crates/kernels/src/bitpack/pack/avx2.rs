//! Packing with 256-bit registers: neighbours are joined in twice as wide lanes until these are 64 bits, a shift by
//! lanes brings each lane's first bit to its place in a byte, byte shuffles bring the lanes' bytes to their places.
//!
//! ```text
//! width to 8     32 bytes, two multiply-adds and a shift join eight                   4 lanes of 8 widths
//! width to 16    2 × 8 values, packed to 16 bits, joined by two shifts                4 lanes of 4 widths
//! width to 32    8 values, joined by a shift                                          4 lanes of 2 widths
//!
//! width 11, two groups, a lane has 44 bits    lane 0                  lane 1
//! shift left                                  0                       4
//! bytes                                       0 1 2 3 4 5             5 6 7 8 9 10        byte 5: both, by OR
//! ```
//!
//! Widths from 17 on place a group's halves in two 16-byte stores; the byte that both share goes along with the second.
//! Of 31 bits, pairs shifted by 6 leave the lane: a second shift and shuffle bring back what they lost.
//!
//! Cost: 32 values of ≤ 8 bits 11 instructions from bytes and 18 from integers, 16 of ≤ 16 bits 20, 8 of ≤ 32 bits 16.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::places::{COMPACT8, NARROW, PLACES16, PLACES32};
use super::scalar;
use crate::tier::avx2;

/// Bytes of a store.
const STORE: usize = 16;

/// The constants of a width of at most 7, in registers.
#[derive(Clone, Copy)]
struct Pack8 {
    mask: __m256i,
    join_8: __m256i,
    join_16: __m256i,
    join_32: __m128i,
    compact: __m256i,
}

/// The constants of a width of at most 16, in registers.
#[derive(Clone, Copy)]
struct Pack16 {
    mask: __m256i,
    join_16: __m128i,
    join_32: __m128i,
    shift: __m256i,
    lanes: [__m256i; 2],
}

/// The constants of a width of at most 32, in registers.
#[derive(Clone, Copy)]
struct Pack32 {
    mask: __m256i,
    join_32: __m128i,
    shift: __m256i,
    shift_back: __m256i,
    lanes: [__m256i; 2],
    spilled: __m256i,
    middle: __m128i,
}

/// How many blocks of `len` bytes, at most `wanted`, fit an output of `room` bytes if the last one writes up to `reach`
/// bytes from its first on.
#[inline(always)]
fn blocks_within(room: usize, len: usize, reach: usize, wanted: usize) -> usize {
    if room < reach { 0 } else { ((room - reach) / len.max(1) + 1).min(wanted) }
}

avx2! {
    /// 32 bytes of a table.
    #[inline]
    fn load_table<T, const N: usize>(table: &[T; N]) -> __m256i {
        const { assert!(size_of::<[T; N]>() == 32) };
        // SAFETY: the array is 32 bytes, by the assertion, of plain numbers.
        unsafe { _mm256_loadu_si256(table.as_ptr().cast()) }
    }

    /// Eight of a slice's values.
    #[inline]
    fn load_8(values: &[u32; 8]) -> __m256i {
        // SAFETY: the array is 32 bytes.
        unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
    }

    /// Writes the halves of `bytes` to `out` and `distance` further on.
    ///
    /// # Safety
    /// `out` has `distance + 16` writable bytes.
    #[inline]
    unsafe fn store_halves(bytes: __m256i, out: *mut u8, distance: usize) {
        let (low, high) = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
        // SAFETY: the caller's.
        unsafe { _mm_storeu_si128(out.cast(), low) };
        // SAFETY: the caller's.
        let second = unsafe { out.add(distance) };
        // SAFETY: the caller's.
        unsafe { _mm_storeu_si128(second.cast(), high) };
    }

    /// `low | high << count` of the halves of each 64-bit lane.
    #[inline]
    fn join_64(lanes: __m256i, count: __m128i) -> __m256i {
        let low = _mm256_and_si256(lanes, _mm256_set1_epi64x(0xffff_ffff));
        _mm256_or_si256(low, _mm256_sll_epi64(_mm256_srli_epi64::<32>(lanes), count))
    }

    /// `width` is 1 to 7.
    #[inline]
    fn constants_8(width: usize) -> Pack8 {
        Pack8 {
            mask: _mm256_set1_epi8(((1 << width) - 1) as i8),
            join_8: _mm256_set1_epi16((1 << (8 + width) | 1) as i16),
            join_16: _mm256_set1_epi32(1 << (16 + 2 * width) | 1),
            join_32: _mm_cvtsi32_si128(4 * width as i32),
            compact: load_table(&COMPACT8[width]),
        }
    }

    /// Packs 32 bytes to four widths of bytes: two in each half.
    #[inline]
    fn pack_block_8(by: &Pack8, values: __m256i) -> __m256i {
        let values = _mm256_and_si256(values, by.mask);
        // The factor 2^7 is one of unsigned bytes only; the values are below 2^7, so they can be the signed ones.
        let pairs = _mm256_maddubs_epi16(by.join_8, values);
        let fours = _mm256_madd_epi16(pairs, by.join_16);
        _mm256_shuffle_epi8(join_64(fours, by.join_32), by.compact)
    }

    /// Width 1 to 8, `out` has the bytes and more may be overwritten.
    #[inline]
    pub(crate) fn pack_u8(values: &[u8], width: u32, out: &mut [u8]) {
        let wide_width = width as usize;
        let done = match wide_width {
            0 => return,
            1..=7 => pack_blocks_u8(values, wide_width, out),
            _ => 0,
        };
        if done < values.len() {
            scalar::pack_u8(&values[done..], width, &mut out[done / 8 * wide_width..]);
        }
    }

    /// Packs the blocks of 32 values whose stores are within `out`; returns the number of values.
    #[inline]
    fn pack_blocks_u8(values: &[u8], width: usize, out: &mut [u8]) -> usize {
        let by = constants_8(width);
        let blocks = blocks_within(out.len(), 4 * width, 2 * width + STORE, values.len() / 32);
        let mut to = out.as_mut_ptr();
        for block in values.as_chunks::<32>().0.iter().take(blocks) {
            // SAFETY: the block is 32 bytes.
            let values = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
            let packed = pack_block_8(&by, values);
            // SAFETY: `blocks_within` counted the blocks whose stores are within the output.
            unsafe { store_halves(packed, to, 2 * width) };
            to = to.wrapping_add(4 * width);
        }
        blocks * 32
    }

    /// Width at most 32, `out` has the bytes and more may be overwritten.
    #[inline]
    pub(crate) fn pack_u32(values: &[u32], width: u32, out: &mut [u8]) {
        let wide_width = width as usize;
        let done = match wide_width {
            0 => return,
            1..=7 => pack_blocks_by_8(values, wide_width, out),
            8..=16 => pack_blocks_by_16(values, wide_width, out),
            17..=NARROW => pack_groups_by_32::<false>(values, wide_width, out),
            31 => pack_groups_by_32::<true>(values, wide_width, out),
            _ => 0,
        };
        if done < values.len() {
            scalar::pack_u32(&values[done..], width, &mut out[done / 8 * wide_width..]);
        }
    }

    #[inline]
    fn pack_blocks_by_8(values: &[u32], width: usize, out: &mut [u8]) -> usize {
        let by = constants_8(width);
        let mask = _mm256_set1_epi32((1 << width) - 1);
        // Packing to 16 and to 8 bits within halves leaves fours in the order 0 2 4 6 1 3 5 7.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let blocks = blocks_within(out.len(), 4 * width, 2 * width + STORE, values.len() / 32);
        let mut to = out.as_mut_ptr();
        for block in values.as_chunks::<32>().0.iter().take(blocks) {
            let eights = block.as_chunks::<8>().0;
            let load = |index: usize| _mm256_and_si256(load_8(&eights[index]), mask);
            let low = _mm256_packus_epi32(load(0), load(1));
            let high = _mm256_packus_epi32(load(2), load(3));
            let bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
            let packed = pack_block_8(&by, bytes);
            // SAFETY: `blocks_within` counted the blocks whose stores are within the output.
            unsafe { store_halves(packed, to, 2 * width) };
            to = to.wrapping_add(4 * width);
        }
        blocks * 32
    }

    /// `width` is at most 16.
    #[inline]
    fn constants_16(width: usize) -> Pack16 {
        let places = &PLACES16[width];
        Pack16 {
            mask: _mm256_set1_epi32((1 << width) - 1),
            join_16: _mm_cvtsi32_si128(width as i32),
            join_32: _mm_cvtsi32_si128(2 * width as i32),
            shift: load_table(&places.shift),
            lanes: [load_table(&places.lanes[0]), load_table(&places.lanes[1])],
        }
    }

    #[inline]
    fn pack_blocks_by_16(values: &[u32], width: usize, out: &mut [u8]) -> usize {
        let by = constants_16(width);
        let blocks = blocks_within(out.len(), 2 * width, width + STORE, values.len() / 16);
        let mut to = out.as_mut_ptr();
        for block in values.as_chunks::<16>().0.iter().take(blocks) {
            let eights = block.as_chunks::<8>().0;
            let load = |index: usize| _mm256_and_si256(load_8(&eights[index]), by.mask);
            let values = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(load(0), load(1)));
            let low = _mm256_and_si256(values, _mm256_set1_epi32(0xffff));
            let pairs = _mm256_or_si256(low, _mm256_sll_epi32(_mm256_srli_epi32::<16>(values), by.join_16));
            let fours = _mm256_sllv_epi64(join_64(pairs, by.join_32), by.shift);
            let first = _mm256_shuffle_epi8(fours, by.lanes[0]);
            let bytes = _mm256_or_si256(first, _mm256_shuffle_epi8(fours, by.lanes[1]));
            // SAFETY: `blocks_within` counted the blocks whose stores are within the output.
            unsafe { store_halves(bytes, to, width) };
            to = to.wrapping_add(2 * width);
        }
        blocks * 16
    }

    /// `width` is at most 32.
    #[inline]
    fn constants_32(width: usize) -> Pack32 {
        let places = &PLACES32[width];
        let shift = load_table(&places.shift);
        Pack32 {
            mask: _mm256_set1_epi32(_bzhi_u32(u32::MAX, width as u32).cast_signed()),
            join_32: _mm_cvtsi32_si128(width as i32),
            shift,
            shift_back: _mm256_sub_epi64(_mm256_set1_epi64x(64), shift),
            lanes: [load_table(&places.lanes[0]), load_table(&places.lanes[1])],
            spilled: load_table(&places.spilled),
            // SAFETY: the array is 16 bytes.
            middle: unsafe { _mm_loadu_si128(places.middle.as_ptr().cast()) },
        }
    }

    /// Packs the groups of eight whose stores are within `out`; returns the number of values.
    #[inline]
    fn pack_groups_by_32<const SPILLS: bool>(values: &[u32], width: usize, out: &mut [u8]) -> usize {
        let by = constants_32(width);
        let groups = blocks_within(out.len(), width, width / 2 + STORE, values.len() / 8);
        let mut to = out.as_mut_ptr();
        for group in values.as_chunks::<8>().0.iter().take(groups) {
            let pairs = join_64(_mm256_and_si256(load_8(group), by.mask), by.join_32);
            let shifted = _mm256_sllv_epi64(pairs, by.shift);
            let even = _mm256_shuffle_epi8(shifted, by.lanes[0]);
            let mut bytes = _mm256_or_si256(even, _mm256_shuffle_epi8(shifted, by.lanes[1]));
            if SPILLS {
                let lost = _mm256_srlv_epi64(pairs, by.shift_back);
                bytes = _mm256_or_si256(bytes, _mm256_shuffle_epi8(lost, by.spilled));
            }
            let low = _mm256_castsi256_si128(bytes);
            let high = _mm256_extracti128_si256::<1>(bytes);
            let high = _mm_or_si128(high, _mm_shuffle_epi8(low, by.middle));
            // SAFETY: `blocks_within` counted the groups whose stores are within the output.
            unsafe { _mm_storeu_si128(to.cast(), low) };
            // SAFETY: as above.
            let second = unsafe { to.add(width / 2) };
            // SAFETY: as above.
            unsafe { _mm_storeu_si128(second.cast(), high) };
            to = to.wrapping_add(width);
        }
        groups * 8
    }

    /// Width at most 64, `out` has the bytes and more may be overwritten.
    pub(crate) fn pack_u64(values: &[u64], width: u32, out: &mut [u8]) {
        if width > 32 {
            return scalar::pack_u64(values, width, out);
        }
        let mut at = 0;
        for part in values.chunks(PART) {
            let mut narrow = [0; PART];
            narrow_u64(part, &mut narrow);
            pack_u32(&narrow[..part.len()], width, &mut out[at..]);
            at += PART / 8 * width as usize;
        }
    }

    /// The low halves of values.
    #[inline]
    fn narrow_u64(values: &[u64], out: &mut [u32; PART]) {
        let (eights, rest) = values.as_chunks::<8>();
        let (out_eights, _) = out.as_chunks_mut::<8>();
        for (eight, out) in eights.iter().zip(out_eights) {
            let [low, high] = [&eight[..4], &eight[4..]].map(|four| {
                // SAFETY: four values are 32 bytes.
                unsafe { _mm256_loadu_ps(four.as_ptr().cast()) }
            });
            let mixed = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
            let narrow = _mm256_permute4x64_epi64::<0b11_01_10_00>(mixed);
            // SAFETY: the array is 32 bytes.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), narrow) };
        }
        for (out, &value) in out[eights.len() * 8..].iter_mut().zip(rest) {
            *out = value as u32;
        }
    }
}

/// Values made narrower at a time.
const PART: usize = 128;

//! Packing with 256-bit registers: neighbours are joined in lanes of twice the size until these have 64 bits, a shift
//! by lanes brings each lane's first bit to its position in a byte, and byte shuffles move the lanes' bytes to their
//! positions.
//!
//! ```text
//! width to 7     32 bytes, two multiply-adds and a shift join eight                   4 lanes of 8 widths
//! width to 16    2 × 8 values, packed to 16 bits, joined by two shifts                4 lanes of 4 widths
//! width to 32    8 values, joined by a shift                                          4 lanes of 2 widths
//! width to 55    2 × 4 values                                                         4 lanes of a width, twice
//! width to 64    2 × 4 values, and their next ones: a word has bits of two             8 words
//!
//! width 11, two groups, a lane has 44 bits    lane 0                  lane 1
//! shift left                                  0                       4
//! bytes                                       0 1 2 3 4 5             5 6 7 8 9 10        byte 5: both, by OR
//! ```
//!
//! From width 17 on, the halves of a register are written by 16-byte stores that may share a byte: the second one has
//! it complete. For pairs of 31 bits, bits are shifted out of their lane; a second shift and shuffle recover them.
//!
//! Packing gets its values from a function, so that encoders compute them in registers. Cost: 32 values of ≤ 7 bits 11
//! instructions from bytes and 18 from integers, 16 of ≤ 16 bits 18, 8 of ≤ 32 bits 15, 8 of ≤ 55 bits 22, 8 of ≤ 64
//! bits 11.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::places::{COMPACT8, PLACES16, PLACES32, PLACES64, Places, SPILLING32};
use super::scalar;
use crate::tier::avx2;

/// Bytes of a store.
const STORE: usize = 16;

/// The constants of a width of at most 7, in registers.
#[derive(Clone, Copy)]
struct Pack8 {
    join_8: __m256i,
    join_16: __m256i,
    join_32: __m128i,
    compact: __m256i,
}

/// The constants of a width of at most 16, in registers.
#[derive(Clone, Copy)]
struct Pack16 {
    join_16: __m128i,
    join_32: __m128i,
    shift: __m256i,
    lanes: [__m256i; 2],
}

/// The constants that move four lanes of 64 bits to consecutive bits, in registers.
#[derive(Clone, Copy)]
struct Place {
    shift: __m256i,
    shift_back: __m256i,
    lanes: [__m256i; 2],
    spilled: __m256i,
    shared: [__m128i; 2],
}

/// The number of blocks of `len` bytes, at most `wanted`, that fit an output of `room` bytes if the last one writes up
/// to `reach` bytes from its first.
#[inline(always)]
fn blocks_within(room: usize, len: usize, reach: usize, wanted: usize) -> usize {
    if room + len >= wanted * len + reach {
        wanted
    } else if room < reach {
        0
    } else {
        ((room - reach) / len + 1).min(wanted)
    }
}

avx2! {
    /// 32 bytes of a table.
    #[inline]
    fn load_table<T, const N: usize>(table: &[T; N]) -> __m256i {
        const { assert!(size_of::<[T; N]>() == 32) };
        // SAFETY: the array is 32 bytes, by the assertion, of plain numbers.
        unsafe { _mm256_loadu_si256(table.as_ptr().cast()) }
    }

    /// Writes the halves of `bytes` to `out` and `distance` bytes further on.
    ///
    /// # Safety
    /// `out` has `distance + 16` writable bytes.
    #[inline]
    unsafe fn store_halves(bytes: __m256i, out: *mut u8, distance: usize) {
        let (low, high) = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
        // SAFETY: the caller guarantees this.
        unsafe { _mm_storeu_si128(out.cast(), low) };
        // SAFETY: the caller guarantees this.
        let second = unsafe { out.add(distance) };
        // SAFETY: the caller guarantees this.
        unsafe { _mm_storeu_si128(second.cast(), high) };
    }

    /// `low | high << count` for the halves of each 64-bit lane.
    #[inline]
    fn join_64(lanes: __m256i, count: __m128i) -> __m256i {
        let low = _mm256_and_si256(lanes, _mm256_set1_epi64x(0xffff_ffff));
        _mm256_or_si256(low, _mm256_sll_epi64(_mm256_srli_epi64::<32>(lanes), count))
    }

    /// The low halves of eight 64-bit lanes.
    #[inline]
    pub(crate) fn narrow(low: __m256i, high: __m256i) -> __m256i {
        let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
        let mixed = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
        _mm256_permute4x64_epi64::<0b11_01_10_00>(mixed)
    }

    /// `width` is at most 8; `out` has the bytes, and more may be overwritten. This also applies to the next two, up to
    /// 32 and 64.
    #[inline]
    pub(crate) fn pack_u8(values: &[u8], width: u32, out: &mut [u8]) {
        let mut done = 0;
        if (1..8).contains(&width) {
            let (blocks, _) = values.as_chunks::<32>();
            let mask = _mm256_set1_epi8(((1 << width) - 1) as i8);
            let load = |index: usize| {
                // SAFETY: the block is 32 bytes.
                let values = unsafe { _mm256_loadu_si256(blocks[index].as_ptr().cast()) };
                _mm256_and_si256(values, mask)
            };
            done = pack_blocks_8(load, blocks.len(), width as usize, out) * 32;
        }
        if done < values.len() {
            scalar::pack_u8(&values[done..], width, &mut out[done / 8 * width as usize..]);
        }
    }

    #[inline]
    pub(crate) fn pack_u32(values: &[u32], width: u32, out: &mut [u8]) {
        let mut done = 0;
        if (1..32).contains(&width) {
            let (groups, _) = values.as_chunks::<8>();
            let mask = _mm256_set1_epi32(_bzhi_u32(u32::MAX, width).cast_signed());
            let load = |index: usize| {
                // SAFETY: the group is 32 bytes.
                let values = unsafe { _mm256_loadu_si256(groups[index].as_ptr().cast()) };
                _mm256_and_si256(values, mask)
            };
            pack_groups_32(load, groups.len(), width as usize, out);
            done = groups.len() * 8;
        }
        if done < values.len() {
            scalar::pack_u32(&values[done..], width, &mut out[done / 8 * width as usize..]);
        }
    }

    pub(crate) fn pack_u64(values: &[u64], width: u32, out: &mut [u8]) {
        let mut done = 0;
        if (1..64).contains(&width) {
            let (fours, _) = values.as_chunks::<4>();
            let mask = _mm256_set1_epi64x(_bzhi_u64(u64::MAX, width).cast_signed());
            let load = |index: usize| {
                // SAFETY: the four are 32 bytes.
                let values = unsafe { _mm256_loadu_si256(fours[index].as_ptr().cast()) };
                _mm256_and_si256(values, mask)
            };
            pack_groups_64(load, fours.len() / 2, width as usize, out);
            done = fours.len() / 2 * 8;
        }
        if done < values.len() {
            scalar::pack_u64(&values[done..], width, &mut out[done / 8 * width as usize..]);
        }
    }

    /// Packs `groups` groups of eight values of `width` bits (1 to 32), which `load` returns group by group; `out` has
    /// the bytes, and more may be overwritten.
    #[inline]
    pub(crate) fn pack_groups_32(load: impl Fn(usize) -> __m256i, groups: usize, width: usize, out: &mut [u8]) {
        let done = match width {
            1..=7 => pack_fours_of_groups(&load, groups, width, out),
            8..=16 => pack_twos_of_groups(&load, groups, width, out),
            _ => 0,
        };
        let done = if width == SPILLING32 {
            pack_single_groups::<true>(&load, done, groups, width, out)
        } else {
            pack_single_groups::<false>(&load, done, groups, width, out)
        };
        for group in done..groups {
            let mut values = [0_u32; 8];
            // SAFETY: the array is 32 bytes.
            unsafe { _mm256_storeu_si256(values.as_mut_ptr().cast(), load(group)) };
            scalar::pack_u32(&values, width as u32, &mut out[group * width..]);
        }
    }

    /// Packs `groups` groups of eight values of `width` bits (1 to 64), which `load` returns in four 64-bit lanes at a
    /// time; `out` has the bytes, and more may be overwritten.
    #[inline]
    pub(crate) fn pack_groups_64(load: impl Fn(usize) -> __m256i, groups: usize, width: usize, out: &mut [u8]) {
        let done = match width {
            0..=32 => {
                return pack_groups_32(|group| narrow(load(2 * group), load(2 * group + 1)), groups, width, out);
            }
            33..=55 => pack_wide_groups(&load, groups, width, out),
            _ => pack_words(&load, groups, width, out),
        };
        for group in done..groups {
            let mut values = [0_u64; 8];
            for (half, values) in values.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                // SAFETY: the array is 32 bytes.
                unsafe { _mm256_storeu_si256(values.as_mut_ptr().cast(), load(2 * group + half)) };
            }
            scalar::pack_u64(&values, width as u32, &mut out[group * width..]);
        }
    }

    /// Packs blocks of 32 bytes, each byte a value of `width` bits (1 to 7), while their stores are within `out`.
    /// Returns the number of blocks.
    #[inline]
    fn pack_blocks_8(load: impl Fn(usize) -> __m256i, blocks: usize, width: usize, out: &mut [u8]) -> usize {
        let by = Pack8 {
            join_8: _mm256_set1_epi16((1 << (8 + width) | 1) as i16),
            join_16: _mm256_set1_epi32(1 << (16 + 2 * width) | 1),
            join_32: _mm_cvtsi32_si128(4 * width as i32),
            compact: load_table(&COMPACT8[width]),
        };
        let blocks = blocks_within(out.len(), 4 * width, 2 * width + STORE, blocks);
        let mut to = out.as_mut_ptr();
        for index in 0..blocks {
            // The factor 2^7 fits only unsigned bytes; the values are below 2^7, so they can be the signed ones.
            let pairs = _mm256_maddubs_epi16(by.join_8, load(index));
            let fours = _mm256_madd_epi16(pairs, by.join_16);
            let bytes = _mm256_shuffle_epi8(join_64(fours, by.join_32), by.compact);
            // SAFETY: `blocks_within` counted the blocks whose stores are within the output.
            unsafe { store_halves(bytes, to, 2 * width) };
            to = to.wrapping_add(4 * width);
        }
        blocks
    }

    /// Packs groups of widths 1 to 7 four by four while their stores are within `out`. Returns their number.
    #[inline]
    fn pack_fours_of_groups(load: impl Fn(usize) -> __m256i, groups: usize, width: usize, out: &mut [u8]) -> usize {
        // Packing to 16 and to 8 bits within halves leaves fours in the order 0 2 4 6 1 3 5 7.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let bytes = |index: usize| {
            let low = _mm256_packus_epi32(load(4 * index), load(4 * index + 1));
            let high = _mm256_packus_epi32(load(4 * index + 2), load(4 * index + 3));
            _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order)
        };
        4 * pack_blocks_8(bytes, groups / 4, width, out)
    }

    /// Packs groups of widths 8 to 16 two by two while their stores are within `out`. Returns their number.
    #[inline]
    fn pack_twos_of_groups(load: impl Fn(usize) -> __m256i, groups: usize, width: usize, out: &mut [u8]) -> usize {
        let places = &PLACES16[width];
        let by = Pack16 {
            join_16: _mm_cvtsi32_si128(width as i32),
            join_32: _mm_cvtsi32_si128(2 * width as i32),
            shift: load_table(&places.shift),
            lanes: [load_table(&places.lanes[0]), load_table(&places.lanes[1])],
        };
        let blocks = blocks_within(out.len(), 2 * width, width + STORE, groups / 2);
        let mut to = out.as_mut_ptr();
        for index in 0..blocks {
            let mixed = _mm256_packus_epi32(load(2 * index), load(2 * index + 1));
            let values = _mm256_permute4x64_epi64::<0b11_01_10_00>(mixed);
            let low = _mm256_and_si256(values, _mm256_set1_epi32(0xffff));
            let pairs = _mm256_or_si256(low, _mm256_sll_epi32(_mm256_srli_epi32::<16>(values), by.join_16));
            let fours = _mm256_sllv_epi64(join_64(pairs, by.join_32), by.shift);
            let first = _mm256_shuffle_epi8(fours, by.lanes[0]);
            let bytes = _mm256_or_si256(first, _mm256_shuffle_epi8(fours, by.lanes[1]));
            // SAFETY: `blocks_within` counted the blocks whose stores are within the output.
            unsafe { store_halves(bytes, to, width) };
            to = to.wrapping_add(2 * width);
        }
        2 * blocks
    }

    #[inline]
    fn place(places: &Places) -> Place {
        let shift = load_table(&places.shift);
        let shared = |half: usize| {
            // SAFETY: the array is 16 bytes.
            unsafe { _mm_loadu_si128(places.shared[half].as_ptr().cast()) }
        };
        Place {
            shift,
            shift_back: _mm256_sub_epi64(_mm256_set1_epi64x(64), shift),
            lanes: [load_table(&places.lanes[0]), load_table(&places.lanes[1])],
            spilled: load_table(&places.spilled),
            shared: [shared(0), shared(1)],
        }
    }

    /// The bytes of four lanes, in halves; `before` are the bytes before them.
    #[inline]
    fn place_lanes<const SPILLS: bool>(by: &Place, lanes: __m256i, before: __m128i) -> [__m128i; 2] {
        let shifted = _mm256_sllv_epi64(lanes, by.shift);
        let even = _mm256_shuffle_epi8(shifted, by.lanes[0]);
        let mut bytes = _mm256_or_si256(even, _mm256_shuffle_epi8(shifted, by.lanes[1]));
        if SPILLS {
            let lost = _mm256_srlv_epi64(lanes, by.shift_back);
            bytes = _mm256_or_si256(bytes, _mm256_shuffle_epi8(lost, by.spilled));
        }
        let low = _mm_or_si128(_mm256_castsi256_si128(bytes), _mm_shuffle_epi8(before, by.shared[0]));
        let high = _mm_or_si128(_mm256_extracti128_si256::<1>(bytes), _mm_shuffle_epi8(low, by.shared[1]));
        [low, high]
    }

    /// Packs groups from the `done`th on, of any width to 32 (31 with `SPILLS`), while their stores are within `out`.
    /// Returns the number of groups packed by then.
    #[inline]
    fn pack_single_groups<const SPILLS: bool>(
        load: impl Fn(usize) -> __m256i,
        done: usize,
        groups: usize,
        width: usize,
        out: &mut [u8],
    ) -> usize {
        if done == groups {
            return done;
        }
        let by = place(&PLACES32[width]);
        let join = _mm_cvtsi32_si128(width as i32);
        let out = &mut out[done * width..];
        let end = done + blocks_within(out.len(), width, width / 2 + STORE, groups - done);
        let mut to = out.as_mut_ptr();
        for group in done..end {
            let pairs = join_64(load(group), join);
            let [low, high] = place_lanes::<SPILLS>(&by, pairs, _mm_setzero_si128());
            // SAFETY: `blocks_within` counted the groups whose stores are within the output.
            unsafe { _mm_storeu_si128(to.cast(), low) };
            // SAFETY: as above.
            let second = unsafe { to.add(width / 2) };
            // SAFETY: as above.
            unsafe { _mm_storeu_si128(second.cast(), high) };
            to = to.wrapping_add(width);
        }
        end
    }

    /// Packs groups of 33 to 55 bits while their stores are within `out`. Returns their number.
    #[inline]
    fn pack_wide_groups(load: impl Fn(usize) -> __m256i, groups: usize, width: usize, out: &mut [u8]) -> usize {
        let [first, second] = &PLACES64[width];
        let (first, second) = (place(first), place(second));
        let groups = blocks_within(out.len(), width, 6 * width / 8 + STORE, groups);
        let mut to = out.as_mut_ptr();
        for group in 0..groups {
            let [a, b] = place_lanes::<false>(&first, load(2 * group), _mm_setzero_si128());
            let [c, d] = place_lanes::<false>(&second, load(2 * group + 1), b);
            for (pair, bytes) in [a, b, c, d].into_iter().enumerate() {
                // SAFETY: `blocks_within` counted the groups whose stores, the last from six values on, are within the
                // output.
                let at = unsafe { to.add(pair * 2 * width / 8) };
                // SAFETY: as above.
                unsafe { _mm_storeu_si128(at.cast(), bytes) };
            }
            to = to.wrapping_add(width);
        }
        groups
    }

    /// Packs groups of 56 to 64 bits while their stores are within `out`. Returns their number. Word `k` of a group has
    /// only bits of values `k` and `k + 1`.
    #[inline]
    fn pack_words(load: impl Fn(usize) -> __m256i, groups: usize, width: usize, out: &mut [u8]) -> usize {
        let missing = _mm256_set1_epi64x(64 - width as i64);
        let lower_low = _mm256_mul_epu32(_mm256_setr_epi64x(0, 1, 2, 3), missing);
        let lower_high = _mm256_mul_epu32(_mm256_setr_epi64x(4, 5, 6, 7), missing);
        let raise_low = _mm256_sub_epi64(_mm256_set1_epi64x(width as i64), lower_low);
        let raise_high = _mm256_sub_epi64(_mm256_set1_epi64x(width as i64), lower_high);
        let groups = blocks_within(out.len(), width, 64, groups);
        let mut to = out.as_mut_ptr();
        for group in 0..groups {
            let (low, high) = (load(2 * group), load(2 * group + 1));
            let next_low = _mm256_permute4x64_epi64::<0b00_11_10_01>(_mm256_blend_epi32::<0b0000_0011>(low, high));
            // In the last word, these set bits above the group's bytes, which are not used.
            let next_high = _mm256_permute4x64_epi64::<0b00_11_10_01>(high);
            let low_words = _mm256_or_si256(_mm256_srlv_epi64(low, lower_low), _mm256_sllv_epi64(next_low, raise_low));
            let high_words = _mm256_or_si256(_mm256_srlv_epi64(high, lower_high), _mm256_sllv_epi64(next_high, raise_high));
            // SAFETY: `blocks_within` counted the groups whose stores, of 64 bytes, are within the output.
            unsafe { _mm256_storeu_si256(to.cast(), low_words) };
            // SAFETY: as above.
            let second = unsafe { to.add(32) };
            // SAFETY: as above.
            unsafe { _mm256_storeu_si256(second.cast(), high_words) };
            to = to.wrapping_add(width);
        }
        groups
    }
}

//! Unpacks eight values like [`bitpack`](crate::bitpack), adds the min delta and sums up in registers:
//!
//! ```text
//! deltas           a  b   c    d     | e    f    g     h
//! + 1 lane up      a  ab  bc   cd    | e    ef   fg    gh
//! + 2 lanes up     a  ab  abc  abcd  | e    ef   efg   efgh         within 128 bits
//! + lane 3, above  a  ab  abc  abcd  | a…e  a…f  a…g   a…h
//! total            lane 7 everywhere
//! ```
//!
//! Only `carry += total` depends on the eight values before; everything else in the next group runs in parallel.
//!
//! For i32 in blocks of 32, a register has four values of each half of a block instead, so that the operations across
//! the 128-bit halves run once a block and not once a group: 20 to 27 % less time.
//!
//! Cost per eight values: i32 16 instructions (width ≤ 25) or 21, i64 2 × 14 (width ≤ 57) or 2 × 19. i64 of widths up to
//! 25 are summed up as i32 and widened: 20.
#![expect(unsafe_code, reason = "stores through pointers")]

mod lengths;

use std::arch::x86_64::*;
use std::hint::black_box;

pub(super) use lengths::{sum_lengths_i32, sum_lengths_i64};

use super::decoder::{Decoder, Miniblocks};
use super::scalar;
use crate::KernelError;
use crate::bitpack::avx2::{
    Fours32, Unpack32, Unpack64, fours_32, lanes_32, lanes_64, load_halves, unpack_fours_32, unpack_group_32,
    unpack_half_64,
};
use crate::bitpack::lanes::{NARROW32, NARROW64, WINDOW32, WINDOW64, groups_within};
use crate::bitpack::packed_len;
use crate::tier::avx2;

/// The number of values per block of the usual path: four groups; every miniblock's length is a multiple.
const BLOCK: usize = 32;

/// Constants of a sum over 64-bit lanes, in registers.
#[derive(Clone, Copy)]
struct Sums {
    /// Broadcasts the last lane of the lower half.
    middle: __m256i,
    /// Broadcasts the last lane.
    last: __m256i,
    /// The upper half.
    upper: __m256i,
}

avx2! {
    pub(super) fn decode_i32(
        decoder: &mut Decoder<i32>,
        src: &[u8],
        out: &mut [i32],
    ) -> Result<usize, KernelError> {
        decoder.decode_with(
            src,
            out,
            |run, out| {
                // Nearly always: the window of the last group is within the source.
                if run.src.len() >= run.bytes + WINDOW32 {
                    match run.len {
                        BLOCK => whole_miniblocks_i32::<true>(run, out),
                        _ => whole_miniblocks_i32::<false>(run, out),
                    }
                } else {
                    miniblocks_i32(run, out)
                }
            },
            |run, out| miniblocks_i32(run, out),
        )
    }

    pub(super) fn decode_i64(
        decoder: &mut Decoder<i64>,
        src: &[u8],
        out: &mut [i64],
    ) -> Result<usize, KernelError> {
        let by = sum_constants();
        decoder.decode_with(
            src,
            out,
            |run, out| {
                // Nearly always: the window of the last group is within the source.
                if run.src.len() >= run.bytes + WINDOW64 {
                    whole_miniblocks_i64(&by, run, out)
                } else {
                    miniblocks_i64(run, out)
                }
            },
            |run, out| miniblocks_i64(run, out),
        )
    }

    fn miniblocks_i32(run: Miniblocks<'_, i32>, out: &mut [i32]) -> i32 {
        let mut carry = _mm256_set1_epi32(run.last);
        let min_delta = _mm256_set1_epi32(run.min_delta);
        let mut src = run.src;
        for (&width, out) in run.widths.iter().zip(out.chunks_mut(run.len.max(1))) {
            let wide_width = usize::from(width);
            let done = match wide_width {
                0..=NARROW32 => sum_groups_i32::<false>(src, wide_width, min_delta, &mut carry, out),
                26..=32 => sum_groups_i32::<true>(src, wide_width, min_delta, &mut carry, out),
                _ => 0,
            };
            if done < out.len() {
                let rest = src.get(done / 8 * wide_width..).unwrap_or_default();
                let last = _mm256_cvtsi256_si32(carry);
                let last = scalar::sum_i32(rest, width.into(), run.min_delta, last, &mut out[done..]);
                carry = _mm256_set1_epi32(last);
            }
            src = src.get(packed_len(out.len(), width.into())..).unwrap_or_default();
        }
        _mm256_cvtsi256_si32(carry)
    }

    /// The source has [`WINDOW32`] bytes beyond the run's. `OF_ONE` if a miniblock is one block, as from nearly all
    /// writers: a loop over one block compiles to nothing.
    #[inline]
    fn whole_miniblocks_i32<const OF_ONE: bool>(run: Miniblocks<'_, i32>, out: &mut [i32]) -> i32 {
        let mut carry = _mm256_set1_epi32(run.last);
        let min_delta = _mm256_set1_epi32(run.min_delta);
        let mut at = 0;
        let mut blocks = out.as_chunks_mut::<BLOCK>().0.iter_mut();
        for &width in run.widths {
            let width = usize::from(width);
            let fours = fours_32(width.min(32));
            for block in blocks.by_ref().take(if OF_ONE { 1 } else { run.len / BLOCK }) {
                let first = run.src.as_ptr().wrapping_add(at);
                if width <= NARROW32 {
                    // SAFETY: the source has the block's bytes and a window beyond them.
                    unsafe { sum_block_i32::<false, false>(&fours, width, first, min_delta, &mut carry, block) };
                } else if width < 32 {
                    // SAFETY: as above.
                    unsafe { sum_block_i32::<true, false>(&fours, width, first, min_delta, &mut carry, block) };
                } else if width == 32 {
                    // SAFETY: as above.
                    unsafe { sum_block_i32::<true, true>(&fours, width, first, min_delta, &mut carry, block) };
                } else {
                    let last = _mm256_cvtsi256_si32(carry);
                    let src = run.src.get(at..).unwrap_or_default();
                    carry = _mm256_set1_epi32(scalar::sum_i32(src, width as u32, run.min_delta, last, block));
                }
                at += BLOCK / 8 * width;
            }
        }
        _mm256_cvtsi256_si32(carry)
    }

    /// Decodes four groups; `WIDE` for widths over [`NARROW32`], `WHOLE` for 32.
    ///
    /// # Safety
    /// `src` has three groups' readable bytes and a window's beyond them.
    #[inline]
    unsafe fn sum_block_i32<const WIDE: bool, const WHOLE: bool>(
        fours: &Fours32,
        width: usize,
        src: *const u8,
        min_delta: __m256i,
        carry: &mut __m256i,
        block: &mut [i32; BLOCK],
    ) {
        // Both halves of the block, four values of each at a time.
        let (low, high) = (src, src.wrapping_add(2 * width));
        let starts = [0, width / 2, width, width + width / 2];
        let mut total = _mm256_setzero_si256();
        let mut values = [_mm256_setzero_si256(); 4];
        for (four, values) in values.iter_mut().enumerate() {
            let (low, high) = (low.wrapping_add(starts[four]), high.wrapping_add(starts[four]));
            let deltas = if WHOLE {
                // SAFETY: the last of these is half a group, at most 16 bytes, after the last group's start, which has
                // a window of 33 bytes.
                unsafe { load_halves(low, high) }
            } else {
                // SAFETY: as above.
                unsafe { unpack_fours_32::<WIDE>(fours, four % 2, low, high) }
            };
            let sums = sum_fours_i32(_mm256_add_epi32(deltas, min_delta));
            *values = _mm256_add_epi32(sums, total);
            total = _mm256_add_epi32(total, _mm256_shuffle_epi32::<0xff>(sums));
        }
        let before = _mm256_add_epi32(*carry, _mm256_permute2x128_si256::<0x08>(total, total));
        let swapped = _mm256_permute2x128_si256::<0x01>(total, total);
        *carry = _mm256_add_epi32(*carry, _mm256_add_epi32(total, swapped));
        let (lower, upper) = block.as_chunks_mut::<16>().0.split_at_mut(1);
        for (four, values) in values.into_iter().enumerate() {
            let values = _mm256_add_epi32(values, before);
            let (low, high) = (_mm256_castsi256_si128(values), _mm256_extracti128_si256::<1>(values));
            let (to_low, to_high) = (&mut lower[0][4 * four..][..4], &mut upper[0][4 * four..][..4]);
            // SAFETY: four values.
            unsafe { _mm_storeu_si128(to_low.as_mut_ptr().cast(), low) };
            // SAFETY: as above.
            unsafe { _mm_storeu_si128(to_high.as_mut_ptr().cast(), high) };
        }
    }

    /// Every lane plus all below it in its half.
    #[inline]
    fn sum_fours_i32(lanes: __m256i) -> __m256i {
        let sums = _mm256_add_epi32(lanes, _mm256_slli_si256::<4>(lanes));
        _mm256_add_epi32(sums, _mm256_slli_si256::<8>(sums))
    }

    /// Decodes the whole groups whose window is in `src`, from `carry` (in all lanes) on. Returns the number of values.
    #[inline]
    fn sum_groups_i32<const WIDE: bool>(
        src: &[u8],
        width: usize,
        min_delta: __m256i,
        carry: &mut __m256i,
        out: &mut [i32],
    ) -> usize {
        let groups = groups_within(src.len(), width, WINDOW32, out.len() / 8);
        let lanes = lanes_32(width);
        let mut at = src.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            // SAFETY: `groups_within` counted the groups with a window of bytes left.
            let deltas = unsafe { unpack_group_32::<WIDE>(&lanes, at) };
            let (sums, total) = sum_lanes_i32(_mm256_add_epi32(deltas, min_delta));
            let values = _mm256_add_epi32(sums, *carry);
            *carry = _mm256_add_epi32(*carry, total);
            // SAFETY: the group is eight values long.
            unsafe { _mm256_storeu_si256(group.as_mut_ptr().cast(), values) };
            // A group's window is longer than the group, so the next one begins within the slice or at its end.
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    /// # Safety
    /// `src` has 32 readable bytes.
    #[inline]
    unsafe fn load(src: *const u8) -> __m256i {
        // SAFETY: the caller guarantees the bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(src.cast()) }
    }

    /// Permutations for the sums.
    ///
    /// Opaque to the compiler, which would otherwise replace one `vpermd` by several shuffles of fixed pattern and let
    /// one of them depend on the carry: twice the time was measured.
    #[inline]
    fn sum_constants() -> Sums {
        let (middle, last) = (_mm256_set1_epi64x(3 << 32 | 2), _mm256_set1_epi64x(7 << 32 | 6));
        let upper = _mm256_setr_epi64x(0, 0, -1, -1);
        Sums { middle: black_box(middle), last: black_box(last), upper: black_box(upper) }
    }

    /// Every lane plus all below it; and the sum of all, in every lane.
    #[inline]
    fn sum_lanes_i32(lanes: __m256i) -> (__m256i, __m256i) {
        let sums = sum_fours_i32(lanes);
        let totals = _mm256_shuffle_epi32::<0xff>(sums);
        let below = _mm256_permute2x128_si256::<0x08>(totals, totals);
        let swapped = _mm256_permute2x128_si256::<0x01>(totals, totals);
        (_mm256_add_epi32(sums, below), _mm256_add_epi32(totals, swapped))
    }

    fn miniblocks_i64(run: Miniblocks<'_, i64>, out: &mut [i64]) -> i64 {
        let mut carry = _mm256_set1_epi64x(run.last);
        let min_delta = _mm256_set1_epi64x(run.min_delta);
        let mut src = run.src;
        for (&width, out) in run.widths.iter().zip(out.chunks_mut(run.len.max(1))) {
            let wide_width = usize::from(width);
            let done = if wide_width <= NARROW64 {
                sum_groups_i64::<false>(src, wide_width, min_delta, &mut carry, out)
            } else {
                sum_groups_i64::<true>(src, wide_width, min_delta, &mut carry, out)
            };
            if done < out.len() {
                let rest = src.get(done / 8 * wide_width..).unwrap_or_default();
                let last = _mm_cvtsi128_si64(_mm256_castsi256_si128(carry));
                let last = scalar::sum_i64(rest, width.into(), run.min_delta, last, &mut out[done..]);
                carry = _mm256_set1_epi64x(last);
            }
            src = src.get(packed_len(out.len(), width.into())..).unwrap_or_default();
        }
        _mm_cvtsi128_si64(_mm256_castsi256_si128(carry))
    }

    /// The source has [`WINDOW64`] bytes beyond the run's.
    #[inline]
    fn whole_miniblocks_i64(by: &Sums, run: Miniblocks<'_, i64>, out: &mut [i64]) -> i64 {
        let mut carry = _mm256_set1_epi64x(run.last);
        let min_delta = _mm256_set1_epi64x(run.min_delta);
        // The min delta, one to eight times.
        let doubled = run.min_delta.wrapping_mul(2);
        let one_or_two = _mm256_add_epi64(min_delta, _mm256_and_si256(min_delta, _mm256_setr_epi64x(0, -1, 0, -1)));
        let up_to_four = _mm256_add_epi64(one_or_two, _mm256_setr_epi64x(0, 0, doubled, doubled));
        let ramp = [up_to_four, _mm256_add_epi64(up_to_four, _mm256_set1_epi64x(run.min_delta.wrapping_mul(4)))];
        let mut src = run.src.as_ptr();
        let mut blocks = out.as_chunks_mut::<BLOCK>().0.iter_mut();
        for &width in run.widths {
            let width = usize::from(width);
            if width <= NARROW32 {
                let lanes = lanes_32(width);
                for block in blocks.by_ref().take(run.len / BLOCK) {
                    // SAFETY: the source has the block's bytes and a window beyond them.
                    unsafe { sum_narrow_block_i64(&lanes, src, ramp, &mut carry, block) };
                    src = src.wrapping_add(BLOCK / 8 * width);
                }
                continue;
            }
            let lanes = lanes_64(width);
            for block in blocks.by_ref().take(run.len / BLOCK) {
                if width <= NARROW64 {
                    // SAFETY: the source has the block's bytes and a window beyond them.
                    unsafe { sum_block_i64::<false, false>(&lanes, by, src, min_delta, &mut carry, block) };
                } else if width < 64 {
                    // SAFETY: as above.
                    unsafe { sum_block_i64::<true, false>(&lanes, by, src, min_delta, &mut carry, block) };
                } else {
                    // SAFETY: as above.
                    unsafe { sum_block_i64::<true, true>(&lanes, by, src, min_delta, &mut carry, block) };
                }
                src = src.wrapping_add(BLOCK / 8 * width);
            }
        }
        _mm_cvtsi128_si64(_mm256_castsi256_si128(carry))
    }

    /// Decodes four groups of a width up to [`NARROW32`]: the sums of eight deltas are below 2^28, so they are summed
    /// in 32-bit lanes and then widened. `ramp` is the min delta one to eight times.
    ///
    /// # Safety
    /// `src` has three groups' readable bytes and a window's beyond them.
    #[inline]
    unsafe fn sum_narrow_block_i64(
        lanes: &Unpack32,
        src: *const u8,
        ramp: [__m256i; 2],
        carry: &mut __m256i,
        block: &mut [i64; BLOCK],
    ) {
        for (index, group) in block.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            // SAFETY: the caller guarantees this.
            let deltas = unsafe { unpack_group_32::<false>(lanes, src.wrapping_add(index * lanes.width())) };
            let (sums, _) = sum_lanes_i32(deltas);
            let halves = [_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums)];
            let [first, second] = [0, 1].map(|half| {
                let sums = _mm256_add_epi64(_mm256_cvtepu32_epi64(halves[half]), ramp[half]);
                _mm256_add_epi64(sums, *carry)
            });
            *carry = _mm256_permute4x64_epi64::<0xff>(second);
            let (to_first, to_second) = group.split_at_mut(4);
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_si256(to_first.as_mut_ptr().cast(), first) };
            // SAFETY: as above.
            unsafe { _mm256_storeu_si256(to_second.as_mut_ptr().cast(), second) };
        }
    }

    /// Decodes four groups; `WIDE` for widths over [`NARROW64`], `WHOLE` for 64.
    ///
    /// # Safety
    /// `src` has three groups' readable bytes and a window's beyond them.
    #[inline]
    unsafe fn sum_block_i64<const WIDE: bool, const WHOLE: bool>(
        lanes: &Unpack64,
        by: &Sums,
        src: *const u8,
        min_delta: __m256i,
        carry: &mut __m256i,
        block: &mut [i64; BLOCK],
    ) {
        for (index, group) in block.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let src = src.wrapping_add(index * lanes.width());
            let (first, second) = group.split_at_mut(4);
            let deltas = if WHOLE {
                // SAFETY: the caller guarantees this.
                unsafe { load(src) }
            } else {
                // SAFETY: the caller guarantees this.
                unsafe { unpack_half_64::<0, WIDE>(lanes, src) }
            };
            let (sums, total) = sum_lanes_i64(by, _mm256_add_epi64(deltas, min_delta));
            let values = _mm256_add_epi64(sums, *carry);
            *carry = _mm256_add_epi64(*carry, total);
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_si256(first.as_mut_ptr().cast(), values) };
            let deltas = if WHOLE {
                // SAFETY: the caller guarantees this.
                unsafe { load(src.wrapping_add(32)) }
            } else {
                // SAFETY: the caller guarantees this.
                unsafe { unpack_half_64::<1, WIDE>(lanes, src) }
            };
            let (sums, total) = sum_lanes_i64(by, _mm256_add_epi64(deltas, min_delta));
            let values = _mm256_add_epi64(sums, *carry);
            *carry = _mm256_add_epi64(*carry, total);
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_si256(second.as_mut_ptr().cast(), values) };
        }
    }

    /// Decodes the whole groups whose window is in `src`, from `carry` (in all lanes) on. Returns the number of values.
    #[inline]
    fn sum_groups_i64<const WIDE: bool>(
        src: &[u8],
        width: usize,
        min_delta: __m256i,
        carry: &mut __m256i,
        out: &mut [i64],
    ) -> usize {
        let groups = groups_within(src.len(), width, WINDOW64, out.len() / 8);
        let lanes = lanes_64(width);
        let by = sum_constants();
        let mut at = src.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            let (first, second) = group.split_at_mut(4);
            // SAFETY: `groups_within` counted the groups with a window of bytes left.
            let deltas = unsafe { unpack_half_64::<0, WIDE>(&lanes, at) };
            let (sums, total) = sum_lanes_i64(&by, _mm256_add_epi64(deltas, min_delta));
            let values = _mm256_add_epi64(sums, *carry);
            *carry = _mm256_add_epi64(*carry, total);
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_si256(first.as_mut_ptr().cast(), values) };
            // SAFETY: as above.
            let deltas = unsafe { unpack_half_64::<1, WIDE>(&lanes, at) };
            let (sums, total) = sum_lanes_i64(&by, _mm256_add_epi64(deltas, min_delta));
            let values = _mm256_add_epi64(sums, *carry);
            *carry = _mm256_add_epi64(*carry, total);
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_si256(second.as_mut_ptr().cast(), values) };
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    /// Every lane plus all below it; and the sum of all, in every lane.
    #[inline]
    fn sum_lanes_i64(by: &Sums, lanes: __m256i) -> (__m256i, __m256i) {
        let sums = _mm256_add_epi64(lanes, _mm256_slli_si256::<8>(lanes));
        let below = _mm256_and_si256(_mm256_permutevar8x32_epi32(sums, by.middle), by.upper);
        let sums = _mm256_add_epi64(sums, below);
        (sums, _mm256_permutevar8x32_epi32(sums, by.last))
    }
}

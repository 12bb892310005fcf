//! Unpacks sixteen values (i64: eight) like [`bitpack`](crate::bitpack), adds the min delta and sums up in registers:
//!
//! ```text
//! deltas                      a  b   c    d     e     f     g     h     …
//! + the lane below, in pairs  a  ab  c    cd    e     ef    g     gh    …       a 64-bit shift, not a shuffle
//! + lane 1 of 4, in 2 and 3   a  ab  abc  abcd  e     ef    efg   efgh  …
//! + lane 3 of 8, in 4 to 7    a  ab  abc  abcd  a…e   a…f   a…g   a…h   …
//! + lane 7, in 8 to 15        and so the upper half
//! + min delta × 1, 2, 3 …      the same for a whole block of the page
//! + the value before
//! ```
//!
//! i64 sums up by moving one, two and four lanes up, which needs no table. Only the last addition and a broadcast of
//! its last lane depend on the values before: four cycles, where the rest takes seven of both vector ports. Cost:
//! sixteen i32 14 instructions (width ≤ 25) or 17, eight i64 12 (width ≤ 57) or 15; sixteen i64 of widths up to 25,
//! which are summed as i32 and widened, 19.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::asm;
use std::arch::x86_64::*;
use std::hint::black_box;

use super::decoder::{Decoder, Miniblocks};
use super::scalar;
use crate::KernelError;
use crate::bitpack::avx512::{Unpack, first_8, first_16, lanes_32, lanes_64, load, load_some, unpack_8, unpack_16};
use crate::bitpack::lanes::{NARROW32, NARROW64};
use crate::bitpack::packed_len;
use crate::tier::avx512;

/// The number of values per block of the usual path; every miniblock's length is a multiple.
const BLOCK: usize = 32;

/// The bytes of a load, which is not masked if this many bytes follow a run: moving a mask to its register takes the
/// port of the shuffles.
const LOAD: usize = 64;

/// The low seven bits of every byte.
const SEVENS: u64 = 0x7f7f_7f7f_7f7f_7f7f;

/// Permutations of 32-bit lanes, in registers.
#[derive(Clone, Copy)]
struct Sums {
    /// Lane 3 of the lower eight in their upper four, and lane 11 likewise.
    thirds: __m512i,
    /// Lane 7 everywhere.
    seventh: __m512i,
    /// Lane 15 everywhere.
    last: __m512i,
    /// The upper four of every eight lanes.
    upper_fours: __mmask16,
    /// The upper eight lanes.
    upper_eight: __mmask16,
}

avx512! {
    pub(super) fn decode_i32(
        decoder: &mut Decoder<i32>,
        src: &[u8],
        out: &mut [i32],
    ) -> Result<usize, KernelError> {
        let by = sum_constants();
        decoder.decode_with_join(
            src,
            out,
            |run, out| {
                if run.src.len() >= run.bytes + LOAD {
                    whole_miniblocks_i32(&by, run, out)
                } else {
                    miniblocks_i32(run, out)
                }
            },
            |run, out| miniblocks_i32(run, out),
            |word| _pext_u64(word, SEVENS),
        )
    }

    pub(super) fn decode_i64(
        decoder: &mut Decoder<i64>,
        src: &[u8],
        out: &mut [i64],
    ) -> Result<usize, KernelError> {
        let by = sum_constants();
        decoder.decode_with_join(
            src,
            out,
            |run, out| {
                if run.src.len() >= run.bytes + LOAD {
                    whole_miniblocks_i64(&by, run, out)
                } else {
                    miniblocks_i64(run, out)
                }
            },
            |run, out| miniblocks_i64(run, out),
            |word| _pext_u64(word, SEVENS),
        )
    }

    fn miniblocks_i32(run: Miniblocks<'_, i32>, out: &mut [i32]) -> i32 {
        let mut carry = _mm512_set1_epi32(run.last);
        let min_delta = _mm512_set1_epi32(run.min_delta);
        let mut src = run.src;
        for (&width, out) in run.widths.iter().zip(out.chunks_mut(run.len.max(1))) {
            match usize::from(width) {
                width @ 0..=NARROW32 => sum_i32::<false>(src, width, min_delta, &mut carry, out),
                width @ 26..=32 => sum_i32::<true>(src, width, min_delta, &mut carry, out),
                _ => {
                    let last = _mm512_cvtsi512_si32(carry);
                    let last = scalar::sum_i32(src, width.into(), run.min_delta, last, out);
                    carry = _mm512_set1_epi32(last);
                }
            }
            src = src.get(packed_len(out.len(), width.into())..).unwrap_or_default();
        }
        _mm512_cvtsi512_si32(carry)
    }

    /// The source has [`LOAD`] bytes beyond the run's.
    #[inline]
    fn whole_miniblocks_i32(by: &Sums, run: Miniblocks<'_, i32>, out: &mut [i32]) -> i32 {
        let mut carry = _mm512_set1_epi32(run.last);
        let numbers = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
        let ramp = _mm512_mullo_epi32(numbers, _mm512_set1_epi32(run.min_delta));
        let mut src = run.src.as_ptr();
        let mut blocks = out.as_chunks_mut::<BLOCK>().0.iter_mut();
        if run.len == BLOCK {
            // The usual length, without a loop over a miniblock's blocks.
            for (&width, block) in run.widths.iter().zip(blocks) {
                let width = usize::from(width);
                let lanes = lanes_32(width.min(32));
                // SAFETY: the source has the block's bytes and a load's beyond them.
                unsafe { sum_block_of_any_i32(&lanes, by, src, width, run.min_delta, ramp, &mut carry, block) };
                src = src.wrapping_add(BLOCK / 8 * width);
            }
            return _mm512_cvtsi512_si32(carry);
        }
        for &width in run.widths {
            let width = usize::from(width);
            let lanes = lanes_32(width.min(32));
            for block in blocks.by_ref().take(run.len / BLOCK) {
                // SAFETY: as above.
                unsafe { sum_block_of_any_i32(&lanes, by, src, width, run.min_delta, ramp, &mut carry, block) };
                src = src.wrapping_add(BLOCK / 8 * width);
            }
        }
        _mm512_cvtsi512_si32(carry)
    }

    /// Decodes a block of any width up to 64.
    ///
    /// # Safety
    /// `src` has the block's bytes and [`LOAD`] beyond them.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "what stays in registers from block to block")]
    unsafe fn sum_block_of_any_i32(
        lanes: &Unpack,
        by: &Sums,
        src: *const u8,
        width: usize,
        min_delta: i32,
        ramp: __m512i,
        carry: &mut __m512i,
        block: &mut [i32; BLOCK],
    ) {
        if width <= NARROW32 {
            // SAFETY: the caller guarantees this.
            unsafe { sum_block_i32::<false, false>(lanes, by, src, ramp, carry, block) };
        } else if width < 32 {
            // SAFETY: as above.
            unsafe { sum_block_i32::<true, false>(lanes, by, src, ramp, carry, block) };
        } else if width == 32 {
            // SAFETY: as above.
            unsafe { sum_block_i32::<true, true>(lanes, by, src, ramp, carry, block) };
        } else {
            let last = _mm512_cvtsi512_si32(*carry);
            // SAFETY: the source has the block's bytes.
            let src = unsafe { std::slice::from_raw_parts(src, BLOCK / 8 * width) };
            *carry = _mm512_set1_epi32(scalar::sum_i32(src, width as u32, min_delta, last, block));
        }
    }

    /// Decodes a block, sixteen values at a time; `WIDE` for widths over [`NARROW32`], `WHOLE` for 32.
    ///
    /// # Safety
    /// `src` has the block's bytes and [`LOAD`] beyond them.
    #[inline]
    unsafe fn sum_block_i32<const WIDE: bool, const WHOLE: bool>(
        lanes: &Unpack,
        by: &Sums,
        src: *const u8,
        ramp: __m512i,
        carry: &mut __m512i,
        block: &mut [i32; BLOCK],
    ) {
        for (index, part) in block.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let first = src.wrapping_add(index * lanes.bytes());
            // SAFETY: the caller guarantees this.
            let bytes = unsafe { _mm512_loadu_si512(first.cast()) };
            let deltas = if WHOLE { bytes } else { unpack_16::<WIDE>(lanes, bytes) };
            let sums = sum_lanes_i32(by, deltas);
            let values = _mm512_add_epi32(opaque(_mm512_add_epi32(sums, ramp)), *carry);
            *carry = _mm512_permutexvar_epi32(by.last, values);
            // SAFETY: the part is sixteen values long.
            unsafe { _mm512_storeu_si512(part.as_mut_ptr().cast(), values) };
        }
    }

    /// Decodes from `carry` (in all lanes) on, including the last bytes of the source and values beyond it.
    #[inline]
    fn sum_i32<const WIDE: bool>(
        src: &[u8],
        width: usize,
        min_delta: __m512i,
        carry: &mut __m512i,
        out: &mut [i32],
    ) {
        let lanes = lanes_32(width);
        let by = sum_constants();
        let stored = src.len().checked_div(2 * width).unwrap_or(usize::MAX);
        let blocks = stored.min(out.len() / 16);
        let (whole, rest) = out.split_at_mut(blocks * 16);
        let mut at = src.as_ptr();
        for block in whole.as_chunks_mut::<16>().0 {
            // SAFETY: the source has the bytes of all these blocks.
            let bytes = unsafe { load(&lanes, at) };
            let sums = sum_lanes_i32(&by, _mm512_add_epi32(unpack_16::<WIDE>(&lanes, bytes), min_delta));
            let values = _mm512_add_epi32(sums, *carry);
            *carry = _mm512_permutexvar_epi32(by.last, values);
            // SAFETY: the block is sixteen values long.
            unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), values) };
            at = at.wrapping_add(2 * width);
        }
        let mut src = src.get(blocks * 2 * width..).unwrap_or_default();
        for part in rest.chunks_mut(16) {
            let deltas = unpack_16::<WIDE>(&lanes, load_some(src));
            let sums = sum_lanes_i32(&by, _mm512_add_epi32(deltas, min_delta));
            let values = _mm512_add_epi32(sums, *carry);
            let mask = first_16(part.len());
            // SAFETY: the mask has as many values as the part.
            unsafe { _mm512_mask_storeu_epi32(part.as_mut_ptr(), mask, values) };
            *carry = _mm512_permutexvar_epi32(_mm512_set1_epi32(part.len() as i32 - 1), values);
            src = src.get(2 * width..).unwrap_or_default();
        }
    }

    /// Permutations for the sums, opaque to the compiler, which would otherwise replace a `vpermd` under a mask by more
    /// and slower shuffles of fixed pattern.
    #[inline]
    fn sum_constants() -> Sums {
        let thirds = _mm512_setr_epi32(0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 0, 0, 11, 11, 11, 11);
        Sums {
            thirds: black_box(thirds),
            seventh: black_box(_mm512_set1_epi32(7)),
            last: black_box(_mm512_set1_epi32(15)),
            upper_fours: black_box(0xf0f0),
            upper_eight: black_box(0xff00),
        }
    }

    /// Hides a vector from the compiler, which would otherwise add the sums to the carry one after the other.
    #[inline]
    fn opaque(vector: __m512i) -> __m512i {
        let same;
        // SAFETY: there is no instruction.
        unsafe { asm!("/* {0} */", inout(zmm_reg) vector => same, options(pure, nomem, nostack, preserves_flags)) };
        same
    }

    /// Every lane plus all below it.
    #[inline]
    fn sum_lanes_i32(by: &Sums, lanes: __m512i) -> __m512i {
        let sums = _mm512_add_epi32(lanes, _mm512_slli_epi64::<32>(lanes));
        let sums = _mm512_add_epi32(sums, _mm512_maskz_shuffle_epi32::<0b01_01_01_01>(0xcccc, sums));
        let sums = _mm512_add_epi32(sums, _mm512_maskz_permutexvar_epi32(by.upper_fours, by.thirds, sums));
        _mm512_add_epi32(sums, _mm512_maskz_permutexvar_epi32(by.upper_eight, by.seventh, sums))
    }

    fn miniblocks_i64(run: Miniblocks<'_, i64>, out: &mut [i64]) -> i64 {
        let mut carry = _mm512_set1_epi64(run.last);
        let min_delta = _mm512_set1_epi64(run.min_delta);
        let mut src = run.src;
        for (&width, out) in run.widths.iter().zip(out.chunks_mut(run.len.max(1))) {
            match usize::from(width) {
                width @ 0..=NARROW64 => sum_i64::<false>(src, width, min_delta, &mut carry, out),
                width => sum_i64::<true>(src, width, min_delta, &mut carry, out),
            }
            src = src.get(packed_len(out.len(), width.into())..).unwrap_or_default();
        }
        _mm_cvtsi128_si64(_mm512_castsi512_si128(carry))
    }

    /// The source has [`LOAD`] bytes beyond the run's.
    #[inline]
    fn whole_miniblocks_i64(by: &Sums, run: Miniblocks<'_, i64>, out: &mut [i64]) -> i64 {
        let mut carry = _mm512_set1_epi64(run.last);
        let ramp = _mm512_mullo_epi64(_mm512_setr_epi64(1, 2, 3, 4, 5, 6, 7, 8), _mm512_set1_epi64(run.min_delta));
        let ramp_beyond = _mm512_add_epi64(ramp, _mm512_set1_epi64(run.min_delta.wrapping_mul(8)));
        let mut src = run.src.as_ptr();
        let mut blocks = out.as_chunks_mut::<BLOCK>().0.iter_mut();
        for &width in run.widths {
            let width = usize::from(width);
            if width <= NARROW32 {
                let lanes = lanes_32(width);
                for block in blocks.by_ref().take(run.len / BLOCK) {
                    // SAFETY: the source has the block's bytes and a load's beyond them.
                    unsafe { sum_narrow_block_i64(&lanes, by, src, [ramp, ramp_beyond], &mut carry, block) };
                    src = src.wrapping_add(BLOCK / 8 * width);
                }
                continue;
            }
            let lanes = lanes_64(width);
            for block in blocks.by_ref().take(run.len / BLOCK) {
                if width <= NARROW64 {
                    // SAFETY: the source has the block's bytes and a load's beyond them.
                    unsafe { sum_block_i64::<false, false>(&lanes, src, ramp, &mut carry, block) };
                } else if width < 64 {
                    // SAFETY: as above.
                    unsafe { sum_block_i64::<true, false>(&lanes, src, ramp, &mut carry, block) };
                } else {
                    // SAFETY: as above.
                    unsafe { sum_block_i64::<true, true>(&lanes, src, ramp, &mut carry, block) };
                }
                src = src.wrapping_add(BLOCK / 8 * width);
            }
        }
        _mm_cvtsi128_si64(_mm512_castsi512_si128(carry))
    }

    /// Decodes a block of a width up to [`NARROW32`], sixteen values at a time: the sums of sixteen deltas are below
    /// 2^29, so they are summed in 32-bit lanes and then widened. `ramp` is the min delta one to sixteen times.
    ///
    /// # Safety
    /// `src` has the block's bytes and [`LOAD`] beyond them.
    #[inline]
    unsafe fn sum_narrow_block_i64(
        lanes: &Unpack,
        by: &Sums,
        src: *const u8,
        ramp: [__m512i; 2],
        carry: &mut __m512i,
        block: &mut [i64; BLOCK],
    ) {
        for (index, part) in block.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let first = src.wrapping_add(index * lanes.bytes());
            // SAFETY: the caller guarantees this.
            let bytes = unsafe { _mm512_loadu_si512(first.cast()) };
            let sums = sum_lanes_i32(by, unpack_16::<false>(lanes, bytes));
            let halves = [_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64::<1>(sums)];
            let [first, second] = [0, 1].map(|half| {
                let sums = _mm512_add_epi64(_mm512_cvtepu32_epi64(halves[half]), ramp[half]);
                _mm512_add_epi64(opaque(sums), *carry)
            });
            *carry = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), second);
            let (to_first, to_second) = part.split_at_mut(8);
            // SAFETY: the half is eight values long.
            unsafe { _mm512_storeu_si512(to_first.as_mut_ptr().cast(), first) };
            // SAFETY: as above.
            unsafe { _mm512_storeu_si512(to_second.as_mut_ptr().cast(), second) };
        }
    }

    /// Decodes a block, eight values at a time; `WIDE` for widths over [`NARROW64`], `WHOLE` for 64.
    ///
    /// # Safety
    /// `src` has the block's bytes and [`LOAD`] beyond them.
    #[inline]
    unsafe fn sum_block_i64<const WIDE: bool, const WHOLE: bool>(
        lanes: &Unpack,
        src: *const u8,
        ramp: __m512i,
        carry: &mut __m512i,
        block: &mut [i64; BLOCK],
    ) {
        for (index, part) in block.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let first = src.wrapping_add(index * lanes.bytes());
            // SAFETY: the caller guarantees this.
            let bytes = unsafe { _mm512_loadu_si512(first.cast()) };
            let deltas = if WHOLE { bytes } else { unpack_8::<WIDE>(lanes, bytes) };
            let sums = sum_lanes_i64(deltas);
            let values = _mm512_add_epi64(opaque(_mm512_add_epi64(sums, ramp)), *carry);
            *carry = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), values);
            // SAFETY: the part is eight values long.
            unsafe { _mm512_storeu_si512(part.as_mut_ptr().cast(), values) };
        }
    }

    /// Decodes from `carry` (in all lanes) on, including the last bytes of the source and values beyond it.
    #[inline]
    fn sum_i64<const WIDE: bool>(
        src: &[u8],
        width: usize,
        min_delta: __m512i,
        carry: &mut __m512i,
        out: &mut [i64],
    ) {
        let lanes = lanes_64(width);
        let stored = src.len().checked_div(width).unwrap_or(usize::MAX);
        let blocks = stored.min(out.len() / 8);
        let (whole, rest) = out.split_at_mut(blocks * 8);
        let mut at = src.as_ptr();
        for block in whole.as_chunks_mut::<8>().0 {
            // SAFETY: the source has the bytes of all these blocks.
            let bytes = unsafe { load(&lanes, at) };
            let sums = sum_lanes_i64(_mm512_add_epi64(unpack_8::<WIDE>(&lanes, bytes), min_delta));
            let values = _mm512_add_epi64(sums, *carry);
            *carry = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), values);
            // SAFETY: the block is eight values long.
            unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), values) };
            at = at.wrapping_add(width);
        }
        let mut src = src.get(blocks * width..).unwrap_or_default();
        for part in rest.chunks_mut(8) {
            let deltas = unpack_8::<WIDE>(&lanes, load_some(src));
            let sums = sum_lanes_i64(_mm512_add_epi64(deltas, min_delta));
            let values = _mm512_add_epi64(sums, *carry);
            let mask = first_8(part.len());
            // SAFETY: the mask has as many values as the part.
            unsafe { _mm512_mask_storeu_epi64(part.as_mut_ptr(), mask, values) };
            *carry = _mm512_permutexvar_epi64(_mm512_set1_epi64(part.len() as i64 - 1), values);
            src = src.get(width..).unwrap_or_default();
        }
    }

    /// Every lane plus all below it.
    #[inline]
    fn sum_lanes_i64(lanes: __m512i) -> __m512i {
        let zero = _mm512_setzero_si512();
        let sums = _mm512_add_epi64(lanes, _mm512_alignr_epi64::<7>(lanes, zero));
        let sums = _mm512_add_epi64(sums, _mm512_alignr_epi64::<6>(sums, zero));
        _mm512_add_epi64(sums, _mm512_alignr_epi64::<4>(sums, zero))
    }
}

//! Unpacking with 512-bit registers: one byte permutation over 64 bytes brings each value's bytes into its lane, a
//! shift by lanes brings its first bit to the lane's first, a mask clears the bits of the next value.
//!
//! Width 11 to 32-bit lanes; sixteen values are 22 bytes:
//!
//! ```text
//! masked load    bytes 0…21, no further
//! permutation    0–3   1–4   2–5   4–7   5–8   6–9   8–11   9–12  |  11–14 …
//! shift right    0     3     6     1     4     7     2      5     |  0     …
//! value          0     1     2     3     4     5     6      7     |  8     …
//! ```
//!
//! Masked loads and stores access only the bytes of the slices, so tails need no other code.
//!
//! A 32-bit lane holds the bytes of up to 25 bits at any shift, a 64-bit lane of up to 57. Wider values take the bytes
//! from one further on as well, a second permutation of the same register, shifted left into place. For output bytes,
//! 64-bit lanes hold eight values each, and one instruction (`vpmultishiftqb`) extracts eight bytes at any bits of a
//! lane.
//!
//! Cost: sixteen 32-bit values 5 instructions (width ≤ 25) or 8, eight 64-bit values as many, 64 bytes 5.
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::lanes::{NARROW32, NARROW64, groups_within};
use super::scalar;
use crate::tier::avx512;

/// The permutation of values to lanes of `BYTES` bytes.
#[repr(C, align(64))]
struct Lanes {
    index: [u8; 64],
    /// Little-endian integers of a lane's size.
    shift: [u8; 64],
}

/// The table of lanes of `lane_bytes` bytes, by width.
const fn lanes<const WIDTHS: usize>(lane_bytes: usize) -> [Lanes; WIDTHS] {
    let mut table = [const { Lanes { index: [0; 64], shift: [0; 64] } }; WIDTHS];
    let mut width = 0;
    while width < WIDTHS {
        let mut at = 0;
        while at < 64 {
            let bit = at / lane_bytes * width;
            table[width].index[at] = (bit / 8 + at % lane_bytes) as u8;
            if at % lane_bytes == 0 {
                table[width].shift[at] = (bit % 8) as u8;
            }
            at += 1;
        }
        width += 1;
    }
    table
}

static LANES32: [Lanes; 33] = lanes(4);
static LANES64: [Lanes; 65] = lanes(8);

/// By width, that many ones: broadcasts from memory take no port that shuffles need.
static MASKS: [u64; 65] = {
    let mut masks = [u64::MAX; 65];
    let mut width = 0;
    while width < 64 {
        masks[width] = (1 << width) - 1;
        width += 1;
    }
    masks
};

/// The lane constants of a width, in registers.
#[derive(Clone, Copy)]
pub(crate) struct Unpack {
    /// The number of bytes with a register full of values.
    bytes: usize,
    /// A mask of these bytes.
    loaded: __mmask64,
    index: __m512i,
    /// The permutation one byte further on.
    next: __m512i,
    shift: __m512i,
    shift_back: __m512i,
    mask: __m512i,
}

impl Unpack {
    /// The number of bytes with a register full of values.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

avx512! {
    #[inline]
    fn load_table(table: &[u8; 64]) -> __m512i {
        // SAFETY: the array is 64 bytes.
        unsafe { _mm512_loadu_si512(table.as_ptr().cast()) }
    }

    /// Loads up to 64 bytes; the rest are zeros.
    #[inline]
    pub(crate) fn load_some(bytes: &[u8]) -> __m512i {
        let mask = _bzhi_u64(u64::MAX, bytes.len().min(64) as u32);
        // SAFETY: the mask has no more bytes than the slice.
        unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
    }

    /// `width` is at most 32.
    #[inline]
    pub(crate) fn lanes_32(width: usize) -> Unpack {
        let lanes = &LANES32[width];
        let (index, shift) = (load_table(&lanes.index), load_table(&lanes.shift));
        Unpack {
            bytes: 2 * width,
            loaded: _bzhi_u64(u64::MAX, 2 * width as u32),
            index,
            next: _mm512_add_epi8(index, _mm512_set1_epi8(1)),
            shift,
            shift_back: _mm512_sub_epi32(_mm512_set1_epi32(8), shift),
            mask: _mm512_set1_epi32(MASKS[width] as i32),
        }
    }

    /// `width` is at most 64.
    #[inline]
    pub(crate) fn lanes_64(width: usize) -> Unpack {
        let lanes = &LANES64[width];
        let (index, shift) = (load_table(&lanes.index), load_table(&lanes.shift));
        Unpack {
            bytes: width,
            loaded: _bzhi_u64(u64::MAX, width as u32),
            index,
            next: _mm512_add_epi8(index, _mm512_set1_epi8(1)),
            shift,
            shift_back: _mm512_sub_epi64(_mm512_set1_epi64(8), shift),
            mask: _mm512_set1_epi64(MASKS[width].cast_signed()),
        }
    }

    /// Loads the bytes of a register full of values from `src` on: two widths of bytes for 32-bit lanes, one for 64-bit
    /// lanes.
    ///
    /// # Safety
    /// `src` has those readable bytes.
    #[inline]
    pub(crate) unsafe fn load(lanes: &Unpack, src: *const u8) -> __m512i {
        // SAFETY: the mask is those bytes.
        unsafe { _mm512_maskz_loadu_epi8(lanes.loaded, src.cast()) }
    }

    /// Unpacks sixteen values; `WIDE` for widths over 25.
    #[inline]
    pub(crate) fn unpack_16<const WIDE: bool>(lanes: &Unpack, bytes: __m512i) -> __m512i {
        let mut values = _mm512_srlv_epi32(_mm512_permutexvar_epi8(lanes.index, bytes), lanes.shift);
        if WIDE {
            let next = _mm512_permutexvar_epi8(lanes.next, bytes);
            values = _mm512_or_si512(values, _mm512_sllv_epi32(next, lanes.shift_back));
        }
        _mm512_and_si512(values, lanes.mask)
    }

    /// Unpacks eight values; `WIDE` for widths over 57.
    #[inline]
    pub(crate) fn unpack_8<const WIDE: bool>(lanes: &Unpack, bytes: __m512i) -> __m512i {
        let mut values = _mm512_srlv_epi64(_mm512_permutexvar_epi8(lanes.index, bytes), lanes.shift);
        if WIDE {
            let next = _mm512_permutexvar_epi8(lanes.next, bytes);
            values = _mm512_or_si512(values, _mm512_sllv_epi64(next, lanes.shift_back));
        }
        _mm512_and_si512(values, lanes.mask)
    }

    /// `width` is at most 32.
    pub(crate) fn unpack_u32(src: &[u8], width: u32, out: &mut [u32]) {
        if width == 8 {
            return scalar::widen_u8(src, out);
        }
        if width as usize <= NARROW32 {
            unpack_blocks_u32::<false>(src, width as usize, out);
        } else {
            unpack_blocks_u32::<true>(src, width as usize, out);
        }
    }

    #[inline]
    fn unpack_blocks_u32<const WIDE: bool>(src: &[u8], width: usize, out: &mut [u32]) {
        let lanes = lanes_32(width);
        // Loads are masked only at the end of the source.
        let blocks = groups_within(src.len(), 2 * width, 64, out.len() / 16);
        let (whole, mut rest) = out.split_at_mut(blocks * 16);
        let mut at = src.as_ptr();
        for block in whole.as_chunks_mut::<16>().0 {
            // SAFETY: the source has 64 bytes from the first of each of these blocks on.
            let bytes = unsafe { _mm512_loadu_si512(at.cast()) };
            let values = unpack_16::<WIDE>(&lanes, bytes);
            // SAFETY: the block is sixteen values long.
            unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), values) };
            at = at.wrapping_add(2 * width);
        }
        let mut src = src.get(blocks * 2 * width..).unwrap_or_default();
        // At least once, even without values: a branch on whether any are left is unpredictable.
        loop {
            let values = unpack_16::<WIDE>(&lanes, load_some(src));
            let (part, others) = rest.split_at_mut(rest.len().min(16));
            let mask = first_16(part.len());
            // SAFETY: the mask has as many values as the part.
            unsafe { _mm512_mask_storeu_epi32(part.as_mut_ptr().cast(), mask, values) };
            if others.is_empty() {
                return;
            }
            rest = others;
            src = src.get(2 * width..).unwrap_or_default();
        }
    }

    /// `width` is at most 64.
    pub(crate) fn unpack_u64(src: &[u8], width: u32, out: &mut [u64]) {
        if width as usize <= NARROW64 {
            unpack_blocks_u64::<false>(src, width as usize, out);
        } else {
            unpack_blocks_u64::<true>(src, width as usize, out);
        }
    }

    #[inline]
    fn unpack_blocks_u64<const WIDE: bool>(src: &[u8], width: usize, out: &mut [u64]) {
        let lanes = lanes_64(width);
        let blocks = groups_within(src.len(), width, width, out.len() / 8);
        let (whole, rest) = out.split_at_mut(blocks * 8);
        let mut at = src.as_ptr();
        for block in whole.as_chunks_mut::<8>().0 {
            // SAFETY: the source has the bytes of all these blocks.
            let bytes = unsafe { load(&lanes, at) };
            let values = unpack_8::<WIDE>(&lanes, bytes);
            // SAFETY: the block is eight values long.
            unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), values) };
            at = at.wrapping_add(width);
        }
        let mut src = src.get(blocks * width..).unwrap_or_default();
        for part in rest.chunks_mut(8) {
            let values = unpack_8::<WIDE>(&lanes, load_some(src));
            let mask = first_8(part.len());
            // SAFETY: the mask has as many values as the part.
            unsafe { _mm512_mask_storeu_epi64(part.as_mut_ptr().cast(), mask, values) };
            src = src.get(width..).unwrap_or_default();
        }
    }

    /// A mask of the first `count` of sixteen lanes.
    #[inline]
    pub(crate) fn first_16(count: usize) -> __mmask16 {
        _bzhi_u32(0xffff, count as u32) as __mmask16
    }

    /// A mask of the first `count` of eight lanes.
    #[inline]
    pub(crate) fn first_8(count: usize) -> __mmask8 {
        _bzhi_u32(0xff, count as u32) as __mmask8
    }

    /// `width` is at most 8.
    pub(crate) fn unpack_u8(src: &[u8], width: u32, out: &mut [u8]) {
        let lanes = lanes_8(width as usize);
        let width = width as usize;
        let blocks = groups_within(src.len(), 8 * width, 8 * width, out.len() / 64);
        let (whole, rest) = out.split_at_mut(blocks * 64);
        let mut at = src.as_ptr();
        for block in whole.as_chunks_mut::<64>().0 {
            // SAFETY: the source has the bytes of all these blocks.
            let bytes = unsafe { _mm512_maskz_loadu_epi8(lanes.loaded, at.cast()) };
            let values = unpack_64(&lanes, bytes);
            // SAFETY: the block is 64 bytes.
            unsafe { _mm512_storeu_si512(block.as_mut_ptr().cast(), values) };
            at = at.wrapping_add(8 * width);
        }
        let mut src = src.get(blocks * 8 * width..).unwrap_or_default();
        for part in rest.chunks_mut(64) {
            let values = unpack_64(&lanes, load_some(src));
            let mask = _bzhi_u64(u64::MAX, part.len() as u32);
            // SAFETY: the mask has as many bytes as the part.
            unsafe { _mm512_mask_storeu_epi8(part.as_mut_ptr().cast(), mask, values) };
            src = src.get(8 * width..).unwrap_or_default();
        }
    }

    /// `width` is at most 8.
    #[inline]
    pub(crate) fn lanes_8(width: usize) -> Unpack8 {
        // Bit offsets 0, w, 2w … 7w in every 64-bit lane.
        let shifts = _mm512_set1_epi64((0x0706_0504_0302_0100 * width as u64).cast_signed());
        Unpack8 {
            loaded: _bzhi_u64(u64::MAX, 8 * width as u32),
            index: load_table(&LANES64[width * 8].index),
            shifts,
            mask: _mm512_set1_epi8(_bzhi_u32(0xff, width as u32) as i8),
        }
    }

    /// Unpacks 64 values from eight widths of bytes.
    #[inline]
    pub(crate) fn unpack_64(lanes: &Unpack8, bytes: __m512i) -> __m512i {
        let eights = _mm512_permutexvar_epi8(lanes.index, bytes);
        _mm512_and_si512(_mm512_multishift_epi64_epi8(lanes.shifts, eights), lanes.mask)
    }
}

/// The lane constants of a width, in registers, for output bytes.
#[derive(Clone, Copy)]
pub(crate) struct Unpack8 {
    /// A mask of the bytes of 64 values.
    loaded: __mmask64,
    index: __m512i,
    shifts: __m512i,
    mask: __m512i,
}

//! Bit-packed indices are unpacked to a register like [`bitpack`](crate::bitpack) does, and looked up from there.
//!
//! Up to 256 entries of four bytes are kept in registers, as four planes: the first bytes of all, the second ones, and
//! so on. 64 indices are bytes, by which a permute chooses among 64 bytes of a plane, and masks of their upper two bits
//! choose among the permutes:
//!
//! ```text
//! indices, bytes of each lane    0 1 2 3 | 16 … 19 | 32 … 35 | 48 … 51     (the next lanes: 4 … 7 | 20 … , and so on)
//! planes a, b, c, d              a0 a1 a2 a3 | a16 …       b0 b1 b2 b3 | b16 …       …
//! bytes interleaved              a0 b0 a1 b1 …  and  c0 d0 c1 d1 …         then a0 b0 c0 d0  a1 b1 c1 d1 …
//! ```
//!
//! Their order is such that interleaving within lanes of 16 bytes, twice, gives entries in order. More entries, and
//! entries of eight bytes, are gathered: sixteen indices in 32-bit lanes, clamped to the last entry's.
//!
//! Neither leaves the dictionary, so the largest index is recorded and checked after each run.
//!
//! Tried and rejected: gathers of eight (1.05 times the time), loads by indices on the stack (1.15), alternating
//! gathers and loads (1.4).
#![expect(unsafe_code, reason = "gathers whose indices are in range, and vector loads and stores")]

use std::arch::x86_64::*;

use super::scalar;
use crate::bitpack::avx512::{first_8, first_16, lanes_32, load_some, unpack_16};
use crate::bitpack::lanes::{NARROW32, groups_within};
use crate::gather::judge;
use crate::rle::Decoder;
use crate::tier::avx512;
use crate::{KernelError, byte_stream_split};

/// The number of entries that a permute chooses among.
const PART: usize = 64;
/// The number of entries in planes.
const MOST: usize = 4 * PART;
/// The minimum number of indices for which filling planes pays.
const MIN_COUNT: usize = 1024;

/// Bytes of up to [`MOST`] entries, by their position in an entry.
type Planes = [[[u8; PART]; 4]; 4];

/// The unpacking of 64 values of a width to bytes, in the order that interleaving undoes.
#[repr(C, align(64))]
struct Lanes {
    /// The four bytes that contain the four values.
    index: [u8; 64],
    /// The bits at which values begin in each eight bytes.
    shifts: [u8; 64],
}

/// The lane constants of a width, in registers.
struct Unpack {
    index: __m512i,
    shifts: __m512i,
    mask: __m512i,
}

/// The value of each byte.
static ORDER: [u8; 64] = {
    let mut order = [0; 64];
    let mut at = 0;
    while at < 64 {
        order[at] = (at / 4 % 4 * 16 + at / 16 * 4 + at % 4) as u8;
        at += 1;
    }
    order
};

/// By width, 0 to 8.
static LANES: [Lanes; 9] = {
    let mut table = [const { Lanes { index: [0; 64], shifts: [0; 64] } }; 9];
    let mut width = 0;
    while width <= 8 {
        let mut at = 0;
        while at < 64 {
            // Four values begin at bit 0 or 4 of a byte, so they are in four bytes.
            let bit = ORDER[at / 4 * 4] as usize * width;
            table[width].index[at] = (bit / 8 + at % 4) as u8;
            table[width].shifts[at] = (at % 8 / 4 * 32 + bit % 8 + at % 4 * width) as u8;
            at += 1;
        }
        width += 1;
    }
    table
};

avx512! {
    pub(super) fn decode_entries_u32(
        decoder: &mut Decoder,
        src: &[u8],
        dict: &[u32],
        out: &mut [u32],
    ) -> Result<usize, KernelError> {
        let width = decoder.width() as usize;
        if last_index(dict.len()).is_none() {
            return scalar::decode_entries_u32(decoder, src, dict, out);
        }
        let unfit = |decoder: &mut Decoder, out: &mut [u32]| scalar::decode_entries_u32(decoder, src, dict, out);
        if width <= 8 && out.len() >= MIN_COUNT {
            let reached = dict.len().min(1 << width);
            let planes = planes(&dict[..reached])?;
            if reached <= PART {
                let packed = |src: &[u8], out: &mut [u32]| look_up::<1>(&planes, dict.len(), src, width, out);
                decoder.decode_entries_with(src, dict, out, packed, unfit)
            } else if reached <= 2 * PART {
                let packed = |src: &[u8], out: &mut [u32]| look_up::<2>(&planes, dict.len(), src, width, out);
                decoder.decode_entries_with(src, dict, out, packed, unfit)
            } else {
                let packed = |src: &[u8], out: &mut [u32]| look_up::<4>(&planes, dict.len(), src, width, out);
                decoder.decode_entries_with(src, dict, out, packed, unfit)
            }
        } else if width <= NARROW32 {
            let packed = |src: &[u8], out: &mut [u32]| gather_u32::<false>(dict, src, width, out);
            decoder.decode_entries_with(src, dict, out, packed, unfit)
        } else {
            let packed = |src: &[u8], out: &mut [u32]| gather_u32::<true>(dict, src, width, out);
            decoder.decode_entries_with(src, dict, out, packed, unfit)
        }
    }

    pub(super) fn decode_entries_u64(
        decoder: &mut Decoder,
        src: &[u8],
        dict: &[u64],
        out: &mut [u64],
    ) -> Result<usize, KernelError> {
        let width = decoder.width() as usize;
        if last_index(dict.len()).is_none() {
            return scalar::decode_entries_u64(decoder, src, dict, out);
        }
        let unfit = |decoder: &mut Decoder, out: &mut [u64]| scalar::decode_entries_u64(decoder, src, dict, out);
        if width <= NARROW32 {
            let packed = |src: &[u8], out: &mut [u64]| gather_u64::<false>(dict, src, width, out);
            decoder.decode_entries_with(src, dict, out, packed, unfit)
        } else {
            let packed = |src: &[u8], out: &mut [u64]| gather_u64::<true>(dict, src, width, out);
            decoder.decode_entries_with(src, dict, out, packed, unfit)
        }
    }

    /// Looks up values of a width up to 8 in `PARTS` parts of each plane; `len` is the dictionary's. The planes have
    /// all entries that values of the width reach.
    #[inline]
    fn look_up<const PARTS: usize>(
        planes: &Planes,
        len: usize,
        src: &[u8],
        width: usize,
        out: &mut [u32],
    ) -> Result<(), KernelError> {
        let mut tables = [[_mm512_setzero_si512(); 4]; 4];
        for (table, plane) in tables.as_flattened_mut().iter_mut().zip(planes.as_flattened()) {
            *table = load(plane);
        }
        let lanes = Unpack { index: load(&LANES[width].index), shifts: load(&LANES[width].shifts), mask: _mm512_set1_epi8(_bzhi_u32(0xff, width as u32) as i8) };
        let blocks = groups_within(src.len(), 8 * width, 64, out.len() / 64);
        let (whole, rest) = out.split_at_mut(blocks * 64);
        let mut at = src.as_ptr();
        let mut max = _mm512_setzero_si512();
        for block in whole.as_chunks_mut::<64>().0 {
            // SAFETY: the source has 64 bytes from the first of each of these blocks on.
            let indices = unpack(&lanes, unsafe { _mm512_loadu_si512(at.cast()) });
            max = _mm512_max_epu8(max, indices);
            for (entries, out) in look_up_entries::<PARTS>(&tables, indices).into_iter().zip(block.as_chunks_mut().0) {
                store(out, entries);
            }
            at = at.wrapping_add(8 * width);
        }
        let mut src = src.get(blocks * 8 * width..).unwrap_or_default();
        for part in rest.chunks_mut(64) {
            // Another run follows the part.
            let meant = _mm512_cmplt_epu8_mask(load(&ORDER), _mm512_set1_epi8(part.len() as i8));
            let indices = _mm512_maskz_mov_epi8(meant, unpack(&lanes, load_some(src)));
            max = _mm512_max_epu8(max, indices);
            for (entries, out) in look_up_entries::<PARTS>(&tables, indices).into_iter().zip(part.chunks_mut(16)) {
                store_some(out, entries);
            }
            src = src.get(8 * width..).unwrap_or_default();
        }
        let mut largest = [0_u8; 64];
        // SAFETY: the array is 64 writable bytes, and this store takes any alignment.
        unsafe { _mm512_storeu_si512(largest.as_mut_ptr().cast(), max) };
        judge(largest.into_iter().fold(0, u8::max).into(), len)
    }

    /// 64 values in [`ORDER`].
    #[inline]
    fn unpack(lanes: &Unpack, bytes: __m512i) -> __m512i {
        let eights = _mm512_permutexvar_epi8(lanes.index, bytes);
        _mm512_and_si512(_mm512_multishift_epi64_epi8(lanes.shifts, eights), lanes.mask)
    }

    /// The entries of 64 indices, in order, from tables of their first, second, third and fourth bytes.
    #[inline]
    fn look_up_entries<const PARTS: usize>(tables: &[[__m512i; 4]; 4], indices: __m512i) -> [__m512i; 4] {
        let odd = if PARTS > 1 { _mm512_movepi8_mask(_mm512_slli_epi16::<1>(indices)) } else { 0 };
        let upper = if PARTS > 2 { _mm512_movepi8_mask(indices) } else { 0 };
        let mut bytes = [_mm512_setzero_si512(); 4];
        for (bytes, table) in bytes.iter_mut().zip(tables) {
            *bytes = _mm512_permutexvar_epi8(indices, table[0]);
            if PARTS > 1 {
                *bytes = _mm512_mask_permutexvar_epi8(*bytes, odd, indices, table[1]);
            }
            if PARTS > 2 {
                *bytes = _mm512_mask_permutexvar_epi8(*bytes, upper, indices, table[2]);
                *bytes = _mm512_mask_permutexvar_epi8(*bytes, odd & upper, indices, table[3]);
            }
        }
        let [a, b, c, d] = bytes;
        let [ab, ab_beyond] = [_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b)];
        let [cd, cd_beyond] = [_mm512_unpacklo_epi8(c, d), _mm512_unpackhi_epi8(c, d)];
        [
            _mm512_unpacklo_epi16(ab, cd),
            _mm512_unpackhi_epi16(ab, cd),
            _mm512_unpacklo_epi16(ab_beyond, cd_beyond),
            _mm512_unpackhi_epi16(ab_beyond, cd_beyond),
        ]
    }

    /// Loads up to [`MOST`] entries, by the position of their bytes.
    fn planes(dict: &[u32]) -> Result<Planes, KernelError> {
        let mut planes = [[[0; PART]; 4]; 4];
        // SAFETY: this many bytes are readable there, and any are valid.
        let bytes = unsafe { std::slice::from_raw_parts(dict.as_ptr().cast::<u8>(), size_of_val(dict)) };
        byte_stream_split::encode(bytes, MOST, 4, 0, planes.as_flattened_mut().as_flattened_mut())?;
        Ok(planes)
    }

    /// The dictionary has a [`last_index`].
    #[inline]
    fn gather_u32<const WIDE: bool>(
        dict: &[u32],
        src: &[u8],
        width: usize,
        out: &mut [u32],
    ) -> Result<(), KernelError> {
        let Some(last) = last_index(dict.len()) else { return judge(0, dict.len()) };
        let (lanes, last) = (lanes_32(width), _mm512_set1_epi32(last));
        let blocks = groups_within(src.len(), 2 * width, 64, out.len() / 16);
        let (whole, rest) = out.split_at_mut(blocks * 16);
        let mut at = src.as_ptr();
        let mut max = _mm512_setzero_si512();
        for block in whole.as_chunks_mut::<16>().0 {
            // SAFETY: the source has 64 bytes from the first of each of these blocks on.
            let bytes = unsafe { _mm512_loadu_si512(at.cast()) };
            let index = unpack_16::<WIDE>(&lanes, bytes);
            max = _mm512_max_epu32(max, index);
            let index = _mm512_min_epu32(index, last);
            // SAFETY: no index exceeds the last entry's.
            store(block, unsafe { _mm512_i32gather_epi32::<4>(index, dict.as_ptr().cast()) });
            at = at.wrapping_add(2 * width);
        }
        let mut src = src.get(blocks * 2 * width..).unwrap_or_default();
        for part in rest.chunks_mut(16) {
            // Another run follows the part.
            let index = _mm512_maskz_mov_epi32(first_16(part.len()), unpack_16::<WIDE>(&lanes, load_some(src)));
            max = _mm512_max_epu32(max, index);
            let index = _mm512_min_epu32(index, last);
            // SAFETY: as above.
            store_some(part, unsafe { _mm512_i32gather_epi32::<4>(index, dict.as_ptr().cast()) });
            src = src.get(2 * width..).unwrap_or_default();
        }
        judge(_mm512_reduce_max_epu32(max), dict.len())
    }

    /// The dictionary has a [`last_index`].
    #[inline]
    fn gather_u64<const WIDE: bool>(
        dict: &[u64],
        src: &[u8],
        width: usize,
        out: &mut [u64],
    ) -> Result<(), KernelError> {
        let Some(last) = last_index(dict.len()) else { return judge(0, dict.len()) };
        let (lanes, last) = (lanes_32(width), _mm512_set1_epi32(last));
        let blocks = groups_within(src.len(), 2 * width, 64, out.len() / 16);
        let (whole, rest) = out.split_at_mut(blocks * 16);
        let mut at = src.as_ptr();
        let mut max = _mm512_setzero_si512();
        for block in whole.as_chunks_mut::<16>().0 {
            // SAFETY: the source has 64 bytes from the first of each of these blocks on.
            let bytes = unsafe { _mm512_loadu_si512(at.cast()) };
            let index = unpack_16::<WIDE>(&lanes, bytes);
            max = _mm512_max_epu32(max, index);
            for (index, out) in halves(_mm512_min_epu32(index, last)).into_iter().zip(block.as_chunks_mut().0) {
                // SAFETY: no index exceeds the last entry's.
                store_u64(out, unsafe { _mm512_i32gather_epi64::<8>(index, dict.as_ptr().cast()) });
            }
            at = at.wrapping_add(2 * width);
        }
        let mut src = src.get(blocks * 2 * width..).unwrap_or_default();
        for part in rest.chunks_mut(16) {
            // Another run follows the part.
            let index = _mm512_maskz_mov_epi32(first_16(part.len()), unpack_16::<WIDE>(&lanes, load_some(src)));
            max = _mm512_max_epu32(max, index);
            for (index, out) in halves(_mm512_min_epu32(index, last)).into_iter().zip(part.chunks_mut(8)) {
                // SAFETY: as above.
                store_some_u64(out, unsafe { _mm512_i32gather_epi64::<8>(index, dict.as_ptr().cast()) });
            }
            src = src.get(2 * width..).unwrap_or_default();
        }
        judge(_mm512_reduce_max_epu32(max), dict.len())
    }

    #[inline]
    fn halves(vector: __m512i) -> [__m256i; 2] {
        [_mm512_castsi512_si256(vector), _mm512_extracti64x4_epi64::<1>(vector)]
    }

    #[inline]
    fn load(from: &[u8; 64]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline]
    fn store(to: &mut [u32; 16], value: __m512i) {
        // SAFETY: the reference is to 64 writable bytes, and this store takes any alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
    }

    /// All remaining lanes, up to sixteen.
    #[inline]
    fn store_some(to: &mut [u32], value: __m512i) {
        let mask = first_16(to.len());
        // SAFETY: the mask has no more lanes than the slice.
        unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr().cast(), mask, value) }
    }

    #[inline]
    fn store_u64(to: &mut [u64; 8], value: __m512i) {
        // SAFETY: the reference is to 64 writable bytes, and this store takes any alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
    }

    /// All remaining lanes, up to eight.
    #[inline]
    fn store_some_u64(to: &mut [u64], value: __m512i) {
        let mask = first_8(to.len());
        // SAFETY: the mask has no more lanes than the slice.
        unsafe { _mm512_mask_storeu_epi64(to.as_mut_ptr().cast(), mask, value) }
    }
}

/// The last entry's index, unless there is none or it exceeds the positive range of gathers.
fn last_index(len: usize) -> Option<i32> {
    i32::try_from(len.checked_sub(1)?).ok()
}

//! Unpacking with 256-bit registers: a byte shuffle brings each value's bytes into its lane, a shift by lanes brings
//! its first bit to the lane's first, a mask clears the bits of the next value.
//!
//! Width 11 to 32-bit lanes; a group of eight values is 11 bytes, its upper half begins within byte 5:
//!
//! ```text
//! two 16-byte loads   bytes 0…15                           | bytes 5…20
//! shuffle             0–3      1–4      2–5      4–7       | 0–3      1–4      3–6      4–7     (of its load)
//! shift right         0        3        6        1         | 4        7        2        5
//! value               0        1        2        3         | 4        5        6        7
//! ```
//!
//! A 32-bit lane holds the bytes of up to 25 bits at any shift. Wider values take the bytes from one further on as
//! well, shifted left into place: two more loads through the same shuffle. 64-bit lanes work alike up to 57 bits and
//! above. For output bytes, 16-bit lanes suffice (two bytes hold 8 bits at any shift); their shift by lanes is a
//! multiplication, because AVX2 has no such shift for 16 bits.
//!
//! Cost per eight values: 32-bit lanes 6 instructions (width ≤ 25) or 11; 64-bit lanes 12 or 22; bytes 3. The width is
//! data, not code: no jump depends on the width, so none is mispredicted when widths change at every miniblock.
//!
//! Tried and rejected: `pdep` to bytes (as fast here, 18 cycles an instruction on processors before Zen 3).
#![expect(unsafe_code, reason = "loads and stores through pointers")]

use std::arch::x86_64::*;

use super::lanes::{LANES8, LANES32, LANES64, Lanes64, NARROW32, NARROW64, WINDOW32, WINDOW64, groups_within};
use super::scalar;
use crate::tier::avx2;

/// The lane constants of a width, in registers.
#[derive(Clone, Copy)]
pub(crate) struct Unpack32 {
    width: usize,
    shuffle: __m256i,
    shift: __m256i,
    shift_back: __m256i,
    mask: __m256i,
}

impl Unpack64 {
    /// The width in bits, which is a group's length in bytes.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.width
    }
}

impl Unpack32 {
    /// The width in bits, which is a group's length in bytes.
    #[inline(always)]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The bits of a value.
    #[inline(always)]
    pub(crate) fn mask(&self) -> __m256i {
        self.mask
    }

    /// These constants with another mask.
    #[inline(always)]
    pub(crate) fn masked(self, mask: __m256i) -> Self {
        Self { mask, ..self }
    }
}

/// The lane constants of a width for two times four values from two addresses, by whether the four are a group's first
/// or last.
#[derive(Clone, Copy)]
pub(crate) struct Fours32 {
    shuffle: [__m256i; 2],
    shift: [__m256i; 2],
    shift_back: [__m256i; 2],
    mask: __m256i,
}

/// The lane constants of a width, in registers.
#[derive(Clone, Copy)]
pub(crate) struct Unpack64 {
    width: usize,
    shuffle: [__m256i; 2],
    shift: [__m256i; 2],
    shift_back: [__m256i; 2],
    mask: __m256i,
}

/// The lane constants of a width, in registers.
#[derive(Clone, Copy)]
pub(crate) struct Unpack8 {
    width: usize,
    shuffle: __m256i,
    raise: __m256i,
    lower: __m128i,
}

avx2! {
    /// 32 bytes of a table.
    #[inline]
    fn load_table<T, const N: usize>(table: &[T; N]) -> __m256i {
        const { assert!(size_of::<[T; N]>() == 32) };
        // SAFETY: the array is 32 bytes, by the assertion, of plain numbers.
        unsafe { _mm256_loadu_si256(table.as_ptr().cast()) }
    }

    /// Loads 16 bytes from `low` and 16 from `high`.
    ///
    /// # Safety
    /// Both have 16 readable bytes.
    #[inline]
    pub(crate) unsafe fn load_halves(low: *const u8, high: *const u8) -> __m256i {
        // SAFETY: the caller guarantees this.
        let low = unsafe { _mm_loadu_si128(low.cast()) };
        // SAFETY: the caller guarantees this.
        let high = unsafe { _mm_loadu_si128(high.cast()) };
        _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
    }

    /// `width` is at most 32.
    #[inline]
    pub(crate) fn lanes_32(width: usize) -> Unpack32 {
        let lanes = &LANES32[width];
        Unpack32 {
            width,
            shuffle: load_table(&lanes.shuffle),
            shift: load_table(&lanes.shift),
            shift_back: load_table(&lanes.shift_back),
            mask: load_table(&lanes.mask),
        }
    }

    /// Unpacks the eight values from `src` on; `WIDE` for widths over [`NARROW32`].
    ///
    /// # Safety
    /// `src` has [`WINDOW32`] readable bytes.
    #[inline]
    pub(crate) unsafe fn unpack_group_32<const WIDE: bool>(lanes: &Unpack32, src: *const u8) -> __m256i {
        // SAFETY: half a width is at most 16, and 16 + 16 bytes are within the window.
        let high = unsafe { src.add(lanes.width / 2) };
        // SAFETY: as above.
        let bytes = unsafe { load_halves(src, high) };
        let mut values = _mm256_srlv_epi32(_mm256_shuffle_epi8(bytes, lanes.shuffle), lanes.shift);
        if WIDE {
            // SAFETY: a byte further on, 1 + 16 + 16 bytes are the window.
            let next = unsafe { src.add(1) };
            // SAFETY: as above.
            let high = unsafe { high.add(1) };
            // SAFETY: as above.
            let bytes = unsafe { load_halves(next, high) };
            let back = _mm256_sllv_epi32(_mm256_shuffle_epi8(bytes, lanes.shuffle), lanes.shift_back);
            values = _mm256_or_si256(values, back);
        }
        _mm256_and_si256(values, lanes.mask)
    }

    /// Loads half of a table into both halves of a register.
    #[inline]
    fn load_half_twice<T, const N: usize>(table: &[T; N], half: usize) -> __m256i {
        const { assert!(size_of::<[T; N]>() == 32) };
        let half = &table[half * (N / 2)..][..N / 2];
        // SAFETY: half of the array's 32 bytes, by the assertion, of plain numbers.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(half.as_ptr().cast()) })
    }

    /// `width` is at most 32.
    #[inline]
    pub(crate) fn fours_32(width: usize) -> Fours32 {
        let lanes = &LANES32[width];
        Fours32 {
            shuffle: [load_half_twice(&lanes.shuffle, 0), load_half_twice(&lanes.shuffle, 1)],
            shift: [load_half_twice(&lanes.shift, 0), load_half_twice(&lanes.shift, 1)],
            shift_back: [load_half_twice(&lanes.shift_back, 0), load_half_twice(&lanes.shift_back, 1)],
            mask: load_table(&lanes.mask),
        }
    }

    /// Unpacks four values from the byte `low` on and four from `high` on, which are the first of their groups (`half`
    /// 0) or the last (1); `WIDE` for widths over [`NARROW32`].
    ///
    /// # Safety
    /// Both have 17 readable bytes.
    #[inline]
    pub(crate) unsafe fn unpack_fours_32<const WIDE: bool>(
        fours: &Fours32,
        half: usize,
        low: *const u8,
        high: *const u8,
    ) -> __m256i {
        // SAFETY: the caller guarantees this.
        let bytes = unsafe { load_halves(low, high) };
        let mut values = _mm256_srlv_epi32(_mm256_shuffle_epi8(bytes, fours.shuffle[half]), fours.shift[half]);
        if WIDE {
            // SAFETY: a byte further on, 16 of the caller's 17 bytes.
            let bytes = unsafe { load_halves(low.wrapping_add(1), high.wrapping_add(1)) };
            let back = _mm256_sllv_epi32(_mm256_shuffle_epi8(bytes, fours.shuffle[half]), fours.shift_back[half]);
            values = _mm256_or_si256(values, back);
        }
        _mm256_and_si256(values, fours.mask)
    }

    /// `width` is at most 64.
    #[inline]
    pub(crate) fn lanes_64(width: usize) -> Unpack64 {
        let Lanes64 { halves: [first, second], mask } = &LANES64[width];
        Unpack64 {
            width,
            shuffle: [load_table(&first.shuffle), load_table(&second.shuffle)],
            shift: [load_table(&first.shift), load_table(&second.shift)],
            shift_back: [load_table(&first.shift_back), load_table(&second.shift_back)],
            mask: load_table(mask),
        }
    }

    /// Unpacks values 0 to 3 (`HALF` 0) or 4 to 7 (`HALF` 1) of the group from `src` on; `WIDE` for widths over
    /// [`NARROW64`].
    ///
    /// # Safety
    /// `src` has [`WINDOW64`] readable bytes.
    #[inline]
    pub(crate) unsafe fn unpack_half_64<const HALF: usize, const WIDE: bool>(lanes: &Unpack64, src: *const u8) -> __m256i {
        // SAFETY: pair 2 begins at four eighths of 8 × width bits: at most byte 32.
        let low = unsafe { src.add(HALF * lanes.width / 2) };
        // SAFETY: pairs 1 and 3 begin at two and six eighths, at most byte 48; 48 + 16 bytes are in the window.
        let high = unsafe { src.add((2 * HALF + 1) * lanes.width / 4) };
        // SAFETY: as above.
        let bytes = unsafe { load_halves(low, high) };
        let mut values = _mm256_srlv_epi64(_mm256_shuffle_epi8(bytes, lanes.shuffle[HALF]), lanes.shift[HALF]);
        if WIDE {
            // SAFETY: a byte further on, 1 + 48 + 16 bytes are the window.
            let low = unsafe { low.add(1) };
            // SAFETY: as above.
            let high = unsafe { high.add(1) };
            // SAFETY: as above.
            let bytes = unsafe { load_halves(low, high) };
            let back = _mm256_sllv_epi64(_mm256_shuffle_epi8(bytes, lanes.shuffle[HALF]), lanes.shift_back[HALF]);
            values = _mm256_or_si256(values, back);
        }
        _mm256_and_si256(values, lanes.mask)
    }

    /// `width` is 1 to 8.
    #[inline]
    pub(crate) fn lanes_8(width: usize) -> Unpack8 {
        let lanes = &LANES8[width];
        Unpack8 {
            width,
            shuffle: load_table(&lanes.shuffle),
            raise: load_table(&lanes.raise),
            lower: _mm_cvtsi32_si128(16 - width as i32),
        }
    }

    /// Unpacks the 32 values from `src` on.
    ///
    /// # Safety
    /// There are 16 readable bytes three widths after `src`.
    #[inline]
    pub(crate) unsafe fn unpack_block_8(lanes: &Unpack8, src: *const u8) -> __m256i {
        let group = |index: usize| src.wrapping_add(index * lanes.width);
        // Groups 0 and 2, and 1 and 3, so that packing within 128-bit lanes leaves them in order. SAFETY: the caller
        // guarantees the bytes: neither group is beyond the last one.
        let even = unsafe { load_halves(group(0), group(2)) };
        // SAFETY: as above.
        let odd = unsafe { load_halves(group(1), group(3)) };
        let even = _mm256_mullo_epi16(_mm256_shuffle_epi8(even, lanes.shuffle), lanes.raise);
        let odd = _mm256_mullo_epi16(_mm256_shuffle_epi8(odd, lanes.shuffle), lanes.raise);
        _mm256_packus_epi16(_mm256_srl_epi16(even, lanes.lower), _mm256_srl_epi16(odd, lanes.lower))
    }

    /// `width` is at most 32.
    #[inline]
    pub(crate) fn unpack_u32(src: &[u8], width: u32, out: &mut [u32]) {
        if width == 8 {
            return scalar::widen_u8(src, out);
        }
        let width = width as usize;
        let done = if width <= NARROW32 {
            unpack_groups_u32::<false>(src, width, out)
        } else {
            unpack_groups_u32::<true>(src, width, out)
        };
        if done < out.len() {
            let src = src.get(done / 8 * width..).unwrap_or_default();
            scalar::unpack_u32(src, width as u32, &mut out[done..]);
        }
    }

    /// Unpacks the whole groups whose window is in `src`; returns the number of values.
    #[inline]
    fn unpack_groups_u32<const WIDE: bool>(src: &[u8], width: usize, out: &mut [u32]) -> usize {
        let groups = groups_within(src.len(), width, WINDOW32, out.len() / 8);
        let lanes = lanes_32(width);
        let mut at = src.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            // SAFETY: `groups_within` counted the groups with a window of bytes left.
            let values = unsafe { unpack_group_32::<WIDE>(&lanes, at) };
            // SAFETY: the group is eight values long.
            unsafe { _mm256_storeu_si256(group.as_mut_ptr().cast(), values) };
            // A group's window is longer than the group, so the next one begins within the slice or at its end.
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    /// `width` is at most 64.
    pub(crate) fn unpack_u64(src: &[u8], width: u32, out: &mut [u64]) {
        let width = width as usize;
        let done = if width <= NARROW64 {
            unpack_groups_u64::<false>(src, width, out)
        } else {
            unpack_groups_u64::<true>(src, width, out)
        };
        if done < out.len() {
            let src = src.get(done / 8 * width..).unwrap_or_default();
            scalar::unpack_u64(src, width as u32, &mut out[done..]);
        }
    }

    /// Unpacks the whole groups whose window is in `src`; returns the number of values.
    #[inline]
    fn unpack_groups_u64<const WIDE: bool>(src: &[u8], width: usize, out: &mut [u64]) -> usize {
        let groups = groups_within(src.len(), width, WINDOW64, out.len() / 8);
        let lanes = lanes_64(width);
        let mut at = src.as_ptr();
        for group in out.as_chunks_mut::<8>().0.iter_mut().take(groups) {
            let (first, second) = group.split_at_mut(4);
            // SAFETY: `groups_within` counted the groups with a window of bytes left.
            let values = unsafe { unpack_half_64::<0, WIDE>(&lanes, at) };
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_si256(first.as_mut_ptr().cast(), values) };
            // SAFETY: as above.
            let values = unsafe { unpack_half_64::<1, WIDE>(&lanes, at) };
            // SAFETY: the half is four values long.
            unsafe { _mm256_storeu_si256(second.as_mut_ptr().cast(), values) };
            at = at.wrapping_add(width);
        }
        groups * 8
    }

    /// `width` is at most 8.
    pub(crate) fn unpack_u8(src: &[u8], width: u32, out: &mut [u8]) {
        // For width 8 too: copying a page by `rep movsb` is ten times slower at unlucky distances.
        let done = if width == 0 { 0 } else { unpack_blocks_u8(src, width as usize, out) };
        let src = src.get(done / 8 * width as usize..).unwrap_or_default();
        scalar::unpack_u8(src, width, &mut out[done..]);
    }

    /// Unpacks blocks of 32 values, four groups, while 16 bytes can be read from the last group's first on. Returns the
    /// number of values.
    #[inline]
    fn unpack_blocks_u8(src: &[u8], width: usize, out: &mut [u8]) -> usize {
        let blocks = groups_within(src.len(), 4 * width, 3 * width + 16, out.len() / 32);
        let lanes = lanes_8(width);
        let mut at = src.as_ptr();
        for block in out.as_chunks_mut::<32>().0.iter_mut().take(blocks) {
            // SAFETY: `groups_within` counted the blocks with 16 bytes from their last group on.
            let values = unsafe { unpack_block_8(&lanes, at) };
            // SAFETY: the block is 32 bytes.
            unsafe { _mm256_storeu_si256(block.as_mut_ptr().cast(), values) };
            at = at.wrapping_add(4 * width);
        }
        blocks * 32
    }
}

//! Networks of byte unpacks: join streams `K / 2` apart, again and again, until whole values are contiguous.
//!
//! ```text
//! streams      a0 a1 … a31      b0 b1 …      c0 c1 …      d0 d1 …
//! first step   a0 c0 a1 c1 … a7 c7 │ a16 c16 … a23 c23    and b with d; each low and high
//! second step  a0 b0 c0 d0 … a3 b3 c3 d3 │ a16 b16 …      four registers of 2 × 4 values
//! by lanes     values 0–7, 16–23, 8–15, 24–31
//! ```
//!
//! Cost for 32 values: `K · log2 K` unpacks and `K` lane permutes, which for K = 8 is 16 bytes a cycle at two shuffles
//! a cycle: as fast as L2 reads and writes.
//!
//! Other widths take eight streams at a time and write eight bytes of a value at once.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm_setzero_si128, _mm_storel_epi64, _mm_unpackhi_epi8, _mm_unpackhi_epi64,
    _mm_unpacklo_epi8, _mm256_loadu_si256, _mm256_permute2x128_si256, _mm256_setzero_si256, _mm256_storeu_si256,
    _mm256_unpackhi_epi8, _mm256_unpacklo_epi8,
};

use super::scalar;
use crate::tier::avx2;

/// The number of values in one round of [`interleave`].
const BLOCK: usize = 32;

/// The number of values in one round of [`interleave_any`].
const ANY_BLOCK: usize = 16;

avx2! {
    /// `K` is 2, 4 or 8.
    #[inline]
    fn interleave_fixed<const K: usize>(streams: [&[u8]; K], out: &mut [u8]) {
        let count = out.len() / K;
        let blocks = count / BLOCK;
        let inputs = streams.map(|stream| &stream.as_chunks::<BLOCK>().0[..blocks]);
        for (i, block) in out.chunks_exact_mut(BLOCK * K).enumerate() {
            // A loop, because closures of this tier inline into `map` unreliably.
            let mut rows = [_mm256_setzero_si256(); K];
            for (row, input) in rows.iter_mut().zip(inputs) {
                // SAFETY: every input has `blocks` blocks, as many as `out`.
                *row = load(unsafe { input.get_unchecked(i) });
            }
            interleave_block(rows, block);
        }
        if blocks == 0 {
            scalar::interleave(streams, out);
        } else if !count.is_multiple_of(BLOCK) {
            // The last block overlaps the previous one: writing the same bytes again is cheaper than a loop over a few
            // values.
            let last = count - BLOCK;
            let mut rows = [_mm256_setzero_si256(); K];
            for (row, stream) in rows.iter_mut().zip(streams) {
                *row = load(&stream[last..].as_chunks().0[0]);
            }
            interleave_block(rows, &mut out[last * K..]);
        }
    }

    /// `block` has room for [`BLOCK`] values.
    #[inline]
    fn interleave_block<const K: usize>(mut rows: [__m256i; K], block: &mut [u8]) {
        let mut step = 1;
        while step < K {
            rows = unpack(rows);
            step *= 2;
        }
        let (lower, upper) = block.split_at_mut(BLOCK * K / 2);
        let halves = lower.as_chunks_mut().0.iter_mut().zip(upper.as_chunks_mut().0);
        for ((lower, upper), row) in halves.zip(rows.as_chunks::<2>().0) {
            store(lower, _mm256_permute2x128_si256::<0x20>(row[0], row[1]));
            store(upper, _mm256_permute2x128_si256::<0x31>(row[0], row[1]));
        }
    }

    pub(super) fn interleave_2(streams: [&[u8]; 2], out: &mut [u8]) {
        interleave_fixed(streams, out);
    }

    pub(super) fn interleave_4(streams: [&[u8]; 4], out: &mut [u8]) {
        interleave_fixed(streams, out);
    }

    pub(super) fn interleave_8(streams: [&[u8]; 8], out: &mut [u8]) {
        interleave_fixed(streams, out);
    }

    /// One step of the network: each of the first half with its partner in the second half.
    #[inline]
    fn unpack<const K: usize>(rows: [__m256i; K]) -> [__m256i; K] {
        let mut unpacked = rows;
        for i in 0..K / 2 {
            unpacked[2 * i] = _mm256_unpacklo_epi8(rows[i], rows[i + K / 2]);
            unpacked[2 * i + 1] = _mm256_unpackhi_epi8(rows[i], rows[i + K / 2]);
        }
        unpacked
    }

    #[inline]
    fn load(from: &[u8; 32]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline]
    fn store(to: &mut [u8; 32], value: __m256i) {
        // SAFETY: the reference is to 32 writable bytes, and this store takes any alignment.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), value) }
    }

    /// Widths under eight repeat their last stream to make eight; the extra bytes fall on the next value, which is
    /// written later. From eight on, the last group of streams overlaps the previous one.
    pub(super) fn interleave_any(src: &[u8], stride: usize, width: usize, first: usize, out: &mut [u8]) {
        let count = out.len() / width;
        // Eight values are left to the tail, so that even one-byte values leave room for the extra bytes.
        let blocks = count.saturating_sub(8) / ANY_BLOCK;
        assert!((width - 1) * stride + first + count <= src.len(), "the streams end behind the page");
        for block in 0..blocks {
            let at = block * ANY_BLOCK;
            let mut group = 0;
            loop {
                let mut rows = [_mm_setzero_si128(); 8];
                for (k, row) in rows.iter_mut().enumerate() {
                    let stream = (group + k).min(width - 1) * stride;
                    // SAFETY: the stream has `count` bytes from `first` on, as asserted, and these are 16 of them.
                    let from = unsafe { src.as_ptr().add(stream + first + at) };
                    // SAFETY: as above, and this load takes any alignment.
                    *row = unsafe { _mm_loadu_si128(from.cast()) };
                }
                let rows = unpack_half(unpack_half(unpack_half(rows)));
                for (i, row) in rows.into_iter().enumerate() {
                    for (j, value) in [row, _mm_unpackhi_epi64(row, row)].into_iter().enumerate() {
                        // SAFETY: eight bytes from byte `group` of a value end within the value, or within the seven
                        // bytes after it, and eight more values follow the block.
                        let to = unsafe { out.as_mut_ptr().add((at + 2 * i + j) * width + group) };
                        // SAFETY: as above, and this store takes any alignment.
                        unsafe { _mm_storel_epi64(to.cast(), value) }
                    }
                }
                if group + 8 >= width {
                    break;
                }
                group = (group + 8).min(width - 8);
            }
        }
        let done = blocks * ANY_BLOCK;
        scalar::interleave_any(src, stride, width, first + done, &mut out[done * width..]);
    }

    #[inline]
    fn unpack_half(rows: [__m128i; 8]) -> [__m128i; 8] {
        let mut unpacked = rows;
        for i in 0..4 {
            unpacked[2 * i] = _mm_unpacklo_epi8(rows[i], rows[i + 4]);
            unpacked[2 * i + 1] = _mm_unpackhi_epi8(rows[i], rows[i + 4]);
        }
        unpacked
    }
}

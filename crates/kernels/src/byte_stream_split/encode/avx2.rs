//! A byte shuffle makes the bytes of one stream contiguous in each lane; networks of unpacks then collect each stream's
//! pieces of 16 / K bytes from K registers.
//!
//! ```text
//! lane of 4 values    a0 b0 c0 d0 │ a1 b1 c1 d1 │ a2 b2 c2 d2 │ a3 b3 c3 d3
//! shuffled            a0 a1 a2 a3 │ b0 b1 b2 b3 │ c0 c1 c2 c3 │ d0 d1 d2 d3
//! four of them, 4 × 4 transposed in pieces of four bytes:  a0 … a15,  b0 … b15,  c0 … c15,  d0 … d15
//! ```
//!
//! The two lanes of a register are loaded 16 values apart, so that lanes result in 32 consecutive values. Cost for 32
//! values: K shuffles (for K = 8 twice as many) and `K · log2 K` unpacks.
//!
//! Other widths take eight bytes each of 16 values at a time, from a value's start, and at last up to its end.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadl_epi64, _mm_loadu_si128, _mm_setr_epi8, _mm_setzero_si128, _mm_storeu_si128,
    _mm_unpackhi_epi16, _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi8, _mm_unpacklo_epi16,
    _mm_unpacklo_epi32, _mm_unpacklo_epi64, _mm256_broadcastsi128_si256, _mm256_set_m128i, _mm256_shuffle_epi8,
    _mm256_storeu_si256, _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi16,
    _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};

use std::ops::Range;

use super::scalar;
use crate::tier::avx2;

/// The number of values in one round of [`deal`].
const BLOCK: usize = 32;

/// The number of values whose streams are all written, four at a time.
const PASS: usize = 4096;

/// The number of values in one round of [`deal_any`].
const ANY_BLOCK: usize = 16;

avx2! {
    pub(super) fn deal_2(values: &[u8], streams: [&mut [u8]; 2]) {
        let collect = |[x, y]: [__m256i; 2]| [_mm256_unpacklo_epi64(x, y), _mm256_unpackhi_epi64(x, y)];
        deal::<2, 2>(values, streams, 0, collect);
    }

    pub(super) fn deal_4(values: &[u8], streams: [&mut [u8]; 4]) {
        deal::<4, 4>(values, streams, 0, |[w, x, y, z]| collect_4(w, x, y, z));
    }

    pub(super) fn deal_8(values: &[u8], streams: [&mut [u8]; 8]) {
        let distance = streams[1].as_ptr().addr() - streams[0].as_ptr().addr();
        if (distance + 64) % 4096 > 128 {
            return deal::<8, 8>(values, streams, 0, |rows| {
                let [a, b, c, d] = collect_lower(rows);
                let [e, f, g, h] = collect_upper(rows);
                [a, b, c, d, e, f, g, h]
            });
        }
        // Lines of all eight streams would map to the same sets of L1: four at a time leave room for the values.
        let [a, b, c, d, e, f, g, h] = streams;
        let (mut lower, mut upper) = ([a, b, c, d], [e, f, g, h]);
        for (i, values) in values.chunks(8 * PASS).enumerate() {
            let range = i * PASS..i * PASS + values.len() / 8;
            deal::<8, 4>(values, part(&mut lower, range.clone()), 0, |rows| collect_lower(rows));
            deal::<8, 4>(values, part(&mut upper, range), 4, |rows| collect_upper(rows));
        }
    }

    #[inline]
    fn collect_lower([s, t, u, v, w, x, y, z]: [__m256i; 8]) -> [__m256i; 4] {
        let (st, uv) = (_mm256_unpacklo_epi16(s, t), _mm256_unpacklo_epi16(u, v));
        collect_4(st, uv, _mm256_unpacklo_epi16(w, x), _mm256_unpacklo_epi16(y, z))
    }

    #[inline]
    fn collect_upper([s, t, u, v, w, x, y, z]: [__m256i; 8]) -> [__m256i; 4] {
        let (st, uv) = (_mm256_unpackhi_epi16(s, t), _mm256_unpackhi_epi16(u, v));
        collect_4(st, uv, _mm256_unpackhi_epi16(w, x), _mm256_unpackhi_epi16(y, z))
    }

    /// Four streams from rows with four-byte pieces of each.
    #[inline]
    fn collect_4(w: __m256i, x: __m256i, y: __m256i, z: __m256i) -> [__m256i; 4] {
        let (lower_wx, lower_yz) = (_mm256_unpacklo_epi32(w, x), _mm256_unpacklo_epi32(y, z));
        let (upper_wx, upper_yz) = (_mm256_unpackhi_epi32(w, x), _mm256_unpackhi_epi32(y, z));
        [
            _mm256_unpacklo_epi64(lower_wx, lower_yz),
            _mm256_unpackhi_epi64(lower_wx, lower_yz),
            _mm256_unpacklo_epi64(upper_wx, upper_yz),
            _mm256_unpackhi_epi64(upper_wx, upper_yz),
        ]
    }

    /// `collect` makes `N` of `K` streams, from number `first` on, from rows; row `i` has the `i`-th pieces of all
    /// streams.
    #[inline]
    fn deal<const K: usize, const N: usize>(
        values: &[u8],
        streams: [&mut [u8]; N],
        first: usize,
        collect: impl Fn([__m256i; K]) -> [__m256i; N],
    ) {
        let count = values.len() / K;
        if count < BLOCK {
            return scalar::deal::<K, N>(values, streams, first);
        }
        let places = places(K);
        let mut at = 0;
        let starts = streams.map(|stream| {
            assert!(stream.len() == count, "a stream has a byte of each value");
            stream.as_mut_ptr()
        });
        loop {
            let block = &values[at * K..(at + BLOCK) * K];
            let (lower, upper) = block.split_at(BLOCK / 2 * K);
            // A loop, because closures of this tier inline into functions of arrays unreliably.
            let mut rows = [places; K];
            for ((row, lower), upper) in rows.iter_mut().zip(lower.as_chunks().0).zip(upper.as_chunks().0) {
                *row = _mm256_shuffle_epi8(_mm256_set_m128i(load(upper), load(lower)), places);
            }
            for (start, stream) in starts.into_iter().zip(collect(rows)) {
                // SAFETY: `at` is at least a block before the end of the stream.
                let to = unsafe { start.add(at) };
                // SAFETY: as above, and this store takes any alignment.
                unsafe { _mm256_storeu_si256(to.cast(), stream) }
            }
            if at + BLOCK == count {
                return;
            }
            // The last block overlaps the previous one: writing the same bytes again is cheaper than a loop over a few
            // values.
            at = (at + BLOCK).min(count - BLOCK);
        }
    }

    /// The shuffle that makes the bytes of one stream contiguous in each lane.
    #[inline]
    fn places(width: usize) -> __m256i {
        _mm256_broadcastsi128_si256(match width {
            2 => _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15),
            4 => _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
            _ => _mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15),
        })
    }

    #[inline]
    fn load(from: &[u8; 16]) -> __m128i {
        // SAFETY: the reference is to 16 readable bytes, and this load takes any alignment.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }

    /// Widths under eight load bytes of the next value too and drop them; from eight on, the last eight bytes overlap
    /// the ones before.
    pub(super) fn deal_any(values: &[u8], width: usize, out: &mut [u8], stride: usize, first: usize) {
        let count = values.len() / width;
        // Eight values are left to the tail, so that even one-byte values are followed by enough bytes.
        let blocks = count.saturating_sub(8) / ANY_BLOCK;
        assert!((width - 1) * stride + first + count <= out.len(), "the streams end behind the page");
        for block in 0..blocks {
            let at = block * ANY_BLOCK;
            let mut group = 0;
            loop {
                let mut pairs = [_mm_setzero_si128(); 8];
                for (i, pair) in pairs.iter_mut().enumerate() {
                    // SAFETY: eight bytes from byte `group` of a value end within the value, or within the seven bytes
                    // after it, and eight more values follow the block.
                    let one = unsafe { values.as_ptr().add((at + 2 * i) * width + group) };
                    // SAFETY: as above.
                    let other = unsafe { one.add(width) };
                    // SAFETY: as above, and this load takes any alignment.
                    let one = unsafe { _mm_loadl_epi64(one.cast()) };
                    // SAFETY: as above, and this load takes any alignment.
                    let other = unsafe { _mm_loadl_epi64(other.cast()) };
                    *pair = _mm_unpacklo_epi8(one, other);
                }
                for (k, stream) in collect_any(pairs).into_iter().enumerate().take(width) {
                    // SAFETY: the stream has `count` bytes from `first` on, as asserted, and these are 16 of them.
                    let to = unsafe { out.as_mut_ptr().add((group + k) * stride + first + at) };
                    // SAFETY: as above, and this store takes any alignment.
                    unsafe { _mm_storeu_si128(to.cast(), stream) }
                }
                if group + 8 >= width {
                    break;
                }
                group = (group + 8).min(width - 8);
            }
        }
        let done = blocks * ANY_BLOCK;
        scalar::deal_any(&values[done * width..], width, out, stride, first + done);
    }

    /// Streams from rows; row `i` has bytes of values `2 · i` and `2 · i + 1` in pairs.
    #[inline]
    fn collect_any(rows: [__m128i; 8]) -> [__m128i; 8] {
        let mut pairs = rows;
        for i in 0..4 {
            pairs[i] = _mm_unpacklo_epi16(rows[2 * i], rows[2 * i + 1]);
            pairs[i + 4] = _mm_unpackhi_epi16(rows[2 * i], rows[2 * i + 1]);
        }
        let mut quads = rows;
        for half in [0, 4] {
            for i in 0..2 {
                let (x, y) = (pairs[half + 2 * i], pairs[half + 2 * i + 1]);
                quads[half + i] = _mm_unpacklo_epi32(x, y);
                quads[half + i + 2] = _mm_unpackhi_epi32(x, y);
            }
        }
        let mut streams = rows;
        for i in 0..4 {
            streams[2 * i] = _mm_unpacklo_epi64(quads[2 * i], quads[2 * i + 1]);
            streams[2 * i + 1] = _mm_unpackhi_epi64(quads[2 * i], quads[2 * i + 1]);
        }
        streams
    }
}

/// A part of each stream.
fn part<'a>(streams: &'a mut [&mut [u8]; 4], range: Range<usize>) -> [&'a mut [u8]; 4] {
    streams.each_mut().map(|stream| &mut stream[range.clone()])
}

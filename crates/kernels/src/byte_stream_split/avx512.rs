//! Quarters of a register are filled with streams, and one `vpermb` moves all 64 bytes to their positions.
//!
//! ```text
//! K = 4   a0 … a15 │ b0 … b15 │ c0 … c15 │ d0 … d15   →   a0 b0 c0 d0 a1 b1 c1 d1 … d15
//! K = 2   a0 … a31            │ b0 … b31              →   a0 b0 a1 b1 … b31
//! K = 8   streams 0–3, and 4–7, each to quads of bytes as for K = 4, then quads of both unpacked
//! ```
//!
//! Filling takes loads that insert, which run in parallel with the permutes: for 64 bytes one `vpermb` with three of
//! them (K = 4) or two shuffles with three (K = 8), where networks of unpacks need four shuffles and six.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm256_loadu_si256, _mm512_castsi128_si512, _mm512_castsi256_si512,
    _mm512_inserti32x4, _mm512_inserti64x4, _mm512_loadu_si512, _mm512_permutexvar_epi8, _mm512_storeu_si512,
    _mm512_unpackhi_epi32, _mm512_unpacklo_epi32,
};

pub(super) use super::avx2::interleave_any;
use super::scalar;
use crate::tier::avx512;

/// Byte `j` of the result is byte `j / 2` of stream `j % 2`.
static PLACES_2: [u8; 64] = {
    let mut places = [0; 64];
    let mut j = 0;
    while j < 64 {
        places[j] = (j % 2 * 32 + j / 2) as u8;
        j += 1;
    }
    places
};

/// Byte `j` of the result is byte `j / 4` of stream `j % 4`.
static PLACES_4: [u8; 64] = {
    let mut places = [0; 64];
    let mut j = 0;
    while j < 64 {
        places[j] = (j % 4 * 16 + j / 4) as u8;
        j += 1;
    }
    places
};

/// Like [`PLACES_4`], with the quads of values 8–15 in the upper halves of lanes, where the last unpack reads them.
static PLACES_8: [u8; 64] = {
    let mut places = [0; 64];
    let mut j = 0;
    while j < 64 {
        let (lane, quad) = (j / 16, j / 4 % 4);
        let value = quad / 2 * 8 + lane * 2 + quad % 2;
        places[j] = (j % 4 * 16 + value) as u8;
        j += 1;
    }
    places
};

avx512! {
    pub(super) fn interleave_2(streams: [&[u8]; 2], out: &mut [u8]) {
        const BLOCK: usize = 32;
        let places = load(&PLACES_2);
        let count = out.len() / 2;
        let [a, b] = streams.map(|stream| stream[..count].as_chunks::<BLOCK>().0);
        for ((a, b), out) in a.iter().zip(b).zip(out.as_chunks_mut().0) {
            store(out, _mm512_permutexvar_epi8(places, halves(a, b)));
        }
        if count < BLOCK {
            scalar::interleave(streams, out);
        } else if let (Some(a), Some(b), Some(out)) =
            (streams[0].last_chunk(), streams[1].last_chunk(), out.last_chunk_mut())
        {
            store(out, _mm512_permutexvar_epi8(places, halves(a, b)));
        }
    }

    pub(super) fn interleave_4(streams: [&[u8]; 4], out: &mut [u8]) {
        const BLOCK: usize = 16;
        let places = load(&PLACES_4);
        let count = out.len() / 4;
        let inputs = streams.map(|stream| stream[..count].as_chunks::<BLOCK>().0);
        for (i, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
            // A loop, because closures of this tier inline into `map` unreliably.
            let mut rows = [&[0; BLOCK]; 4];
            for (row, input) in rows.iter_mut().zip(inputs) {
                // SAFETY: every input has as many blocks as `out`.
                *row = unsafe { input.get_unchecked(i) };
            }
            store(out, _mm512_permutexvar_epi8(places, quarters(rows)));
        }
        if count < BLOCK {
            scalar::interleave(streams, out);
        } else if let Some(out) = out.last_chunk_mut() {
            let rows = streams.map(|stream| &stream[count - BLOCK..].as_chunks().0[0]);
            store(out, _mm512_permutexvar_epi8(places, quarters(rows)));
        }
    }

    pub(super) fn interleave_8(streams: [&[u8]; 8], out: &mut [u8]) {
        const BLOCK: usize = 16;
        let places = load(&PLACES_8);
        let count = out.len() / 8;
        let inputs = streams.map(|stream| stream[..count].as_chunks::<BLOCK>().0);
        for (i, out) in out.as_chunks_mut().0.iter_mut().enumerate() {
            // A loop, because closures of this tier inline into `map` unreliably.
            let mut rows = [&[0; BLOCK]; 8];
            for (row, input) in rows.iter_mut().zip(inputs) {
                // SAFETY: every input has as many blocks as `out`.
                *row = unsafe { input.get_unchecked(i) };
            }
            interleave_block_8(rows, places, out);
        }
        if count < BLOCK {
            scalar::interleave(streams, out);
        } else if let Some(out) = out.last_chunk_mut() {
            let rows = streams.map(|stream| &stream[count - BLOCK..].as_chunks().0[0]);
            interleave_block_8(rows, places, out);
        }
    }

    #[inline]
    fn interleave_block_8(rows: [&[u8; 16]; 8], places: __m512i, out: &mut [u8; 128]) {
        let [a, b, c, d, e, f, g, h] = rows;
        let lower = _mm512_permutexvar_epi8(places, quarters([a, b, c, d]));
        let upper = _mm512_permutexvar_epi8(places, quarters([e, f, g, h]));
        if let [first, second] = out.as_chunks_mut().0 {
            store(first, _mm512_unpacklo_epi32(lower, upper));
            store(second, _mm512_unpackhi_epi32(lower, upper));
        }
    }

    #[inline]
    fn quarters(rows: [&[u8; 16]; 4]) -> __m512i {
        let [a, b, c, d] = rows;
        let filled = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(load_quarter(a)), load_quarter(b));
        _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(filled, load_quarter(c)), load_quarter(d))
    }

    #[inline]
    fn halves(a: &[u8; 32], b: &[u8; 32]) -> __m512i {
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(load_half(a)), load_half(b))
    }

    #[inline]
    fn load_quarter(from: &[u8; 16]) -> __m128i {
        // SAFETY: the reference is to 16 readable bytes, and this load takes any alignment.
        unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
    }

    #[inline]
    fn load_half(from: &[u8; 32]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and this load takes any alignment.
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline]
    fn load(from: &[u8; 64]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }

    #[inline]
    fn store(to: &mut [u8; 64], value: __m512i) {
        // SAFETY: the reference is to 64 writable bytes, and this store takes any alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), value) }
    }
}

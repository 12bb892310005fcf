//! `vpermb` makes the bytes of each stream contiguous in lanes of 16 bytes, and shuffles of lanes collect them.
//!
//! ```text
//! K = 2   two registers, `vpermi2b` of even and of odd bytes: two streams of 64 values
//! K = 4   four registers, each to lanes a │ b │ c │ d of 16 values, then 4 × 4 lanes transposed
//! K = 8   pairs of registers by two `vpermi2b` to lanes a │ b │ c │ d and e │ f │ g │ h, then as for K = 4, twice
//! ```
//!
//! Stores are the limit, not shuffles: a block is a line of every stream, so from the second block on whole lines are
//! stored (the first stream's, and the others' if streams are a multiple of a line apart), and each is prefetched two
//! blocks before, because the hardware prefetcher does not follow this many streams.
#![expect(unsafe_code, reason = "vector loads and stores")]

use std::arch::x86_64::{
    __m512i, _MM_HINT_T0, _mm_prefetch, _mm512_loadu_si512, _mm512_permutex2var_epi8, _mm512_permutexvar_epi8,
    _mm512_setzero_si512, _mm512_shuffle_i32x4, _mm512_storeu_si512,
};

use super::avx2;
pub(super) use super::avx2::deal_any;
use crate::tier::avx512;

/// The number of values in one round.
const BLOCK: usize = 64;

/// The distance in bytes at which lines of the streams are prefetched.
const AHEAD: usize = 2 * BLOCK;

/// Byte `j` of the result is byte `j % 16` of stream `j / 16`, from values of `K` bytes, starting with stream `first`.
const fn places<const K: usize>(first: usize, lane: usize) -> [u8; 64] {
    let mut places = [0; 64];
    let mut j = 0;
    while j < 64 {
        places[j] = (j % lane * K + j / lane + first) as u8;
        j += 1;
    }
    places
}

static EVEN: [u8; 64] = places::<2>(0, 64);
static ODD: [u8; 64] = places::<2>(1, 64);
static QUADS: [u8; 64] = places::<4>(0, 16);
static LOWER: [u8; 64] = places::<8>(0, 16);
static UPPER: [u8; 64] = places::<8>(4, 16);

avx512! {
    pub(super) fn deal_2(values: &[u8], streams: [&mut [u8]; 2]) {
        if values.len() < 2 * BLOCK {
            return avx2::deal_2(values, streams);
        }
        let (even, odd) = (load(&EVEN), load(&ODD));
        deal(values, streams, |[x, y]| [_mm512_permutex2var_epi8(x, even, y), _mm512_permutex2var_epi8(x, odd, y)]);
    }

    pub(super) fn deal_4(values: &[u8], streams: [&mut [u8]; 4]) {
        if values.len() < 4 * BLOCK {
            return avx2::deal_4(values, streams);
        }
        let places = load(&QUADS);
        deal(values, streams, |mut rows: [__m512i; 4]| {
            for row in &mut rows {
                *row = _mm512_permutexvar_epi8(places, *row);
            }
            transpose(rows)
        });
    }

    pub(super) fn deal_8(values: &[u8], streams: [&mut [u8]; 8]) {
        if values.len() < 8 * BLOCK {
            return avx2::deal_8(values, streams);
        }
        let (lower, upper) = (load(&LOWER), load(&UPPER));
        deal(values, streams, |rows: [__m512i; 8]| {
            let (mut lowers, mut uppers) = ([lower; 4], [upper; 4]);
            for (i, pair) in rows.as_chunks::<2>().0.iter().enumerate() {
                lowers[i] = _mm512_permutex2var_epi8(pair[0], lower, pair[1]);
                uppers[i] = _mm512_permutex2var_epi8(pair[0], upper, pair[1]);
            }
            let [a, b, c, d] = transpose(lowers);
            let [e, f, g, h] = transpose(uppers);
            [a, b, c, d, e, f, g, h]
        });
    }

    /// There is at least one block of values.
    #[inline]
    fn deal<const K: usize>(
        values: &[u8],
        streams: [&mut [u8]; K],
        collect: impl Fn([__m512i; K]) -> [__m512i; K],
    ) {
        let count = values.len() / K;
        let starts = streams.map(|stream| {
            assert!(stream.len() == count, "a stream has a byte of each value");
            stream.as_mut_ptr()
        });
        let mut at = 0;
        loop {
            let block = values[at * K..(at + BLOCK) * K].as_chunks::<64>().0;
            // Loops throughout, because closures of this tier inline into functions of arrays unreliably.
            let mut rows = [_mm512_setzero_si512(); K];
            for (row, bytes) in rows.iter_mut().zip(block) {
                *row = load(bytes);
            }
            for (start, stream) in starts.into_iter().zip(collect(rows)) {
                // SAFETY: `at` is at least a block before the end of the stream.
                let to = unsafe { start.add(at) };
                _mm_prefetch::<_MM_HINT_T0>(to.wrapping_add(AHEAD).cast());
                // SAFETY: as above, and this store takes any alignment.
                unsafe { _mm512_storeu_si512(to.cast(), stream) }
            }
            if at + BLOCK == count {
                return;
            }
            // Blocks that are less than a line apart overlap: the second, which begins a line, and the last.
            let step = if at == 0 { BLOCK - starts[0].addr() % BLOCK } else { BLOCK };
            at = (at + step).min(count - BLOCK);
        }
    }

    /// Lane `i` of row `j` goes to lane `j` of row `i`.
    #[inline]
    fn transpose([w, x, y, z]: [__m512i; 4]) -> [__m512i; 4] {
        // Lanes 0 and 1, 2 and 3, of two rows each.
        let (wx_lower, wx_upper) = (_mm512_shuffle_i32x4::<0x44>(w, x), _mm512_shuffle_i32x4::<0xEE>(w, x));
        let (yz_lower, yz_upper) = (_mm512_shuffle_i32x4::<0x44>(y, z), _mm512_shuffle_i32x4::<0xEE>(y, z));
        [
            _mm512_shuffle_i32x4::<0x88>(wx_lower, yz_lower),
            _mm512_shuffle_i32x4::<0xDD>(wx_lower, yz_lower),
            _mm512_shuffle_i32x4::<0x88>(wx_upper, yz_upper),
            _mm512_shuffle_i32x4::<0xDD>(wx_upper, yz_upper),
        ]
    }

    #[inline]
    fn load(from: &[u8; 64]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and this load takes any alignment.
        unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
    }
}

//! VPEXPAND and VPCOMPRESS process a block in one instruction: 64 bytes of elements, with the bits in a mask register.
//!
//! ```text
//! mask 1 0 1 1 …   vpexpandq   a b c d …  ->  a 0 b c …
//!                  vpcompressq a b c d …  ->  a c d 0 …
//! ```
//!
//! Both work on registers here: the forms that compress straight to memory are microcoded on Zen 4. Sixteen-byte
//! elements are pairs of eight-byte ones, with every bit of the mask doubled. Bits use the AVX2 tier.
#![expect(unsafe_code, reason = "vector loads and stores, and blocks whose bounds the shared loops prove")]

use std::arch::x86_64::*;

use super::blocks;
use crate::tier::avx512;

/// Defines the functions for one element type from the two instructions and the function that makes a mask from `bits`.
macro_rules! element {
    ($element:ty, $slots:literal, $mask:expr, $expand:ident by $vpexpand:ident, $compress:ident by $vpcompress:ident) => {
        avx512! {
            pub(super) fn $expand(values: &mut [$element], value_count: usize, validity: &[u8], bit_offset: usize) {
                let block = |from: *const $element, to: *mut $element, bits: u64| {
                    // SAFETY: the loop gives blocks of 64 bytes to read.
                    let values = unsafe { _mm512_loadu_si512(from.cast()) };
                    let moved = $vpexpand($mask(bits), values);
                    // SAFETY: and to write.
                    unsafe { _mm512_storeu_si512(to.cast(), moved) };
                };
                // SAFETY: `$slots` elements are 64 bytes; the callers have checked that `value_count` bits are set.
                unsafe { blocks::expand::<_, $slots>(values, value_count, validity, bit_offset, block) };
            }

            pub(super) fn $compress(
                values: &[$element],
                selection: &[u8],
                bit_offset: usize,
                out: &mut [$element],
            ) -> usize {
                let block = |from: *const $element, to: *mut $element, bits: u64| {
                    // SAFETY: the loop gives blocks of 64 bytes to read.
                    let values = unsafe { _mm512_loadu_si512(from.cast()) };
                    let moved = $vpcompress($mask(bits), values);
                    // SAFETY: and to write.
                    unsafe { _mm512_storeu_si512(to.cast(), moved) };
                };
                // SAFETY: `$slots` elements are 64 bytes; the callers have checked that `out` has room.
                unsafe { blocks::compress::<_, $slots>(values, selection, bit_offset, out, block) }
            }
        }
    };
}

element!(u8, 64, |bits: u64| bits, expand_u8 by _mm512_maskz_expand_epi8, compress_u8 by _mm512_maskz_compress_epi8);
element!(
    u16, 32, |bits: u64| bits as u32,
    expand_u16 by _mm512_maskz_expand_epi16, compress_u16 by _mm512_maskz_compress_epi16
);
element!(
    u32, 16, |bits: u64| bits as u16,
    expand_u32 by _mm512_maskz_expand_epi32, compress_u32 by _mm512_maskz_compress_epi32
);
element!(
    u64, 8, |bits: u64| bits as u8,
    expand_u64 by _mm512_maskz_expand_epi64, compress_u64 by _mm512_maskz_compress_epi64
);
element!(
    u128, 4, |bits: u64| (_pdep_u64(bits, 0x55) * 3) as u8,
    expand_u128 by _mm512_maskz_expand_epi64, compress_u128 by _mm512_maskz_compress_epi64
);

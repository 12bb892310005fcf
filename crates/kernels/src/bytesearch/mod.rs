//! Search in the short arrays of tree nodes: the position of a byte among sorted ones, and the bytes that equal one.
//!
//! ```text
//! bytes              03 17 17 40 A2            lower_bound(17) = 1    upper_bound(17) = 3
//! find_byte_mask(17)  0  1  1  0  0  = 0b00110    bit i: whether byte i is equal
//! ```
//!
//! A bound is the number of bytes less than (or at most) the key. In sorted bytes, that is the index at which the key
//! would be inserted before (or after) its equals. In unsorted ones, it is still that number.
//!
//! Each function has two forms. One takes only the bytes; it may read no others, so its end depends on their number.
//! One takes them with the surrounding bytes ([`find_byte_mask_within`] and so on): a node of 64 bytes or more is read
//! at one address, without a branch on the position and number of the bytes; use it if these vary from node to node,
//! as they do in the ordered store.
//!
//! The functions take a few nanoseconds, so one comparison at each call selects the tier.
#![expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")]

/// Defines functions that run at the best tier: on x86-64 by one comparison with each of the upper two, whose code is
/// then called, and otherwise by `dispatch!`.
macro_rules! short_functions {
    ($($f:ident, $at_any:ident $([$c:ident: $bound:ident])? ($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => { $(
        #[inline]
        fn $f$(<$c: $bound>)?($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                if $crate::Tier::Avx512.is_reached() {
                    // SAFETY: a tier is reached only after its gate has tested every feature that the callee enables.
                    return unsafe { avx512::$f($($argument),*) };
                }
                if $crate::Tier::Avx2.is_reached() {
                    // SAFETY: as above.
                    return unsafe { avx2::$f($($argument),*) };
                }
                $at_any($($argument),*)
            }
            #[cfg(not(target_arch = "x86_64"))]
            {
                $crate::tier::dispatch!($f($($argument),*): neon)
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[inline(never)]
        fn $at_any$(<$c: $bound>)?($($argument: $type),*) $(-> $result)? {
            $crate::tier::dispatch!($f($($argument),*): avx512 avx2)
        }
    )* };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod comparison;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod window;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use comparison::{AtMost, Below, Comparison, Equal};

/// Bytes of a block, and the number of bits in a mask.
const BLOCK_LEN: usize = 64;

/// The number of bytes of `sorted` that are less than `key`.
#[inline]
pub fn lower_bound(sorted: &[u8], key: u8) -> usize {
    count(Below, sorted, key)
}

/// The number of bytes of `sorted` that are at most `key`.
#[inline]
pub fn upper_bound(sorted: &[u8], key: u8) -> usize {
    count(AtMost, sorted, key)
}

/// Like [`lower_bound`], for the `len` bytes from `start` on. Bytes past the end of `bytes` do not count.
#[inline]
pub fn lower_bound_within(bytes: &[u8], start: usize, len: usize, key: u8) -> usize {
    count_within(Below, bytes, start, len, key)
}

/// Like [`upper_bound`], for the `len` bytes from `start` on. Bytes past the end of `bytes` do not count.
#[inline]
pub fn upper_bound_within(bytes: &[u8], start: usize, len: usize, key: u8) -> usize {
    count_within(AtMost, bytes, start, len, key)
}

/// A mask of the first 64 bytes that equal `needle`: bit `i` is set if byte `i` does.
#[inline]
pub fn find_byte_mask(bytes: &[u8], needle: u8) -> u64 {
    mask(Equal, bytes, needle)
}

/// A mask of the bytes that equal `needle` among the `len` bytes from `start` on: bit `i` is set if byte `start + i`
/// does, for `i` below 64. Bytes past the end of `bytes` do not count.
#[inline]
pub fn find_byte_mask_within(bytes: &[u8], start: usize, len: usize, needle: u8) -> u64 {
    mask_within(Equal, bytes, start, len, needle)
}

short_functions! {
    mask, mask_at_any[C: Comparison](comparison: C, bytes: &[u8], key: u8) -> u64;
    mask_within, mask_within_at_any[C: Comparison](
        comparison: C, bytes: &[u8], start: usize, len: usize, key: u8) -> u64;
    count, count_at_any[C: Comparison](comparison: C, bytes: &[u8], key: u8) -> usize;
    count_within, count_within_at_any[C: Comparison](
        comparison: C, bytes: &[u8], start: usize, len: usize, key: u8) -> usize;
}

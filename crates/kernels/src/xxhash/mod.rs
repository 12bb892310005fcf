//! XXH64 with seed 0, the hash of Parquet's Bloom filters: of one byte string, and of many values of one width at once.
//!
//! A value is hashed in its PLAIN form, little-endian and without the length of a byte array.
//!
//! ```text
//! under 32 bytes    hash = P5 + length
//! 32 bytes and up   four lanes of 8 bytes go round by round over the input; hash = what they merge to, + length
//! what is left      8 bytes at a time:  hash = rotl(hash ^ round(0, word), 27) · P1 + P4
//!                   4 bytes:            hash = rotl(hash ^ word · P1, 23) · P2 + P3
//!                   1 byte at a time:   hash = rotl(hash ^ byte · P5, 11) · P1
//! avalanche         hash ^= hash >> 33, · P2, ^= hash >> 29, · P3, ^= hash >> 32
//! where             round(lane, word) = rotl(lane + word · P2, 31) · P1
//! ```
//!
//! [Parquet](https://parquet.apache.org/docs/file-format/bloomfilter/),
//! [XXH64](https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md#xxh64-algorithm-description).

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "dispatch to functions that need the features of their tier")
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use crate::byte_strings;
use crate::tier::dispatch;
use crate::{ByteStrings, KernelError};

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

/// The hash of a byte string.
pub fn xxh64(bytes: &[u8]) -> u64 {
    scalar::xxh64(bytes)
}

macro_rules! hash_numbers {
    ($hash:ident, $hash_all:ident, $number:ty, $bytes:literal, $($tier:ident)*) => {
        #[doc = concat!("Writes the hash of each value of ", $bytes, ".")]
        ///
        /// # Errors
        /// [`KernelError::LengthMismatch`] if there are not as many hashes as values.
        pub fn $hash(values: &[$number], hashes: &mut [u64]) -> Result<(), KernelError> {
            check_len(values.len(), hashes.len())?;
            $hash_all(values, hashes);
            Ok(())
        }

        fn $hash_all(values: &[$number], hashes: &mut [u64]) {
            dispatch!($hash_all(values, hashes): $($tier)*);
        }
    };
}
hash_numbers!(hash_u8s, hash_all_u8, u8, "one byte",);
hash_numbers!(hash_u16s, hash_all_u16, u16, "two bytes",);
hash_numbers!(hash_u32s, hash_all_u32, u32, "four bytes", avx512 avx2);
hash_numbers!(hash_u64s, hash_all_u64, u64, "eight bytes", avx512 avx2);
hash_numbers!(hash_u128s, hash_all_u128, u128, "sixteen bytes", avx512 avx2);

/// Writes the hash of each string from number `first` on, as many as there is room for.
///
/// # Errors
/// [`KernelError::InputTooShort`] if there are fewer strings; [`KernelError::Malformed`] if a string lies outside of
/// its bytes.
pub fn hash_strings(strings: ByteStrings<'_>, first: usize, hashes: &mut [u64]) -> Result<(), KernelError> {
    byte_strings::with_source!(strings.slice(first, hashes.len())?, |source| scalar::hash_strings(source, hashes))
}

fn check_len(expected: usize, actual: usize) -> Result<(), KernelError> {
    if expected == actual { Ok(()) } else { Err(KernelError::LengthMismatch { expected, actual }) }
}

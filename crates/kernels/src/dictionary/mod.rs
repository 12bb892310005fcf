//! Dictionary building: every value becomes the code of its first occurrence.
//!
//! ```text
//! values       A   B   A   C   B   B   …
//! codes        0   1   0   2   1   1   …        in the order in which values come first
//! dictionary   A   B   C
//! ```
//!
//! A table is a hash table in the caller's memory: slots, found by hashing, and the dictionary, which grows in the form
//! of a dictionary page. It takes values until its memory is full and returns their number; the caller then makes a
//! larger table of the same dictionary, or gives up the dictionary. Hostile values with many similar hashes have this
//! effect too.
//!
//! | values | table | slots | dictionary |
//! | --- | --- | --- | --- |
//! | INT32, FLOAT | [`Numbers`] of `u32` | [`NumberSlot`], 8 bytes | numbers |
//! | INT64, DOUBLE | [`Numbers`] of `u64` | 16 bytes | numbers |
//! | FIXED_LEN_BYTE_ARRAY of 16 bytes | [`Numbers`] of `u128` | 32 bytes | numbers |
//! | BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY | [`Strings`] | [`StringSlot`], 16 bytes | PLAIN: lengths and bytes |
//!
//! Values are equal if their bits are: 0.0 and -0.0 are two values, and NaNs with different payloads are different
//! values.
//!
//! One implementation of number tables serves all tiers: a value takes a multiplication, two loads and a compare, and
//! vectors would only add to that.
//!
//! [Specification](https://parquet.apache.org/docs/file-format/data-pages/encodings/#dictionary-encoding-plain_dictionary--2-and-rle_dictionary--8).

mod numbers;
mod strings;

#[cfg(test)]
mod reference;

pub use numbers::{Number, NumberSlot, Numbers};
pub use strings::{SLACK, StringSlot, Strings};

use crate::KernelError;

/// The code that means none.
const NO_CODE: u32 = u32::MAX;

/// The number of slots of a chain that are probed before a table counts as full; only values constructed to collide
/// reach it.
const MAX_CHAIN: usize = 64;

/// The number of slots for a table of `value_count` values: a power of two, at most a quarter full.
///
/// With half of the slots full, more values are not in their first slot, and each of them is a misprediction.
pub const fn slot_count(value_count: usize) -> usize {
    let count = value_count.saturating_mul(4);
    let count = if count < 2 { 2 } else { count };
    match count.checked_next_power_of_two() {
        Some(count) => count,
        None => 1 << (usize::BITS - 1),
    }
}

/// The number of values for this many slots, if it is a power of two and at least two.
fn capacity(slot_count: usize) -> Result<usize, KernelError> {
    if slot_count < 2 || !slot_count.is_power_of_two() {
        let expected = slot_count.max(2).checked_next_power_of_two().unwrap_or(2);
        return Err(KernelError::LengthMismatch { expected, actual: slot_count });
    }
    Ok((slot_count.div_ceil(4)).min(NO_CODE as usize))
}

//! Dictionary building: every value becomes the code of its first occurrence.
//!
//! ```text
//! values       A   B   A   C   B   B   …
//! codes        0   1   0   2   1   1   …        in the order in which values come first
//! dictionary   A   B   C
//! ```
//!
//! A table is a hash table over memory of the caller: slots, found by hashing, and the dictionary, which grows in the form
//! in which a dictionary page has it. It takes values until its memory is full and says how many it took; the caller then
//! makes a larger table of the same dictionary, or gives the dictionary up. The same happens, for hostile values, when
//! too many of them hash alike.
//!
//! | values | table | slots | dictionary |
//! | --- | --- | --- | --- |
//! | INT32, FLOAT | [`Numbers`] of `u32` | [`NumberSlot`], 8 bytes | numbers |
//! | INT64, DOUBLE | [`Numbers`] of `u64` | 16 bytes | numbers |
//! | FIXED_LEN_BYTE_ARRAY of 16 bytes | [`Numbers`] of `u128` | 32 bytes | numbers |
//! | BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY | [`Strings`] | [`StringSlot`], 16 bytes | PLAIN: lengths and bytes |
//!
//! Values are the same where their bits are: 0.0 and -0.0 are two values, and a NaN is one for every payload.
//!
//! One implementation of number tables serves all tiers: a value costs a multiplication, two loads and a compare, and
//! vectors only add to that.
//!
//! [Specification](https://parquet.apache.org/docs/file-format/data-pages/encodings/#dictionary-encoding-plain_dictionary--2-and-rle_dictionary--8).

mod numbers;
mod strings;

#[cfg(test)]
mod reference;

pub use numbers::{Number, NumberSlot, Numbers};
pub use strings::{SLACK, StringSlot, Strings};

use crate::KernelError;

/// The code that stands for none.
const NO_CODE: u32 = u32::MAX;

/// Slots of a chain that are looked at before a table is called full; only values made to hash alike reach it.
const MAX_CHAIN: usize = 64;

/// The number of slots with which a table can hold `value_count` values: a power of two, a quarter full at most.
///
/// With half of the slots full, more values stand elsewhere than where they are looked for first, and each of them is a
/// misprediction.
pub const fn slot_count(value_count: usize) -> usize {
    let count = value_count.saturating_mul(4);
    let count = if count < 2 { 2 } else { count };
    match count.checked_next_power_of_two() {
        Some(count) => count,
        None => 1 << (usize::BITS - 1),
    }
}

/// The number of values that so many slots can hold, if it is a power of two from two on.
fn capacity(slot_count: usize) -> Result<usize, KernelError> {
    if slot_count < 2 || !slot_count.is_power_of_two() {
        let expected = slot_count.max(2).checked_next_power_of_two().unwrap_or(2);
        return Err(KernelError::LengthMismatch { expected, actual: slot_count });
    }
    Ok((slot_count.div_ceil(4)).min(NO_CODE as usize))
}

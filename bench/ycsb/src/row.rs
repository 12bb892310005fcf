//! The contents of rows.

use crate::engine::{FIELD_BYTES, FIELDS, Row};

/// The fields of a row as it is inserted.
pub fn row(number: u64) -> Row {
    std::array::from_fn(|place| field(number * FIELDS as u64 + place as u64))
}

/// Letters and digits, half of which repeat, so that rows compress as usual ones do.
pub fn field(seed: u64) -> Vec<u8> {
    let mut operations = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        operations ^= operations << 13;
        operations ^= operations >> 7;
        operations ^= operations << 17;
        b"abcdefghijklmnopqrstuvwxyz012345"[(operations >> 40) as usize % 32]
    };
    let mut bytes: Vec<u8> = (0..FIELD_BYTES / 2).map(|_| next()).collect();
    bytes.resize(FIELD_BYTES, b'-');
    bytes
}

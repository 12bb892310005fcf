//! The rows of the benchmark: `id` (63 random bits), `count`, `price`, `at`, `status` (one of eight) and `note` (about 40 bytes).
//!
//! `peers/python/table.py` generates the same ones: a row is a function of its number and of its number of updates.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};

pub const STATUSES: [&str; 8] = ["new", "paid", "packed", "sent", "delivered", "returned", "cancelled", "lost"];

/// The finaliser of SplitMix64, which is a bijection: ids are distinct.
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The id of row `number`. Two of all 2^64 numbers share an id, but none of the few million here.
pub fn id(number: u64) -> i64 {
    (mix(number) >> 1) as i64
}

fn status(number: u64, version: u64) -> &'static str {
    STATUSES[(mix(number ^ version << 40) % 8) as usize]
}

/// The rows with these numbers, after `version` updates.
pub fn rows(numbers: impl IntoIterator<Item = u64> + Clone, version: u64) -> RecordBatch {
    let each = || numbers.clone().into_iter();
    let columns: [(&str, ArrayRef); 6] = [
        ("id", Arc::new(Int64Array::from_iter_values(each().map(id)))),
        ("count", Arc::new(Int64Array::from_iter_values(each().map(|number| (mix(number + version) % 1000) as i64)))),
        (
            "price",
            Arc::new(Float64Array::from_iter_values(each().map(|number| (mix(number) % 100_000) as f64 / 100.0))),
        ),
        (
            "at",
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                each().map(|number| 1_700_000_000_000_000 + number as i64 * 1_000_000),
            )),
        ),
        ("status", Arc::new(StringArray::from_iter_values(each().map(|number| status(number, version))))),
        (
            "note",
            Arc::new(StringArray::from_iter_values(
                each().map(|number| format!("order {number} for customer {:016x}", mix(number) & 0xffff_ffff_ffff)),
            )),
        ),
    ];
    RecordBatch::try_from_iter(columns).expect("columns have one length")
}

/// The number of rows with each status, for rows with these versions.
pub fn count_statuses(rows: impl Iterator<Item = (u64, u64)>) -> Vec<(String, u64)> {
    let mut counts = [0; 8];
    for (number, version) in rows {
        let at = STATUSES.iter().position(|known| *known == status(number, version)).expect("a known status");
        counts[at] += 1;
    }
    let mut named: Vec<(String, u64)> = STATUSES.iter().map(|name| name.to_string()).zip(counts).collect();
    named.sort();
    named
}

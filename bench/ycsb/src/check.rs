//! The check of an engine's rows after all workloads.

use crate::engine::{Client, Engine, FIELD_BYTES, FIELDS, ROW_BYTES, joined};
use crate::row::{field, row};
use crate::workload::{key, scattered};

const SAMPLES: u64 = 1_000;

/// Counts all rows, compares samples with what was written, and reads an update back.
///
/// # Panics
/// If the engine has other rows than the workloads made: `loaded` at first, and `count` in the end.
pub fn check<E: Engine>(engine: &E, loaded: u64, count: u64) {
    let mut client = engine.client();
    assert_eq!(client.scan("", count as usize + 1) as u64, count, "rows after the workloads");
    let mut found = Vec::new();
    for sample in 0..SAMPLES {
        let number = scattered(sample) % count;
        client.read(&key(number), &mut found);
        let expected = joined(&row(number));
        if number >= loaded {
            assert_eq!(found, expected, "row {number}, which was inserted and not updated");
            continue;
        }
        assert_eq!(found.len(), ROW_BYTES, "row {number}");
        for (found, expected) in found.chunks(FIELD_BYTES).zip(expected.chunks(FIELD_BYTES)) {
            // Updates have other letters, and the same form.
            let (letters, rest) = found.split_at(FIELD_BYTES / 2);
            let is_field = letters.iter().all(u8::is_ascii_alphanumeric) && rest.iter().all(|&byte| byte == b'-');
            assert!(found == expected || is_field, "row {number} has a field that no client wrote");
        }
    }
    let (number, place, value) = (loaded / 2, FIELDS / 2, field(u64::MAX / 3));
    client.update(&key(number), place, &value);
    client.read(&key(number), &mut found);
    assert_eq!(found[place * FIELD_BYTES..][..FIELD_BYTES], value, "an update is read back");
}

//! Times, random numbers and UUIDs of what is published.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::SystemTime;

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// The seeds of the standard library's hash tables are random.
pub(super) fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A random UUID of version 4.
pub(super) fn new_uuid() -> [u8; 16] {
    let (high, low) = (random_number(), random_number());
    let (version, variant) = (high & !0xf000 | 0x4000, low & !(0b11 << 62) | 0b10 << 62);
    (u128::from(version) << 64 | u128::from(variant)).to_be_bytes()
}

pub(super) fn uuid_text(uuid: [u8; 16]) -> String {
    let text = format!("{:032x}", u128::from_be_bytes(uuid));
    format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

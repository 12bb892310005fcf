use lath_testkit::{GuardedBytes, Seeded};

use super::{
    BLOCK_LEN, find_byte_mask, find_byte_mask_within, lower_bound, lower_bound_within, reference, upper_bound,
    upper_bound_within,
};
use crate::Tier;

/// Bytes of every kind: random, few values, runs around the middle, all equal.
fn bytes(random: &mut Seeded, len: usize, kind: usize) -> Vec<u8> {
    (0..len)
        .map(|i| match kind {
            0 => random.u8(..),
            1 => random.u8(..4) * 85,
            2 => 0x7E + random.u8(..5),
            3 => (i * 256 / len) as u8,
            _ => 0x80,
        })
        .collect()
}

const KINDS: usize = 5;

/// Keys at the ends and in the middle, and existing ones.
fn keys(random: &mut Seeded, bytes: &[u8]) -> Vec<u8> {
    let mut keys = vec![0, 1, 0x7F, 0x80, 0xFE, 0xFF, random.u8(..)];
    keys.extend(bytes.first());
    keys.extend(bytes.last());
    if !bytes.is_empty() {
        keys.push(bytes[random.usize(..bytes.len())]);
    }
    keys
}

/// Compares every form of every function with the definition, for bytes in `around` from `start` on.
fn check(tier: Tier, around: &[u8], start: usize, len: usize, key: u8) {
    let bytes = reference::within(around, start, len);
    let context = format!("{tier}, key {key}, {len} from {start} of {}", around.len());
    let (lower, upper) = (reference::lower_bound(bytes, key), reference::upper_bound(bytes, key));
    let mask = reference::find_byte_mask(bytes, key);
    assert_eq!(lower_bound(bytes, key), lower, "{context}");
    assert_eq!(upper_bound(bytes, key), upper, "{context}");
    assert_eq!(find_byte_mask(bytes, key), mask, "{context}");
    assert_eq!(lower_bound_within(around, start, len, key), lower, "{context}");
    assert_eq!(upper_bound_within(around, start, len, key), upper, "{context}");
    assert_eq!(find_byte_mask_within(around, start, len, key), mask, "{context}");
}

#[test]
fn every_length_is_searched_as_defined() {
    let mut random = Seeded::new("bytesearch: every length is searched as defined");
    for len in (0..=260).chain([511, 512, 513, 9000]) {
        for kind in 0..KINDS {
            for sorted in [true, false] {
                let mut bytes = bytes(&mut random, len, kind);
                if sorted {
                    bytes.sort_unstable();
                }
                let keys = keys(&mut random, &bytes);
                let placed = [GuardedBytes::ending_at_guard(&bytes), GuardedBytes::starting_at_guard(&bytes)];
                Tier::for_each_available(|tier| {
                    for bytes in &placed {
                        for &key in &keys {
                            check(tier, bytes, 0, len, key);
                        }
                    }
                });
            }
        }
    }
}

#[test]
fn sorted_bytes_are_split_where_a_binary_search_splits_them() {
    let mut random = Seeded::new("bytesearch: sorted bytes are split where a binary search splits them");
    for len in 0..=256 {
        let mut sorted: Vec<u8> = (0..=255).collect();
        while sorted.len() > len {
            sorted.remove(random.usize(..sorted.len()));
        }
        Tier::for_each_available(|tier| {
            for key in (0..=255).step_by(if len < 70 { 1 } else { 17 }) {
                assert_eq!(lower_bound(&sorted, key), sorted.partition_point(|&byte| byte < key), "{tier} {len}");
                assert_eq!(upper_bound(&sorted, key), sorted.partition_point(|&byte| byte <= key), "{tier} {len}");
            }
        });
    }
}

#[test]
fn bytes_around_a_range_are_ignored() {
    let mut random = Seeded::new("bytesearch: what surrounds a range does not matter");
    for around_len in [0, 1, 15, 63, 64, 65, 100, 127, 128, 192, 256, 320] {
        let around = bytes(&mut random, around_len, 1);
        let placed = [GuardedBytes::ending_at_guard(&around), GuardedBytes::starting_at_guard(&around)];
        // Ranges that end before, at and past the end of the bytes.
        let starts = (0..around_len + 3).filter(|_| around_len < 70 || random.u8(..) < 70).collect::<Vec<_>>();
        for start in starts.into_iter().chain([around_len, around_len + 64, usize::MAX]) {
            let left = around_len.saturating_sub(start);
            let lens = [0, 1, 2, 3, 4, 5, 16, 17, 31, 32, 33, 63, 64, 65, 130, left, left + 1, usize::MAX];
            Tier::for_each_available(|tier| {
                for around in &placed {
                    for len in lens {
                        for key in [0, 85, 170, 255, 86] {
                            check(tier, around, start, len, key);
                        }
                    }
                }
            });
        }
    }
}

#[test]
fn every_byte_is_found_at_every_place() {
    Tier::for_each_available(|tier| {
        for len in 1..=BLOCK_LEN {
            for at in 0..len {
                for needle in [0, 1, 0x7F, 0x80, 0x81, 0xFF] {
                    // Beside it only bytes that differ from it in one bit.
                    let mut bytes: Vec<u8> = (0..len).map(|i| needle ^ 1 << (i % 8)).collect();
                    bytes[at] = needle;
                    assert_eq!(find_byte_mask(&bytes, needle), 1 << at, "{tier} {needle} at {at} of {len}");
                }
            }
        }
    });
}

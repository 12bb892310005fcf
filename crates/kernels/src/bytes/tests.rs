use lath_testkit::GuardedBytes;

use super::{MaskedBytes, common_prefix_len, count_byte, has_expected_bits};
use crate::Tier;

#[test]
fn the_common_prefix_ends_at_the_first_difference() {
    Tier::for_each_available(|tier| {
        for len in (0..=140).chain([255, 256, 257]) {
            for offset in [0, 1, 3] {
                let a: Vec<u8> = (0..len + offset).map(|i| (i * 7) as u8).collect();
                let a = GuardedBytes::ending_at_guard(&a);
                let a = &a[offset..];
                assert_eq!(common_prefix_len(a, a), len, "{tier} {len}");
                let mut b = GuardedBytes::ending_at_guard(a);
                for at in 0..len {
                    for bit in [1, 0x80] {
                        b.copy_from_slice(a);
                        b[at] ^= bit;
                        // A second difference after the first does not matter.
                        b[len - 1] ^= bit << 1 | bit >> 1;
                        assert_eq!(common_prefix_len(a, &b), at, "{tier} {at} of {len}");
                    }
                }
                for shorter in [0, len / 2, len.saturating_sub(1)] {
                    assert_eq!(common_prefix_len(a, &a[..shorter]), shorter, "{tier} {len}");
                    assert_eq!(common_prefix_len(&a[..shorter], a), shorter, "{tier} {len}");
                }
            }
        }
    });
}

#[test]
fn bytes_are_counted() {
    Tier::for_each_available(|tier| {
        for len in (0..=300).chain([4095, 4096, 8160, 8161, 33_000, 70_001]) {
            for needle in [0, 1, 0x7F, 0x80, 0xFF] {
                for step in [1, 2, 3, 17, 255] {
                    let haystack: Vec<u8> =
                        (0..len).map(|i| if i % step == 0 { needle } else { needle ^ 0x80 }).collect();
                    let haystack = GuardedBytes::ending_at_guard(&haystack);
                    let expected = haystack.iter().filter(|&&byte| byte == needle).count();
                    assert_eq!(count_byte(&haystack, needle), expected, "{tier} {needle} in {len}");
                    if len > 3 {
                        let expected = haystack[3..].iter().filter(|&&byte| byte == needle).count();
                        assert_eq!(count_byte(&haystack[3..], needle), expected, "{tier} unaligned");
                    }
                }
            }
        }
    });
}

/// The blocks that expect the part of `bytes` that `mask` covers.
fn masked(bytes: &[u8], mask: &[u8]) -> Vec<MaskedBytes> {
    let block = |index: usize| {
        let at = (index * 32).min(bytes.len() - 32);
        let window = |of: &[u8]| of[at..at + 32].try_into().expect("32 bytes");
        MaskedBytes::new(&window(bytes), &window(mask))
    };
    (0..bytes.len().div_ceil(32)).map(block).collect()
}

#[test]
fn bytes_are_expected_if_all_bits_below_the_mask_are() {
    Tier::for_each_available(|tier| {
        for len in (32..=140).chain([255, 256, 257]) {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
            let mask: Vec<u8> = (0..len).map(|i| [0xff, 0x80, 0, 0x0f][i % 4]).collect();
            let blocks = masked(&bytes, &mask);
            let mut other = GuardedBytes::ending_at_guard(&bytes);
            for at in 0..len {
                for bit in [1, 0x10, 0x80] {
                    other.copy_from_slice(&bytes);
                    other[at] ^= bit;
                    assert_eq!(has_expected_bits(&other, &blocks), mask[at] & bit == 0, "{tier} {at} of {len}");
                }
            }
            other.copy_from_slice(&bytes);
            assert!(has_expected_bits(&other, &blocks));
            for at in 0..32 {
                let mut other: [u8; 32] = bytes[..32].try_into().expect("32 bytes");
                other[at] ^= 0x88;
                // A second difference after the first does not matter.
                other[31] ^= 0x7f;
                let expected = (at..32).find(|&at| (other[at] ^ bytes[at]) & mask[at] != 0);
                let expected = expected.map(|at| (at, other[at] & mask[at]));
                assert_eq!(blocks[0].first_difference(&other), expected, "{at}");
            }
            // A block too few, a block too many, and too few bytes for a block.
            assert!(!has_expected_bits(&other, &blocks[1..]));
            assert!(!has_expected_bits(&other, &[blocks.as_slice(), &blocks[..1]].concat()));
            assert!(!has_expected_bits(&other[..31], &blocks[..1]));
        }
        assert!(!has_expected_bits(&[], &[]));
    });
}

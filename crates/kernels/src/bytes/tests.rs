use lath_testkit::GuardedBytes;

use super::{common_prefix_len, count_byte};
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
                        // A second difference behind the first does not matter.
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

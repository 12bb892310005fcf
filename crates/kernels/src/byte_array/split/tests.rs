use lath_testkit::{GuardedBytes, GuardedSlice, Seeded};

use super::{prefix_split, reference};
use crate::byte_array::prefix_join;
use crate::byte_strings::layouts::Layouts;
use crate::{ByteStrings, KernelError, Tier};

fn check(strings: &[Vec<u8>], previous: &[u8], tier: Tier) {
    let (prefixes, suffix_lengths, suffixes) = reference::split(strings, previous);
    let total: usize = strings.iter().map(Vec::len).sum();
    let previous = GuardedBytes::ending_at_guard(previous);
    Layouts::new(strings).for_each(|layout| {
        for room in [suffixes.len(), total, total + 70] {
            let mut out_prefixes = GuardedSlice::ending_at_guard(&vec![-1; strings.len()]);
            let mut out_lengths = GuardedSlice::ending_at_guard(&vec![-1; strings.len()]);
            let mut out = GuardedBytes::ending_at_guard(&vec![0x5A; room]);
            let split = prefix_split(layout, &previous, &mut out_prefixes, &mut out_lengths, &mut out);
            assert_eq!(split, Ok(suffixes.len()), "{tier} {layout:?}");
            assert_eq!(*out_prefixes, *prefixes, "{tier} {layout:?}");
            assert_eq!(*out_lengths, *suffix_lengths, "{tier} {layout:?}");
            assert_eq!(out[..suffixes.len()], suffixes, "{tier} {layout:?}");
            let (mut back, mut lengths) = (vec![0; total], vec![0; strings.len()]);
            prefix_join(&out_prefixes, &out_lengths, &out[..suffixes.len()], &previous, &mut back, &mut lengths)
                .unwrap();
            assert_eq!(back, strings.concat(), "{tier} {layout:?}");
        }
        if let Some(room) = suffixes.len().checked_sub(1) {
            let mut out = GuardedBytes::ending_at_guard(&vec![0; room]);
            let mut lengths = vec![0; strings.len()];
            let refused = prefix_split(layout, &previous, &mut lengths.clone(), &mut lengths, &mut out);
            assert!(matches!(refused, Err(KernelError::LengthMismatch { actual, .. }) if actual == room), "{tier}");
        }
    });
}

#[test]
fn strings_are_split_at_their_common_prefix() {
    let mut random = Seeded::new("strings are split where they leave the one before");
    Tier::for_each_available(|tier| {
        for limit in [0, 1, 5, 12, 13, 31, 32, 33, 34, 64, 65, 100, 300] {
            for count in [0, 1, 2, 5, 60] {
                for fixed in [false, true] {
                    let mut last: Vec<u8> = (0..random.usize(..=limit)).map(|_| b'a').collect();
                    let previous = last.clone();
                    let strings: Vec<Vec<u8>> = (0..count)
                        .map(|_| {
                            let len = if fixed { limit } else { random.usize(..=limit) };
                            last.truncate(random.usize(..=last.len()).min(len));
                            // Two letters, so that strings share more than planned.
                            last.extend((last.len()..len).map(|_| random.u8(b'a'..=b'b')));
                            last.clone()
                        })
                        .collect();
                    check(&strings, &previous, tier);
                }
            }
        }
    });
}

#[test]
fn bytes_after_strings_are_ignored() {
    // Both are followed by the same bytes, which belong to neither.
    Tier::for_each_available(|tier| {
        let data = [b'x'; 200];
        let offsets: Vec<i32> = (0..=40).collect();
        let strings = ByteStrings::Offsets32 { data: &data, offsets: &offsets };
        let (mut prefixes, mut lengths, mut suffixes) = ([9; 40], [9; 40], [0; 200]);
        assert_eq!(prefix_split(strings, b"", &mut prefixes, &mut lengths, &mut suffixes), Ok(1), "{tier}");
        assert_eq!((prefixes[0], lengths[0]), (0, 1), "{tier}");
        assert!(prefixes[1..].iter().all(|&len| len == 1) && lengths[1..].iter().all(|&len| len == 0), "{tier}");
    });
}

#[test]
fn broken_offsets_and_lengths_that_do_not_match_are_refused() {
    Tier::for_each_available(|tier| {
        let strings = ByteStrings::Offsets32 { data: b"hello", offsets: &[0, 3, 6] };
        let refused = prefix_split(strings, b"", &mut [0; 2], &mut [0; 2], &mut [0; 99]);
        assert!(matches!(refused, Err(KernelError::Malformed { .. })), "{tier}");
        let strings = ByteStrings::Offsets32 { data: b"hello", offsets: &[0, 3, 5] };
        let expected = Err(KernelError::LengthMismatch { expected: 2, actual: 1 });
        assert_eq!(prefix_split(strings, b"", &mut [0; 1], &mut [0; 2], &mut [0; 99]), expected, "{tier}");
        assert_eq!(prefix_split(strings, b"", &mut [0; 2], &mut [0; 1], &mut [0; 99]), expected, "{tier}");
    });
}

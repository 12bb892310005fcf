use lath_testkit::GuardedBytes;

use super::{PrefixJoin, prefix_join, prefix_join_len, reference};
use crate::{KernelError, Tier};

/// Prefix and suffix lengths that fit each other, and the suffixes.
struct Stream {
    prefixes: Vec<i32>,
    suffix_lengths: Vec<i32>,
    suffixes: Vec<u8>,
}

/// `prefixed` in eight values have a prefix, of up to the previous value or 300 bytes; suffixes are shorter than
/// `limit` bytes.
fn stream(seed: u64, count: usize, previous: usize, prefixed: usize, limit: usize) -> Stream {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let mut stream = Stream { prefixes: vec![], suffix_lengths: vec![], suffixes: vec![] };
    let mut last = previous;
    for _ in 0..count {
        let prefix = if next() % 8 < prefixed {
            (next() % (last + 1)).min(next() % [10, 40, 300][seed as usize % 3] + 1)
        } else {
            0
        };
        let suffix = next() % limit;
        stream.prefixes.push(prefix.min(last) as i32);
        stream.suffix_lengths.push(suffix as i32);
        stream.suffixes.extend((0..suffix).map(|_| next() as u8));
        last = prefix.min(last) + suffix;
    }
    stream
}

#[test]
fn values_are_joined_with_the_start_of_the_value_before() {
    let previous: Vec<u8> = (100..180).collect();
    Tier::for_each_available(|tier| {
        for seed in 0..144_u64 {
            let limit = [2, 8, 17, 33, 70, 300][seed as usize % 6];
            let prefixed = [0, 1, 4, 8][seed as usize % 4];
            let previous = &previous[..seed as usize % 80];
            let stream = stream(seed, seed as usize * 7 % 310, previous.len(), prefixed, limit);
            let Stream { prefixes, suffix_lengths, suffixes } = &stream;
            let expected = reference::values(prefixes, suffix_lengths, suffixes, previous).unwrap();
            let out_len = expected.iter().map(Vec::len).sum();
            assert_eq!(prefix_join_len(prefixes, suffix_lengths), Ok(out_len));
            for (behind, slack) in [(0, 0), (1, 0), (0, 1), (70, 70)] {
                let mut source = suffixes.clone();
                source.extend(vec![0xEE; behind]);
                let garbage = vec![0x5A; out_len + slack];
                for (source, mut out) in [
                    (GuardedBytes::ending_at_guard(&source), GuardedBytes::ending_at_guard(&garbage)),
                    (GuardedBytes::starting_at_guard(&source), GuardedBytes::starting_at_guard(&garbage)),
                ] {
                    let mut lengths = vec![-1; prefixes.len()];
                    let joined = prefix_join(prefixes, suffix_lengths, &source, previous, &mut out, &mut lengths);
                    let consumed = PrefixJoin { suffix_bytes_consumed: suffixes.len(), out_len };
                    assert_eq!(joined, Ok(consumed), "{tier} seed {seed}");
                    assert_eq!(out[..out_len], expected.concat(), "{tier} seed {seed}");
                    assert!(lengths.iter().map(|&len| len as usize).eq(expected.iter().map(Vec::len)), "{tier} {seed}");
                }
            }
        }
    });
}

#[test]
fn a_prefix_longer_than_the_value_before_is_refused() {
    Tier::for_each_available(|tier| {
        for good in [0, 1, 31, 32, 33, 200] {
            for excess in [1, 100, i32::MAX - 5] {
                for behind in [0, 50] {
                    let mut prefixes = vec![5; good];
                    prefixes.push(5 + excess);
                    prefixes.extend(vec![0; behind]);
                    let suffix_lengths = vec![0; prefixes.len()];
                    let mut lengths = vec![0; prefixes.len()];
                    // The room that all prefixes together require is not available for the largest: that is rejected as
                    // well.
                    let claimed = prefix_join_len(&prefixes, &suffix_lengths).unwrap();
                    let mut out = vec![0; claimed.min(10_000)];
                    let refused = prefix_join(&prefixes, &suffix_lengths, &[], b"hello", &mut out, &mut lengths);
                    let expected = if claimed > out.len() {
                        KernelError::LengthMismatch { expected: claimed, actual: out.len() }
                    } else {
                        KernelError::PrefixTooLong { position: good }
                    };
                    assert_eq!(refused, Err(expected), "{tier} {good} {excess}");
                }
            }
        }
    });
}

#[test]
fn a_prefix_too_long_among_many_short_values_is_refused() {
    Tier::for_each_available(|tier| {
        for position in [1, 64, 65, 128, 129, 150, 192, 193, 299] {
            // Each value has ten bytes, four of them from the previous value.
            let (mut prefixes, suffix_lengths) = (vec![4; 300], vec![6; 300]);
            let (suffixes, mut out, mut lengths) = (vec![7; 300 * 6], vec![0; 4000], vec![0; 300]);
            for (prefix, refused) in [(10, false), (11, true), (40, true)] {
                prefixes[position] = prefix;
                let joined = prefix_join(&prefixes, &suffix_lengths, &suffixes, b"four", &mut out, &mut lengths);
                let expected = refused.then_some(KernelError::PrefixTooLong { position });
                assert_eq!(joined.err(), expected, "{tier} {prefix} at {position}");
            }
        }
    });
}

#[test]
fn missing_suffixes_and_negative_lengths_are_refused() {
    Tier::for_each_available(|tier| {
        let mut out = [0; 100];
        let mut lengths = [0; 2];
        let refused = prefix_join(&[0, 1], &[4, 4], b"sevenby", &[], &mut out, &mut lengths);
        assert_eq!(refused, Err(KernelError::InputTooShort { needed: 8, available: 7 }), "{tier}");
        for (prefixes, suffixes) in [([0, -1], [1, 1]), ([0, 0], [1, -1]), ([0, 0], [1, i32::MIN])] {
            let refused = prefix_join(&prefixes, &suffixes, b"abc", &[], &mut out, &mut lengths);
            assert_eq!(refused, Err(KernelError::NegativeLength { position: 1 }), "{tier}");
            assert_eq!(prefix_join_len(&prefixes, &suffixes), Err(KernelError::NegativeLength { position: 1 }));
        }
    });
}

#[test]
fn slices_of_different_lengths_are_refused() {
    let mut out = [0; 8];
    assert!(prefix_join(&[0, 0], &[1], b"ab", &[], &mut out, &mut [0; 2]).is_err());
    assert!(prefix_join(&[0, 0], &[1, 1], b"ab", &[], &mut out, &mut [0; 1]).is_err());
    assert!(prefix_join(&[0, 0], &[1, 1], b"ab", &[], &mut out[..1], &mut [0; 2]).is_err());
    assert!(prefix_join_len(&[0], &[]).is_err());
}

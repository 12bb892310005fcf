use lath_testkit::GuardedBytes;

use super::super::{decode, reference};
use super::encode;
use crate::{KernelError, Tier};

/// Bytes that differ from their neighbours in every stream.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

#[test]
fn every_tier_splits_streams_as_specified() {
    Tier::for_each_available(|tier| {
        for width in (1..=33).chain([64, 100]) {
            for count in [1, 2, 7, 8, 15, 16, 17, 23, 24, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300, 600] {
                let values = bytes(width * count);
                let expected = reference::encode(&values, width);
                let garbage = vec![0x5A; values.len()];
                for (values, mut out) in [
                    (GuardedBytes::ending_at_guard(&values), GuardedBytes::ending_at_guard(&garbage)),
                    (GuardedBytes::starting_at_guard(&values), GuardedBytes::starting_at_guard(&garbage)),
                ] {
                    encode(&values, count, width, 0, &mut out).unwrap();
                    assert_eq!(*out, *expected, "{tier} {width} × {count}");
                    let mut back = vec![0; values.len()];
                    decode(&out, count, width, 0, &mut back).unwrap();
                    assert_eq!(*back, *values, "{tier} {width} × {count}");
                }
            }
        }
    });
}

#[test]
fn streams_one_memory_page_apart_are_split_alike() {
    Tier::for_each_available(|tier| {
        for count in [4096, 8192, 12_288] {
            let values = bytes(8 * count);
            let mut out = GuardedBytes::ending_at_guard(&vec![0x5A; values.len()]);
            encode(&values, count, 8, 0, &mut out).unwrap();
            assert!(*out == reference::encode(&values, 8), "{tier} {count}");
        }
    });
}

#[test]
fn a_page_is_encoded_in_parts() {
    Tier::for_each_available(|tier| {
        for width in [1, 2, 3, 4, 5, 8, 12, 16] {
            let count = 250;
            let values = bytes(width * count);
            let mut expected = reference::encode(&values, width);
            expected.extend([0x5A; 9]);
            let mut out = GuardedBytes::ending_at_guard(&vec![0x5A; expected.len()]);
            let mut first = 0;
            for part in [1, 40, 0, 33, 64, 17, 95] {
                let end = first + part;
                // Bytes of other values stay unchanged.
                let before = out.to_vec();
                encode(&values[first * width..end * width], count, width, first, &mut out).unwrap();
                for (i, (now, then)) in out.iter().zip(before).enumerate() {
                    let own = i < width * count && (first..end).contains(&(i % count));
                    assert!(own || *now == then, "{tier} {width}: byte {i} of values {first} to {end}");
                }
                first = end;
            }
            assert_eq!(first, count);
            assert_eq!(*out, *expected, "{tier} {width}");
        }
    });
}

#[test]
fn no_values_are_fine() {
    assert_eq!(encode(&[], 0, 4, 0, &mut []), Ok(()));
    assert_eq!(encode(&[], 7, 0, 9, &mut []), Ok(()));
}

#[test]
fn values_that_do_not_fit_the_page_are_refused() {
    let mut out = [0; 12];
    let refused = |result| matches!(result, Err(KernelError::LengthMismatch { .. }));
    assert!(refused(encode(&[0; 8], 3, 4, 2, &mut out)));
    assert!(refused(encode(&[0; 8], 3, 4, usize::MAX, &mut out)));
    assert!(refused(encode(&[0; 8], 4, 4, 0, &mut out)));
    assert!(refused(encode(&[0; 8], usize::MAX, 4, 0, &mut out)));
    assert!(refused(encode(&[0; 7], 3, 4, 0, &mut out)));
    assert!(refused(encode(&[0; 7], 3, 0, 0, &mut out)));
}

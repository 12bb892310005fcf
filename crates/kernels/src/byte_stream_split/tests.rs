use lath_testkit::GuardedBytes;

use super::{decode, reference};
use crate::{KernelError, Tier};

/// Bytes that differ from their neighbours in every stream.
fn page(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

#[test]
fn every_tier_interleaves_as_specified() {
    Tier::for_each_available(|tier| {
        for width in (1..=33).chain([64, 100]) {
            for value_count in [1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300] {
                let src = page(width * value_count);
                let ending = GuardedBytes::ending_at_guard(&src);
                let starting = GuardedBytes::starting_at_guard(&src);
                let garbage = vec![0x5A; src.len()];
                let mut out_ending = GuardedBytes::ending_at_guard(&garbage);
                let mut out_starting = GuardedBytes::starting_at_guard(&garbage);
                for first in [0, 1, 5, value_count / 2, value_count - 1] {
                    if first >= value_count {
                        continue;
                    }
                    for count in [1, value_count - first, (value_count - first) / 2] {
                        let expected = reference::decode(&src, value_count, width, first, count);
                        let len = count * width;
                        let behind = out_ending.len() - len;
                        decode(&ending, value_count, width, first, &mut out_ending[behind..]).unwrap();
                        assert_eq!(out_ending[behind..], expected, "{tier} {width} × {value_count} from {first}");
                        decode(&starting, value_count, width, first, &mut out_starting[..len]).unwrap();
                        assert_eq!(out_starting[..len], expected, "{tier} {width} × {value_count} from {first}");
                    }
                }
            }
        }
    });
}

#[test]
fn no_values_of_a_page_without_values_is_fine() {
    assert_eq!(decode(&[], 0, 4, 0, &mut []), Ok(()));
    assert_eq!(decode(&[], 0, 0, 0, &mut []), Ok(()));
}

#[test]
fn a_page_shorter_than_its_streams_is_refused() {
    let mut out = [0; 8];
    let error = decode(&[0; 11], 3, 4, 0, &mut out);
    assert_eq!(error, Err(KernelError::InputTooShort { needed: 12, available: 11 }));
    let error = decode(&[0; 11], usize::MAX, 4, 0, &mut out);
    assert_eq!(error, Err(KernelError::InputTooShort { needed: usize::MAX, available: 11 }));
}

#[test]
fn values_past_the_last_are_refused() {
    let mut out = [0; 8];
    let error = decode(&[0; 12], 3, 4, 2, &mut out);
    assert_eq!(error, Err(KernelError::InputTooShort { needed: 16, available: 12 }));
    assert!(decode(&[0; 12], 3, 4, usize::MAX, &mut out).is_err());
}

#[test]
fn output_must_be_a_multiple_of_the_width() {
    let mut out = [0; 7];
    let error = decode(&[0; 12], 3, 4, 0, &mut out);
    assert_eq!(error, Err(KernelError::LengthMismatch { expected: 4, actual: 7 }));
    assert!(decode(&[0; 12], 3, 0, 0, &mut out).is_err());
}

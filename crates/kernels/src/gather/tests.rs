use lath_testkit::{GuardedBytes, GuardedSlice};

use super::{gather_bytes, gather_u8, gather_u16, gather_u32, gather_u64, gather_u128, max_index};
use crate::{KernelError, Tier};

const COUNTS: [usize; 17] = [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000, 5000];
const DICTIONARIES: [usize; 14] = [1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 3000];

/// Indices below `len` without a visible pattern, including the last entry.
fn indices(count: usize, len: usize) -> Vec<u32> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64 ^ (count as u64) << 20 ^ len as u64;
    let mut indices: Vec<u32> = (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % len as u64) as u32
        })
        .collect();
    if let Some(last) = indices.last_mut() {
        *last = len as u32 - 1;
    }
    indices
}

/// Bytes that distinguish every entry and every byte of it from the others.
fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

macro_rules! conformance {
    ($test:ident $gather:ident $value:ty) => {
        #[test]
        fn $test() {
            const W: usize = size_of::<$value>();
            Tier::for_each_available(|tier| {
                for len in DICTIONARIES {
                    let dict: Vec<$value> =
                        bytes(len * W).as_chunks::<W>().0.iter().map(|&b| <$value>::from_le_bytes(b)).collect();
                    let dict = GuardedSlice::ending_at_guard(&dict);
                    for count in COUNTS {
                        let indices = indices(count, len);
                        let expected: Vec<$value> = indices.iter().map(|&i| dict[i as usize]).collect();
                        let garbage = vec![<$value>::MAX; count];
                        for (indices, mut out) in [
                            (GuardedSlice::ending_at_guard(&indices), GuardedSlice::ending_at_guard(&garbage)),
                            (GuardedSlice::starting_at_guard(&indices), GuardedSlice::starting_at_guard(&garbage)),
                        ] {
                            $gather(&dict, &indices, &mut out).unwrap();
                            assert_eq!(*out, *expected, "{tier} {count} of {len}");
                        }

                        // An index that is out of range is detected at any position.
                        for position in [0, count / 2, count.wrapping_sub(1)] {
                            for bad in [len as u32, len as u32 + 1, 1 << 31, u32::MAX] {
                                let mut indices = indices.clone();
                                let Some(index) = indices.get_mut(position) else { continue };
                                *index = bad;
                                let result = $gather(&dict, &indices, &mut garbage.clone());
                                assert_eq!(result, Err(KernelError::IndexOutOfRange { index: bad, len }), "{tier}");
                            }
                        }
                    }
                }
                let none = $gather(&[], &[0], &mut [0]);
                assert_eq!(none, Err(KernelError::IndexOutOfRange { index: 0, len: 0 }), "{tier}");
                assert_eq!($gather(&[], &[], &mut []), Ok(()), "{tier}");
                let short = $gather(&[1], &[0, 0], &mut [0]);
                assert_eq!(short, Err(KernelError::LengthMismatch { expected: 2, actual: 1 }), "{tier}");
            });
        }
    };
}

conformance!(one_byte_values_are_gathered gather_u8 u8);
conformance!(two_byte_values_are_gathered gather_u16 u16);
conformance!(four_byte_values_are_gathered gather_u32 u32);
conformance!(eight_byte_values_are_gathered gather_u64 u64);
conformance!(sixteen_byte_values_are_gathered gather_u128 u128);

#[test]
fn values_of_every_width_are_gathered() {
    Tier::for_each_available(|tier| {
        for width in (1..=40).chain([64, 100]) {
            for len in [1, 2, 77] {
                let dict = GuardedBytes::ending_at_guard(&bytes(len * width + width - 1));
                for count in [0, 1, 5, 64, 333] {
                    let indices = indices(count, len);
                    let mut out = GuardedBytes::ending_at_guard(&vec![0x5A; count * width]);
                    gather_bytes(&dict, width, &indices, &mut out).unwrap();
                    let expected: Vec<u8> =
                        indices.iter().flat_map(|&i| &dict[i as usize * width..][..width]).copied().collect();
                    assert_eq!(*out, *expected, "{tier} width {width}");
                }
                let result = gather_bytes(&dict, width, &[0, len as u32], &mut vec![0; width * 2]);
                assert_eq!(result, Err(KernelError::IndexOutOfRange { index: len as u32, len }), "{tier} {width}");
            }
        }
        assert_eq!(gather_bytes(&[], 0, &[3, 4], &mut []), Ok(()));
        let mismatch = gather_bytes(&[0; 12], 3, &[0, 1], &mut [0; 7]);
        assert_eq!(mismatch, Err(KernelError::LengthMismatch { expected: 6, actual: 7 }));
    });
}

#[test]
fn the_largest_index_is_found_wherever_it_stands() {
    Tier::for_each_available(|tier| {
        assert_eq!(max_index(&[]), None);
        for count in COUNTS.into_iter().filter(|&count| count > 0) {
            for position in [0, count / 2, count - 1] {
                for largest in [0, 5, i32::MAX as u32, u32::MAX] {
                    let mut indices = vec![largest.saturating_sub(1); count];
                    indices[position] = largest;
                    assert_eq!(max_index(&indices), Some(largest), "{tier} {position} of {count}");
                }
            }
        }
    });
}

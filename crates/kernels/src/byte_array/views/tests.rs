use lath_testkit::{GuardedBytes, GuardedSlice};

use super::length_views;
use crate::byte_array::view::tests::spelled_out;
use crate::{KernelError, Tier};

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0] | 1).collect()
}

#[test]
fn every_value_gets_its_view() {
    Tier::for_each_available(|tier| {
        for seed in 0..60_u64 {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize
            };
            let limit = [1, 3, 14, 20, 40, 300][seed as usize % 6];
            let count = next() % 100;
            let lengths: Vec<i32> = (0..count).map(|_| (next() % limit) as i32).collect();
            let total: usize = lengths.iter().map(|&len| len as usize).sum();
            for base in [0, 1, 4, 9] {
                for behind in [0, 1, 16] {
                    let data = GuardedBytes::ending_at_guard(&data(base + total + behind));
                    let mut views = GuardedSlice::ending_at_guard(&vec![u128::MAX; count]);
                    let end = length_views(&data, base, &lengths, 0x8765_4321, &mut views);
                    assert_eq!(end, Ok(base + total), "{tier} seed {seed}");
                    let mut at = base;
                    for (&view, &len) in views.iter().zip(&lengths) {
                        let value = &data[at..at + len as usize];
                        assert_eq!(view, spelled_out(value, 0x8765_4321, at as u32), "{tier} seed {seed}");
                        at += value.len();
                    }
                }
            }
        }
    });
}

#[test]
fn values_past_the_data_are_refused() {
    Tier::for_each_available(|tier| {
        let data = data(20);
        let refused = length_views(&data, 0, &[10, 11], 0, &mut [0; 2]);
        assert_eq!(refused, Err(KernelError::InputTooShort { needed: 21, available: 20 }), "{tier}");
        let refused = length_views(&data, 21, &[], 0, &mut []);
        assert_eq!(refused, Err(KernelError::InputTooShort { needed: 21, available: 20 }), "{tier}");
    });
}

#[test]
fn lengths_beyond_offset_range_are_refused_with_their_position() {
    Tier::for_each_available(|tier| {
        let data = data(20);
        let refused = length_views(&data, 0, &[1, -1, 2], 0, &mut [0; 3]);
        assert_eq!(refused, Err(KernelError::NegativeLength { position: 1 }), "{tier}");
        let refused = length_views(&data, 0, &[1, i32::MAX - 1, 1], 0, &mut [0; 3]);
        assert_eq!(refused, Err(KernelError::OffsetOverflow { position: 2 }), "{tier}");
        let refused = length_views(&data, usize::MAX, &[1], 0, &mut [0; 1]);
        assert_eq!(refused, Err(KernelError::OffsetOverflow { position: 0 }), "{tier}");
        let refused = length_views(&data, 0, &[1], 0, &mut [0; 2]);
        assert_eq!(refused, Err(KernelError::LengthMismatch { expected: 1, actual: 2 }), "{tier}");
    });
}

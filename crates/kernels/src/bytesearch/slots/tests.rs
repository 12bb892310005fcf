use lath_testkit::{GuardedBytes, GuardedSlice, Seeded};

use super::{find_u32x16, min_index_32, min_index_64, reference, remap_branches, slot_ranks};
use crate::{KernelError, Tier};

#[test]
fn the_first_equal_number_is_found() {
    let mut random = Seeded::new("slots: the first equal number is found");
    for round in 0..400 {
        let wanted = if round % 3 == 0 { 0 } else { random.u32(..) };
        let values: Vec<u32> = (0..16)
            .map(|_| match random.u8(..12) {
                0 => wanted,
                1 => wanted ^ 1,
                2 => wanted ^ 1 << 31,
                3 => wanted ^ 0xFFFF,
                _ => random.u32(..),
            })
            .collect();
        for placed in [GuardedSlice::ending_at_guard(&values), GuardedSlice::starting_at_guard(&values)] {
            let values = placed.first_chunk().unwrap();
            let expected = reference::find_u32x16(values, wanted);
            Tier::for_each_available(|tier| {
                assert_eq!(find_u32x16(values, wanted), expected, "{tier} {wanted} in {values:?}");
            });
        }
    }
    Tier::for_each_available(|tier| {
        for at in 0..16 {
            let mut values = [7; 16];
            values[at..].fill(9);
            assert_eq!(find_u32x16(&values, 9), at, "{tier}");
            assert_eq!(find_u32x16(&values, 8), 16, "{tier}");
        }
    });
}

/// Values of which few, many or all are the minimum, or random ones.
fn ages(random: &mut Seeded, count: usize) -> Vec<u16> {
    let kind = random.u8(..6);
    let mut values: Vec<u16> = (0..count)
        .map(|_| match kind {
            0 => u16::MAX,
            1 => 0x7FFF + random.u16(..3),
            2 => random.u16(..2),
            3 => 0xFF00 | random.u16(..256),
            _ => random.u16(..),
        })
        .collect();
    if kind == 4 {
        values[random.usize(..count)] = 0;
    }
    values
}

#[test]
fn first_minimum_is_found() {
    let mut random = Seeded::new("slots: the first of the least is found");
    for _ in 0..400 {
        let values = ages(&mut random, 64);
        let expected = [reference::min_index(&values[..32]), reference::min_index(&values)];
        for placed in [GuardedSlice::ending_at_guard(&values), GuardedSlice::starting_at_guard(&values)] {
            Tier::for_each_available(|tier| {
                assert_eq!(min_index_32(placed.first_chunk().unwrap()), expected[0], "{tier} {values:?}");
                assert_eq!(min_index_64(placed.first_chunk().unwrap()), expected[1], "{tier} {values:?}");
            });
        }
        let last = reference::min_index(&values[32..]);
        let placed = GuardedSlice::ending_at_guard(&values[32..]);
        Tier::for_each_available(|tier| assert_eq!(min_index_32(placed.first_chunk().unwrap()), last, "{tier}"));
    }
    Tier::for_each_available(|tier| {
        for at in 0..64 {
            // Values that decrease up to some index, and one with another sign.
            let values = std::array::from_fn(|i| if i < at { 0x8000 + (64 - i) as u16 } else { 0x7FFF });
            assert_eq!(min_index_64(&values), at, "{tier}");
            if at < 32 {
                assert_eq!(min_index_32(values.first_chunk().unwrap()), at, "{tier}");
            }
        }
    });
}

#[test]
fn ranks_are_prefix_sums_of_bitmaps() {
    for taken in 0..=u16::MAX {
        assert_eq!(slot_ranks(taken), reference::slot_ranks(taken), "{taken:b}");
    }
}

#[test]
fn branches_of_every_length_are_remapped() {
    let mut random = Seeded::new("slots: branches of every length are remapped");
    for len in (0..=140).chain([255, 256, 257, 300]) {
        for offset in [0, 1, 7] {
            let branches: Vec<u8> = (0..len + offset).map(|_| random.u8(..)).collect();
            // Only the low nibble of an entry counts.
            let table: [u8; 16] = std::array::from_fn(|_| random.u8(..));
            let expected = reference::remap_branches(&branches[offset..], &table);
            let garbage: Vec<u8> = (0..len + offset).map(|_| random.u8(..)).collect();
            Tier::for_each_available(|tier| {
                for at_end in [true, false] {
                    let place = |bytes: &[u8]| match at_end {
                        true => GuardedBytes::ending_at_guard(bytes),
                        false => GuardedBytes::starting_at_guard(bytes),
                    };
                    let (branches, mut out) = (place(&branches), place(&garbage));
                    remap_branches(&branches[offset..], &table, &mut out[offset..]).unwrap();
                    assert_eq!(out[offset..], expected, "{tier} {len}");
                    assert_eq!(out[..offset], garbage[..offset], "{tier} {len}");
                }
            });
        }
    }
}

#[test]
fn every_branch_is_remapped_by_its_table_entry() {
    let branches: Vec<u8> = (0..=255).collect();
    let table = std::array::from_fn(|i| 15 - i as u8);
    Tier::for_each_available(|tier| {
        let mut out = [0; 256];
        remap_branches(&branches, &table, &mut out).unwrap();
        for (branch, remapped) in branches.iter().zip(out) {
            assert_eq!(remapped, (15 - branch / 16) * 16 + branch % 16, "{tier}");
        }
    });
}

#[test]
fn an_output_of_another_length_is_refused() {
    for (len, room) in [(0, 1), (5, 4), (5, 6), (64, 128)] {
        let expected = Err(KernelError::LengthMismatch { expected: len, actual: room });
        assert_eq!(remap_branches(&vec![0; len], &[0; 16], &mut vec![0; room]), expected);
    }
}

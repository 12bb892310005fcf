use lath_testkit::{GuardedBytes, GuardedSlice, Seeded, lengths};

use super::{histogram, reference};
use crate::{KernelError, Tier};

/// Masks of every kind: none, all, sparse, dense, even, in runs.
fn bits(random: &mut Seeded, len: usize, kind: usize) -> Vec<bool> {
    let mut run = false;
    (0..len)
        .map(|_| match kind {
            0 => false,
            1 => true,
            2 => random.u8(..) < 8,
            3 => random.u8(..) >= 8,
            4 => random.bool(),
            _ => {
                run ^= random.u8(..) < 4;
                run
            }
        })
        .collect()
}

const KINDS: usize = 6;

#[test]
fn level_masks_equal_comparison_by_comparison() {
    let mut random = Seeded::new("levels::level_masks_equal_comparison_by_comparison");
    for len in lengths() {
        let max = *[0_u8, 1, 2, 7, 255].get(random.usize(..5)).unwrap();
        let levels: Vec<u8> = (0..len).map(|_| random.u8(..=max)).collect();
        let threshold = if random.bool() { random.u8(..=max) } else { random.u8(..) };
        let expected: [Vec<u64>; 3] = [
            reference::mask(&levels.iter().map(|&level| level >= threshold).collect::<Vec<_>>()),
            reference::mask(&levels.iter().map(|&level| level <= threshold).collect::<Vec<_>>()),
            reference::mask(&levels.iter().map(|&level| level == threshold).collect::<Vec<_>>()),
        ];
        let garbage = vec![0xDEAD_BEEF_0BAD_F00D_u64; len.div_ceil(64)];
        Tier::for_each_available(|tier| {
            for at_end in [true, false] {
                let (levels, mut out) = if at_end {
                    (GuardedBytes::ending_at_guard(&levels), GuardedSlice::ending_at_guard(&garbage))
                } else {
                    (GuardedBytes::starting_at_guard(&levels), GuardedSlice::starting_at_guard(&garbage))
                };
                super::ge_mask(&levels, threshold, &mut out).unwrap();
                assert_eq!(&*out, &expected[0][..], "{tier}, {len} levels >= {threshold}");
                super::le_mask(&levels, threshold, &mut out).unwrap();
                assert_eq!(&*out, &expected[1][..], "{tier}, {len} levels <= {threshold}");
                super::eq_mask(&levels, threshold, &mut out).unwrap();
                assert_eq!(&*out, &expected[2][..], "{tier}, {len} levels = {threshold}");
            }
        });
    }
}

#[test]
fn every_threshold_splits_every_level() {
    let levels: Vec<u8> = (0..=255).collect();
    Tier::for_each_available(|tier| {
        for threshold in 0..=255 {
            let mut out = [0; 4];
            super::ge_mask(&levels, threshold, &mut out).unwrap();
            assert_eq!(super::count(&out), 256 - usize::from(threshold), "{tier} >= {threshold}");
            super::le_mask(&levels, threshold, &mut out).unwrap();
            assert_eq!(super::count(&out), 1 + usize::from(threshold), "{tier} <= {threshold}");
            super::eq_mask(&levels, threshold, &mut out).unwrap();
            assert_eq!(super::nth_set(&out, 0), Some(usize::from(threshold)), "{tier} = {threshold}");
            assert_eq!(super::count(&out), 1, "{tier} = {threshold}");
        }
    });
}

#[test]
fn extracted_bits_follow_the_mask_and_leave_their_neighbours() {
    let mut random = Seeded::new("levels::extracted_bits_follow_the_mask_and_leave_their_neighbours");
    for len in lengths() {
        for kind in 0..KINDS {
            let source_kind = random.usize(..KINDS);
            let source = bits(&mut random, len, source_kind);
            let mask = bits(&mut random, len, kind);
            let expected = reference::extract(&source, &mask);
            let offset = random.usize(..70);
            let garbage: Vec<u8> =
                std::iter::repeat_with(|| random.u8(..)).take((offset + expected.len()).div_ceil(8)).collect();
            let (source, mask) = (reference::mask(&source), reference::mask(&mask));
            Tier::for_each_available(|tier| {
                let mut out = GuardedBytes::ending_at_guard(&garbage);
                let source = GuardedSlice::ending_at_guard(&source);
                let mask = GuardedSlice::ending_at_guard(&mask);
                let appended = super::extract(&source, &mask, &mut out, offset).unwrap();
                assert_eq!(appended, expected.len(), "{tier}, {len} entries");
                for index in 0..garbage.len() * 8 {
                    let bit = (out[index / 8] >> (index % 8)) & 1 == 1;
                    let before = (garbage[index / 8] >> (index % 8)) & 1 == 1;
                    let wanted = index.checked_sub(offset).and_then(|index| expected.get(index)).copied();
                    assert_eq!(bit, wanted.unwrap_or(before), "{tier}, {len} entries, offset {offset}, bit {index}");
                }
            });
        }
    }
}

#[test]
fn list_offsets_count_the_elements_before_each_slot() {
    let mut random = Seeded::new("levels::list_offsets_count_the_elements_before_each_slot");
    for len in lengths() {
        for kind in 0..KINDS * KINDS {
            if len > 300 && random.u8(..) > 40 {
                continue;
            }
            let slots = bits(&mut random, len, kind % KINDS);
            let elements = bits(&mut random, len, kind / KINDS);
            let start = random.i32(0..1_000_000);
            let (expected, expected_end) = reference::list_offsets(&slots, &elements, i64::from(start));
            let (slots, elements) = (reference::mask(&slots), reference::mask(&elements));
            Tier::for_each_available(|tier| {
                let slots = GuardedSlice::ending_at_guard(&slots);
                let elements = GuardedSlice::ending_at_guard(&elements);
                let mut narrow = GuardedSlice::ending_at_guard(&vec![-1_i32; expected.len()]);
                let end = super::list_offsets_i32(&slots, &elements, start, &mut narrow).unwrap();
                assert_eq!(i64::from(end), expected_end, "{tier}, {len} entries");
                assert!(narrow.iter().map(|&offset| i64::from(offset)).eq(expected.iter().copied()), "{tier}, {len}");
                let mut wide = GuardedSlice::ending_at_guard(&vec![-1_i64; expected.len()]);
                let end = super::list_offsets_i64(&slots, &elements, i64::from(start), &mut wide).unwrap();
                assert_eq!(end, expected_end, "{tier}, {len} entries");
                assert_eq!(&*wide, &expected[..], "{tier}, {len} entries");
            });
        }
    }
}

#[test]
fn module_example_gives_its_list_offsets() {
    let repetition = [0, 1, 0, 0, 0];
    let definition = [2, 2, 1, 0, 2];
    let (mut slots, mut elements, mut valid) = ([0], [0], [0]);
    super::le_mask(&repetition, 0, &mut slots).unwrap();
    super::ge_mask(&definition, 2, &mut elements).unwrap();
    super::ge_mask(&definition, 1, &mut valid).unwrap();
    let mut offsets = [0; 4];
    assert_eq!(super::list_offsets_i32(&slots, &elements, 0, &mut offsets), Ok(3));
    assert_eq!(offsets, [0, 2, 2, 2]);
    let mut bitmap = [0];
    assert_eq!(super::extract(&valid, &slots, &mut bitmap, 0), Ok(4));
    assert_eq!(bitmap, [0b1011]);
}

#[test]
fn an_offset_that_does_not_fit_is_refused() {
    Tier::for_each_available(|_| {
        let mut out = [0; 1];
        let elements = [0b111];
        assert_eq!(super::list_offsets_i32(&[1], &elements, i32::MAX - 3, &mut out), Ok(i32::MAX));
        let overflow = super::list_offsets_i32(&[1], &elements, i32::MAX - 2, &mut out);
        assert_eq!(overflow, Err(KernelError::OffsetOverflow { position: 1 }));
        let mut out = [0; 1];
        let overflow = super::list_offsets_i64(&[1], &elements, i64::MAX - 2, &mut out);
        assert_eq!(overflow, Err(KernelError::OffsetOverflow { position: 1 }));
        assert!(super::list_offsets_i64(&[1], &elements, -1, &mut out).is_err());
    });
}

#[test]
fn the_last_offset_of_a_batch_may_reach_the_maximum() {
    Tier::for_each_available(|tier| {
        // Every entry is a slot and an element, so the offsets run up to the largest one.
        let mut out = [0; 128];
        let end = super::list_offsets_i32(&[u64::MAX; 2], &[u64::MAX; 2], i32::MAX - 128, &mut out);
        assert_eq!(end, Ok(i32::MAX), "{tier}");
        assert_eq!(out[127], i32::MAX - 1, "{tier}");
    });
}

#[test]
fn nth_set_finds_every_set_bit() {
    let mut random = Seeded::new("levels::nth_set_finds_every_set_bit");
    for len in lengths().filter(|&len| len < 600) {
        for kind in 0..KINDS {
            let set = bits(&mut random, len, kind);
            let mask = reference::mask(&set);
            Tier::for_each_available(|tier| {
                let mask = GuardedSlice::ending_at_guard(&mask);
                assert_eq!(super::count(&mask), set.iter().filter(|&&bit| bit).count(), "{tier}");
                for n in 0..=len {
                    assert_eq!(super::nth_set(&mask, n), reference::nth_set(&set, n), "{tier}, {len} bits, n = {n}");
                }
                assert_eq!(super::nth_set(&mask, usize::MAX), None, "{tier}");
            });
        }
    }
}

#[test]
fn and_keeps_what_both_masks_have() {
    let mut random = Seeded::new("levels::and_keeps_what_both_masks_have");
    for len in lengths() {
        let (a, b) = (bits(&mut random, len, 4), bits(&mut random, len, 4));
        let both: Vec<bool> = a.iter().zip(&b).map(|(&a, &b)| a && b).collect();
        let mut a = reference::mask(&a);
        super::and(&mut a, &reference::mask(&b)).unwrap();
        assert_eq!(reference::bits(&a, len), both);
    }
}

#[test]
fn lengths_that_disagree_are_refused() {
    Tier::for_each_available(|_| {
        let mismatch = |expected, actual| Err(KernelError::LengthMismatch { expected, actual });
        assert_eq!(super::ge_mask(&[0; 65], 1, &mut [0; 1]), mismatch(2, 1));
        assert_eq!(super::le_mask(&[0; 64], 1, &mut [0; 2]), mismatch(1, 2));
        assert_eq!(super::eq_mask(&[], 1, &mut [0; 1]), mismatch(0, 1));
        assert_eq!(super::and(&mut [0; 1], &[0; 2]), mismatch(1, 2));
        assert_eq!(
            super::extract(&[0; 2], &[0; 1], &mut [], 0),
            Err(KernelError::LengthMismatch { expected: 2, actual: 1 })
        );
        assert_eq!(
            super::extract(&[0], &[0b11], &mut [0], 7),
            Err(KernelError::InputTooShort { needed: 2, available: 1 })
        );
        assert!(super::extract(&[0], &[1], &mut [0], usize::MAX).is_err());
        assert_eq!(
            super::list_offsets_i32(&[0b11], &[0], 0, &mut [0]),
            Err(KernelError::LengthMismatch { expected: 2, actual: 1 })
        );
        assert!(super::list_offsets_i64(&[0, 0], &[0], 0, &mut []).is_err());
    });
}

#[test]
fn every_tier_adds_to_existing_level_counts() {
    Tier::for_each_available(|tier| {
        for level_count in [1, 2, 3, 8, 24, 25, 255, 256] {
            for len in [0, 1, 7, 63, 64, 1000, 8192, 8193, 20_000] {
                let mut random = Seeded::with_seed("histograms", len as u64);
                let levels: Vec<u8> = (0..len).map(|_| random.usize(..level_count) as u8).collect();
                let mut counts: Vec<i64> = (0..level_count as i64).collect();
                histogram(&levels, &mut counts).unwrap();
                for (level, &count) in counts.iter().enumerate() {
                    let expected = levels.iter().filter(|&&entry| usize::from(entry) == level).count() + level;
                    assert_eq!(count, expected as i64, "{tier} {level_count} levels, {len} entries, level {level}");
                }
            }
        }
    });
}

#[test]
fn levels_without_a_count_are_errors() {
    let above = Err(KernelError::Malformed { what: "level above the maximum" });
    assert_eq!(histogram(&[0, 1, 2], &mut [0; 2]), above);
    assert_eq!(histogram(&[30; 99], &mut [0; 30]), above);
    assert_eq!(histogram(&[0], &mut []), above);
    assert_eq!(histogram(&[], &mut []), Ok(()));
}

use lath_testkit::{GuardedBytes, GuardedSlice};

use super::{PlainScan, copy_plain, plain_lengths, plain_views, reference};
use crate::byte_array::view::tests::spelled_out;
use crate::{KernelError, Tier};

/// A page of values with the given lengths, after `before` bytes that belong to no value.
fn page(before: usize, lengths: &[usize]) -> Vec<u8> {
    let mut page = vec![0xEE; before];
    let mut byte = 1_u8;
    for &len in lengths {
        page.extend_from_slice(&(len as u32).to_le_bytes());
        for _ in 0..len {
            page.push(byte);
            byte = byte.wrapping_mul(3).wrapping_add(7);
        }
    }
    page
}

/// Sets of lengths: every short one, all equal, and mixtures with long ones.
fn ladders() -> Vec<Vec<usize>> {
    let mut ladders = vec![vec![], (0..70).collect(), (0..70).rev().collect()];
    for len in (0..40).chain([63, 64, 65, 127, 128, 129, 130, 1000]) {
        for count in [1, 2, 5, 33] {
            ladders.push(vec![len; count]);
        }
    }
    for seed in 0..40_usize {
        let mut state = seed as u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        let limit = [3, 14, 20, 40, 300][seed % 5];
        ladders.push((0..next() % 90).map(|_| next() % limit).collect());
    }
    ladders
}

#[test]
fn values_come_out_as_views_as_lengths_and_as_bytes() {
    Tier::for_each_available(|tier| {
        for lengths in ladders() {
            for before in [0, 3] {
                for behind in [0, 1, 15, 40] {
                    let mut page = page(before, &lengths);
                    let end = page.len();
                    page.extend(vec![0xFF; behind]);
                    let page = GuardedBytes::ending_at_guard(&page);
                    let (values, position) = reference::values(&page, before, lengths.len()).unwrap();
                    assert_eq!(position, end);
                    let total_len = lengths.iter().sum();
                    let max_len = lengths.iter().copied().max().unwrap_or(0) as u32;
                    let scan = PlainScan { position, total_len, max_len };

                    let mut views = GuardedSlice::ending_at_guard(&vec![u128::MAX; lengths.len()]);
                    assert_eq!(plain_views(&page, before, 0x8123_4567, &mut views), Ok(scan), "{tier}");
                    let mut at = before;
                    for (view, value) in views.iter().zip(&values) {
                        assert_eq!(*view, spelled_out(value, 0x8123_4567, at as u32 + 4), "{tier} {lengths:?}");
                        at += 4 + value.len();
                    }

                    let mut found = GuardedSlice::ending_at_guard(&vec![-1; lengths.len()]);
                    assert_eq!(plain_lengths(&page, before, &mut found), Ok(scan), "{tier}");
                    assert!(found.iter().map(|&len| len as usize).eq(lengths.iter().copied()), "{tier} {lengths:?}");

                    let mut out = GuardedBytes::ending_at_guard(&vec![0x5A; total_len]);
                    assert_eq!(copy_plain(&page, before, &found, &mut out), Ok(end), "{tier}");
                    assert_eq!(*out, *values.concat(), "{tier} {lengths:?}");
                }
            }
        }
    });
}

#[test]
fn a_page_cut_anywhere_is_refused() {
    Tier::for_each_available(|tier| {
        for lengths in [vec![0, 5, 12, 13, 40, 1], vec![3; 20], vec![100, 0]] {
            let page = page(0, &lengths);
            let found: Vec<i32> = lengths.iter().map(|&len| len as i32).collect();
            for cut in 0..page.len() {
                let page = GuardedBytes::ending_at_guard(&page[..cut]);
                assert!(reference::values(&page, 0, lengths.len()).is_none());
                let short = |result: Result<(), KernelError>| matches!(result, Err(KernelError::InputTooShort { available, needed }) if available == cut && needed > cut);
                let mut views = vec![0; lengths.len()];
                assert!(short(plain_views(&page, 0, 0, &mut views).map(drop)), "{tier} {cut}");
                let mut out = vec![0; lengths.len()];
                assert!(short(plain_lengths(&page, 0, &mut out).map(drop)), "{tier} {cut}");
                let mut out = vec![0; lengths.iter().sum()];
                assert!(short(copy_plain(&page, 0, &found, &mut out).map(drop)), "{tier} {cut}");
            }
        }
    });
}

#[test]
fn negative_and_huge_lengths_are_refused() {
    Tier::for_each_available(|tier| {
        for good in [0, 1, 7, 40] {
            for bad in [-1, i32::MIN, i32::MAX] {
                for behind in [0, 3, 100] {
                    let mut page = page(0, &vec![5; good]);
                    page.extend_from_slice(&bad.to_le_bytes());
                    page.extend(vec![1; behind]);
                    let expected = if bad < 0 {
                        KernelError::NegativeLength { position: good }
                    } else {
                        KernelError::InputTooShort { needed: 9 * good + 4 + bad as usize, available: page.len() }
                    };
                    let views = plain_views(&page, 0, 0, &mut vec![0; good + 3]);
                    assert_eq!(views, Err(expected), "{tier}");
                    let lengths = plain_lengths(&page, 0, &mut vec![0; good + 3]);
                    assert_eq!(lengths, Err(expected), "{tier}");
                }
            }
        }
        let refused = copy_plain(&[0; 64], 0, &[1, -1], &mut [0; 1]);
        assert_eq!(refused, Err(KernelError::NegativeLength { position: 1 }), "{tier}");
    });
}

#[test]
fn position_past_the_page_is_refused() {
    Tier::for_each_available(|tier| {
        for position in [9, usize::MAX - 3, usize::MAX] {
            assert!(plain_views(&[0; 8], position, 0, &mut [0]).is_err(), "{tier}");
            assert!(plain_lengths(&[0; 8], position, &mut [0]).is_err(), "{tier}");
            assert!(copy_plain(&[0; 8], position, &[0], &mut []).is_err(), "{tier}");
        }
    });
}

#[test]
fn output_of_another_length_than_the_values_is_refused() {
    let page = page(0, &[5, 6]);
    Tier::for_each_available(|tier| {
        let refused = copy_plain(&page, 0, &[5, 6], &mut [0; 12]);
        assert_eq!(refused, Err(KernelError::LengthMismatch { expected: 11, actual: 12 }), "{tier}");
    });
}

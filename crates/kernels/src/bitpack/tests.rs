use lath_testkit::{GuardedBytes, GuardedSlice, Plain, Seeded, lengths};

use super::{reference, unpack_checked_u8, unpack_checked_u32, unpack_checked_u64};
use super::{unpack_msb_u8, unpack_u8, unpack_u32, unpack_u64};
use crate::{KernelError, Tier};

fn random_bytes(random: &mut Seeded, len: usize) -> Vec<u8> {
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

type Unpack<T> = fn(&[u8], u32, &mut [T]) -> Result<(), KernelError>;

/// Inputs of exactly the required length, against a guard page, and inputs followed by a few non-zero bytes.
fn check<T: Plain + PartialEq + std::fmt::Debug>(tier: Tier, max: u32, unpack: Unpack<T>, from: fn(u64) -> T) {
    let mut random = Seeded::new("every_tier_unpacks_every_width_and_length");
    for width in 0..=max {
        for count in lengths().filter(|&count| count < 70 || count % 8 < 2 && count < 300) {
            let needed = (count * width as usize).div_ceil(8);
            let behind = random.usize(..40);
            let bytes = match random.u8(..4) {
                0 => vec![0xff; needed + behind],
                _ => random_bytes(&mut random, needed + behind),
            };
            let expected: Vec<T> = reference::unpack(&bytes, width, count).into_iter().map(from).collect();
            let garbage = vec![from(0xa5); count];
            for (src, mut out) in [
                (GuardedBytes::ending_at_guard(&bytes[..needed]), GuardedSlice::ending_at_guard(&garbage)),
                (GuardedBytes::ending_at_guard(&bytes), GuardedSlice::starting_at_guard(&garbage)),
            ] {
                assert_eq!(unpack(&src, width, &mut out), Ok(()));
                assert_eq!(*out, expected[..], "{tier} width {width} count {count} behind {behind}");
            }
        }
    }
}

#[test]
fn every_tier_unpacks_every_width_and_length() {
    Tier::for_each_available(|tier| {
        check(tier, 8, unpack_u8, |value| value as u8);
        check(tier, 32, unpack_u32, |value| value as u32);
        check(tier, 64, unpack_u64, |value| value);
    });
}

#[test]
fn every_tier_takes_bytes_past_the_end_as_zeros() {
    let mut random = Seeded::new("every_tier_takes_bytes_past_the_end_as_zeros");
    Tier::for_each_available(|tier| {
        for width in 1..=64 {
            let full = random_bytes(&mut random, 100 * width as usize / 8);
            for cut in [1, full.len() / 2, full.len()] {
                let src = GuardedBytes::ending_at_guard(&full[..full.len() - cut]);
                let expected = reference::unpack(&src, width, 100);
                let mut out = [1; 100];
                unpack_checked_u64(&src, width, &mut out);
                assert_eq!(out[..], expected, "{tier} width {width} cut {cut}");
                if width <= 32 {
                    let mut out = [1; 100];
                    unpack_checked_u32(&src, width, &mut out);
                    assert_eq!(out.map(u64::from)[..], expected, "{tier} width {width} cut {cut}");
                }
                if width <= 8 {
                    let mut out = [1; 100];
                    unpack_checked_u8(&src, width, &mut out);
                    assert_eq!(out.map(u64::from)[..], expected, "{tier} width {width} cut {cut}");
                }
            }
        }
    });
}

#[test]
fn most_significant_bit_first_unpacks_every_width_and_length() {
    let mut random = Seeded::new("most_significant_bit_first_unpacks_every_width_and_length");
    for width in 0..=8 {
        for count in lengths().filter(|&count| count < 300) {
            let src = random_bytes(&mut random, (count * width as usize).div_ceil(8));
            let expected = reference::unpack_msb(&src, width, count);
            let mut out = vec![0xa5; count];
            unpack_msb_u8(&src, width, &mut out).unwrap();
            assert!(out.iter().map(|&value| u64::from(value)).eq(expected), "width {width} count {count}");
        }
    }
}

#[test]
fn the_documented_example_of_the_deprecated_order_unpacks() {
    let mut out = [9; 8];
    unpack_msb_u8(&[0b0000_0101, 0b0011_1001, 0b0111_0111], 3, &mut out).unwrap();
    assert_eq!(out, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn short_input_and_wide_widths_are_errors() {
    let short = KernelError::InputTooShort { needed: 4, available: 3 };
    assert_eq!(unpack_u8(&[0; 3], 3, &mut [0; 9]), Err(short));
    assert_eq!(unpack_u32(&[0; 3], 3, &mut [0; 9]), Err(short));
    assert_eq!(unpack_u64(&[0; 3], 3, &mut [0; 9]), Err(short));
    assert_eq!(unpack_msb_u8(&[0; 3], 3, &mut [0; 9]), Err(short));
    assert_eq!(unpack_u8(&[0; 99], 9, &mut [0; 9]), Err(KernelError::WidthOutOfRange { width: 9, max: 8 }));
    assert_eq!(unpack_u32(&[0; 99], 33, &mut [0; 9]), Err(KernelError::WidthOutOfRange { width: 33, max: 32 }));
    assert_eq!(unpack_u64(&[0; 99], 65, &mut [0; 9]), Err(KernelError::WidthOutOfRange { width: 65, max: 64 }));
    assert_eq!(unpack_msb_u8(&[0; 99], 9, &mut [0; 9]), Err(KernelError::WidthOutOfRange { width: 9, max: 8 }));
}

#[test]
fn width_zero_needs_no_input() {
    let mut out = [7; 33];
    unpack_u32(&[], 0, &mut out).unwrap();
    assert_eq!(out, [0; 33]);
}

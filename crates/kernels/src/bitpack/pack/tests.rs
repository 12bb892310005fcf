use lath_testkit::{GuardedBytes, GuardedSlice, Plain, Seeded, lengths};

use super::super::{packed_len, reference};
use super::{pack_u32, pack_u64};
use crate::{KernelError, Tier};

type Pack<T> = fn(&[T], u32, &mut [u8]) -> Result<usize, KernelError>;

/// Outputs of exactly the required length, against a guard page, and longer ones, whose other bytes must not change.
fn check<T: Plain>(tier: Tier, max: u32, pack: Pack<T>, from: fn(u64) -> T, to: fn(T) -> u64) {
    let mut random = Seeded::new("every_tier_packs_every_width_and_length");
    for width in 0..=max {
        for count in lengths().filter(|&count| count < 70 || count % 8 < 2 && count < 300) {
            let kind = random.u8(..4);
            let random_value = |_| if kind == 0 { u64::MAX } else { random.u64(..) };
            let values: Vec<T> = (0..count).map(random_value).map(from).collect();
            let wide: Vec<u64> = values.iter().map(|&value| to(value)).collect();
            let expected = reference::pack(&wide, width);
            assert_eq!(expected.len(), packed_len(count, width));
            for behind in [0, 1, 70] {
                let src = GuardedSlice::ending_at_guard(&values);
                let mut out = GuardedBytes::ending_at_guard(&vec![0xa5; expected.len() + behind]);
                let context = format!("{tier} width {width} count {count} behind {behind}");
                assert_eq!(pack(&src, width, &mut out), Ok(expected.len()), "{context}");
                assert!(out[..expected.len()] == expected, "{context}");
                assert!(out[expected.len()..].iter().all(|&byte| byte == 0xa5), "{context}");
            }
        }
    }
}

#[test]
fn every_tier_packs_every_width_and_length() {
    Tier::for_each_available(|tier| {
        check(tier, 32, pack_u32, |value| value as u32, u64::from);
        check(tier, 64, pack_u64, |value| value, |value| value);
    });
}

#[test]
fn short_outputs_and_wide_widths_are_errors() {
    let short = KernelError::LengthMismatch { expected: 4, actual: 3 };
    assert_eq!(pack_u32(&[0; 9], 3, &mut [0; 3]), Err(short));
    assert_eq!(pack_u64(&[0; 9], 3, &mut [0; 3]), Err(short));
    assert_eq!(pack_u32(&[0; 9], 33, &mut [0; 99]), Err(KernelError::WidthOutOfRange { width: 33, max: 32 }));
    assert_eq!(pack_u64(&[0; 9], 65, &mut [0; 99]), Err(KernelError::WidthOutOfRange { width: 65, max: 64 }));
}

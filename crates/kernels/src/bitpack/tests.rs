use super::{reference, scalar, unpack_msb_u8, unpack_u8, unpack_u32, unpack_u64};
use crate::random::Random;
use crate::{KernelError, Tier};

/// Lengths around every block size that a tier uses.
const LENGTHS: [usize; 22] = [0, 1, 2, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 250, 1000];

/// One tier's functions, which take checked arguments.
struct Kernels {
    tier: Tier,
    unpack_u8: fn(&[u8], u32, &mut [u8]),
    unpack_u32: fn(&[u8], u32, &mut [u32]),
    unpack_u64: fn(&[u8], u32, &mut [u64]),
}

fn tiers() -> Vec<Kernels> {
    let of = |&tier: &Tier| match tier {
        Tier::Scalar => Some(Kernels {
            tier,
            unpack_u8: scalar::unpack_u8,
            unpack_u32: scalar::unpack_u32,
            unpack_u64: scalar::unpack_u64,
        }),
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => Some(Kernels {
            tier,
            // SAFETY: the tier is available.
            unpack_u8: |src, width, out| unsafe { super::avx2::unpack_u8(src, width, out) },
            // SAFETY: the tier is available.
            unpack_u32: |src, width, out| unsafe { super::avx2::unpack_u32(src, width, out) },
            // SAFETY: the tier is available.
            unpack_u64: |src, width, out| unsafe { super::avx2::unpack_u64(src, width, out) },
        }),
        _ => None,
    };
    Tier::under_test().iter().filter_map(of).collect()
}

/// Inputs of exactly the length needed and of a few bytes more, which are not zero.
fn check<T: Copy + PartialEq + std::fmt::Debug>(
    tier: Tier,
    max: u32,
    unpack: fn(&[u8], u32, &mut [T]),
    from: fn(u64) -> T,
) {
    for width in 0..=max {
        for (seed, &count) in LENGTHS.iter().enumerate() {
            let needed = (count * width as usize).div_ceil(8);
            for behind in [0, 1, 7, 40] {
                for fill in [None, Some(0xff), Some(0x55)] {
                    let src = match fill {
                        None => Random::new(seed as u64).bytes(needed + behind),
                        Some(byte) => vec![byte; needed + behind],
                    };
                    let src = src.into_boxed_slice();
                    let expected: Vec<T> = reference::unpack(&src, width, count).into_iter().map(from).collect();
                    let mut out = vec![from(0xa5); count];
                    unpack(&src, width, &mut out);
                    assert_eq!(
                        out, expected,
                        "{tier} width {width} count {count} behind {behind} fill {fill:?} seed {seed}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_tier_unpacks_every_width_and_length() {
    for kernels in tiers() {
        check(kernels.tier, 8, kernels.unpack_u8, |value| value as u8);
        check(kernels.tier, 32, kernels.unpack_u32, |value| value as u32);
        check(kernels.tier, 64, kernels.unpack_u64, |value| value);
    }
}

#[test]
fn every_tier_takes_bytes_past_the_end_as_zeros() {
    for kernels in tiers() {
        for width in 1..=64 {
            let full = Random::new(7).bytes(40 * width as usize / 8);
            for cut in [1, full.len() / 2, full.len()] {
                let src = &full[..full.len() - cut];
                let expected = reference::unpack(src, width, 40);
                let mut out = [1; 40];
                (kernels.unpack_u64)(src, width, &mut out);
                assert_eq!(out[..], expected, "{} width {width} cut {cut}", kernels.tier);
                if width <= 32 {
                    let mut out = [1; 40];
                    (kernels.unpack_u32)(src, width, &mut out);
                    assert!(
                        out.iter().map(|&v| u64::from(v)).eq(expected.iter().copied()),
                        "{} width {width}",
                        kernels.tier
                    );
                }
            }
        }
    }
}

#[test]
fn most_significant_bit_first_unpacks_every_width_and_length() {
    for width in 0..=8 {
        for (seed, &count) in LENGTHS.iter().enumerate() {
            let src = Random::new(seed as u64).bytes((count * width as usize).div_ceil(8));
            let expected = reference::unpack_msb(&src, width, count);
            let mut out = vec![0xa5; count];
            unpack_msb_u8(&src, width, &mut out).unwrap();
            assert!(out.iter().map(|&v| u64::from(v)).eq(expected), "width {width} count {count} seed {seed}");
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

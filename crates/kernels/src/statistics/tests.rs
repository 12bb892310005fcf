use std::cmp::Ordering;

use lath_testkit::{GuardedBytes, GuardedSlice, Plain, Seeded, lengths};

use super::floats::Float;
use super::{FloatRange, float_range_f16, float_range_f32, float_range_f64, min_max_big_endian, min_max_strings};
use super::{min_max_i32, min_max_i64, min_max_u32, min_max_u64};
use crate::{ByteStrings, KernelError, Tier};

/// The name of the tests' random numbers.
const NAME: &str = "extremes";

fn check_integers<T: Plain + Ord + std::fmt::Debug>(
    tier: Tier,
    from: fn(u64) -> T,
    min_max: fn(&[T]) -> Option<(T, T)>,
) {
    for count in lengths() {
        let mut random = Seeded::with_seed(NAME, count as u64);
        let shift = random.u32(..64);
        let values: Vec<T> = (0..count).map(|_| from(random.u64(..) >> shift)).collect();
        let expected = values.iter().min().copied().zip(values.iter().max().copied());
        assert_eq!(min_max(&GuardedSlice::ending_at_guard(&values)), expected, "{tier} {count}");
    }
    // The extreme at every position of blocks and after them.
    let [low, middle, high] = [from(1 << 63), from(5), from(u64::MAX >> 1)];
    for place in 0..200 {
        let mut values = vec![middle; 200];
        for extreme in [low, high, from(0), from(u64::MAX)] {
            values[place] = extreme;
            assert_eq!(min_max(&values), Some((middle.min(extreme), middle.max(extreme))), "{tier} {place}");
        }
    }
}

#[test]
fn every_tier_finds_the_extremes_of_integers() {
    Tier::for_each_available(|tier| {
        check_integers(tier, |bits| bits as i32, min_max_i32);
        check_integers(tier, |bits| bits as u32, min_max_u32);
        check_integers(tier, u64::cast_signed, min_max_i64);
        check_integers(tier, |bits| bits, min_max_u64);
    });
}

/// Values sorted by `order`, with a function that compares their bits.
fn check_floats<T: Float + Plain + std::fmt::Debug>(
    tier: Tier,
    from: fn(u64) -> T,
    is_nan: fn(T) -> bool,
    order: fn(T, T) -> Ordering,
    range: fn(&[T]) -> FloatRange<T>,
) {
    for count in lengths().filter(|&count| count < 3000).chain([100_000]) {
        for kind in 0..4 {
            let mut random = Seeded::with_seed(NAME, count as u64);
            let value = |random: &mut Seeded| loop {
                let bits = random.u64(..) & [u64::MAX, 0x8000_0000_8000_8000, u64::MAX, u64::MAX][kind];
                let value = from(bits);
                // Kind 2 has only NaNs, kind 3 none.
                if kind < 2 || is_nan(value) == (kind == 2) {
                    return value;
                }
            };
            let count = if kind == 2 { count.min(70) } else { count };
            let values: Vec<T> = (0..count).map(|_| value(&mut random)).collect();
            let found = range(&GuardedSlice::ending_at_guard(&values));
            let context = format!("{tier} {count} kind {kind} {found:?}");

            let numbers: Vec<T> = values.iter().copied().filter(|&value| !is_nan(value)).collect();
            assert_eq!(found.nan_count, count - numbers.len(), "{context}");
            let chosen = if numbers.is_empty() { &values } else { &numbers };
            let min = chosen.iter().copied().min_by(|&a, &b| order(a, b));
            let max = chosen.iter().copied().max_by(|&a, &b| order(a, b));
            let same = |a: Option<T>, b: Option<T>| match (a, b) {
                (Some(a), Some(b)) => order(a, b) == Ordering::Equal,
                (None, None) => true,
                _ => false,
            };
            assert!(same(found.in_total_order().map(|(min, _)| min), min), "{context}");
            assert!(same(found.in_total_order().map(|(_, max)| max), max), "{context}");
            assert_eq!(found.in_type_order().is_some(), !numbers.is_empty(), "{context}");
        }
    }
}

fn f16_order(a: [u8; 2], b: [u8; 2]) -> Ordering {
    // Exactly the order of these numbers after widening.
    let wide = |value: [u8; 2]| {
        let bits = u32::from(u16::from_le_bytes(value));
        f32::from_bits(
            (bits & 0x8000) << 16 | (bits & 0x7fff) << 13 | if bits & 0x7c00 == 0x7c00 { 0x7f80_0000 } else { 0 },
        )
    };
    wide(a).total_cmp(&wide(b))
}

#[test]
fn every_tier_finds_the_range_of_floats() {
    Tier::for_each_available(|tier| {
        let is_nan_f16 = |value| u16::from_le_bytes(value) & 0x7fff > 0x7c00;
        check_floats(tier, |bits| (bits as u16).to_le_bytes(), is_nan_f16, f16_order, float_range_f16);
        check_floats(tier, |bits| f32::from_bits(bits as u32), f32::is_nan, |a, b| a.total_cmp(&b), float_range_f32);
        check_floats(tier, f64::from_bits, f64::is_nan, |a, b| a.total_cmp(&b), float_range_f64);
    });
}

#[test]
fn zeros_have_the_sign_required_by_the_order() {
    Tier::for_each_available(|_| {
        let bits = |range: Option<(f64, f64)>| range.map(|(min, max)| (min.to_bits(), max.to_bits()));
        for values in [[0.0, -0.0], [0.0, 0.0], [-0.0, -0.0], [f64::NAN, 0.0]] {
            assert_eq!(bits(float_range_f64(&values).in_type_order()), bits(Some((-0.0, 0.0))));
        }
        assert_eq!(bits(float_range_f64(&[0.0, 0.0]).in_total_order()), bits(Some((0.0, 0.0))));
        assert_eq!(bits(float_range_f64(&[-0.0, -0.0]).in_total_order()), bits(Some((-0.0, -0.0))));
        assert_eq!(bits(float_range_f64(&[1.0, 2.0]).in_type_order()), bits(Some((1.0, 2.0))));
        assert_eq!(float_range_f64(&[f64::NAN]).in_type_order(), None);
        let infinite = [f64::INFINITY, f64::NAN, f64::INFINITY];
        assert_eq!(float_range_f64(&infinite).in_type_order(), Some((f64::INFINITY, f64::INFINITY)));
    });
}

/// Strings of a few letters, so that prefixes are common, and zero bytes, in all layouts that kernels take.
#[test]
fn strings_are_found_wherever_they_are_kept() {
    for seed in 0..300 {
        let mut random = Seeded::with_seed(NAME, seed);
        let longest = [3, 12, 20, 50][seed as usize % 4];
        let fixed = seed % 3 == 0;
        let prefix = vec![b'p'; random.usize(..longest)];
        let strings: Vec<Vec<u8>> = (0..random.usize(1..60))
            .map(|_| {
                let len = if fixed { longest } else { random.usize(..longest + 1) };
                let mut string: Vec<u8> = (0..len).map(|_| random.u8(..3) * 127).collect();
                let shared = prefix.len().min(len);
                string[..shared].copy_from_slice(&prefix[..shared]);
                string
            })
            .collect();
        let min = (0..strings.len()).min_by_key(|&at| &strings[at]).unwrap();
        let max = (0..strings.len()).rev().max_by_key(|&at| &strings[at]).unwrap();
        let data = GuardedBytes::ending_at_guard(&strings.concat());
        let mut ends = vec![0_usize];
        ends.extend(strings.iter().scan(0, |end, string| {
            *end += string.len();
            Some(*end)
        }));
        let narrow: Vec<i32> = ends.iter().map(|&end| end as i32).collect();
        let wide: Vec<i64> = ends.iter().map(|&end| end as i64).collect();
        let view = |at: usize| {
            let mut view = [0; 16];
            view[..4].copy_from_slice(&(strings[at].len() as u32).to_le_bytes());
            if strings[at].len() <= 12 {
                view[4..4 + strings[at].len()].copy_from_slice(&strings[at]);
            } else {
                view[4..8].copy_from_slice(&strings[at][..4]);
                view[12..].copy_from_slice(&(ends[at] as u32).to_le_bytes());
            }
            u128::from_le_bytes(view)
        };
        let views: Vec<u128> = (0..strings.len()).map(view).collect();
        let expected = Ok(Some((min, max)));
        let all = [
            ByteStrings::Offsets32 { data: &data, offsets: &narrow },
            ByteStrings::Offsets64 { data: &data, offsets: &wide },
            ByteStrings::Views { views: &views, buffers: &[&data] },
        ];
        for strings in all {
            assert_eq!(min_max_strings(strings), expected, "seed {seed} {strings:?}");
        }
        if fixed {
            assert_eq!(min_max_strings(ByteStrings::Fixed { data: &data, width: longest }), expected, "seed {seed}");
        }
    }
}

#[test]
fn big_endian_numbers_are_signed() {
    for width in 1..40 {
        let mut random = Seeded::with_seed(NAME, width as u64);
        for count in [1, 2, 50] {
            let data: Vec<u8> =
                (0..width * count).map(|_| [0, 0x7f, 0x80, 0xff, random.u8(..)][random.usize(..5)]).collect();
            // With the sign inverted, the order is the same as for unsigned bytes.
            let turned = |at: usize| {
                let mut value = data[at * width..(at + 1) * width].to_vec();
                value[0] ^= 0x80;
                value
            };
            let min = (0..count).min_by_key(|&at| turned(at)).unwrap();
            let max = (0..count).rev().max_by_key(|&at| turned(at)).unwrap();
            let guarded = GuardedBytes::ending_at_guard(&data);
            assert_eq!(min_max_big_endian(&guarded, width), Ok(Some((min, max))), "width {width} count {count}");
        }
    }
}

#[test]
fn no_strings_have_no_extremes_and_stray_offsets_are_errors() {
    assert_eq!(min_max_strings(ByteStrings::Offsets32 { data: &[], offsets: &[] }), Ok(None));
    assert_eq!(min_max_strings(ByteStrings::Views { views: &[], buffers: &[] }), Ok(None));
    assert_eq!(min_max_big_endian(&[], 16), Ok(None));
    assert_eq!(min_max_big_endian(&[1], 0), Ok(None));
    assert!(matches!(min_max_big_endian(&[1; 3], 2), Err(KernelError::Malformed { .. })));
    for offsets in [[0, 5, 2], [0, 2, 9], [-1, 2, 3]] {
        let strings = ByteStrings::Offsets32 { data: &[0; 8], offsets: &offsets };
        assert!(matches!(min_max_strings(strings), Err(KernelError::Malformed { .. })), "{offsets:?}");
    }
}

use lath_testkit::{GuardedBytes, GuardedSlice, Seeded, lengths};

use super::super::reference;
use super::{encode_bits, encode_u8, encode_u32, max_encoded_len};
use crate::{KernelError, Tier};

/// The name of the tests' random numbers.
const NAME: &str = "encoded runs";

type Encode<T> = fn(&[T], u32, &mut [u8]) -> Result<usize, KernelError>;

/// Values in runs up to `longest` long, each of one value or of random ones.
fn values_in_runs(random: &mut Seeded, count: usize, width: u32, longest: usize) -> Vec<u32> {
    let mut values = Vec::new();
    let value = |random: &mut Seeded| random.u32(..).checked_shr(32 - width).unwrap_or(0);
    while values.len() < count {
        let length = random.usize(..longest) + 1;
        if random.bool() {
            let repeated = value(random);
            values.extend(std::iter::repeat_n(repeated, length));
        } else {
            values.extend(std::iter::repeat_with(|| value(random)).take(length));
        }
    }
    values.truncate(count);
    values
}

/// Checks that the encoder's output is no longer than its bound, decodes to the values, and does so in bounds.
fn encoded<T: lath_testkit::Plain>(values: &[T], width: u32, encode: Encode<T>) -> Vec<u8> {
    let src = GuardedSlice::ending_at_guard(values);
    let mut out = GuardedBytes::ending_at_guard(&vec![0xa5; max_encoded_len(values.len(), width)]);
    let len = encode(&src, width, &mut out).unwrap();
    assert!(len <= values.len().div_ceil(8) * width as usize + values.len() / 512 + 6);
    out[..len].to_vec()
}

/// Decodes the bytes by the specification, without the padding of the last group.
fn decoded(bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
    let mut values = reference::decode(bytes, width);
    assert!((count..count + 8).contains(&values.len()), "{} values for {count}", values.len());
    assert!(values[count..].iter().all(|&value| value == 0), "padding is zero");
    values.truncate(count);
    values
}

#[test]
fn every_tier_encodes_every_width_and_length() {
    Tier::for_each_available(|tier| {
        for width in 1..=32 {
            for count in lengths().filter(|&count| count < 70 || count % 8 < 2 && count < 1100) {
                for longest in [1, 3, 20, 200, 2000] {
                    let mut random = Seeded::with_seed(NAME, (count + longest) as u64);
                    let values = values_in_runs(&mut random, count, width, longest);
                    let context = format!("{tier} width {width} count {count} longest {longest}");
                    let bytes = encoded(&values, width, encode_u32);
                    assert!(decoded(&bytes, width, count) == values, "{context}");
                    if width <= 8 {
                        let narrow: Vec<u8> = values.iter().map(|&value| value as u8).collect();
                        assert!(encoded(&narrow, width, encode_u8) == bytes, "{context}");
                    }
                    if width == 1 {
                        check_bits(&mut random, &values, &bytes);
                    }
                }
            }
        }
    });
}

/// Checks that the bits at any offset, with others around them, are encoded like the values.
fn check_bits(random: &mut Seeded, values: &[u32], expected: &[u8]) {
    let offset = random.usize(..70);
    let behind = random.usize(..20);
    let mut bits: Vec<bool> = std::iter::repeat_with(|| random.bool()).take(offset + values.len() + behind).collect();
    for (bit, &value) in bits[offset..].iter_mut().zip(values) {
        *bit = value == 1;
    }
    let byte = |bits: &[bool]| bits.iter().enumerate().fold(0, |byte, (at, &bit)| byte | u8::from(bit) << at);
    let bitmap = GuardedBytes::ending_at_guard(&bits.chunks(8).map(byte).collect::<Vec<u8>>());
    let mut out = GuardedBytes::ending_at_guard(&vec![0xa5; max_encoded_len(values.len(), 1)]);
    let len = encode_bits(&bitmap, offset, values.len(), &mut out).unwrap();
    assert!(out[..len] == *expected, "{} bits at {offset}", values.len());
}

#[test]
fn tiers_agree_byte_for_byte() {
    for seed in 0..60 {
        let mut random = Seeded::with_seed(NAME, seed);
        let width = random.u32(1..33);
        let (count, longest) = (random.usize(..3000), random.usize(..100) + 1);
        let values = values_in_runs(&mut random, count, width, longest);
        let mut first = None;
        Tier::for_each_available(|tier| {
            let bytes = encoded(&values, width, encode_u32);
            assert!(*first.get_or_insert(bytes.clone()) == bytes, "{tier} width {width} seed {seed}");
        });
    }
}

#[test]
fn any_number_of_equal_values_is_one_run() {
    Tier::for_each_available(|tier| {
        for count in lengths().filter(|&count| count > 0) {
            for width in [1, 2, 3, 8, 17] {
                let bytes = encoded(&vec![1_u32; count], width, encode_u32);
                let mut expected = Vec::new();
                for byte in [count << 1 & 0x7f, count << 1 >> 7] {
                    expected.push(byte as u8);
                }
                if count < 64 {
                    expected.pop();
                } else {
                    expected[0] |= 0x80;
                }
                if count >= 8192 {
                    expected =
                        vec![(count << 1) as u8 | 0x80, (count << 1 >> 7) as u8 | 0x80, (count << 1 >> 14) as u8];
                }
                expected.extend(&1_u32.to_le_bytes()[..width.div_ceil(8) as usize]);
                assert_eq!(bytes, expected, "{tier} count {count} width {width}");
            }
        }
    });
}

#[test]
fn runs_are_used_where_they_are_shorter() {
    // Random values, then a run that starts within a group, then random values.
    for (width, shortest) in [(1, 32), (2, 16), (3, 16), (4, 8), (8, 8), (9, 8), (32, 8)] {
        for length in [shortest - 1, shortest] {
            let alternating = (0..24).map(|at| at % 2);
            let values: Vec<u32> =
                alternating.clone().chain(std::iter::repeat_n(1, length)).chain(alternating).collect();
            let bytes = encoded(&values, width, encode_u32);
            let packed = values.len().div_ceil(8) * width as usize + 1;
            assert_eq!(bytes.len() == packed, length < shortest, "width {width} length {length}");
            assert!(bytes.len() <= packed);
            assert_eq!(decoded(&bytes, width, values.len()), values);
        }
    }
}

#[test]
fn bits_above_the_width_are_dropped() {
    Tier::for_each_available(|tier| {
        let values: Vec<u32> = (0..100).map(|at| at | 0xffff_ff00).chain([0xffff_fff5; 50]).collect();
        let bytes = encoded(&values, 5, encode_u32);
        let expected: Vec<u32> = values.iter().map(|value| value & 31).collect();
        assert_eq!(decoded(&bytes, 5, 150), expected, "{tier}");
    });
}

#[test]
fn width_zero_is_a_header_alone() {
    let mut out = vec![0; max_encoded_len(100, 0)];
    assert_eq!(encode_u32(&[0; 100], 0, &mut out), Ok(2));
    assert_eq!(out[..2], [200, 1]);
    assert_eq!(encode_u8(&[], 0, &mut out), Ok(0));
    assert_eq!(encode_u8(&[], 3, &mut out), Ok(0));
    assert_eq!(encode_bits(&[], 0, 0, &mut out), Ok(0));
}

#[test]
fn short_outputs_wide_widths_and_missing_bits_are_errors() {
    let room = max_encoded_len(9, 3);
    let short = Err(KernelError::LengthMismatch { expected: room, actual: room - 1 });
    assert_eq!(encode_u32(&[0; 9], 3, &mut vec![0; room - 1]), short);
    assert_eq!(encode_u8(&[0; 9], 3, &mut vec![0; room - 1]), short);
    let room = max_encoded_len(9, 1);
    let short = Err(KernelError::LengthMismatch { expected: room, actual: room - 1 });
    assert_eq!(encode_bits(&[0; 2], 0, 9, &mut vec![0; room - 1]), short);
    assert_eq!(encode_u32(&[], 33, &mut [0; 99]), Err(KernelError::WidthOutOfRange { width: 33, max: 32 }));
    assert_eq!(encode_u8(&[], 9, &mut [0; 99]), Err(KernelError::WidthOutOfRange { width: 9, max: 8 }));
    let missing = Err(KernelError::InputTooShort { needed: 3, available: 2 });
    assert_eq!(encode_bits(&[0; 2], 8, 9, &mut vec![0; room]), missing);
}

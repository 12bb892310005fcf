use lath_testkit::{GuardedBytes, GuardedSlice, Plain, Seeded, lengths};

use super::super::{Integer, reference};
use super::{encode_i32, encode_i64, max_encoded_len};
use crate::{KernelError, Tier};

/// The name of the tests' random numbers.
const NAME: &str = "encoded deltas";

type Encode<T> = fn(&[T], &mut [u8]) -> Result<usize, KernelError>;

/// The encoder's output next to a guard page.
fn encoded<T: Integer + Plain>(values: &[T], encode: Encode<T>) -> Vec<u8> {
    let src = GuardedSlice::ending_at_guard(values);
    let mut out = GuardedBytes::ending_at_guard(&vec![0xa5; max_encoded_len::<T>(values.len())]);
    let len = encode(&src, &mut out).unwrap();
    out[..len].to_vec()
}

/// Random walks whose deltas have up to `width` bits above a random smallest one; every 32nd value gets another width
/// if `mixed`.
fn walk(random: &mut Seeded, count: usize, width: u32, mixed: bool) -> Vec<i64> {
    let bits = |random: &mut Seeded, width: u32| random.u64(..).checked_shr(64 - width).unwrap_or(0);
    let least = random.i64(..) >> random.u32(..64);
    let mut value = random.i64(..);
    let mut width_here = width;
    (0..count)
        .map(|index| {
            if mixed && index % 32 == 0 {
                width_here = random.u32(..width + 1);
            }
            value = value.wrapping_add(least).wrapping_add(bits(random, width_here).cast_signed());
            value
        })
        .collect()
}

/// Checks that the bytes decode to the values by the specification, and end at the right offset; i32 values modulo
/// 2^32.
fn check(values: &[i64], context: &str) {
    let bytes = encoded(values, encode_i64);
    assert!(reference::decode(&bytes) == (values.to_vec(), bytes.len()), "i64 {context}");
    let narrow: Vec<i32> = values.iter().map(|&value| value as i32).collect();
    let bytes = encoded(&narrow, encode_i32);
    let (decoded, end) = reference::decode(&bytes);
    assert!(decoded.iter().map(|&value| value as i32).eq(narrow) && end == bytes.len(), "i32 {context}");
}

#[test]
fn every_tier_encodes_every_width() {
    Tier::for_each_available(|tier| {
        for width in 0..=64 {
            for (seed, count) in [1000, 129, 130, 383].into_iter().enumerate() {
                let values = walk(&mut Seeded::with_seed(NAME, seed as u64), count, width, false);
                check(&values, &format!("{tier} width {width} count {count}"));
            }
        }
    });
}

#[test]
fn every_tier_encodes_every_count() {
    Tier::for_each_available(|tier| {
        for count in (0..300).chain(lengths().filter(|&count| count > 300)) {
            let values = walk(&mut Seeded::with_seed(NAME, count as u64), count, 40, true);
            check(&values, &format!("{tier} count {count}"));
        }
    });
}

#[test]
fn every_tier_encodes_the_greatest_deltas() {
    Tier::for_each_available(|tier| {
        let extremes = [i64::MIN, i64::MAX, 0, -1, 1, i64::MIN + 1, i32::MIN.into(), i32::MAX.into()];
        for seed in 0..50 {
            let mut random = Seeded::with_seed(NAME, seed);
            let values: Vec<i64> = (0..400).map(|_| extremes[random.usize(..8)]).collect();
            check(&values, &format!("{tier} seed {seed}"));
        }
    });
}

#[test]
fn widths_are_the_least_that_hold_their_miniblock() {
    Tier::for_each_available(|tier| {
        // The first delta is −1 and the others 0, except for value 40, whose delta is 9.
        let mut values = vec![9; 129];
        values[0] = 10;
        values[40..].fill(18);
        let bytes = encoded(&values, encode_i32);
        assert_eq!(bytes[..10], [128, 1, 4, 129, 1, 20, 1, 1, 4, 1], "{tier}");
        assert_eq!(bytes.len(), 11 + 4 * (1 + 4 + 1 + 1));
        // These values again after it: of the second block one miniblock is stored.
        let values = [values, vec![18; 20]].concat();
        let bytes = encoded(&values, encode_i64_of_i32);
        assert_eq!(bytes[39..], [0, 0, 0, 0, 0], "{tier}");
    });
}

fn encode_i64_of_i32(values: &[i32], out: &mut [u8]) -> Result<usize, KernelError> {
    let wide: Vec<i64> = values.iter().map(|&value| value.into()).collect();
    let mut room = vec![0; max_encoded_len::<i64>(wide.len())];
    let len = encode_i64(&wide, &mut room)?;
    out[..len].copy_from_slice(&room[..len]);
    Ok(len)
}

#[test]
fn none_and_one_value_are_a_header_alone() {
    assert_eq!(encoded(&[], encode_i32), [128, 1, 4, 0, 0]);
    assert_eq!(encoded(&[-3], encode_i64), [128, 1, 4, 1, 5]);
}

#[test]
fn short_outputs_are_errors() {
    let room = max_encoded_len::<i32>(5);
    let short = Err(KernelError::LengthMismatch { expected: room, actual: room - 1 });
    assert_eq!(encode_i32(&[0; 5], &mut vec![0; room - 1]), short);
    let room = max_encoded_len::<i64>(5);
    let short = Err(KernelError::LengthMismatch { expected: room, actual: room - 1 });
    assert_eq!(encode_i64(&[0; 5], &mut vec![0; room - 1]), short);
}

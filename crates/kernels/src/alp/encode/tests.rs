use lath_testkit::{GuardedSlice, Plain, Seeded, lengths};

use super::super::reference::{self, Spec, Vector};
use super::super::scale::Scale;
use super::super::tests::{assert_same_bits, awkward};
use super::super::{Float, decode};
use super::{BLOCK, Candidates, encode, estimate_len, max_encoded_len};
use crate::{KernelError, Tier};

fn encoded<T: Float>(values: &[T], candidates: &Candidates<T>) -> Vec<u8> {
    let mut page = vec![0xa5; max_encoded_len::<T>(values.len())];
    let len = encode(values, candidates, &mut page).unwrap();
    page.truncate(len);
    page
}

/// Decimal numbers, other numbers, integers of all sizes, and special values.
fn mixed<T: Spec>(random: &mut Seeded, len: usize) -> Vec<T> {
    let unusual = awkward::<T>();
    let kind = random.u8(..6);
    let digits = random.i32(0..8);
    let mut value = || match kind {
        0 => T::from_raw_bits(random.u64(..)),
        1 => unusual[random.usize(..unusual.len())],
        2 => T::from_integer(random.i64(..) >> random.u8(..64)),
        3 if random.u8(..4) == 0 => unusual[random.usize(..unusual.len())],
        _ => T::from_integer(random.i64(-99_999_999..99_999_999)).times(reference::power(-digits)),
    };
    (0..len).map(|_| value()).collect()
}

fn check_round_trip<T: Float + Spec + Plain>(tier: Tier) {
    let mut random = Seeded::new("every_page_decodes_to_what_was_encoded");
    for len in lengths().filter(|&len| len < 5_000) {
        let values: Vec<T> = mixed(&mut random, len);
        let context = format!("{tier}, {len} values");
        let src = GuardedSlice::ending_at_guard(&values);
        let page = encoded(&src[..], &Candidates::find(&src[..]));
        assert_same_bits(&reference::decode::<T>(&page), &values, &context);
        let mut out = GuardedSlice::ending_at_guard(&vec![T::from_raw_bits(0xa5a5); len]);
        assert_eq!(decode(&page, 0, &mut out[..]), Ok(()), "{context}");
        assert_same_bits(&out, &values, &context);
    }
}

#[test]
fn every_page_decodes_to_what_was_encoded() {
    Tier::for_each_available(|tier| {
        check_round_trip::<f32>(tier);
        check_round_trip::<f64>(tier);
    });
}

fn check_digits<T: Float + Spec>(tier: Tier) {
    let mut random = Seeded::new("every_tier_encodes_integers_as_specified");
    let edges: Vec<T> = [22, 23, 24, 30, 31, 32, 50, 51, 52, 53, 62, 63, 64]
        .into_iter()
        .flat_map(|power| {
            let value = T::from_integer(1)
                .times((0..power).fold(T::from_integer(1), |value, _| value.times(T::from_integer(2))));
            let sign = 1 << (8 * T::SIZE - 1);
            let bits = [value.bits() - 1, value.bits(), value.bits() + 1];
            bits.into_iter().flat_map(move |bits| [T::from_raw_bits(bits), T::from_raw_bits(bits | sign)])
        })
        .collect();
    let halves: Vec<T> = (-9..9)
        .map(|value| {
            T::from_integer(value).times(T::from_integer(1).times(reference::power(-1)).times(T::from_integer(5)))
        })
        .collect();
    for scale in Scale::<T>::all() {
        let mut block = [T::from_integer(0); BLOCK];
        let pool = mixed::<T>(&mut random, BLOCK);
        for (at, value) in block.iter_mut().enumerate() {
            *value = match random.u8(..6) {
                0 => edges[random.usize(..edges.len())],
                1 => halves[random.usize(..halves.len())],
                // Close to the edges once scaled.
                2 => edges[random.usize(..edges.len())].times(scale.to_value[0]).times(scale.to_value[1]),
                _ => pool[at],
            };
        }
        let mut integers = [[T::Bits::default(); BLOCK]];
        let mut misses = [0xa5];
        let (min, max) = T::digitize(&[block], &scale, &mut integers, &mut misses);
        let pair = reference::Pair::new(scale.exponent, scale.factor);
        let expected = block.map(|value| pair.integer(value));
        for (bit, (&expected, &value)) in expected.iter().zip(&block).enumerate() {
            let got = (misses[0] >> bit & 1 == 0).then(|| integers[0][bit].into());
            let expected = expected.map(|integer| T::truncate(integer.cast_unsigned()).into());
            assert_eq!(got, expected, "{tier}: {value:?} with {scale:?}");
        }
        let hits = expected.iter().flatten().copied();
        if let (Some(least), Some(greatest)) = (hits.clone().min(), hits.max()) {
            let range = [min, max].map(|value| value.to_integer().into());
            assert_eq!(
                range,
                [least, greatest].map(|value| T::truncate(value.cast_unsigned()).into()),
                "{tier} {scale:?}"
            );
        }
    }
}

#[test]
fn every_tier_encodes_integers_as_specified() {
    Tier::for_each_available(|tier| {
        for _ in 0..4 {
            check_digits::<f32>(tier);
            check_digits::<f64>(tier);
        }
    });
}

#[test]
fn every_tier_encodes_to_the_same_bytes() {
    let mut random = Seeded::new("every_tier_encodes_to_the_same_bytes");
    let pages: Vec<Vec<f64>> = (0..30).map(|_| mixed(&mut random, 2_500)).collect();
    let floats: Vec<Vec<f32>> = (0..30).map(|_| mixed(&mut random, 2_500)).collect();
    let mut expected = None;
    Tier::for_each_available(|tier| {
        let mut all: Vec<Vec<u8>> = pages.iter().map(|values| encoded(values, &Candidates::find(values))).collect();
        all.extend(floats.iter().map(|values| encoded(values, &Candidates::find(values))));
        assert!(*expected.get_or_insert_with(|| all.clone()) == all, "{tier}");
    });
}

#[test]
fn unsuitable_values_stay_within_announced_length() {
    let mut random = Seeded::new("unsuitable_values_stay_within_announced_length");
    for len in [0, 1, 63, 64, 65, 1_024, 1_025, 3_000] {
        let values: Vec<f64> = (0..len).map(|_| f64::from_bits(random.u64(..))).collect();
        let page = encoded(&values, &Candidates::find(&values));
        assert!(page.len() <= max_encoded_len::<f64>(len));
        assert_same_bits(&reference::decode::<f64>(&page), &values, "random bits");
    }
}

#[test]
fn short_outputs_are_errors() {
    let values = [1.5; 10];
    let expected = max_encoded_len::<f64>(10);
    let error = KernelError::LengthMismatch { expected, actual: expected - 1 };
    assert_eq!(encode(&values, &Candidates::find(&values), &mut vec![0; expected - 1]), Err(error));
}

/// Prices with two decimal digits need the bits of their range in cents and no exceptions.
#[test]
fn decimal_numbers_take_the_bits_of_their_range() {
    let mut random = Seeded::new("decimal_numbers_take_the_bits_of_their_range");
    let values: Vec<f64> = (0..10_240).map(|_| f64::from(random.i32(0..1 << 20)) / 100.0).collect();
    let candidates = Candidates::find(&values);
    let page = encoded(&values, &candidates);
    for vector in reference::vectors::<f64>(&page) {
        assert_eq!((vector.width, vector.exponent - vector.factor, vector.exceptions.len()), (20, 2, 0));
    }
    assert_eq!(page.len(), 7 + 10 * (4 + 13 + 1_024 * 20 / 8));
}

#[test]
fn exceptions_do_not_widen_the_integers_around_them() {
    let mut values: Vec<f64> = (0..1_024).map(|index| f64::from(index % 16) + 1_000.5).collect();
    values[0] = f64::NAN;
    values[512] = 1e300;
    values[1_023] = -0.0;
    let [Vector { width, exceptions, .. }] =
        &reference::vectors::<f64>(&encoded(&values, &Candidates::find(&values)))[..]
    else {
        panic!("one vector");
    };
    assert_eq!(*width, 8);
    assert_eq!(exceptions.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 512, 1_023]);
}

/// Two halves of a page that need different pairs.
#[test]
fn each_vector_takes_the_best_candidate() {
    let mut values: Vec<f64> = (0..4_096).map(|index| f64::from(index * 7 % 1_000)).collect();
    values.extend((0..4_096).map(|index| f64::from(index * 7 % 1_000) / 1000.0));
    let candidates = Candidates::find(&values);
    assert!(candidates.pairs().count() > 1);
    let widths: Vec<u32> =
        reference::vectors::<f64>(&encoded(&values, &candidates)).iter().map(|vector| vector.width).collect();
    assert_eq!(widths, [10; 8]);
}

#[test]
fn estimates_are_exact_for_few_values_and_near_for_many() {
    let mut random = Seeded::new("estimates_are_exact_for_few_values_and_near_for_many");
    let values: Vec<f64> = (0..100_000).map(|_| f64::from(random.i32(0..1 << 20)) / 100.0).collect();
    for (len, allowed) in [(0, 0), (1, 0), (1_000, 0), (8_192, 0), (100_000, 2_000)] {
        let values = &values[..len];
        let candidates = Candidates::find(values);
        let page = encoded(values, &candidates).len();
        assert!(estimate_len(values, &candidates).abs_diff(page) <= allowed, "{len} values");
    }
}

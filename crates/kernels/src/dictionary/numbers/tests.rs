use std::fmt::Debug;
use std::hash::Hash;

use lath_testkit::{GuardedSlice, Plain, Seeded, lengths};

use super::{Number, NumberSlot, Numbers};
use crate::KernelError;
use crate::dictionary::{reference, slot_count};

/// Values, each of which is one of `distinct`.
fn draw<T: Copy>(random: &mut Seeded, count: usize, distinct: &[T]) -> Vec<T> {
    (0..count).map(|_| distinct[random.usize(..distinct.len())]).collect()
}

fn check<T: Number + Plain + Hash + Debug>(values: &[T], dictionary_room: usize, call_len: usize) {
    let (codes, distinct) = reference::intern(values.iter().copied());
    // All values before the first without room.
    let taken = codes.iter().position(|&code| code as usize >= dictionary_room).unwrap_or(values.len());

    // Garbage in slots does not matter.
    let mut slots =
        vec![NumberSlot { value: values.first().copied().unwrap_or(T::ZERO), code: 3 }; slot_count(dictionary_room)];
    let mut dictionary = GuardedSlice::ending_at_guard(&vec![T::ONE; dictionary_room]);
    let mut out = GuardedSlice::ending_at_guard(&vec![0xDEAD; values.len()]);
    let mut len = Numbers::new(&mut slots, &mut dictionary).unwrap().len();
    let mut done = 0;
    for chunk in values.chunks(call_len.max(1)) {
        let mut table = Numbers::resume(&mut slots, &mut dictionary, len).unwrap();
        let took = table.intern(chunk, &mut out[done..done + chunk.len()]).unwrap();
        done += took;
        len = table.len();
        if took < chunk.len() {
            break;
        }
    }
    assert_eq!(done, taken);
    assert_eq!(out[..taken], codes[..taken]);
    assert_eq!(dictionary[..len], distinct[..distinct.len().min(dictionary_room)]);

    // After it is full, a larger table continues.
    let mut slots = vec![NumberSlot::EMPTY; slot_count(distinct.len())];
    let mut larger = distinct.clone();
    larger[len..].fill(T::ONE);
    let mut table = Numbers::rebuild(&mut slots, &mut larger, len).unwrap();
    let rest = out.len() - taken;
    assert_eq!(table.intern(&values[taken..], &mut out[taken..]), Ok(rest));
    assert_eq!(*out, *codes);
    assert_eq!(table.values(), distinct);
}

fn conformance<T: Number + Plain + Hash + Debug>(name: &str, any: impl Fn(&mut Seeded) -> T, small: impl Fn(u32) -> T) {
    let mut random = Seeded::new(name);
    for count in lengths().step_by(3) {
        for distinct in [1, 2, 3, 10, 300] {
            let dense: Vec<T> = (0..distinct).map(&small).collect();
            let sparse: Vec<T> = (0..distinct).map(|_| any(&mut random)).collect();
            for pool in [dense, sparse] {
                let values = draw(&mut random, count, &pool);
                for room in [0, 1, 2, 5, 299, 1000] {
                    check(&values, room, [7, 100, 10_000][count % 3]);
                }
            }
        }
    }
}

#[test]
fn four_byte_values_get_the_code_of_their_first_occurrence() {
    conformance::<u32>("numbers of four bytes", |random| random.u32(..), |i| i);
}

#[test]
fn eight_byte_values_get_the_code_of_their_first_occurrence() {
    conformance::<u64>("numbers of eight bytes", |random| random.u64(..), |i| (f64::from(i) * 0.01).to_bits());
}

#[test]
fn sixteen_byte_values_get_the_code_of_their_first_occurrence() {
    conformance::<u128>("numbers of sixteen bytes", |random| random.u128(..), |i| u128::from(i) << 64);
}

#[test]
fn zero_and_one_are_values_like_others() {
    for values in [[0_u64, 1], [1, 0], [0, 0], [1, 1], [u64::MAX, 0]] {
        check(&values, 2, 2);
        check(&values.map(|value| value as u32), 2, 2);
        check(&values.map(u128::from), 2, 2);
    }
}

#[test]
fn colliding_values_are_refused_after_bounded_search() {
    // Multiples of the inverse of the hash's factor have products that differ only in their lowest bits.
    let inverse = {
        let mut inverse = 1_u64;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(inverse)));
        }
        inverse
    };
    let values: Vec<u64> = (1..=200).map(|i| inverse.wrapping_mul(i)).collect();
    let (mut slots, mut dictionary) = (vec![NumberSlot::EMPTY; slot_count(200)], [0; 200]);
    let mut table = Numbers::new(&mut slots, &mut dictionary).unwrap();
    let mut codes = [0; 200];
    let taken = table.intern(&values, &mut codes).unwrap();
    assert_eq!(taken, super::MAX_CHAIN);
    assert_eq!(table.len(), taken);
    assert!(codes[..taken].iter().copied().eq(0..taken as u32));
    // The values taken are still found.
    assert_eq!(table.intern(&values[..taken], &mut [0; 200][..taken]), Ok(taken));
}

#[test]
fn slot_counts_must_be_powers_of_two() {
    for count in [0, 1, 3, 6, 1000] {
        let mut slots = vec![NumberSlot::<u32>::EMPTY; count];
        assert!(Numbers::new(&mut slots, &mut [0; 4]).is_err(), "{count}");
        assert!(Numbers::resume(&mut slots, &mut [0; 4], 0).is_err(), "{count}");
    }
}

#[test]
fn more_values_than_there_is_room_for_are_refused() {
    let mut slots = [NumberSlot::<u32>::EMPTY; 16];
    assert!(Numbers::rebuild(&mut slots, &mut [0; 4], 5).is_err());
    assert!(Numbers::resume(&mut slots, &mut [0, 1, 2, 3, 4], 5).is_err());
}

#[test]
fn number_of_codes_must_match_number_of_values() {
    let mut slots = [NumberSlot::<u32>::EMPTY; 16];
    let mut dictionary = [0; 4];
    let mut table = Numbers::new(&mut slots, &mut dictionary).unwrap();
    let refused = table.intern(&[1, 2], &mut [0]);
    assert_eq!(refused, Err(KernelError::LengthMismatch { expected: 2, actual: 1 }));
}

#[test]
fn any_bytes_in_slots_are_safe() {
    let mut random = Seeded::new("any bytes in slots are safe");
    for _ in 0..50 {
        let mut slots: Vec<NumberSlot<u32>> =
            (0..64).map(|_| NumberSlot { value: random.u32(..8), code: random.u32(..) }).collect();
        let mut dictionary = [7; 16];
        let values: Vec<u32> = (0..100).map(|_| random.u32(..16)).collect();
        let mut table = Numbers::resume(&mut slots, &mut dictionary, 5).unwrap();
        assert!(table.intern(&values, &mut [0; 100]).unwrap() <= 100);
    }
}

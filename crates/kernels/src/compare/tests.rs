use std::collections::HashSet;
use std::fmt::Debug;

use lath_testkit::{GuardedSlice, Plain, Seeded, lengths};

use super::reference::{SqlOrder, bitmap, holds};
use super::{
    Comparison, Number, NumberSet, Truth, between, codes, compare, compare_slices, compare_strings, in_set,
    set_slot_count, strings_in_set, strings_start_with,
};
use crate::byte_strings::layouts::Layouts;
use crate::{ByteStrings, KernelError, Tier};

const GARBAGE: u64 = 0xDEAD_BEEF_0BAD_F00D;

/// Runs a kernel on slices at either side of guard pages, with garbage in its output.
fn answers<T: Plain>(values: &[T], kernel: impl Fn(&[T], &mut [u64]) -> Result<(), KernelError>) -> Vec<u64> {
    let garbage = vec![GARBAGE; values.len().div_ceil(64)];
    let mut at_end = GuardedSlice::ending_at_guard(&garbage);
    kernel(&GuardedSlice::ending_at_guard(values), &mut at_end).unwrap();
    let mut at_start = GuardedSlice::starting_at_guard(&garbage);
    kernel(&GuardedSlice::starting_at_guard(values), &mut at_start).unwrap();
    assert_eq!(*at_end, *at_start);
    at_end.to_vec()
}

/// Every function on one type; `special` are the values at the ends of its order and around.
fn conforms<T: Number + SqlOrder + Plain + Debug>(tier: Tier, from: fn(u128) -> T, special: &[T]) {
    for len in lengths().filter(|&len| len < 1100).chain([5_000]) {
        let mut random = Seeded::with_seed("compare", len as u64);
        let few: Vec<T> = (0..4).map(|_| from(random.u128(..))).collect();
        let pick = |random: &mut Seeded| match random.u8(..4) {
            0 => special[random.usize(..special.len())],
            1 => few[random.usize(..few.len())],
            2 => from(random.u128(..) >> random.u32(..128)),
            _ => from(random.u128(..)),
        };
        let values: Vec<T> = (0..len).map(|_| pick(&mut random)).collect();
        let others: Vec<T> =
            values.iter().map(|&value| if random.bool() { value } else { pick(&mut random) }).collect();
        for op in Comparison::ALL {
            let literal = pick(&mut random);
            let expected = bitmap(values.iter().map(|&value| holds(value, op, literal)));
            let found = answers(&values, |values, out| compare(values, op, literal, out));
            assert_eq!(found, expected, "{tier} {len} {op:?} {literal:?}");

            let expected = bitmap(values.iter().zip(&others).map(|(&left, &right)| holds(left, op, right)));
            let right = GuardedSlice::ending_at_guard(&others);
            let found = answers(&values, |values, out| compare_slices(values, op, &right, out));
            assert_eq!(found, expected, "{tier} {len} {op:?}");
        }
        let (low, high) = (pick(&mut random), pick(&mut random));
        let inside =
            |value| holds(value, Comparison::GreaterOrEqual, low) && holds(value, Comparison::LessOrEqual, high);
        let found = answers(&values, |values, out| between(values, low, high, out));
        assert_eq!(found, bitmap(values.iter().map(|&value| inside(value))), "{tier} {len} {low:?} to {high:?}");

        let set: Vec<T> = (0..random.usize(..20)).map(|_| pick(&mut random)).collect();
        let is_member = |value| set.iter().any(|&wanted| holds(value, Comparison::Equal, wanted));
        let found = answers(&values, |values, out| in_set(values, &set, out));
        assert_eq!(found, bitmap(values.iter().map(|&value| is_member(value))), "{tier} {len} {set:?}");

        let set: Vec<T> = (0..random.usize(..200)).map(|_| pick(&mut random)).collect();
        let is_member = |value| set.iter().any(|&wanted| holds(value, Comparison::Equal, wanted));
        let mut slots = GuardedSlice::ending_at_guard(&vec![from(u128::MAX); set_slot_count(set.len())]);
        let numbers = NumberSet::new(&set, &mut slots).unwrap();
        let found = answers(&values, |values, out| numbers.find(values, out));
        assert_eq!(found, bitmap(values.iter().map(|&value| is_member(value))), "{tier} {len} {set:?}");
    }
    // Every pair of special values, in every lane of a whole block and of a partial one.
    for &literal in special {
        let values: Vec<T> = special.iter().copied().cycle().take(special.len() * 64 + 7).collect();
        for op in Comparison::ALL {
            let expected = bitmap(values.iter().map(|&value| holds(value, op, literal)));
            let found = answers(&values, |values, out| compare(values, op, literal, out));
            assert_eq!(found, expected, "{tier} {op:?} {literal:?}");
        }
        for &high in special {
            let expected = bitmap(values.iter().map(|&value| {
                holds(value, Comparison::GreaterOrEqual, literal) && holds(value, Comparison::LessOrEqual, high)
            }));
            let found = answers(&values, |values, out| between(values, literal, high, out));
            assert_eq!(found, expected, "{tier} {literal:?} to {high:?}");
        }
    }
}

macro_rules! conformance {
    ($($name:ident $number:ty, |$bits:ident| $from:expr, [$($special:expr),*];)*) => { $(
        #[test]
        fn $name() {
            Tier::for_each_available(|tier| conforms::<$number>(tier, |$bits| $from, &[$($special),*]));
        }
    )* };
}

conformance! {
    signed_bytes_compare_as_numbers i8, |bits| bits as i8, [i8::MIN, -1, 0, 1, i8::MAX];
    integers_of_16_bits_compare_as_numbers i16, |bits| bits as i16, [i16::MIN, -1, 0, 1, i16::MAX];
    integers_of_32_bits_compare_as_numbers i32, |bits| bits as i32, [i32::MIN, -1, 0, 1, i32::MAX];
    integers_of_64_bits_compare_as_numbers i64, |bits| bits as i64,
        [i64::MIN, i64::from(i32::MIN), -1, 0, 1, 1 << 32, i64::MAX];
    integers_of_128_bits_compare_as_numbers i128, |bits| bits as i128,
        [i128::MIN, -(1 << 64), -1, 0, 1, i128::from(i64::MAX), 1 << 63, (1 << 64) - 1, 1 << 64, i128::MAX];
    bytes_compare_without_sign u8, |bits| bits as u8, [0, 1, 0x7f, 0x80, u8::MAX];
    unsigned_integers_of_16_bits_compare u16, |bits| bits as u16, [0, 1, 0x7fff, 0x8000, u16::MAX];
    unsigned_integers_of_32_bits_compare u32, |bits| bits as u32, [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX];
    unsigned_integers_of_64_bits_compare u64, |bits| bits as u64, [0, 1, u64::MAX >> 1, 1 << 63, u64::MAX];
    unsigned_integers_of_128_bits_compare u128, |bits| bits,
        [0, 1, (1 << 64) - 1, 1 << 64, u128::MAX >> 1, 1 << 127, u128::MAX];
    floats_of_32_bits_have_one_zero_and_one_nan_above_all f32, |bits| f32::from_bits(bits as u32),
        [f32::NEG_INFINITY, f32::MIN, -f32::MIN_POSITIVE, -f32::from_bits(1), -0.0, 0.0, f32::from_bits(1), 1.0,
            f32::MAX, f32::INFINITY, f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001), f32::from_bits(0xffff_ffff)];
    floats_of_64_bits_have_one_zero_and_one_nan_above_all f64, |bits| f64::from_bits(bits as u64),
        [f64::NEG_INFINITY, f64::MIN, -f64::MIN_POSITIVE, -f64::from_bits(1), -0.0, 0.0, f64::from_bits(1), 1.0,
            f64::MAX, f64::INFINITY, f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001), f64::from_bits(u64::MAX)];
}

#[test]
fn codes_become_the_bits_of_their_entries() {
    Tier::for_each_available(|tier| {
        for entries in [1_usize, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1000, 5000] {
            let mut random = Seeded::with_seed("codes", entries as u64);
            // Bits after the last entry are garbage.
            let words: Vec<u64> = (0..entries.div_ceil(64)).map(|_| random.u64(..)).collect();
            let truth = Truth::new(&words, entries).unwrap();
            let passes = |code: u32| words[code as usize / 64] >> (code % 64) & 1 == 1;
            for len in lengths().filter(|&len| len < 600) {
                // Runs of about 150, then single codes.
                let mut indices = vec![0; len];
                for likelihood in [150, 1] {
                    let mut code = 0;
                    indices.fill_with(|| {
                        if random.u32(..likelihood) == 0 {
                            code = random.u32(..entries as u32);
                        }
                        code
                    });
                    let found = answers(&indices, |indices, out| codes(indices, truth, out));
                    assert_eq!(found, bitmap(indices.iter().map(|&code| passes(code))), "{tier} {entries} {len}");
                }

                let Some(last) = len.checked_sub(1) else { continue };
                for stray in [entries as u32, 1 << 31, u32::MAX] {
                    let at = random.usize(..=last);
                    let sound = std::mem::replace(&mut indices[at], stray);
                    let found = codes(&indices, truth, &mut vec![0; len.div_ceil(64)]);
                    let expected = KernelError::IndexOutOfRange { index: stray, len: entries };
                    assert_eq!(found, Err(expected), "{tier} {entries} {len}");
                    indices[at] = sound;
                }
            }
        }
        assert_eq!(codes(&[], Truth::new(&[], 0).unwrap(), &mut []), Ok(()), "{tier}");
        assert!(codes(&[0], Truth::new(&[], 0).unwrap(), &mut [0]).is_err(), "{tier}");
    });
    assert!(Truth::new(&[0], 65).is_err());
}

#[test]
fn bitmaps_are_joined_word_by_word() {
    let mut random = Seeded::new("compare::bitmaps_are_joined_word_by_word");
    for len in 0..40 {
        let mut words = || (0..len).map(|_| random.u64(..)).collect::<Vec<_>>();
        let (a, b) = (words(), words());
        let joined = |join: fn(&mut [u64], &[u64]) -> Result<(), KernelError>| {
            let mut joined = a.clone();
            join(&mut joined, &b).unwrap();
            assert!(join(&mut joined, &[&b[..], &[0]].concat()).is_err());
            joined
        };
        let each = |f: fn(u64, u64) -> u64| a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect::<Vec<_>>();
        assert_eq!(joined(super::and), each(|a, b| a & b));
        assert_eq!(joined(super::or), each(|a, b| a | b));
        assert_eq!(joined(super::and_not), each(|a, b| a & !b));
        assert_eq!(super::count(&a), a.iter().map(|word| word.count_ones() as usize).sum::<usize>());
    }
}

#[test]
fn lengths_that_disagree_are_errors() {
    let wrong = |expected, actual| Err(KernelError::LengthMismatch { expected, actual });
    assert_eq!(compare(&[1, 2], Comparison::Less, 1, &mut []), wrong(1, 0));
    assert_eq!(between(&[1; 65], 1, 2, &mut [0]), wrong(2, 1));
    assert_eq!(in_set(&[1; 64], &[1], &mut [0, 0]), wrong(1, 2));
    assert_eq!(compare_slices(&[1, 2], Comparison::Less, &[1], &mut [0]), wrong(2, 1));
    assert_eq!(codes(&[0], Truth::new(&[1], 1).unwrap(), &mut []), wrong(1, 0));
}

/// Strings of few letters, so that many share their first bytes, including zeros; all of one length if `fixed`.
fn strings(random: &mut Seeded, count: usize, longest: usize, fixed: bool) -> Vec<Vec<u8>> {
    let string = |random: &mut Seeded| {
        let len = if fixed { longest } else { random.usize(..=longest) };
        let same = random.usize(..=len);
        (0..len).map(|at| if at < same { b'p' } else { random.u8(..3) * 127 }).collect()
    };
    (0..count).map(|_| string(random)).collect()
}

#[test]
fn strings_in_every_layout_compare_by_their_bytes() {
    for seed in 0..120 {
        let mut random = Seeded::with_seed("compare::strings", seed);
        let longest = [1, 2, 3, 4, 5, 8, 11, 12, 13, 16, 20, 40][seed as usize % 12];
        let fixed = seed % 5 < 2;
        let count = [0, 1, 63, 64, 65, 511, 512, 513, 1100][random.usize(..9)];
        let all = strings(&mut random, count, longest, fixed);
        let others_fixed = random.bool();
        let others = strings(&mut random, 50, longest, others_fixed);
        let pick = |random: &mut Seeded| {
            let from = if all.is_empty() || random.u8(..4) == 0 { &others } else { &all };
            let mut picked = from[random.usize(..from.len())].clone();
            match random.u8(..8) {
                0 => picked.truncate(random.usize(..=picked.len())),
                1 => picked.push(random.u8(..2)),
                _ => {}
            }
            picked
        };
        let literal = pick(&mut random);
        let mut set: Vec<Vec<u8>> = (0..random.usize(..40)).map(|_| pick(&mut random)).collect();
        set.sort();
        let set: Vec<&[u8]> = set.iter().map(Vec::as_slice).collect();
        let layouts = Layouts::new(&all);
        Tier::for_each_available(|tier| {
            layouts.for_each(|strings| {
                let context = || format!("{tier} seed {seed} {strings:?}");
                // Without strings, a fixed length cannot be determined.
                let mut out = GuardedSlice::ending_at_guard(&vec![GARBAGE; all.len().div_ceil(64)]);
                for op in Comparison::ALL {
                    let order = |string: &Vec<u8>| holds(string.as_slice().cmp(&literal) as i8, op, 0);
                    compare_strings(strings, op, &literal, &mut out).unwrap();
                    assert_eq!(*out, bitmap(all.iter().map(order)), "{} {op:?} {literal:?}", context());
                }
                strings_in_set(strings, &set, &mut out).unwrap();
                let expected = bitmap(all.iter().map(|string| set.contains(&string.as_slice())));
                assert_eq!(*out, expected, "{} {set:?}", context());
                strings_start_with(strings, &literal, &mut out).unwrap();
                let expected = bitmap(all.iter().map(|string| string.starts_with(&literal)));
                assert_eq!(*out, expected, "{} {literal:?}", context());
            });
        });
    }
}

#[test]
fn strings_outside_their_bytes_are_errors_when_read() {
    let mut out = [GARBAGE];
    // Its length and first bytes equal the literal's, and its offset is invalid.
    let mut view = [0; 16];
    view[..8].copy_from_slice(b"\x10\0\0\0long");
    view[12] = 5;
    let views = [u128::from_le_bytes(view)];
    for buffers in [&[][..], &[&b"long enough to be so"[..8]]] {
        let strings = ByteStrings::Views { views: &views, buffers };
        assert!(compare_strings(strings, Comparison::Equal, b"long enough to b", &mut out).is_err());
        assert!(compare_strings(strings, Comparison::Less, b"long", &mut out).is_err());
        compare_strings(strings, Comparison::Less, b"lomg", &mut out).unwrap();
        assert_eq!(out, [0]);
    }
    for offsets in [[0, 9], [-1, 1], [3, 2]] {
        let strings = ByteStrings::Offsets32 { data: b"abcd", offsets: &offsets };
        assert!(compare_strings(strings, Comparison::Less, b"b", &mut out).is_err(), "{offsets:?}");
    }
}

#[test]
fn large_sets_are_found_whatever_their_values() {
    let multiples: Vec<u64> = (0..50_000).map(|value| value << 40).collect();
    let dense: Vec<u64> = (0..50_000).collect();
    let mut random = Seeded::new("compare::large_sets");
    let loose: Vec<u64> = (0..50_000).map(|_| random.u64(..)).collect();
    for wanted in [multiples, dense, loose] {
        let mut slots = vec![0; set_slot_count(wanted.len())];
        let set = NumberSet::new(&wanted, &mut slots).unwrap();
        let mut out = vec![0; wanted.len().div_ceil(64)];
        set.find(&wanted, &mut out).unwrap();
        assert_eq!(super::count(&out), wanted.len());
        let others: Vec<u64> = wanted.iter().map(|value| !value).collect();
        set.find(&others, &mut out).unwrap();
        let members: HashSet<u64> = wanted.into_iter().collect();
        assert_eq!(super::count(&out), others.iter().filter(|other| members.contains(other)).count());
    }
    assert!(NumberSet::new(&[1, 2], &mut [0; 3]).is_err());
    let mut slots = [0; 8];
    let mut out = [GARBAGE];
    NumberSet::<i32>::new(&[], &mut slots).unwrap().find(&[0, 1], &mut out).unwrap();
    assert_eq!(out, [0]);
}

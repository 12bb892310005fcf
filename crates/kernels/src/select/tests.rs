use lath_testkit::{GuardedBytes, GuardedSlice, Plain, Seeded, lengths};

use super::reference;
use crate::{KernelError, Tier};

/// Bitmaps of every kind: none, all, sparse, dense, even, in runs, and only the two ends.
fn bits(random: &mut Seeded, len: usize, kind: usize) -> Vec<bool> {
    let mut run = false;
    (0..len)
        .map(|index| match kind {
            0 => false,
            1 => true,
            2 => random.u8(..) < 8,
            3 => random.u8(..) >= 8,
            4 => random.bool(),
            5 => {
                run ^= random.u8(..) < 4;
                run
            }
            6 => index == 0 || index + 1 == len,
            _ => index != 0 && index + 1 != len,
        })
        .collect()
}

const KINDS: usize = 8;

fn garbage(random: &mut Seeded, len: usize) -> Vec<u8> {
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

/// A bitmap with `bits` from `offset` on among random bits, which ends with the byte of the last.
fn bitmap(random: &mut Seeded, bits: &[bool], offset: usize) -> Vec<u8> {
    let around = garbage(random, (offset + bits.len()).div_ceil(8));
    reference::with_bits(&around, offset, bits)
}

/// Offsets within a byte and beyond one.
fn offset(random: &mut Seeded) -> usize {
    if random.bool() { random.usize(..8) } else { random.usize(..100) }
}

type Expand<T> = fn(&mut [T], usize, &[u8], usize) -> Result<(), KernelError>;
type Compress<T> = fn(&[T], &[u8], usize, &mut [T]) -> Result<usize, KernelError>;

/// The conformance test of every element function.
fn check_elements<T: Plain + PartialEq + std::fmt::Debug>(
    name: &str,
    element: impl Fn(&mut Seeded) -> T,
    zero: T,
    expand: Expand<T>,
    compress: Compress<T>,
) {
    let mut random = Seeded::new(format!("select::check_elements {name}"));
    for len in lengths() {
        for kind in 0..KINDS {
            if len > 300 && random.u8(..) > 100 {
                continue;
            }
            let chosen = bits(&mut random, len, kind);
            let start = offset(&mut random);
            let bitmap = bitmap(&mut random, &chosen, start);
            let all: Vec<T> = (0..len).map(|_| element(&mut random)).collect();
            let compact = reference::compress(&all, &chosen);
            let expanded = reference::expand(&compact, zero, &chosen);
            // Elements before the values are garbage.
            let mut packed = all.clone();
            packed[len - compact.len()..].copy_from_slice(&compact);
            let room: Vec<T> = (0..compact.len()).map(|_| element(&mut random)).collect();
            Tier::for_each_available(|tier| {
                for at_end in [true, false] {
                    let (bitmap, mut values, all, mut out) = if at_end {
                        (
                            GuardedBytes::ending_at_guard(&bitmap),
                            GuardedSlice::ending_at_guard(&packed),
                            GuardedSlice::ending_at_guard(&all),
                            GuardedSlice::ending_at_guard(&room),
                        )
                    } else {
                        (
                            GuardedBytes::starting_at_guard(&bitmap),
                            GuardedSlice::starting_at_guard(&packed),
                            GuardedSlice::starting_at_guard(&all),
                            GuardedSlice::starting_at_guard(&room),
                        )
                    };
                    expand(&mut values, compact.len(), &bitmap, start).unwrap();
                    assert_eq!(&*values, &expanded[..], "expand {name}, {tier}, {len} slots, kind {kind}, bit {start}");
                    assert_eq!(compress(&all, &bitmap, start, &mut out), Ok(compact.len()), "compress {name}, {tier}");
                    assert_eq!(&*out, &compact[..], "compress {name}, {tier}, {len} slots, kind {kind}, bit {start}");
                }
                let mut roomy = vec![zero; compact.len() + 40];
                assert_eq!(compress(&all, &bitmap, start, &mut roomy), Ok(compact.len()), "compress {name}, {tier}");
                assert_eq!(&roomy[..compact.len()], &compact[..], "compress {name} with room to spare, {tier}");
            });
        }
    }
    Tier::for_each_available(|tier| {
        let mut values = [zero; 20];
        let short = Err(KernelError::InputTooShort { needed: 3, available: 2 });
        assert_eq!(expand(&mut values, 0, &[0; 2], 0), short, "{name}, {tier}");
        assert_eq!(expand(&mut values, 0, &[0; 3], 5), Err(KernelError::InputTooShort { needed: 4, available: 3 }));
        let mismatch = Err(KernelError::LengthMismatch { expected: 2, actual: 3 });
        assert_eq!(expand(&mut values, 3, &[1, 0, 1], 0), mismatch, "{name}, {tier}");
        assert!(expand(&mut values, usize::MAX, &[1, 0, 1], 0).is_err(), "{name}, {tier}");
        assert!(expand(&mut values, 0, &[0; 3], usize::MAX).is_err(), "{name}, {tier}");
        let mut out = [zero; 1];
        let full = Err(KernelError::LengthMismatch { expected: 2, actual: 1 });
        assert_eq!(compress(&values, &[1, 0, 1], 0, &mut out), full, "{name}, {tier}");
        let short = Err(KernelError::InputTooShort { needed: 3, available: 2 });
        assert_eq!(compress(&values, &[0; 2], 0, &mut out), short, "{name}, {tier}");
    });
}

#[test]
fn bytes_expand_and_compress_like_the_reference() {
    check_elements("u8", |random| random.u8(..), 0, super::expand_in_place_u8, super::compress_u8);
}

#[test]
fn two_byte_elements_expand_and_compress_like_the_reference() {
    check_elements("u16", |random| random.u16(..), 0, super::expand_in_place_u16, super::compress_u16);
}

#[test]
fn four_byte_elements_expand_and_compress_like_the_reference() {
    check_elements("u32", |random| random.u32(..), 0, super::expand_in_place_u32, super::compress_u32);
}

#[test]
fn eight_byte_elements_expand_and_compress_like_the_reference() {
    check_elements("u64", |random| random.u64(..), 0, super::expand_in_place_u64, super::compress_u64);
}

#[test]
fn sixteen_byte_elements_expand_and_compress_like_the_reference() {
    check_elements("u128", |random| random.u128(..), 0, super::expand_in_place_u128, super::compress_u128);
}

#[test]
fn fixed_length_values_expand_like_the_reference() {
    let mut random = Seeded::new("select::fixed_length_values_expand_like_the_reference");
    for width in [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 32, 100] {
        for len in lengths().filter(|&len| len < 300) {
            let valid = bits(&mut random, len, len % KINDS);
            let start = offset(&mut random);
            let validity = bitmap(&mut random, &valid, start);
            let all: Vec<Vec<u8>> = (0..len).map(|_| garbage(&mut random, width)).collect();
            let compact: Vec<&[u8]> = reference::compress(&all.iter().map(Vec::as_slice).collect::<Vec<_>>(), &valid);
            let zero = vec![0; width];
            let expanded = reference::expand(&compact, &zero, &valid).concat();
            let mut packed = all.concat();
            packed[(len - compact.len()) * width..].copy_from_slice(&compact.concat());
            Tier::for_each_available(|tier| {
                let mut values = GuardedBytes::ending_at_guard(&packed);
                super::expand_bytes_in_place(width, &mut values, compact.len(), &validity, start).unwrap();
                assert_eq!(&*values, &expanded[..], "{tier}, width {width}, {len} slots");
                let mut unaligned = [&[0xA5], &packed[..]].concat();
                super::expand_bytes_in_place(width, &mut unaligned[1..], compact.len(), &validity, start).unwrap();
                assert_eq!(&unaligned[1..], &expanded[..], "{tier}, width {width}, {len} slots, unaligned");
            });
        }
    }
}

#[test]
fn fixed_length_values_that_are_not_whole_slots_are_refused() {
    let mismatch = |expected, actual| Err(KernelError::LengthMismatch { expected, actual });
    assert_eq!(super::expand_bytes_in_place(3, &mut [0; 10], 3, &[7], 0), mismatch(9, 10));
    assert_eq!(super::expand_bytes_in_place(0, &mut [0; 1], 0, &[], 0), mismatch(0, 1));
    assert_eq!(super::expand_bytes_in_place(0, &mut [], 0, &[], 0), Ok(()));
    assert_eq!(super::expand_bytes_in_place(3, &mut [0; 9], 2, &[7], 0), mismatch(3, 2));
    assert_eq!(super::expand_bytes_in_place(usize::MAX, &mut [], 0, &[], 0), Ok(()));
}

#[test]
fn bitmaps_expand_compress_copy_fill_and_count_like_the_reference() {
    let mut random = Seeded::new("select::bitmaps_expand_compress_copy_fill_and_count_like_the_reference");
    for len in lengths() {
        for kind in 0..KINDS {
            if len > 300 && random.u8(..) > 100 {
                continue;
            }
            let chosen = bits(&mut random, len, kind);
            let all = bits(&mut random, len, 4);
            let compact = reference::compress(&all, &chosen);
            let [chosen_at, all_at, compact_at, out_at] = std::array::from_fn(|_| offset(&mut random));
            let chosen_map = bitmap(&mut random, &chosen, chosen_at);
            let all_map = bitmap(&mut random, &all, all_at);
            let compact_map = bitmap(&mut random, &compact, compact_at);
            let out = garbage(&mut random, (out_at + len).div_ceil(8));
            let expanded = reference::with_bits(&out, out_at, &reference::expand(&compact, false, &chosen));
            let compressed = reference::with_bits(&out, out_at, &compact);
            let copied = reference::with_bits(&out, out_at, &all);
            Tier::for_each_available(|tier| {
                let context =
                    format!("{tier}, {len} slots, kind {kind}, bits {chosen_at} {all_at} {compact_at} {out_at}");
                let chosen_map = GuardedBytes::ending_at_guard(&chosen_map);
                let all_map = GuardedBytes::ending_at_guard(&all_map);
                let compact_map = GuardedBytes::ending_at_guard(&compact_map);
                let mut written = GuardedBytes::ending_at_guard(&out);
                let (valid, count) = (&chosen_map, compact.len());
                super::expand_bits(&compact_map, compact_at, count, valid, chosen_at, len, &mut written, out_at)
                    .unwrap();
                assert_eq!(&*written, &expanded[..], "expand, {context}");

                let mut written = GuardedBytes::ending_at_guard(&out);
                let appended =
                    super::compress_bits(&all_map, all_at, &chosen_map, chosen_at, len, &mut written, out_at).unwrap();
                assert_eq!(appended, count, "compress, {context}");
                assert_eq!(&*written, &compressed[..], "compress, {context}");

                let mut written = GuardedBytes::ending_at_guard(&out);
                super::copy_bits(&all_map, all_at, &mut written, out_at, len).unwrap();
                assert_eq!(&*written, &copied[..], "copy, {context}");

                for value in [false, true] {
                    let mut written = GuardedBytes::ending_at_guard(&out);
                    super::fill_bits(&mut written, out_at, len, value).unwrap();
                    let filled = reference::with_bits(&out, out_at, &vec![value; len]);
                    assert_eq!(&*written, &filled[..], "fill, {context}");
                }

                assert_eq!(super::count_ones(&chosen_map, chosen_at, len), Ok(count), "count, {context}");
                assert_eq!(reference::bits(&all_map, all_at, len), all, "the source is read only, {context}");
            });
        }
    }
}

#[test]
fn bit_ranges_outside_a_bitmap_are_refused() {
    let short = |needed, available| KernelError::InputTooShort { needed, available };
    assert_eq!(super::count_ones(&[0; 2], 1, 16), Err(short(3, 2)));
    assert!(super::count_ones(&[0; 2], usize::MAX, 2).is_err());
    assert!(super::count_ones(&[0; 2], 2, usize::MAX).is_err());
    assert_eq!(super::copy_bits(&[0], 0, &mut [0; 2], 0, 9), Err(short(2, 1)));
    assert_eq!(super::copy_bits(&[0; 2], 0, &mut [0], 0, 9), Err(short(2, 1)));
    assert_eq!(super::fill_bits(&mut [], 0, 1, true), Err(short(1, 0)));
    assert_eq!(super::fill_bits(&mut [], 0, 0, true), Ok(()));
    assert_eq!(super::compress_bits(&[0], 0, &[0xFF; 2], 0, 9, &mut [0; 2], 0), Err(short(2, 1)));
    assert_eq!(super::compress_bits(&[0; 2], 0, &[0xFF], 0, 9, &mut [0; 2], 0), Err(short(2, 1)));
    assert_eq!(super::compress_bits(&[0; 2], 0, &[0xFF; 2], 0, 9, &mut [0], 0), Err(short(2, 1)));
    assert_eq!(super::expand_bits(&[], 0, 1, &[1], 0, 1, &mut [0], 0), Err(short(1, 0)));
    assert_eq!(super::expand_bits(&[0], 0, 1, &[], 0, 1, &mut [0], 0), Err(short(1, 0)));
    assert_eq!(super::expand_bits(&[0], 0, 1, &[1], 0, 1, &mut [], 0), Err(short(1, 0)));
    let mismatch = KernelError::LengthMismatch { expected: 1, actual: 0 };
    assert_eq!(super::expand_bits(&[0], 0, 0, &[1], 0, 1, &mut [0], 0), Err(mismatch));
}

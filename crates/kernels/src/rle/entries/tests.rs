use lath_testkit::{GuardedBytes, GuardedSlice, Plain, Seeded};

use crate::rle::tests::{write_packed, write_repeated};
use crate::rle::{Decoder, reference};
use crate::{KernelError, Tier};

const NAME: &str = "entries";

type Decode<T> = fn(&mut Decoder, &[u8], &[T], &mut [T]) -> Result<usize, KernelError>;

const DICTIONARIES: [usize; 17] = [1, 2, 3, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 255, 256, 257, 3000];

/// Runs of both kinds, of up to `longest` values (repeated) or groups (packed), of indices below `len`.
fn random_runs(random: &mut Seeded, width: u32, len: usize, longest: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let index = |random: &mut Seeded| random.usize(..len.min(1 << width)) as u64;
    for _ in 0..12 {
        let length = random.usize(..longest + 1);
        if random.usize(..3) == 0 {
            write_repeated(length, index(random), width, &mut bytes);
        } else {
            let values: Vec<u64> = (0..length.div_ceil(4) * 8).map(|_| index(random)).collect();
            write_packed(&values, width, &mut bytes);
        }
    }
    bytes
}

/// Decodes in batches of random sizes up to `largest`, until the input is exhausted.
fn decode_in_batches<T: Plain + Default>(
    decode: Decode<T>,
    (src, width, dict): (&[u8], u32, &[T]),
    random: &mut Seeded,
    largest: usize,
) -> Result<Vec<T>, KernelError> {
    let mut decoder = Decoder::new(width).unwrap();
    let mut values = Vec::new();
    let mut room = GuardedSlice::ending_at_guard(&vec![T::default(); largest]);
    loop {
        let wanted = random.usize(..largest) + 1;
        let batch = &mut room[largest - wanted..];
        let decoded = decode(&mut decoder, src, dict, batch)?;
        values.extend_from_slice(&batch[..decoded]);
        if decoded < wanted {
            return Ok(values);
        }
    }
}

macro_rules! conformance {
    ($module:ident $decode:ident $value:ty) => {
        mod $module {
            use super::*;

            /// Every byte distinguishes entries.
            fn dictionary(random: &mut Seeded, len: usize) -> GuardedSlice<$value> {
                let entries = (0..len).map(|_| random.u64(..) as $value).collect::<Vec<_>>();
                GuardedSlice::ending_at_guard(&entries)
            }

            #[test]
            fn every_tier_looks_up_mixed_runs_in_any_batches() {
                Tier::for_each_available(|tier| {
                    for width in 1..=32 {
                        for (seed, len) in DICTIONARIES.into_iter().enumerate() {
                            let mut random = Seeded::with_seed(NAME, seed as u64);
                            let dict = dictionary(&mut random, len);
                            let longest = [16, 70, 600][(seed + width as usize) % 3];
                            let src = random_runs(&mut random, width, len, longest);
                            let src = GuardedBytes::ending_at_guard(&src);
                            let expected = reference::decode(&src, width);
                            let expected = expected.iter().map(|&index| dict[index as usize]).collect::<Vec<_>>();
                            for largest in [9, 3000, 20_000] {
                                let page = (&src[..], width, &dict[..]);
                                let values = decode_in_batches(Decoder::$decode, page, &mut random, largest);
                                assert!(values.unwrap() == expected, "{tier} width {width} of {len} batches {largest}");
                            }
                        }
                    }
                });
            }

            #[test]
            fn an_index_that_is_out_of_range_is_found_wherever_it_stands() {
                Tier::for_each_available(|tier| {
                    for (width, len) in [(1, 1), (6, 50), (7, 65), (8, 130), (8, 255), (9, 300), (13, 8191), (32, 70)] {
                        let mut random = Seeded::with_seed(NAME, width.into());
                        let dict = dictionary(&mut random, len);
                        let count = 1240;
                        for position in
                            (0..count).step_by(13).chain([1, 63, 64, 1151, 1152, 1215, 1216, 1231, 1232, count - 1])
                        {
                            for bad in [len as u64, (1 << width) - 1] {
                                let mut values: Vec<u64> = (0..count).map(|_| random.usize(..len) as u64).collect();
                                values[position] = bad;
                                let mut src = Vec::new();
                                write_packed(&values, width, &mut src);
                                let src = GuardedBytes::ending_at_guard(&src);
                                let context = format!("{tier} width {width} position {position} bad {bad}");
                                let result = Decoder::new(width).unwrap().$decode(&src, &dict, &mut vec![0; count]);
                                let refused = Err(KernelError::IndexOutOfRange { index: bad as u32, len });
                                assert_eq!(result, refused, "{context}");

                                // Nothing reads the output after the requested values.
                                let result = Decoder::new(width).unwrap().$decode(&src, &dict, &mut vec![0; position]);
                                assert_eq!(result, Ok(position), "{context}");
                            }
                        }
                        let mut src = Vec::new();
                        write_repeated(200, len as u64, width, &mut src);
                        for count in [1, 200, 600] {
                            let result = Decoder::new(width).unwrap().$decode(&src, &dict, &mut vec![0; count]);
                            let refused = Err(KernelError::IndexOutOfRange { index: len as u32, len });
                            assert_eq!(result, refused, "{tier} width {width}");
                        }
                    }
                });
            }

            #[test]
            fn a_last_run_may_lack_its_padding() {
                Tier::for_each_available(|tier| {
                    for width in 1..=32 {
                        let mut random = Seeded::with_seed(NAME, width.into());
                        let dict = dictionary(&mut random, 2);
                        let values: Vec<u64> = (0..1320).map(|_| random.usize(..2) as u64).collect();
                        let mut src = Vec::new();
                        write_packed(&values, width, &mut src);
                        for cut in 1..=2 * width as usize {
                            let src = GuardedBytes::ending_at_guard(&src[..src.len() - cut]);
                            let stored = values.len() - (cut * 8).div_ceil(width as usize);
                            let expected: Vec<_> = values[..stored].iter().map(|&index| dict[index as usize]).collect();
                            for largest in [100, 4000] {
                                let page = (&src[..], width, &dict[..]);
                                let decoded = decode_in_batches(Decoder::$decode, page, &mut random, largest);
                                assert!(decoded.unwrap() == expected, "{tier} width {width} cut {cut}");
                            }
                        }
                    }
                });
            }

            #[test]
            fn no_entries_and_no_bits_are_fine() {
                Tier::for_each_available(|tier| {
                    let src = [255, 1, 0, 0];
                    let mut decoder = Decoder::new(1).unwrap();
                    assert_eq!(decoder.$decode(&src, &[], &mut []), Ok(0), "{tier}");
                    let refused = Err(KernelError::IndexOutOfRange { index: 0, len: 0 });
                    assert_eq!(decoder.$decode(&src, &[], &mut [0]), refused, "{tier}");
                    let mut out = [0; 600];
                    assert_eq!(Decoder::new(0).unwrap().$decode(&[], &[7, 8], &mut out), Ok(600), "{tier}");
                    assert_eq!(out, [7; 600], "{tier}");
                    assert_eq!(Decoder::new(0).unwrap().$decode(&[], &[], &mut [0]), refused, "{tier}");
                });
            }
        }
    };
}

conformance!(four_bytes decode_entries_u32 u32);
conformance!(eight_bytes decode_entries_u64 u64);

use lath_testkit::{GuardedBytes, GuardedSlice, Plain, Seeded};

use super::{Decoder, reference};
use crate::{KernelError, Tier, bitpack};

/// The name of the tests' random numbers.
const NAME: &str = "runs";

type Decode<T> = fn(&mut Decoder, &[u8], &mut [T]) -> Result<usize, KernelError>;

/// A number of at most `width` bits.
fn bits(random: &mut Seeded, width: u32) -> u64 {
    random.u64(..).checked_shr(64 - width).unwrap_or(0)
}

fn write_uleb128(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

pub(super) fn write_repeated(length: usize, value: u64, width: u32, bytes: &mut Vec<u8>) {
    write_uleb128((length as u64) << 1, bytes);
    bytes.extend(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
}

/// Values in groups of eight; `values.len()` is a multiple of 8.
pub(super) fn write_packed(values: &[u64], width: u32, bytes: &mut Vec<u8>) {
    write_uleb128((values.len() as u64 / 8) << 1 | 1, bytes);
    bytes.extend(bitpack::reference::pack(values, width));
}

/// Runs of both kinds, of up to `longest` values (repeated) or groups (packed), empty ones among them.
fn random_runs(random: &mut Seeded, width: u32, longest: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..40 {
        let length = random.usize(..longest + 1);
        if random.usize(..2) == 0 {
            write_repeated(length, bits(random, width), width, &mut bytes);
        } else {
            let values: Vec<u64> = (0..length.div_ceil(4) * 8).map(|_| bits(random, width)).collect();
            write_packed(&values, width, &mut bytes);
        }
    }
    bytes
}

/// Decodes in batches of random sizes up to `largest`, until the input is exhausted.
fn decode_in_batches<T: Plain + Default>(
    decode: Decode<T>,
    src: &[u8],
    width: u32,
    random: &mut Seeded,
    largest: usize,
) -> Vec<T> {
    let mut decoder = Decoder::new(width).unwrap();
    let mut values = Vec::new();
    let mut room = GuardedSlice::ending_at_guard(&vec![T::default(); largest]);
    loop {
        let wanted = random.usize(..largest) + 1;
        let batch = &mut room[largest - wanted..];
        let decoded = decode(&mut decoder, src, batch).unwrap();
        values.extend_from_slice(&batch[..decoded]);
        if decoded < wanted {
            return values;
        }
    }
}

#[test]
fn every_tier_decodes_mixed_runs_in_any_batches() {
    Tier::for_each_available(|tier| {
        for width in 1..=32 {
            for seed in 0..6 {
                let mut random = Seeded::with_seed(NAME, seed);
                let longest = [3, 16, 70, 600][seed as usize % 4];
                let src = GuardedBytes::ending_at_guard(&random_runs(&mut random, width, longest));
                let expected = reference::decode(&src, width);
                for largest in [9, 50, 1000, 20_000] {
                    let context = format!("{tier} width {width} seed {seed} batches {largest}");
                    let values = decode_in_batches(Decoder::decode_u32, &src, width, &mut random, largest);
                    assert!(values == expected, "{context}");
                    if width <= 8 {
                        let values = decode_in_batches(Decoder::decode_u8, &src, width, &mut random, largest);
                        assert!(values.iter().map(|&v| u32::from(v)).eq(expected.iter().copied()), "{context}");
                    }
                }
            }
        }
    });
}

#[test]
fn every_tier_accepts_a_last_run_without_padding() {
    Tier::for_each_available(|tier| {
        for width in 1..=32 {
            let mut src = Vec::new();
            write_repeated(5, 1, width, &mut src);
            let values: Vec<u64> = (0..64).map(|v| v & ((1 << width) - 1)).collect();
            write_packed(&values, width, &mut src);
            let full = reference::decode(&src, width);
            for cut in 1..=2 * width as usize {
                let src = GuardedBytes::ending_at_guard(&src[..src.len() - cut]);
                let stored = full.len() - (cut * 8).div_ceil(width as usize);
                for largest in [3, 200] {
                    let values =
                        decode_in_batches(Decoder::decode_u32, &src, width, &mut Seeded::with_seed(NAME, 1), largest);
                    assert_eq!(values, full[..stored], "{tier} width {width} cut {cut}");
                }
            }
        }
    });
}

/// Decodes runs of width 1 to random offsets of random bitmaps.
fn check_bits(tier: Tier, seed: u64) {
    let context = format!("{tier} seed {seed}");
    let mut random = Seeded::with_seed(NAME, seed);
    let longest = [3, 16, 70, 900][seed as usize % 4];
    let src = GuardedBytes::ending_at_guard(&random_runs(&mut random, 1, longest));
    let expected = reference::decode(&src, 1);
    let mut decoder = Decoder::new(1).unwrap();
    let mut passed = 0;
    while passed < expected.len() {
        let largest = [20, 200, 5000][random.usize(..3)];
        let (offset, wanted) = (random.usize(..40), random.usize(..largest) + 1);
        let behind = random.usize(..3);
        let before = (0..(offset + wanted).div_ceil(8) + behind).map(|_| random.u8(..)).collect::<Vec<_>>();
        let mut out = GuardedBytes::ending_at_guard(&before);
        let ones = decoder.ones();
        let decoded = decoder.decode_bits(&src, &mut out, offset, wanted).unwrap();
        assert_eq!(decoded, wanted.min(expected.len() - passed), "{context}");
        let values = &expected[passed..passed + decoded];
        for bit in (0..out.len() * 8).filter(|bit| !(offset + decoded..offset + wanted).contains(bit)) {
            let wanted = match bit.checked_sub(offset).and_then(|index| values.get(index)) {
                Some(&value) => value == 1,
                None => before[bit / 8] >> (bit % 8) & 1 == 1,
            };
            assert_eq!(out[bit / 8] >> (bit % 8) & 1 == 1, wanted, "{context} bit {bit} offset {offset}");
        }
        assert_eq!(decoder.ones() - ones, values.iter().filter(|&&value| value == 1).count(), "{context}");
        passed += decoded;
    }
}

#[test]
fn bits_land_at_any_offset_and_are_counted() {
    Tier::for_each_available(|tier| {
        for seed in 0..100 {
            check_bits(tier, seed);
        }
    });
}

#[test]
fn skipping_and_decoding_mix() {
    for seed in 0..40 {
        let mut random = Seeded::with_seed(NAME, seed);
        let width = seed as u32 % 8 + 1;
        let src = random_runs(&mut random, width, 60);
        let expected = reference::decode(&src, width);
        let mut decoder = Decoder::new(width).unwrap();
        let mut passed = 0;
        while passed < expected.len() {
            let wanted = random.usize(..90) + 1;
            let rest = &expected[passed..];
            let count = wanted.min(rest.len());
            let mut wide = vec![0; wanted];
            let mut narrow = vec![0; wanted];
            let done = match random.usize(..3) {
                0 => decoder.skip(&src, wanted),
                1 => decoder.decode_u8(&src, &mut narrow),
                _ => decoder.decode_u32(&src, &mut wide),
            };
            assert_eq!(done, Ok(count), "seed {seed}");
            assert!(wide.iter().all(|&v| v == 0) || wide[..count] == rest[..count], "seed {seed}");
            let narrow: Vec<u32> = narrow.into_iter().map(u32::from).collect();
            assert!(narrow.iter().all(|&v| v == 0) || narrow[..count] == rest[..count], "seed {seed}");
            passed += count;
        }
        assert_eq!(decoder.skip(&src, 1), Ok(0), "seed {seed}");
    }
}

#[test]
fn width_zero_gives_zeros_without_input() {
    let mut decoder = Decoder::new(0).unwrap();
    let mut values = [7; 20];
    assert_eq!(decoder.decode_u32(&[], &mut values), Ok(20));
    assert_eq!(values, [0; 20]);
    let mut bits = [0xff; 2];
    assert_eq!(decoder.decode_bits(&[], &mut bits, 4, 8), Ok(8));
    assert_eq!(bits, [0x0f, 0xf0]);
    assert_eq!(decoder.skip(&[], 5), Ok(5));
}

#[test]
fn malformed_runs_are_errors() {
    let decode = |width: u32, src: &[u8]| Decoder::new(width).unwrap().decode_u32(src, &mut [0; 50]);
    assert_eq!(decode(3, &[100, 8]), Err(KernelError::Malformed { what: "repeated value, wider than the bit width" }));
    assert_eq!(
        decode(9, &[100, 0, 2]),
        Err(KernelError::Malformed { what: "repeated value, wider than the bit width" })
    );
    assert_eq!(decode(9, &[100, 0]), Err(KernelError::InputTooShort { needed: 2, available: 1 }));
    assert!(matches!(decode(9, &[0x80]), Err(KernelError::InputTooShort { .. })));
    assert_eq!(decode(1, &[0xff; 12]), Err(KernelError::Malformed { what: "run header" }));
    assert_eq!(decode(1, &[0xfe, 0xff, 0xff, 0xff, 0x1f, 0]), Err(KernelError::Malformed { what: "run header" }));
    assert_eq!(Decoder::new(33).err(), Some(KernelError::WidthOutOfRange { width: 33, max: 32 }));
    let mut wide = Decoder::new(9).unwrap();
    assert_eq!(wide.decode_u8(&[], &mut [0]), Err(KernelError::WidthOutOfRange { width: 9, max: 8 }));
    assert_eq!(wide.decode_bits(&[], &mut [0], 0, 1), Err(KernelError::WidthOutOfRange { width: 9, max: 1 }));
    let mut bit = Decoder::new(1).unwrap();
    assert_eq!(bit.decode_bits(&[], &mut [0], 1, 8), Err(KernelError::LengthMismatch { expected: 2, actual: 1 }));
}

#[test]
fn run_of_greatest_length_ends() {
    let src = [0xfe, 0xff, 0xff, 0xff, 0x0f, 1];
    let mut decoder = Decoder::new(1).unwrap();
    assert_eq!(decoder.skip(&src, usize::MAX), Ok(0x7fff_ffff));
    let empty_runs = [0; 1000];
    assert_eq!(Decoder::new(1).unwrap().decode_u8(&empty_runs, &mut [0; 9]), Ok(0));
}

#[test]
fn any_bytes_give_values_or_an_error() {
    Tier::for_each_available(|_| {
        for seed in 0..3000 {
            let mut random = Seeded::with_seed(NAME, seed);
            let len = random.usize(..60);
            let src = GuardedBytes::ending_at_guard(&(0..len).map(|_| random.u8(..)).collect::<Vec<_>>());
            let width = random.usize(..33) as u32;
            let mut decoder = Decoder::new(width).unwrap();
            let mut out = vec![0; random.usize(..300)];
            for _ in 0..4 {
                if let Ok(decoded) = decoder.decode_u32(&src, &mut out) {
                    assert!(decoded <= out.len());
                }
            }
        }
    });
}

use lath_testkit::{GuardedBytes, GuardedSlice, Plain, Seeded};

use super::decoder::sum_of_widths;
use super::reference::{self, Shape};
use super::{Decoder, Integer, lengths_to_offsets_i32, lengths_to_offsets_i64};
use crate::{KernelError, Tier};

/// The name of the tests' random numbers.
const NAME: &str = "deltas";

/// Decodes in batches of random sizes up to `largest`.
fn decode_in_batches<T: Integer + Plain>(src: &[u8], random: &mut Seeded, largest: usize) -> Vec<T> {
    let mut decoder = Decoder::new(src).unwrap();
    let mut values = Vec::new();
    let mut room = GuardedSlice::ending_at_guard(&vec![T::default(); largest]);
    while decoder.remaining() > 0 {
        let wanted = random.usize(..largest) + 1;
        let batch = &mut room[largest - wanted..];
        let expected = wanted.min(decoder.remaining());
        assert_eq!(decoder.decode(src, batch), Ok(expected));
        values.extend_from_slice(&batch[..expected]);
    }
    values
}

/// Checks that every tier gives the reference's values for `shape`, in batches, with and without bytes after the data.
fn check(shape: Shape, count: usize, seed: u64) {
    let mut random = Seeded::with_seed(NAME, seed);
    let min_delta_bits = [3, 20, 40, 64][seed as usize % 4];
    let (mut src, values) = reference::encode(&mut random, shape, count, min_delta_bits);
    let end = src.len();
    assert_eq!(reference::decode(&src), (values.clone(), end), "{shape:?} seed {seed}");
    let narrow: Vec<i32> = values.iter().map(|&value| value as i32).collect();
    for behind in [0, 3, 80] {
        src.resize(end + behind, 0xff);
        let src = GuardedBytes::ending_at_guard(&src);
        Tier::for_each_available(|tier| {
            for largest in [13, 150, 10_000] {
                let context = format!("{tier} {shape:?} count {count} seed {seed} batches {largest}");
                assert!(decode_in_batches::<i32>(&src, &mut random, largest) == narrow, "i32 {context}");
                assert!(decode_in_batches::<i64>(&src, &mut random, largest) == values, "i64 {context}");
            }
        });
        let mut decoder = Decoder::<i64>::new(&src).unwrap();
        assert_eq!(decoder.value_count(), count);
        assert_eq!(decoder.end(&src), Ok(end), "{shape:?} seed {seed}");
        decoder.skip(&src, random.usize(..count + 1)).unwrap();
        assert_eq!(decoder.end(&src), Ok(end), "{shape:?} seed {seed}");
        decoder.skip(&src, count).unwrap();
        assert_eq!((decoder.remaining(), decoder.end(&src)), (0, Ok(end)), "{shape:?} seed {seed}");
    }
}

#[test]
fn every_tier_decodes_every_width() {
    for width in 0..=64 {
        for (seed, count) in [1000, 129, 200, 383].into_iter().enumerate() {
            check(Shape { block_len: 128, miniblocks: 4, width, mixed: false }, count, seed as u64);
        }
    }
}

#[test]
fn every_tier_decodes_every_count() {
    for count in (0..300).chain([1023, 1024, 1025, 1026]) {
        check(Shape { block_len: 128, miniblocks: 4, width: 21, mixed: true }, count, count as u64);
    }
}

#[test]
fn every_tier_decodes_every_legal_block_shape() {
    for (seed, (block_len, miniblocks)) in
        [(128, 1), (128, 2), (256, 4), (256, 8), (384, 12), (384, 3), (1024, 32), (4096, 2), (896, 4)]
            .into_iter()
            .enumerate()
    {
        for width in [5, 40, 64] {
            check(Shape { block_len, miniblocks, width, mixed: true }, 5000, seed as u64);
        }
    }
}

#[test]
fn every_tier_decodes_random_shapes() {
    for seed in 0..100 {
        let mut random = Seeded::with_seed(NAME, seed);
        let miniblocks = random.usize(..8) + 1;
        let block_len = miniblocks * 128 * (random.usize(..3) + 1);
        let shape = Shape { block_len, miniblocks, width: random.usize(..65) as u32, mixed: true };
        check(shape, random.usize(..3000), seed);
    }
}

#[test]
fn skipping_and_decoding_mix() {
    for seed in 0..50 {
        let mut random = Seeded::with_seed(NAME, seed);
        let shape = Shape { block_len: 256, miniblocks: 4, width: 30, mixed: true };
        let (src, values) = reference::encode(&mut random, shape, 2000, 30);
        let mut decoder = Decoder::<i64>::new(&src).unwrap();
        let mut passed = 0;
        while passed < values.len() {
            let wanted = random.usize(..700);
            let count = wanted.min(values.len() - passed);
            assert_eq!(decoder.skip(&src, wanted), Ok(count));
            passed += count;
            let mut batch = vec![0; random.usize(..100)];
            let count = batch.len().min(values.len() - passed);
            assert_eq!(decoder.decode(&src, &mut batch), Ok(count));
            assert_eq!(batch[..count], values[passed..passed + count], "seed {seed}");
            passed += count;
        }
    }
}

#[test]
fn a_last_miniblock_without_padding_is_accepted() {
    Tier::for_each_available(|_| {
        for width in 1..=64 {
            let shape = Shape { block_len: 128, miniblocks: 4, width, mixed: false };
            let (src, values) = reference::encode(&mut Seeded::with_seed(NAME, 9), shape, 1 + 32 + 5, 40);
            let padding = (32 - 5) * width as usize / 8;
            let src = GuardedBytes::ending_at_guard(&src[..src.len() - padding]);
            let narrow: Vec<i32> = values.iter().map(|&value| value as i32).collect();
            assert_eq!(decode_in_batches::<i32>(&src, &mut Seeded::with_seed(NAME, 1), 40), narrow, "width {width}");
            assert_eq!(decode_in_batches::<i64>(&src, &mut Seeded::with_seed(NAME, 1), 40), values, "width {width}");
            let mut decoder = Decoder::<i32>::new(&src).unwrap();
            decoder.skip(&src, 100).unwrap();
            assert_eq!(decoder.end(&src), Ok(src.len()));
            // With a byte less, the last value is missing.
            let src = &src[..src.len() - 1];
            let mut decoder = Decoder::<i32>::new(src).unwrap();
            assert!(matches!(decoder.end(src), Err(KernelError::InputTooShort { .. })));
            assert!(matches!(decoder.decode(src, &mut [0; 99]), Err(KernelError::InputTooShort { .. })));
        }
    });
}

#[test]
fn broken_headers_are_errors() {
    let new = |bytes: &[u8]| Decoder::<i32>::new(bytes).err();
    let malformed = |what| Some(KernelError::Malformed { what });
    assert_eq!(new(&[0, 4, 5, 0]), malformed("DELTA block size"));
    assert_eq!(new(&[127, 1, 5, 0]), malformed("DELTA block size"));
    assert_eq!(new(&[128, 1, 0, 5, 0]), malformed("DELTA miniblock count"));
    assert_eq!(new(&[128, 1, 3, 5, 0]), malformed("DELTA miniblock count"));
    assert_eq!(new(&[128, 1, 8, 5, 0]), malformed("DELTA miniblock size"));
    assert_eq!(new(&[128, 1, 4, 255, 255, 255, 255, 127, 0]), malformed("DELTA value count"));
    assert!(matches!(new(&[]), Some(KernelError::InputTooShort { .. })));
    assert!(matches!(new(&[128, 1, 4, 5]), Some(KernelError::InputTooShort { .. })));
}

#[test]
fn widths_over_64_are_errors_where_they_matter() {
    let header = [128, 1, 4, 100, 0, 0];
    let mut src = header.to_vec();
    src.extend([0, 65, 0, 0]);
    src.extend([0; 600]);
    let mut decoder = Decoder::<i64>::new(&src).unwrap();
    assert_eq!(decoder.decode(&src, &mut [0; 33]), Ok(33));
    let wide = Err(KernelError::WidthOutOfRange { width: 65, max: 64 });
    assert_eq!(decoder.decode(&src, &mut [0; 33]), wide);
    assert_eq!(Decoder::<i64>::new(&src).unwrap().decode(&src, &mut [0; 100]), wide);
    assert_eq!(Decoder::<i64>::new(&src).unwrap().end(&src), wide);
}

#[test]
fn count_beyond_the_bytes_is_an_error() {
    // 2^31 − 1 values announced, and one block of width 0.
    let src = [128, 1, 4, 0xff, 0xff, 0xff, 0xff, 7, 2, 0, 0, 0, 0, 0];
    let mut decoder = Decoder::<i64>::new(&src).unwrap();
    assert_eq!(decoder.value_count(), 0x7fff_ffff);
    assert!(matches!(decoder.skip(&src, usize::MAX), Err(KernelError::InputTooShort { .. })));
    assert!(matches!(Decoder::<i64>::new(&src).unwrap().end(&src), Err(KernelError::InputTooShort { .. })));
}

#[test]
fn any_bytes_give_values_or_an_error() {
    Tier::for_each_available(|_| {
        for seed in 0..3000 {
            let mut random = Seeded::with_seed(NAME, seed);
            let shape = Shape { block_len: 128, miniblocks: 4, width: 64, mixed: true };
            let count = random.usize(..400);
            let (mut src, _) = reference::encode(&mut random, shape, count, 64);
            for _ in 0..random.usize(..4) + 1 {
                let at = random.usize(..src.len().min(30));
                src[at] = random.u8(..);
            }
            src.truncate(random.usize(..src.len() + 1));
            let src = GuardedBytes::ending_at_guard(&src);
            let mut out = [0; 200];
            if let Ok(mut decoder) = Decoder::new(&src) {
                let _ = decoder.end(&src);
                for _ in 0..3 {
                    if let Ok(decoded) = decoder.decode(&src, &mut out) {
                        assert!(decoded <= out.len());
                    }
                }
                // Other bytes than the decoder was created for.
                let _ = decoder.decode(&src[..src.len() / 2], &mut out);
                let _ = decoder.end(&[]);
            }
        }
    });
}

#[test]
fn every_tier_sums_lengths_up() {
    Tier::for_each_available(|tier| {
        for count in (0..70).chain([1000]) {
            let mut random = Seeded::with_seed(NAME, count as u64);
            let lengths: Vec<i32> = (0..count).map(|_| random.i32(0..4096)).collect();
            let start = random.i32(0..1024);
            let ends: Vec<i32> = lengths
                .iter()
                .scan(start, |end, length| {
                    *end += length;
                    Some(*end)
                })
                .collect();
            let last = ends.last().copied().unwrap_or(start);
            let mut out = vec![-7; count];
            assert_eq!(lengths_to_offsets_i32(&lengths, start, &mut out), Ok(last), "{tier} {count}");
            assert_eq!(out, ends, "{tier} {count}");
            let big = 1_i64 << 40;
            let mut out = vec![-7; count];
            let wide: Vec<i64> = ends.iter().map(|&end| big + i64::from(end)).collect();
            assert_eq!(lengths_to_offsets_i64(&lengths, big + i64::from(start), &mut out), Ok(big + i64::from(last)));
            assert_eq!(out, wide, "{tier} {count}");
        }
    });
}

#[test]
fn every_tier_finds_negative_lengths_and_overflow_anywhere() {
    Tier::for_each_available(|tier| {
        for position in 0..70 {
            let mut lengths = vec![1; 70];
            let mut narrow = [0; 70];
            let mut wide = [0; 70];
            for bad in [-1, i32::MIN] {
                lengths[position] = bad;
                let error = Err(KernelError::NegativeLength { position });
                assert_eq!(lengths_to_offsets_i32(&lengths, 3000, &mut narrow), error);
                assert_eq!(lengths_to_offsets_i64(&lengths, 3000, &mut wide).err(), error.err());
            }
            // All the lengths up to here and not one more, then one more.
            lengths[position] = i32::MAX;
            let before = position as i32;
            let error = Err(KernelError::OffsetOverflow { position });
            assert_eq!(lengths_to_offsets_i32(&lengths, 1, &mut narrow), error);
            lengths[position] = i32::MAX - before;
            let whole = &lengths[..=position];
            assert_eq!(lengths_to_offsets_i32(whole, 0, &mut narrow[..=position]), Ok(i32::MAX), "{tier}");
            let start = i64::MAX - i64::from(i32::MAX);
            assert_eq!(lengths_to_offsets_i64(whole, start, &mut wide[..=position]), Ok(i64::MAX), "{tier}");
            let error = Err(KernelError::OffsetOverflow { position });
            assert_eq!(lengths_to_offsets_i64(whole, start + 1, &mut wide[..=position]), error);
        }
    });
}

#[test]
fn slices_that_disagree_and_negative_starts_are_errors() {
    let mismatch = KernelError::LengthMismatch { expected: 2, actual: 3 };
    assert_eq!(lengths_to_offsets_i32(&[1, 2], 0, &mut [0; 3]), Err(mismatch));
    assert_eq!(lengths_to_offsets_i64(&[1, 2], 0, &mut [0; 3]), Err(mismatch));
    let negative = KernelError::Malformed { what: "start offset" };
    assert_eq!(lengths_to_offsets_i32(&[1, 2], -1, &mut [0; 2]), Err(negative));
    assert_eq!(lengths_to_offsets_i64(&[1, 2], -1, &mut [0; 2]), Err(negative));
}

#[test]
fn four_widths_are_summed_up_unless_one_is_over_64() {
    for position in 0..4 {
        for width in 0..=u8::MAX {
            for others in [0, 1, 63, 64, 65, 127, 128, 255] {
                let mut widths = [others; 4];
                widths[position] = width;
                let sound = widths.iter().all(|&width| width <= 64);
                let sum = widths.iter().map(|&width| usize::from(width)).sum();
                assert_eq!(sum_of_widths(widths), sound.then_some(sum), "{widths:?}");
            }
        }
    }
}

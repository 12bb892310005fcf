//! Lath's kernels, called like the reader and the writer call them: once per page. The `parquet` crate decodes their
//! output.

use std::hint::black_box;
use std::time::Duration;

use lath_kernels::{byte_array, byte_stream_split, bytes, delta, rle};
use parquet::data_type::{Int32Type, Int64Type};

use super::peers;
use super::timing::{Timing, time};
use super::workload::{COUNT, Page};

/// Checks the output of the kernels for the page, then times them.
pub fn measure(page: &Page, total: Duration) -> Timing {
    match page {
        Page::DeltaI32 { encoded, values } => {
            let mut out = vec![0; COUNT];
            let timing = time(total, || decode_delta(black_box(encoded), &mut out));
            assert_eq!(&out, values);
            timing
        }
        Page::DeltaI64 { encoded, values } => {
            let mut out = vec![0; COUNT];
            let timing = time(total, || decode_delta(black_box(encoded), &mut out));
            assert_eq!(&out, values);
            timing
        }
        Page::Indices { encoded, values } => {
            let mut out = vec![0; COUNT];
            let timing = time(total, || {
                let (width, src) = split_width(black_box(encoded));
                let count = rle::Decoder::new(width).and_then(|mut decoder| decoder.decode_u32(src, &mut out));
                assert_eq!(count, Ok(COUNT));
            });
            assert_eq!(&out, values);
            timing
        }
        Page::Dictionary32 { encoded, dictionary, values } => {
            let mut out = vec![0; COUNT];
            let timing = time(total, || {
                let (width, src) = split_width(black_box(encoded));
                let mut decoder = rle::Decoder::new(width).expect("width is in range");
                assert_eq!(decoder.decode_entries_u32(src, dictionary, &mut out), Ok(COUNT));
            });
            assert_eq!(&out, values);
            timing
        }
        Page::Dictionary64 { encoded, dictionary, values } => {
            let mut out = vec![0; COUNT];
            let timing = time(total, || {
                let (width, src) = split_width(black_box(encoded));
                let mut decoder = rle::Decoder::new(width).expect("width is in range");
                assert_eq!(decoder.decode_entries_u64(src, dictionary, &mut out), Ok(COUNT));
            });
            assert_eq!(&out, values);
            timing
        }
        Page::Split { encoded, width, values } => {
            let mut out = vec![0; values.len()];
            let timing = time(total, || {
                byte_stream_split::decode(black_box(encoded), COUNT, *width, 0, &mut out).expect("page is sound");
            });
            assert_eq!(&out, values);
            timing
        }
        Page::LengthStrings { encoded, ends, text } => {
            let mut lengths = vec![0; COUNT];
            let (mut out_ends, mut out) = (vec![0; COUNT], vec![0; text.len()]);
            let timing = time(total, || {
                let encoded = black_box(encoded);
                let at = decode_lengths(encoded, 0, &mut lengths);
                let end = delta::lengths_to_offsets_i32(&lengths, 0, &mut out_ends).expect("page is sound");
                out[..end as usize].copy_from_slice(&encoded[at..at + end as usize]);
            });
            assert!(&out_ends == ends && &out == text);
            timing
        }
        Page::PrefixStrings { encoded, ends, text } => {
            let (mut prefixes, mut suffixes, mut lengths) = (vec![0; COUNT], vec![0; COUNT], vec![0; COUNT]);
            let (mut out_ends, mut out) = (vec![0; COUNT], vec![0; text.len()]);
            let timing = time(total, || {
                let encoded = black_box(encoded);
                let at = decode_lengths(encoded, 0, &mut prefixes);
                let at = decode_lengths(encoded, at, &mut suffixes);
                let len = byte_array::prefix_join_len(&prefixes, &suffixes).expect("page is sound");
                byte_array::prefix_join(&prefixes, &suffixes, &encoded[at..], &[], &mut out[..len], &mut lengths)
                    .expect("page is sound");
                delta::lengths_to_offsets_i32(&lengths, 0, &mut out_ends).expect("page is sound");
            });
            assert!(&out_ends == ends && &out == text);
            timing
        }
        Page::ByteCount { text, needle, count } => {
            time(total, || assert_eq!(bytes::count_byte(black_box(text), *needle), *count))
        }
        Page::EncodeIndices { width, values, .. } => {
            let width = u32::from(*width);
            let (mut out, mut len) = (vec![0; rle::max_encoded_len(COUNT, width)], 0);
            let timing = time(total, || {
                len = rle::encode_u32(black_box(values), width, &mut out).expect("there is room");
            });
            peers::assert_indices(width as u8, &out[..len], values);
            timing
        }
        Page::EncodeI32 { values, .. } => {
            let (mut out, mut len) = (vec![0; delta::max_encoded_len::<i32>(COUNT)], 0);
            let timing = time(total, || len = delta::encode_i32(black_box(values), &mut out).expect("there is room"));
            peers::assert_delta::<Int32Type>(&out[..len], values);
            timing
        }
        Page::EncodeI64 { values, .. } => {
            let (mut out, mut len) = (vec![0; delta::max_encoded_len::<i64>(COUNT)], 0);
            let timing = time(total, || len = delta::encode_i64(black_box(values), &mut out).expect("there is room"));
            peers::assert_delta::<Int64Type>(&out[..len], values);
            timing
        }
    }
}

fn decode_delta<T: delta::Integer>(encoded: &[u8], out: &mut [T]) {
    let mut decoder = delta::Decoder::<T>::new(encoded).expect("page is sound");
    assert_eq!(decoder.decode(encoded, out), Ok(COUNT));
}

/// Decodes the lengths that start at `at`, and returns their end.
fn decode_lengths(encoded: &[u8], at: usize, lengths: &mut [i32]) -> usize {
    let src = &encoded[at..];
    let mut decoder = delta::DecoderI32::new(src).expect("page is sound");
    assert_eq!(decoder.decode(src, lengths), Ok(COUNT));
    at + decoder.end(src).expect("page is sound")
}

fn split_width(encoded: &[u8]) -> (u32, &[u8]) {
    let (&width, src) = encoded.split_first().expect("page starts with the width");
    (width.into(), src)
}

/// A copy of as many bytes as the page decodes to: the upper limit for BYTE_STREAM_SPLIT.
pub fn measure_copy(page: &Page, total: Duration) -> Option<Timing> {
    let Page::Split { encoded, .. } = page else { return None };
    let mut out = vec![0; encoded.len()];
    Some(time(total, || black_box(&mut out[..]).copy_from_slice(black_box(encoded))))
}

//! The `parquet` crate's decoders and encoders, through its public low-level API, and the byte counters.

use std::hint::black_box;
use std::time::Duration;

use parquet::basic::Encoding;
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type, SliceAsBytes,
};
use parquet::encodings::decoding::get_decoder;
use parquet::encodings::encoding::get_encoder;
use parquet::encodings::rle::RleDecoder;

use super::timing::{Timing, time};
use super::workload::{COUNT, Page, descriptor, encode_indices};
use ::bytes::Bytes;

/// The name and time of each peer, whose output is checked once.
pub fn measure(page: &Page, total: Duration) -> Vec<(&'static str, Timing)> {
    let timing = match page {
        Page::DeltaI32 { encoded, values } => {
            decode::<Int32Type>(Encoding::DELTA_BINARY_PACKED, encoded, total, |out| assert_eq!(out, values))
        }
        Page::DeltaI64 { encoded, values } => {
            decode::<Int64Type>(Encoding::DELTA_BINARY_PACKED, encoded, total, |out| assert_eq!(out, values))
        }
        Page::Indices { encoded, values } => {
            let mut out = vec![0_i32; COUNT];
            let timing = time(total, || {
                let mut decoder = rle_decoder(black_box(encoded));
                assert_eq!(decoder.get_batch(&mut out).ok(), Some(COUNT));
            });
            assert!(out.iter().zip(values).all(|(&a, &b)| a as u32 == b));
            timing
        }
        Page::Dictionary32 { encoded, dictionary, values } => decode_dictionary(encoded, dictionary, values, total),
        Page::Dictionary64 { encoded, dictionary, values } => decode_dictionary(encoded, dictionary, values, total),
        Page::Split { encoded, width: 4, values } => {
            decode::<FloatType>(Encoding::BYTE_STREAM_SPLIT, encoded, total, |out| {
                assert_eq!(FloatType::get_type_size(), 4);
                assert!(f32::slice_as_bytes(out) == values);
            })
        }
        Page::Split { encoded, values, .. } => {
            decode::<DoubleType>(Encoding::BYTE_STREAM_SPLIT, encoded, total, |out| {
                assert!(f64::slice_as_bytes(out) == values);
            })
        }
        Page::LengthStrings { encoded, text, .. } => {
            decode::<ByteArrayType>(Encoding::DELTA_LENGTH_BYTE_ARRAY, encoded, total, |out| check(out, text))
        }
        Page::PrefixStrings { encoded, text, .. } => {
            decode::<ByteArrayType>(Encoding::DELTA_BYTE_ARRAY, encoded, total, |out| check(out, text))
        }
        Page::ByteCount { text, needle, count } => {
            let by_bytecount = time(total, || assert_eq!(bytecount::count(black_box(text), *needle), *count));
            let by_memchr = time(total, || assert_eq!(memchr::memchr_iter(*needle, black_box(text)).count(), *count));
            return vec![("bytecount", by_bytecount), ("memchr", by_memchr)];
        }
        Page::EncodeIndices { width, values, .. } => {
            let mut encoded = Bytes::new();
            let timing = time(total, || encoded = encode_indices(*width, black_box(values)));
            assert_indices(*width, &encoded[1..], values);
            timing
        }
        Page::EncodeI32 { values, .. } => encode::<Int32Type>(values, total),
        Page::EncodeI64 { values, .. } => encode::<Int64Type>(values, total),
    };
    vec![("parquet", timing)]
}

fn check(out: &[ByteArray], text: &[u8]) {
    let joined: Vec<u8> = out.iter().flat_map(|value| value.data().iter().copied()).collect();
    assert!(joined == text);
}

fn decode<T: DataType>(encoding: Encoding, encoded: &Bytes, total: Duration, check: impl Fn(&[T::T])) -> Timing {
    let mut decoder = get_decoder::<T>(descriptor::<T>(), encoding).expect("encoding exists");
    let mut out = vec![T::T::default(); COUNT];
    let timing = time(total, || {
        decoder.set_data(black_box(encoded).clone(), COUNT).expect("page is sound");
        assert_eq!(decoder.get(&mut out).ok(), Some(COUNT));
    });
    check(&out);
    timing
}

fn encode<T: DataType>(values: &[T::T], total: Duration) -> Timing {
    let mut encoder = get_encoder::<T>(Encoding::DELTA_BINARY_PACKED, &descriptor::<T>()).expect("encoding exists");
    let mut encoded = Bytes::new();
    let timing = time(total, || {
        encoder.put(black_box(values)).expect("values can be encoded");
        encoded = encoder.flush_buffer().expect("values can be encoded");
    });
    assert_delta::<T>(&encoded, values);
    timing
}

/// Checks that DELTA_BINARY_PACKED `encoded` decodes to `values`.
pub fn assert_delta<T: DataType>(encoded: &[u8], values: &[T::T]) {
    let mut decoder = get_decoder::<T>(descriptor::<T>(), Encoding::DELTA_BINARY_PACKED).expect("encoding exists");
    let mut out = vec![T::T::default(); COUNT];
    decoder.set_data(Bytes::copy_from_slice(encoded), COUNT).expect("page is sound");
    assert_eq!(decoder.get(&mut out).ok(), Some(COUNT));
    assert!(out == values);
}

/// Checks that the runs in `encoded` decode to `values`.
pub fn assert_indices(width: u8, encoded: &[u8], values: &[u32]) {
    let mut page = vec![width];
    page.extend(encoded);
    let mut out = vec![0_i32; COUNT];
    assert_eq!(rle_decoder(&page.into()).get_batch(&mut out).ok(), Some(COUNT));
    assert!(out.iter().zip(values).all(|(&a, &b)| a as u32 == b));
}

fn rle_decoder(encoded: &Bytes) -> RleDecoder {
    let mut decoder = RleDecoder::new(encoded[0]);
    decoder.set_data(encoded.slice(1..)).expect("page is sound");
    decoder
}

fn decode_dictionary<T: Copy + Default + PartialEq + std::fmt::Debug>(
    encoded: &Bytes,
    dictionary: &[T],
    values: &[T],
    total: Duration,
) -> Timing {
    let mut out = vec![T::default(); COUNT];
    let timing = time(total, || {
        let mut decoder = rle_decoder(black_box(encoded));
        assert_eq!(decoder.get_batch_with_dict(dictionary, &mut out, COUNT).ok(), Some(COUNT));
    });
    assert_eq!(out, values);
    timing
}

//! The workloads of the kernels: pages of 65,536 values, encoded by the `parquet` crate, with their decoded values; and
//! values to encode.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::encodings::encoding::get_encoder;
use parquet::encodings::rle::RleEncoder;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, Type};

use crate::data::Random;

pub const COUNT: usize = 1 << 16;

pub struct Workload {
    pub name: String,
    pub what: String,
    /// Nanoseconds per value; for BYTE_STREAM_SPLIT a share of memcpy's speed; for byte counts GB/s.
    pub goal: f64,
    pub page: Page,
}

pub enum Page {
    DeltaI32 {
        encoded: Bytes,
        values: Vec<i32>,
    },
    DeltaI64 {
        encoded: Bytes,
        values: Vec<i64>,
    },
    /// The encoded bytes start with the width, like those in a data page.
    Indices {
        encoded: Bytes,
        values: Vec<u32>,
    },
    Dictionary32 {
        encoded: Bytes,
        dictionary: Vec<u32>,
        values: Vec<u32>,
    },
    Dictionary64 {
        encoded: Bytes,
        dictionary: Vec<u64>,
        values: Vec<u64>,
    },
    Split {
        encoded: Bytes,
        width: usize,
        values: Vec<u8>,
    },
    /// `ends` are the ends of the values in `text`.
    LengthStrings {
        encoded: Bytes,
        ends: Vec<i32>,
        text: Vec<u8>,
    },
    PrefixStrings {
        encoded: Bytes,
        ends: Vec<i32>,
        text: Vec<u8>,
    },
    ByteCount {
        text: Bytes,
        needle: u8,
        count: usize,
    },
    /// To be encoded; `bytes` are the values, little-endian, for peers in other languages. This also applies to the
    /// next two.
    EncodeIndices {
        width: u8,
        values: Vec<u32>,
        bytes: Bytes,
    },
    EncodeI32 {
        values: Vec<i32>,
        bytes: Bytes,
    },
    EncodeI64 {
        values: Vec<i64>,
        bytes: Bytes,
    },
}

impl Page {
    /// The input of the work.
    pub fn encoded(&self) -> &Bytes {
        match self {
            Page::DeltaI32 { encoded, .. }
            | Page::DeltaI64 { encoded, .. }
            | Page::Indices { encoded, .. }
            | Page::Dictionary32 { encoded, .. }
            | Page::Dictionary64 { encoded, .. }
            | Page::Split { encoded, .. }
            | Page::LengthStrings { encoded, .. }
            | Page::PrefixStrings { encoded, .. } => encoded,
            Page::ByteCount { text, .. } => text,
            Page::EncodeIndices { bytes, .. } | Page::EncodeI32 { bytes, .. } | Page::EncodeI64 { bytes, .. } => bytes,
        }
    }
}

pub fn descriptor<T: DataType>() -> ColumnDescPtr {
    let primitive = Type::primitive_type_builder("value", T::get_physical_type()).build().expect("type is sound");
    Arc::new(ColumnDescriptor::new(Arc::new(primitive), 0, 0, ColumnPath::from("value")))
}

fn encode<T: DataType>(encoding: Encoding, values: &[T::T]) -> Bytes {
    let mut encoder = get_encoder::<T>(encoding, &descriptor::<T>()).expect("encoding exists");
    encoder.put(values).expect("values can be encoded");
    encoder.flush_buffer().expect("values can be encoded")
}

pub fn encode_indices(width: u8, values: &[u32]) -> Bytes {
    let mut encoder = RleEncoder::new(width, values.len() * 8);
    for &value in values {
        encoder.put(value.into());
    }
    let mut page = vec![width];
    page.extend(encoder.consume());
    page.into()
}

pub fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    for width in [1, 8, 16, 20, 25, 32] {
        let values = walk(width).map(|value| value as i32).collect::<Vec<_>>();
        let encoded = encode::<Int32Type>(Encoding::DELTA_BINARY_PACKED, &values);
        // 26 to 32 bits have no goal.
        let goal = if width <= 25 { 0.18 } else { f64::INFINITY };
        all.push(named("delta-i32", width, "DELTA i32", goal, Page::DeltaI32 { encoded, values }));
    }
    for width in [1, 8, 20, 33, 48, 57, 64] {
        let values = walk(width).map(|value| value as i64).collect::<Vec<_>>();
        let encoded = encode::<Int64Type>(Encoding::DELTA_BINARY_PACKED, &values);
        let goal = if width <= 57 { 0.30 } else { f64::INFINITY };
        all.push(named("delta-i64", width, "DELTA i64", goal, Page::DeltaI64 { encoded, values }));
    }
    for width in [1, 8, 20] {
        let mut random = Random(width.into());
        let values: Vec<u32> = (0..COUNT).map(|_| random.below(1 << width) as u32).collect();
        let encoded = encode_indices(width, &values);
        all.push(named("indices", width.into(), "RLE/bit-packed, random", 0.10, Page::Indices { encoded, values }));
    }
    all.push(Workload {
        name: "indices-repeated".to_owned(),
        what: "RLE/bit-packed, runs of 1,000, w = 8".to_owned(),
        goal: 0.10,
        page: runs(8, |_, _| 1_000),
    });
    all.push(Workload {
        name: "indices-mixed".to_owned(),
        what: "RLE/bit-packed, mixed runs of 8 to 24, w = 8".to_owned(),
        goal: 0.45,
        page: runs(8, |random, repeated| if repeated { 8 + random.below(17) } else { 1 }),
    });
    for width in [8, 12] {
        let mut random = Random(width.into());
        let indices: Vec<u32> = (0..COUNT).map(|_| random.below(1 << width) as u32).collect();
        let encoded = encode_indices(width, &indices);
        let dictionary: Vec<u32> = (0..1 << width).map(|_| random.next() as u32).collect();
        let values = indices.iter().map(|&at| dictionary[at as usize]).collect();
        let page = Page::Dictionary32 { encoded: encoded.clone(), dictionary, values };
        all.push(named("dictionary-i32", width.into(), "dictionary i32", 0.20, page));
        let dictionary: Vec<u64> = (0..1 << width).map(|_| random.next()).collect();
        let values = indices.iter().map(|&at| dictionary[at as usize]).collect();
        let page = Page::Dictionary64 { encoded, dictionary, values };
        all.push(named("dictionary-i64", width.into(), "dictionary i64", 0.25, page));
    }
    let mut random = Random(9);
    let floats: Vec<f32> = (0..COUNT).map(|_| random.below(1 << 24) as f32).collect();
    all.push(Workload {
        name: "split-f32".to_owned(),
        what: "BYTE_STREAM_SPLIT f32".to_owned(),
        goal: 0.9,
        page: Page::Split {
            encoded: encode::<FloatType>(Encoding::BYTE_STREAM_SPLIT, &floats),
            width: 4,
            values: floats.iter().flat_map(|value| value.to_le_bytes()).collect(),
        },
    });
    let doubles: Vec<f64> = (0..COUNT).map(|_| random.below(1 << 40) as f64).collect();
    all.push(Workload {
        name: "split-f64".to_owned(),
        what: "BYTE_STREAM_SPLIT f64".to_owned(),
        goal: 0.9,
        page: Page::Split {
            encoded: encode::<DoubleType>(Encoding::BYTE_STREAM_SPLIT, &doubles),
            width: 8,
            values: doubles.iter().flat_map(|value| value.to_le_bytes()).collect(),
        },
    });
    all.extend(strings());
    all.extend(encoding());
    let text: Vec<u8> = (0..4096).map(|_| random.below(64) as u8).collect();
    let count = text.iter().filter(|&&byte| byte == b'\n').count();
    all.push(Workload {
        name: "count-4k".to_owned(),
        what: "byte count, 4 KiB".to_owned(),
        goal: 200.0,
        page: Page::ByteCount { text: text.into(), needle: b'\n', count },
    });
    all
}

fn named(kind: &str, width: u32, what: &str, goal: f64, page: Page) -> Workload {
    Workload { name: format!("{kind}-{width}"), what: format!("{what}, w = {width}"), goal, page }
}

/// Values whose differences fill `width` bits.
fn walk(width: u32) -> impl Iterator<Item = u64> {
    let mut random = Random(width.into());
    let mut last = 0_u64;
    (0..COUNT).map(move |_| {
        last = last.wrapping_add(random.next() >> (64 - width));
        last
    })
}

/// Values to encode: random indices, runs of them, and walks.
fn encoding() -> Vec<Workload> {
    let mut all = Vec::new();
    let mut indices = |name: &str, what: &str, goal, width: u8, values: Vec<u32>| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let page = Page::EncodeIndices { width, values, bytes };
        let what = format!("encode RLE/bit-packed, {what}, w = {width}");
        all.push(Workload { name: format!("encode-indices-{name}"), what, goal, page });
    };
    for width in [1, 8, 20] {
        let mut random = Random(width.into());
        let values = (0..COUNT).map(|_| random.below(1 << width) as u32).collect();
        indices(&width.to_string(), "random", 0.25, width, values);
    }
    indices("repeated", "runs of 1,000", 0.25, 8, values_in_runs(8, |_, _| 1_000));
    let mixed = values_in_runs(8, |random, repeated| if repeated { 8 + random.below(17) } else { 1 });
    indices("mixed", "mixed runs of 8 to 24", 1.0, 8, mixed);
    for width in [1, 8, 20, 32] {
        let values: Vec<i32> = walk(width).map(|value| value as i32).collect();
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        all.push(named("encode-delta-i32", width, "encode DELTA i32", 0.6, Page::EncodeI32 { values, bytes }));
    }
    for width in [1, 8, 20, 48, 64] {
        let values: Vec<i64> = walk(width).map(|value| value as i64).collect();
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        all.push(named("encode-delta-i64", width, "encode DELTA i64", 0.8, Page::EncodeI64 { values, bytes }));
    }
    all
}

fn runs(width: u8, len: impl Fn(&mut Random, bool) -> u64) -> Page {
    let values = values_in_runs(width, len);
    Page::Indices { encoded: encode_indices(width, &values), values }
}

/// Alternating runs of one value and runs of random values, with lengths chosen by `len`.
fn values_in_runs(width: u8, len: impl Fn(&mut Random, bool) -> u64) -> Vec<u32> {
    let mut random = Random(77);
    let mut values = Vec::with_capacity(COUNT);
    let mut repeated = true;
    while values.len() < COUNT {
        let value = random.below(1 << width) as u32;
        if repeated {
            let len = len(&mut random, true);
            values.extend((0..len).map(|_| value));
        } else if len(&mut random, false) == 1 {
            let len = 8 + random.below(17);
            values.extend((0..len).map(|_| random.below(1 << width) as u32));
        }
        repeated = !repeated;
    }
    values.truncate(COUNT);
    values
}

/// Strings of 10 to 20 bytes: random ones, and sorted ones of four letters, which share about eight bytes.
fn strings() -> Vec<Workload> {
    let mut random = Random(15);
    let mut word = |letters: u64| -> Vec<u8> {
        let len = 10 + random.below(11);
        (0..len).map(|_| b'a' + random.below(letters) as u8).collect()
    };
    let loose: Vec<Vec<u8>> = (0..COUNT).map(|_| word(26)).collect();
    let mut sorted: Vec<Vec<u8>> = (0..COUNT).map(|_| word(4)).collect();
    sorted.sort();
    let page = |encoding, strings: &[Vec<u8>]| {
        let arrays: Vec<ByteArray> = strings.iter().map(|string| ByteArray::from(string.clone())).collect();
        let encoded = encode::<ByteArrayType>(encoding, &arrays);
        let mut end = 0;
        let ends = strings.iter().map(|string| {
            end += string.len() as i32;
            end
        });
        (encoded, ends.collect::<Vec<i32>>(), strings.concat())
    };
    let (encoded, ends, text) = page(Encoding::DELTA_LENGTH_BYTE_ARRAY, &loose);
    let length = Page::LengthStrings { encoded, ends, text };
    let (encoded, ends, text) = page(Encoding::DELTA_BYTE_ARRAY, &loose);
    let without = Page::PrefixStrings { encoded, ends, text };
    let (encoded, ends, text) = page(Encoding::DELTA_BYTE_ARRAY, &sorted);
    let with = Page::PrefixStrings { encoded, ends, text };
    [
        ("length-strings", "DELTA_LENGTH_BYTE_ARRAY, ~15 bytes", 1.2, length),
        ("prefix-strings-random", "DELTA_BYTE_ARRAY, ~15 bytes, no prefixes", 2.5, without),
        ("prefix-strings-sorted", "DELTA_BYTE_ARRAY, ~15 bytes, sorted", 5.0, with),
    ]
    .map(|(name, what, goal, page)| Workload { name: name.to_owned(), what: what.to_owned(), goal, page })
    .into()
}

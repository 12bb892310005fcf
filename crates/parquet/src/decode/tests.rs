//! Chunks whose pages leave their dictionary and return to it, as no usual writer makes them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{Array, ArrayRef, StringArray, StringViewArray};
use arrow_schema::DataType;
use bytes::Bytes;
use lath_format::CompressionCodec;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};

use super::LeafReader;
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::page::{BitOrder, ChunkSpec, PageOptions, PageReader};
use crate::schema::Leaf;

/// Entries of the dictionaries; values of PLAIN pages continue from here.
const ENTRIES: u8 = 200;

/// The letters stand for pages: D a dictionary, I indices 0, 1, 2… from the dictionary's end backwards, P PLAIN values.
fn chunk(pages: &str, rows_per_page: u8, value: impl Fn(u8) -> Vec<u8>) -> (Bytes, ChunkSpec) {
    let mut bytes = Vec::new();
    let mut sink = TrackedWrite::new(&mut bytes);
    let mut writer = SerializedPageWriter::new(&mut sink);
    for kind in pages.chars() {
        let page = match kind {
            'D' => Page::DictionaryPage {
                buf: (0..ENTRIES).flat_map(&value).collect(),
                num_values: u32::from(ENTRIES),
                encoding: Encoding::PLAIN,
                is_sorted: false,
            },
            _ => {
                let (buf, encoding) = if kind == 'I' {
                    // A bit-packed run of bytes.
                    let groups = rows_per_page.div_ceil(8);
                    let indices = (0..groups * 8).map(|row| ENTRIES - 1 - row);
                    ([8, groups << 1 | 1].into_iter().chain(indices).collect(), Encoding::RLE_DICTIONARY)
                } else {
                    ((0..rows_per_page).flat_map(|row| value(ENTRIES + row)).collect(), Encoding::PLAIN)
                };
                Page::DataPage {
                    buf,
                    num_values: u32::from(rows_per_page),
                    encoding,
                    def_level_encoding: Encoding::RLE,
                    rep_level_encoding: Encoding::RLE,
                    statistics: None,
                }
            }
        };
        let len = page.buffer().len();
        writer.write_page(CompressedPage::new(page, len)).unwrap();
    }
    sink.into_inner().unwrap();
    let value_count = pages.matches(['I', 'P']).count() as u64 * u64::from(rows_per_page);
    let spec = ChunkSpec {
        file: None,
        path: "a".into(),
        row_group: 0,
        codec: CompressionCodec::Uncompressed,
        start: 0,
        len: bytes.len() as u64,
        value_count,
        max_def_level: 0,
        max_rep_level: 0,
        bit_order: BitOrder::MostSignificantFirst,
        ignores_compression_flag: false,
        decryptor: None,
    };
    (bytes.into(), spec)
}

/// The rows of such pages.
fn expected(pages: &str, rows_per_page: u8) -> Vec<u8> {
    let rows = |kind| (0..rows_per_page).map(move |row| if kind == 'I' { ENTRIES - 1 - row } else { ENTRIES + row });
    pages.chars().filter(|&kind| kind != 'D').flat_map(rows).collect()
}

fn read(
    (bytes, spec): (Bytes, ChunkSpec),
    physical_type: PhysicalType,
    data_type: &DataType,
    batch_size: usize,
) -> Result<Vec<ArrayRef>> {
    let mut left = spec.value_count as usize;
    let options = PageOptions { verify_crc: true, limits: Limits::default() };
    let pages = PageReader::new(Arc::new(bytes), spec, options)?;
    let leaf = Leaf { column: 0, physical_type, type_length: 0, max_def_level: 0, max_rep_level: 0 };
    let mut reader = LeafReader::new(pages, &leaf, data_type, 0, false, usize::MAX)?;
    let mut arrays = Vec::new();
    while left > 0 {
        let rows = left.min(batch_size);
        reader.append(rows)?;
        arrays.push(reader.finish()?.array);
        left -= rows;
    }
    Ok(arrays)
}

/// Orders of pages in which the dictionary is needed again after it was released, for batches that end with pages, within them,
/// and never.
const ORDERS: [&str; 5] = ["DIPPI", "DPPIPI", "DIPIPIPPII", "DPI", "DPPPP"];
const BATCH_SIZES: [usize; 6] = [1, 7, 40, 41, 100, 1000];

#[test]
fn fixed_values_come_from_a_dictionary_that_is_turned_back_to() {
    let value = |n: u8| (i64::from(n) * 1_000_003).to_le_bytes().to_vec();
    for order in ORDERS {
        let expected: Vec<i64> = expected(order, 40).into_iter().map(|n| i64::from(n) * 1_000_003).collect();
        for batch_size in BATCH_SIZES {
            let arrays = read(chunk(order, 40, value), PhysicalType::INT64, &DataType::Int64, batch_size).unwrap();
            let read: Vec<i64> =
                arrays.iter().flat_map(|array| array.as_primitive::<Int64Type>().values().to_vec()).collect();
            assert_eq!(read, expected, "{order} in batches of {batch_size}");

            let decimal = DataType::Decimal128(18, 2);
            let arrays = read_decimals(chunk(order, 40, value), &decimal, batch_size);
            assert_eq!(arrays, expected.iter().map(|&n| i128::from(n)).collect::<Vec<_>>(), "{order}");
        }
    }
}

fn read_decimals(chunk: (Bytes, ChunkSpec), decimal: &DataType, batch_size: usize) -> Vec<i128> {
    let arrays = read(chunk, PhysicalType::INT64, decimal, batch_size).unwrap();
    arrays.iter().flat_map(|array| array.as_primitive::<Decimal128Type>().values().to_vec()).collect()
}

#[test]
fn strings_come_from_a_dictionary_that_is_turned_back_to() {
    let text = |n: u8| if n.is_multiple_of(3) { format!("{n}") } else { format!("the value of number {n}") };
    let value = |n: u8| {
        let text = text(n);
        [(text.len() as u32).to_le_bytes().as_slice(), text.as_bytes()].concat()
    };
    for order in ORDERS {
        let expected: Vec<String> = expected(order, 40).into_iter().map(text).collect();
        for batch_size in BATCH_SIZES {
            for data_type in [DataType::Utf8View, DataType::Utf8] {
                let chunk = chunk(order, 40, value);
                let arrays = read(chunk, PhysicalType::BYTE_ARRAY, &data_type, batch_size).unwrap();
                let mut read: Vec<String> = Vec::new();
                for array in arrays {
                    array.to_data().validate_full().unwrap();
                    read.extend(match array.as_any().downcast_ref::<StringViewArray>() {
                        Some(array) => array.iter().flatten().map(str::to_owned).collect::<Vec<_>>(),
                        None => {
                            let array: &StringArray = array.as_string();
                            array.iter().flatten().map(str::to_owned).collect()
                        }
                    });
                }
                assert_eq!(read, expected, "{order} as {data_type} in batches of {batch_size}");
            }
        }
    }
}

#[test]
fn a_dictionary_behind_data_pages_is_refused() {
    let value = |n: u8| [vec![1, 0, 0, 0], vec![n % 128]].concat();
    for order in ["DIDI", "PDI"] {
        let error = read(chunk(order, 40, value), PhysicalType::BYTE_ARRAY, &DataType::Utf8View, 1000).unwrap_err();
        let Error::Corrupt { what, .. } = error else { unreachable!("{error}") };
        assert_eq!(what, "a dictionary page after data pages");
    }
}

/// More than stay in the cache after conversion: they are converted after gathering.
#[test]
fn decimals_of_a_long_dictionary_equal_those_that_are_stored() {
    let entries = 100_000_i64;
    let mut bytes = Vec::new();
    let mut sink = TrackedWrite::new(&mut bytes);
    let mut writer = SerializedPageWriter::new(&mut sink);
    let dictionary = Page::DictionaryPage {
        buf: (0..entries).flat_map(|n| (-n * 77_777).to_le_bytes()).collect(),
        num_values: entries as u32,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    };
    // 17 bits an index; the values at the end of the dictionary, in a bit-packed run of 64.
    let mut indices = vec![0u8; 17 * 8];
    for (row, index) in (entries - 64..entries).enumerate() {
        for bit in (0..17).filter(|bit| index >> bit & 1 == 1) {
            indices[(row * 17 + bit) / 8] |= 1 << ((row * 17 + bit) % 8);
        }
    }
    let data = Page::DataPage {
        buf: [17, 8 << 1 | 1].into_iter().chain(indices).collect(),
        num_values: 64,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    for page in [dictionary, data] {
        let len = page.buffer().len();
        writer.write_page(CompressedPage::new(page, len)).unwrap();
    }
    sink.into_inner().unwrap();
    let (_, spec) = chunk("DP", 8, |_| vec![0; 8]);
    let spec = ChunkSpec { len: bytes.len() as u64, value_count: 64, ..spec };
    let read = read_decimals((bytes.into(), spec), &DataType::Decimal128(18, 2), 50);
    assert_eq!(read, (entries - 64..entries).map(|n| i128::from(-n * 77_777)).collect::<Vec<_>>());
}

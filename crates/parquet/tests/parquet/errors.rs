//! Errors name the problem and its location: file, column, row group, page and byte offset.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields};
use bytes::Bytes;
use lath_parquet::{Error, Limits, OpenOptions, Result};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;

use crate::reading::{Table, collect};

/// Three row groups of a column `id` without a dictionary, and of a struct's field `place.city` with one.
fn sound_file(codec: Compression) -> Vec<u8> {
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values((0..300).map(|i| i % 3)));
    let cities: ArrayRef = Arc::new(StringArray::from_iter_values((0..300).map(|i| format!("city number {}", i % 7))));
    let city = Field::new("city", DataType::Utf8, false);
    let place = StructArray::new(Fields::from(vec![city]), vec![cities], None);
    let batch = RecordBatch::try_from_iter([("id", ids), ("place", Arc::new(place) as ArrayRef)]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .set_compression(codec)
        .set_column_dictionary_enabled("id".into(), false)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn metadata(bytes: &[u8]) -> ParquetMetaData {
    ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes.to_vec())).unwrap()
}

fn read(bytes: Vec<u8>, columns: &[&str]) -> Result<Table> {
    let file = OpenOptions::new().name("cities.parquet").from_bytes(Bytes::from(bytes))?;
    let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
    collect(file.scan().select(columns).build()?)
}

/// The last byte of the values of a column chunk.
fn last_byte(chunk: &ColumnChunkMetaData) -> usize {
    let (start, len) = chunk.byte_range();
    (start + len) as usize - 1
}

/// Asserts that the error has all of these, in its fields and in its text.
fn assert_located(error: &Error, column: &str, row_group: usize, page: usize, chunk: &ColumnChunkMetaData) {
    let at = error.location().unwrap();
    let (start, len) = chunk.byte_range();
    assert_eq!(at.file.as_deref(), Some("cities.parquet"), "{error}");
    assert_eq!(at.column.as_deref(), Some(column), "{error}");
    assert_eq!(at.row_group, Some(row_group), "{error}");
    assert_eq!(at.page, Some(page), "{error}");
    let offset = at.offset.unwrap();
    assert!((start..start + len).contains(&offset), "offset {offset} is not in {start}..{}: {error}", start + len);
    let text = error.to_string();
    for part in ["cities.parquet", column, &format!("row group {row_group}"), &format!("page {page}")] {
        assert!(text.contains(part), "{text:?} does not say {part:?}");
    }
}

#[test]
fn a_dictionary_index_out_of_range_is_located() {
    let mut bytes = sound_file(Compression::UNCOMPRESSED);
    let metadata = metadata(&bytes);
    let chunk = metadata.row_group(1).column(1);
    // Indices of seven entries are three bits wide, so 7 is not an entry.
    bytes[last_byte(chunk) - 4..=last_byte(chunk)].fill(0xFF);
    let error = read(bytes, &["place"]).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    assert_located(&error, "place.city", 1, 1, chunk);
}

#[test]
fn compressed_bytes_that_are_damaged_are_located() {
    for codec in [Compression::SNAPPY, Compression::ZSTD(Default::default()), Compression::LZ4_RAW] {
        let mut bytes = sound_file(codec);
        let metadata = metadata(&bytes);
        let chunk = metadata.row_group(2).column(0);
        let last = last_byte(chunk);
        // In the compressed values, which repeat themselves: this overwrites references to earlier output.
        bytes[last - 12..=last].fill(0xFF);
        let error = read(bytes, &["id"]).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
        assert_located(&error, "id", 2, 0, chunk);
    }
}

#[test]
fn a_damaged_page_header_is_located() {
    let mut bytes = sound_file(Compression::UNCOMPRESSED);
    let metadata = metadata(&bytes);
    let chunk = metadata.row_group(0).column(0);
    bytes[chunk.byte_range().0 as usize] = 0xFF;
    let error = read(bytes, &["id"]).unwrap_err();
    assert_located(&error, "id", 0, 0, chunk);
}

#[test]
fn damage_in_one_column_leaves_the_others_readable() {
    let mut bytes = sound_file(Compression::UNCOMPRESSED);
    let metadata = metadata(&bytes);
    bytes[metadata.row_group(0).column(0).byte_range().0 as usize] = 0xFF;
    let (_, batches) = read(bytes, &["place.city"]).unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 300);
}

#[test]
fn an_unknown_encoding_is_an_error_for_its_column_alone() {
    let mut bytes = sound_file(Compression::UNCOMPRESSED);
    let metadata = metadata(&bytes);
    let chunk = metadata.row_group(0).column(0);
    let start = chunk.byte_range().0 as usize;
    // The header of the data page in Thrift's compact protocol: 5C is field 5, the struct of a data page; in it 15 is
    // an integer: the number of values, 100 in zigzag being C8 01; and the next 15 is the encoding, PLAIN being 00.
    let at = bytes[start..].windows(6).position(|window| window == [0x15, 0xC8, 0x01, 0x15, 0x00, 0x15]).unwrap();
    // Encoding 10, which is ALP.
    bytes[start + at + 4] = 20;
    let error = read(bytes.clone(), &["id"]).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
    assert_located(&error, "id", 0, 0, chunk);
    read(bytes, &["place"]).unwrap();
}

#[test]
fn a_truncated_file_names_itself() {
    let bytes = sound_file(Compression::UNCOMPRESSED);
    for len in [0, 3, 7, 8, bytes.len() / 2, bytes.len() - 1] {
        let error = read(bytes[..len].to_vec(), &["id"]).unwrap_err();
        assert!(error.to_string().contains("cities.parquet"), "{error}");
    }
}

#[test]
fn a_missing_file_names_itself_and_the_operation() {
    let error = OpenOptions::new().open("no such folder/no such file.parquet").unwrap_err();
    assert!(matches!(error, Error::Io { op: "open", .. }), "{error:?}");
    assert!(error.to_string().contains("no such file.parquet"), "{error}");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn limits_are_named_by_the_option_that_raises_them() {
    let bytes = Bytes::from(sound_file(Compression::UNCOMPRESSED));
    let mut limits = Limits::default();
    limits.page_bytes = 100;
    let file = OpenOptions::new().limits(limits).name("cities.parquet").from_bytes(bytes).unwrap();
    let error = collect(file.scan().build().unwrap()).unwrap_err();
    assert!(matches!(error, Error::Limit { limit: 100, .. }), "{error:?}");
    assert!(error.to_string().contains("page_bytes"), "{error}");
}

#[test]
fn requests_that_cannot_be_served_say_why() {
    let file = OpenOptions::new().from_bytes(Bytes::from(sound_file(Compression::UNCOMPRESSED))).unwrap();
    let asks = [
        (file.scan().select(["nowhere"]).build(), "nowhere"),
        (file.scan().row_groups(vec![3]).build(), "3"),
        (file.scan().batch_size(0).build(), "batch"),
        (file.scan().rows(vec![5..9, 0..3]).build(), "sorted"),
    ];
    for (outcome, word) in asks {
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
        assert!(error.to_string().contains(word), "{error} does not say {word:?}");
    }
}

//! Files with wrong locations of their filters, indexes and dictionaries, or with other bytes there.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use lath_testkit::Seeded;
use parquet::file::metadata::{ColumnChunkMetaDataBuilder, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData};

use super::super::{PruneReport, Pruning, prune};
use super::{bound, check, prunings};
use crate::ParquetFile;
use crate::error::Error;
use crate::library::library_metadata;
use lath_source::ByteRanges;
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};

const TEXTS: [&str; 4] = ["n = 77", "n IN (3, 77, 5000)", "s = 'b'", "n BETWEEN 70 AND 80 OR s LIKE 'c%'"];

/// Two row groups with everything that pruning reads.
fn written() -> Bytes {
    let numbers = Int64Array::from_iter_values((0..400).map(|row| row / 2));
    let texts = StringArray::from_iter_values((0..400).map(|row| ["a", "b", "c"][row / 150]));
    let columns: [(&str, ArrayRef); 2] = [("n", Arc::new(numbers)), ("s", Arc::new(texts))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let number = ColumnOptions::new().bloom_filter(BloomFilter::Bytes(1 << 10)).dictionary(false).page_rows(50);
    let options = WriteOptions::default()
        .row_group_rows(200)
        .column("n", number)
        .column("s", ColumnOptions::new().dictionary(true).page_rows(50));
    let mut bytes = Vec::new();
    let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    bytes.into()
}

/// The file with other metadata of its column chunks.
fn with_chunks(
    bytes: &Bytes,
    mut change: impl FnMut(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
) -> ParquetFile {
    let metadata = library_metadata(&ParquetFile::from_bytes(bytes.clone()).unwrap());
    let mut row_groups = metadata.row_groups().to_vec();
    for row_group in &mut row_groups {
        let chunks = row_group.columns().iter().cloned();
        let chunks = chunks.map(|chunk| change(chunk.into_builder()).build().unwrap()).collect();
        *row_group = row_group.clone().into_builder().set_column_metadata(chunks).build().unwrap();
    }
    let footer_len = u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap()) as usize;
    let mut changed = bytes[..bytes.len() - 8 - footer_len].to_vec();
    let metadata = ParquetMetaData::new(metadata.file_metadata().clone(), row_groups);
    ParquetMetaDataWriter::new(&mut changed, &metadata).finish().unwrap();
    ParquetFile::from_bytes(changed.into()).unwrap()
}

fn check_all(file: &ParquetFile, what: &dyn std::fmt::Debug) {
    for text in TEXTS {
        check(file, &bound(file, text), what);
    }
}

#[test]
fn places_outside_the_file_or_of_something_else_rule_nothing_out() {
    let bytes = written();
    let len = bytes.len() as i64;
    for (offset, length) in [
        (0, 100),
        (4, 47),
        (-1, 100),
        (100, -1),
        (100, 0),
        (len - 10, 100),
        (len, 1),
        (i64::MAX, i32::MAX),
        (4, i32::MAX),
    ] {
        check_all(&with_chunks(&bytes, |chunk| chunk.set_bloom_filter_offset(Some(offset))), &offset);
        check_all(&with_chunks(&bytes, |chunk| chunk.set_bloom_filter_length(Some(length))), &length);
        let both = |chunk: ColumnChunkMetaDataBuilder| {
            chunk.set_bloom_filter_offset(Some(offset)).set_bloom_filter_length(Some(length))
        };
        check_all(&with_chunks(&bytes, both), &(offset, length));
        let column_index = |chunk: ColumnChunkMetaDataBuilder| {
            chunk.set_column_index_offset(Some(offset)).set_column_index_length(Some(length))
        };
        check_all(&with_chunks(&bytes, column_index), &(offset, length));
        let offset_index = |chunk: ColumnChunkMetaDataBuilder| {
            chunk.set_offset_index_offset(Some(offset)).set_offset_index_length(Some(length))
        };
        check_all(&with_chunks(&bytes, offset_index), &(offset, length));
    }
    // Old writers did not say how long a filter is.
    let unsaid = with_chunks(&bytes, |chunk| chunk.set_bloom_filter_length(None));
    let report = check(&unsaid, &bound(&unsaid, "n = 77"), &"no length");
    assert!(report.bloom.row_groups > 0);
}

/// Any bytes in place of filters, indexes and dictionaries are harmless.
#[test]
fn changed_bytes_are_no_panic_and_no_error() {
    let mut random = Seeded::new("changed_bytes_are_no_panic_and_no_error");
    let bytes = written();
    let file = ParquetFile::from_bytes(bytes.clone()).unwrap();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for chunk in library_metadata(&file).row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let places = [
            (chunk.bloom_filter_offset(), Some(20)),
            (chunk.column_index_offset(), chunk.column_index_length()),
            (chunk.offset_index_offset(), chunk.offset_index_length()),
            (chunk.dictionary_page_offset(), Some(40)),
        ];
        ranges.extend(
            places.into_iter().filter_map(|(start, len)| Some(start? as usize..start? as usize + len? as usize)),
        );
    }
    for _ in 0..2000 {
        let mut changed = bytes.to_vec();
        for _ in 0..random.usize(1..4) {
            let range = random.choice(&ranges).unwrap().clone();
            changed[random.usize(range)] = random.u8(..);
        }
        let file = ParquetFile::from_bytes(changed.into()).unwrap();
        let predicate = bound(&file, random.choice(&TEXTS).unwrap());
        for (_, pruning) in prunings() {
            let left = prune(&file, &predicate, &[0, 1], &pruning, &mut PruneReport::default()).unwrap();
            for rows in left.iter().flat_map(|left| &left.rows) {
                assert!(rows.start < rows.end && rows.end <= 200);
            }
        }
    }
}

/// A file whose storage fails after the footer.
#[derive(Debug)]
struct Failing(Bytes);

impl ByteRanges for Failing {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        if range.end < self.0.len() as u64 {
            return Err(io::Error::other("the disk is gone"));
        }
        self.0.read(range)
    }
}

#[test]
fn storage_that_fails_is_an_error() {
    let file = ParquetFile::from_source(Arc::new(Failing(written()))).unwrap();
    let predicate = bound(&file, "n = 77");
    for (name, pruning) in prunings() {
        let result = prune(&file, &predicate, &[0, 1], &pruning, &mut PruneReport::default());
        let reads = pruning.bloom || pruning.page_index;
        match result {
            Err(Error::Io { .. }) => assert!(reads, "{name}"),
            Err(error) => panic!("{name}: {error}"),
            Ok(_) => assert!(!reads, "{name}"),
        }
    }
    let none = Pruning::none();
    assert!(prune(&file, &predicate, &[2], &none, &mut PruneReport::default()).is_err());
}

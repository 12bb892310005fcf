use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::{WatchedSource, written};
use crate::error::Error;
use crate::file::{OpenOptions, ParquetFile};
use crate::options::Limits;

#[test]
fn indexes_are_read_once_when_asked_for() {
    let source = WatchedSource::new(written(1000));
    let file = ParquetFile::from_source(source.clone()).unwrap();
    let reads_before = source.reads().len();
    file.clone().page_index().unwrap();
    let indexes = file.page_index().unwrap();
    assert_eq!(source.reads().len(), reads_before + 1);

    let expected = ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Required)
        .parse_and_finish(&source.bytes)
        .unwrap();
    for (row_group, columns) in expected.offset_index().unwrap().iter().enumerate() {
        for (leaf, expected) in columns.iter().enumerate() {
            let ours = indexes.offset_index(row_group, leaf).unwrap();
            let places = ours.page_locations.iter();
            let places = places.map(|page| (page.offset, page.compressed_page_size, page.first_row_index));
            let expected_places = expected.page_locations().iter();
            let expected_places =
                expected_places.map(|page| (page.offset, page.compressed_page_size, page.first_row_index));
            assert!(places.eq(expected_places));
            assert_eq!(ours.unencoded_byte_array_data_bytes.as_ref(), expected.unencoded_byte_array_data_bytes());
        }
    }
    for (row_group, columns) in expected.column_index().unwrap().iter().enumerate() {
        for (leaf, expected) in columns.iter().enumerate() {
            let ours = indexes.column_index(row_group, leaf).unwrap();
            assert_eq!(ours.page_count() as u64, expected.num_pages());
            assert_eq!(ours.null_counts.as_ref(), expected.null_counts());
            assert!((0..ours.page_count()).all(|page| ours.null_pages[page] == expected.is_null_page(page)));
        }
    }
    assert_eq!(indexes.offset_index(0, 0).unwrap().page_locations.len(), 5);
}

#[test]
fn a_file_without_indexes_has_none() {
    let batch = {
        let file = written(10);
        parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(file, 10).unwrap().next().unwrap().unwrap()
    };
    let properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let file = ParquetFile::from_bytes(bytes.into()).unwrap();
    assert!(file.page_index().unwrap().offset_index(0, 0).is_none());
}

#[test]
fn indexes_over_the_limit_are_refused() {
    let bytes = written(20_000);
    let footer_len = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap());
    let file = ParquetFile::from_bytes(bytes.clone()).unwrap();
    let chunk = file.metadata().chunk(0, 0).unwrap();
    let index_len = bytes.len() as u64 - u64::from(footer_len) - chunk.column_index().unwrap().offset as u64;
    assert!(index_len > 8, "the index lies before the footer");
    let limits = Limits { footer_bytes: u64::from(footer_len), ..Limits::default() };
    let limited = OpenOptions::new().limits(limits).from_bytes(bytes).unwrap();
    match limited.page_index() {
        Ok(_) => assert!(index_len <= u64::from(footer_len) + 8),
        Err(error) => assert!(matches!(error, Error::Limit { .. }), "{error}"),
    }
}

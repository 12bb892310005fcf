use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::{Watched, written};
use crate::error::Error;
use crate::file::{OpenOptions, ParquetFile};
use crate::options::Limits;

#[test]
fn indexes_are_read_once_when_asked_for() {
    let source = Watched::new(written(1000));
    let file = ParquetFile::from_source(source.clone()).unwrap();
    assert!(file.metadata().offset_index().is_none());
    let reads_before = source.reads().len();
    let indexed = file.clone().page_index().unwrap().clone();
    file.page_index().unwrap();
    assert_eq!(source.reads().len(), reads_before + 1);

    let expected = ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Required)
        .parse_and_finish(&source.bytes)
        .unwrap();
    assert_eq!(indexed.offset_index(), expected.offset_index());
    assert_eq!(indexed.column_index(), expected.column_index());
    assert_eq!(indexed.offset_index().unwrap()[0][0].page_locations().len(), 5);
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
    assert!(file.page_index().unwrap().offset_index().is_none());
}

#[test]
fn indexes_over_the_limit_are_refused() {
    let bytes = written(20_000);
    let footer_len = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap());
    let file = ParquetFile::from_bytes(bytes.clone()).unwrap();
    let chunk = file.metadata().row_group(0).column(0);
    let index_len = bytes.len() as u64 - u64::from(footer_len) - chunk.column_index_offset().unwrap() as u64;
    assert!(index_len > 8, "the index lies before the footer");
    let limits = Limits { footer_bytes: u64::from(footer_len), ..Limits::default() };
    let limited = OpenOptions::new().limits(limits).from_bytes(bytes).unwrap();
    match limited.page_index() {
        Ok(_) => assert!(index_len <= u64::from(footer_len) + 8),
        Err(error) => assert!(matches!(error, Error::Limit { .. }), "{error}"),
    }
}

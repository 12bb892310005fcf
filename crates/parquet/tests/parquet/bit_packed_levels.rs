//! Levels in the deprecated BIT_PACKED encoding, in both bit orders that exist.
#![expect(deprecated, reason = "files with the encoding are still to be read")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use bytes::Bytes;
use lath_parquet::ParquetFile;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use crate::reading::collect;

const ROWS: i32 = 1000;
const IMPALA: &str = "impala version 2.6.0-INTERNAL (build 8a48ddb1eff84592b3fc06bc6f51ec120e1fffc9)";
const PARQUET_MR: &str = "parquet-mr version 1.2.5";

/// A tenth of Impala's table `alltypesagg`: `tinyint_col` is the last digit of `id`, and null where that is 0. `pack` packs
/// eight definition levels of one bit into a byte.
fn alltypes_agg(created_by: &str, pack: fn([bool; 8]) -> u8) -> Bytes {
    let message = "message schema { optional int32 id; optional int32 tinyint_col; }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let properties = WriterProperties::builder().set_created_by(created_by.to_owned()).build();
    let descr = SchemaDescriptor::new(Arc::clone(&schema));
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(properties)).unwrap();
    let mut row_group = writer.next_row_group().unwrap();
    for (column, value) in [|id: i32| Some(id), |id| Some(id % 10).filter(|&digit| digit > 0)].into_iter().enumerate() {
        let values: Vec<Option<i32>> = (0..ROWS).map(value).collect();
        let levels = values.chunks(8).map(|eight| pack(std::array::from_fn(|at| eight[at].is_some())));
        let page: Vec<u8> = levels.chain(values.iter().flatten().flat_map(|value| value.to_le_bytes())).collect();
        let page = Page::DataPage {
            buf: page.into(),
            num_values: ROWS as u32,
            encoding: Encoding::PLAIN,
            def_level_encoding: Encoding::BIT_PACKED,
            rep_level_encoding: Encoding::BIT_PACKED,
            statistics: None,
        };
        let mut chunk = Vec::new();
        let mut sink = TrackedWrite::new(&mut chunk);
        let len = page.buffer().len();
        SerializedPageWriter::new(&mut sink).write_page(CompressedPage::new(page, len)).unwrap();
        sink.into_inner().unwrap();
        let metadata = ColumnChunkMetaData::builder(descr.column(column))
            .set_compression(Compression::UNCOMPRESSED)
            .set_num_values(i64::from(ROWS))
            .set_total_compressed_size(chunk.len() as i64)
            .set_total_uncompressed_size(chunk.len() as i64)
            .set_data_page_offset(0)
            .build()
            .unwrap();
        let close = ColumnCloseResult {
            bytes_written: chunk.len() as u64,
            rows_written: ROWS as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        row_group.append_column(&Bytes::from(chunk), close).unwrap();
    }
    row_group.close().unwrap();
    writer.close().unwrap();
    file.into()
}

fn least_significant_first(levels: [bool; 8]) -> u8 {
    (0..8).map(|bit| u8::from(levels[bit]) << bit).sum()
}

fn most_significant_first(levels: [bool; 8]) -> u8 {
    (0..8).map(|bit| u8::from(levels[bit]) << (7 - bit)).sum()
}

#[test]
fn levels_of_impala_are_packed_from_the_least_significant_bit_and_those_of_parquet_mr_are_not() {
    for (created_by, pack) in
        [(IMPALA, least_significant_first as fn(_) -> _), (PARQUET_MR, most_significant_first as fn(_) -> _)]
    {
        let file = ParquetFile::from_bytes(alltypes_agg(created_by, pack)).unwrap();
        let (_, batches) = file.scan().build().and_then(collect).unwrap();
        let rows: Vec<(Option<i32>, Option<i32>)> = batches
            .iter()
            .flat_map(|batch| {
                let column = |at: usize| batch.column(at).as_primitive::<Int32Type>().iter();
                column(0).zip(column(1)).collect::<Vec<_>>()
            })
            .collect();
        let expected: Vec<_> = (0..ROWS).map(|id| (Some(id), (id % 10 != 0).then_some(id % 10))).collect();
        assert_eq!(rows, expected, "{created_by}");
        let nulls = file.scan().filter("tinyint_col IS NULL").and_then(lath_parquet::Scan::count).unwrap();
        assert_eq!(nulls, 100, "{created_by}");
    }
}

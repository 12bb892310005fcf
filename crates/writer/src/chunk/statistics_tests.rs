//! Compares statistics with the `parquet` crate's writer for the same data, and with the specification's rules for floating point
//! and truncation.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use lath_testkit::Seeded;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::Statistics;

use super::tests::{leaf_array, leaf_types_of_all_kinds, write_column, write_file};
use crate::chunk::EncodedChunk;
use crate::{ColumnOptions, WriteOptions};

const PAGE_ROWS: usize = 70;

fn written_by_crate(batch: &RecordBatch) -> ParquetMetaData {
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(1)
        .set_statistics_truncate_length(Some(8))
        .set_column_index_truncate_length(Some(8))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("a file");
    writer.write(batch).expect("a batch");
    writer.close().expect("a file");
    read_by_crate(&bytes.into())
}

fn read_by_crate(file: &Bytes) -> ParquetMetaData {
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    reader.parse_and_finish(file).expect("metadata")
}

/// If the last byte kept is 0xFF, the crate carries into the byte before and leaves a zero, which Lath drops.
fn without_zeros(bound: &[u8]) -> Vec<u8> {
    bound[..bound.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)].to_vec()
}

fn check_statistics(ours: &Statistics, theirs: &Statistics) {
    assert_eq!(ours.min_bytes_opt(), theirs.min_bytes_opt());
    let is_cut = ours.max_bytes_opt().is_some() && !ours.max_is_exact();
    let max = |statistics: &'_ Statistics| {
        let max = statistics.max_bytes_opt()?.to_vec();
        Some(if is_cut { without_zeros(&max) } else { max })
    };
    assert_eq!(max(ours), max(theirs));
    assert_eq!(ours.null_count_opt(), theirs.null_count_opt());
    if ours.min_bytes_opt().is_some() {
        assert_eq!((ours.min_is_exact(), ours.max_is_exact()), (theirs.min_is_exact(), theirs.max_is_exact()));
    }
}

#[test]
fn statistics_and_indexes_are_those_of_the_crate() {
    let mut random = Seeded::new("statistics_and_indexes_are_those_of_the_crate");
    for nullable in [false, true] {
        for data_type in leaf_types_of_all_kinds() {
            // Types that the crate does not write, and INT64 decimals of 32 bits.
            if data_type == DataType::Null {
                continue;
            }
            for dictionary in [false, true] {
                let field = Field::new("c", data_type.clone(), nullable);
                let schema: SchemaRef = Arc::new(Schema::new(vec![field.clone()]));
                let column = leaf_array(&mut random, &field, 500);
                let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]).expect("a batch");
                let theirs = written_by_crate(&batch);
                let column = ColumnOptions::new().page_rows(PAGE_ROWS).statistics_bytes(8).dictionary(dictionary);
                let (bytes, _) = write_file(&schema, &[vec![batch]], &WriteOptions::default().all_columns(column));
                let ours = read_by_crate(&bytes);
                let (own_chunk, chunk) = (ours.row_group(0).column(0), theirs.row_group(0).column(0));
                let context = format!("{data_type}, nullable {nullable}, dictionary {dictionary}");
                println!("{context}"); // Shown if the test fails.
                let (own, their) = (own_chunk.statistics().expect("kept"), chunk.statistics().expect("kept"));
                check_statistics(own, their);
                assert_eq!(own_chunk.definition_level_histogram(), chunk.definition_level_histogram());
                assert_eq!(own_chunk.unencoded_byte_array_data_bytes(), chunk.unencoded_byte_array_data_bytes());
                let index = |metadata: &ParquetMetaData| match metadata.column_index() {
                    Some(index) => index[0][0].clone(),
                    None => ColumnIndexMetaData::NONE,
                };
                match (&index(&ours), &index(&theirs)) {
                    (
                        ColumnIndexMetaData::BYTE_ARRAY(own) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(own),
                        ColumnIndexMetaData::BYTE_ARRAY(their) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(their),
                    ) => {
                        // The crate orders pages by bounds before truncation, and so finds less order.
                        assert_eq!(own.num_pages(), their.num_pages());
                        for page in 0..own.num_pages() as usize {
                            assert_eq!(own.min_value(page), their.min_value(page));
                            assert_eq!(
                                own.max_value(page).map(without_zeros),
                                their.max_value(page).map(without_zeros)
                            );
                            assert_eq!(own.null_count(page), their.null_count(page));
                            assert_eq!(own.definition_level_histogram(page), their.definition_level_histogram(page));
                        }
                    }
                    (own, their) => assert_eq!(own, their),
                }
                let (own, their) =
                    (&ours.offset_index().expect("kept")[0][0], &theirs.offset_index().expect("an index")[0][0]);
                let rows = |index: &OffsetIndexMetaData| -> Vec<i64> {
                    index.page_locations().iter().map(|page| page.first_row_index).collect()
                };
                assert_eq!(rows(own), rows(their));
                assert_eq!(own.unencoded_byte_array_data_bytes(), their.unencoded_byte_array_data_bytes());
            }
        }
    }
}

fn bounds(array: ArrayRef, options: &ColumnOptions) -> (Option<Vec<u8>>, Option<Vec<u8>>, EncodedChunk) {
    let chunk = write_column(&array, &WriteOptions::default().all_columns(options.clone()));
    let statistics = chunk.metadata.statistics.clone().expect("kept");
    (statistics.min.map(|min| min.value), statistics.max.map(|max| max.value), chunk)
}

#[test]
fn nans_are_no_extremes_and_zeros_widen_to_both_signs() {
    for dictionary in [false, true] {
        let options = ColumnOptions::new().dictionary(dictionary);
        let of = |values: Vec<f64>| bounds(Arc::new(Float64Array::from(values)), &options);
        let (min, max, _) = of(vec![f64::NAN, 2.0, -3.0, f64::NAN]);
        assert_eq!((min, max), (Some((-3.0f64).to_le_bytes().to_vec()), Some(2.0f64.to_le_bytes().to_vec())));
        let (min, max, _) = of(vec![0.0, 0.0]);
        assert_eq!((min, max), (Some((-0.0f64).to_le_bytes().to_vec()), Some(0.0f64.to_le_bytes().to_vec())));
        let (min, max, _) = of(vec![-0.0, -5.0]);
        assert_eq!((min, max), (Some((-5.0f64).to_le_bytes().to_vec()), Some(0.0f64.to_le_bytes().to_vec())));
        let (min, max, chunk) = of(vec![f64::NAN; 3]);
        assert_eq!((min, max), (None, None));
        assert!(chunk.column_index.is_none(), "a page of NaNs has no extremes to index");
        assert!(chunk.metadata.statistics.expect("kept").nan_count.is_none());
    }
}

#[test]
fn in_total_order_nans_are_counted_and_signs_of_zeros_kept() {
    let options = ColumnOptions::new().total_order(true).page_rows(2);
    let of = |values: Vec<f32>| bounds(Arc::new(Float32Array::from(values)), &options);
    let (min, max, chunk) = of(vec![f32::NAN, 2.0, -3.0, f32::NAN, f32::NAN, f32::NAN, 0.0]);
    assert_eq!((min, max), (Some((-3.0f32).to_le_bytes().to_vec()), Some(2.0f32.to_le_bytes().to_vec())));
    assert_eq!(chunk.metadata.statistics.expect("kept").nan_count, Some(4));
    assert_eq!(chunk.column_index.expect("kept").nan_counts, Some(vec![1, 1, 2, 0]));
    let (min, max, _) = of(vec![0.0, 0.0]);
    assert_eq!((min, max), (Some(0.0f32.to_le_bytes().to_vec()), Some(0.0f32.to_le_bytes().to_vec())));
    let (min, max, _) = of(vec![f32::NAN, -f32::NAN]);
    assert_eq!((min, max), (Some((-f32::NAN).to_le_bytes().to_vec()), Some(f32::NAN.to_le_bytes().to_vec())));
}

#[test]
fn long_strings_are_cut_at_characters_and_their_maximum_is_raised() {
    let options = ColumnOptions::new().statistics_bytes(4);
    let of = |values: &[&str]| {
        let (min, max, chunk) = bounds(Arc::new(StringArray::from(values.to_vec())), &options);
        let statistics = chunk.metadata.statistics.expect("kept");
        let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.expect("kept")).expect("UTF-8");
        (text(min), text(max), statistics.min.expect("kept").is_exact, statistics.max.expect("kept").is_exact)
    };
    assert_eq!(of(&["abcdefg", "xyz"]), ("abcd".into(), "xyz".into(), false, true));
    assert_eq!(of(&["abc", "xyzzz"]), ("abc".into(), "xyz{".into(), true, false));
    // Three bytes fit; the fourth would begin a character that does not.
    assert_eq!(of(&["aéé", "zéé"]), ("aé".into(), "zê".into(), false, false));
    // No character is above the last one, so that the one before is incremented.
    assert_eq!(of(&["a", "b\u{7f}\u{7f}\u{7f}\u{7f}"]), ("a".into(), "c".into(), true, false));
}

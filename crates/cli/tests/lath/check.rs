//! `check`, on sound files and on files whose metadata or data was changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float64Array, Int8Array, Int64Array, ListArray,
    RecordBatch, StringArray, StructArray, UInt16Array,
};
use arrow_schema::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::data_type::ByteArray;
use parquet::file::metadata::{
    ColumnChunkMetaDataBuilder, LevelHistogram, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
    SortingColumn,
};
use parquet::file::properties::WriterProperties;
use parquet::file::statistics::{Statistics, ValueStatistics};

use crate::files::{broken, numbered, write};
use crate::invocation::{lath, sample};

#[test]
fn sound_files_are_ok() {
    let run = lath(["check", &sample("trips"), &sample("stations.parquet")]);
    let lines: Vec<&str> = run.text(0).lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[0].ends_with("2025-01.parquet: ok (10,000 rows, 3 row groups, 11 columns)"), "{}", lines[0]);
    assert_eq!(lath(["check", "--quiet", &sample("trips")]).text(0), "");
}

/// Rewrites the file with a changed footer and an unchanged page index.
fn with_footer(path: &Path, change: impl FnOnce(ParquetMetaData) -> ParquetMetaData) -> PathBuf {
    let bytes = fs::read(path).unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes.clone())).unwrap();
    let footer_len = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let mut changed = bytes[..bytes.len() - 8 - footer_len].to_vec();
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &change(metadata)).finish().unwrap();
    changed.extend_from_slice(&footer);
    let path = path.with_extension("changed.parquet");
    fs::write(&path, changed).unwrap();
    path
}

/// The metadata with other statistics for one column of row group 1.
fn with_statistics(metadata: ParquetMetaData, column: usize, statistics: Statistics) -> ParquetMetaData {
    let mut builder = metadata.into_builder();
    let mut row_groups = builder.take_row_groups();
    let mut row_group = row_groups[1].clone().into_builder();
    let mut columns = row_group.take_columns();
    columns[column] = columns[column].clone().into_builder().set_statistics(statistics).build().unwrap();
    row_groups[1] = row_group.set_column_metadata(columns).build().unwrap();
    builder.set_row_groups(row_groups).build()
}

#[test]
fn statistics_that_are_wrong_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &numbered(0..900), 300);
    let int = |min, max, nulls| {
        let statistics = ValueStatistics::new(Some(min), Some(max), None, Some(nulls), false);
        Statistics::Int64(statistics.with_min_is_exact(false).with_max_is_exact(false))
    };
    let text = |min: &str, max: &str, nulls| {
        let value = |text: &str| Some(ByteArray::from(text));
        let statistics = ValueStatistics::new(value(min), value(max), None, Some(nulls), false);
        Statistics::ByteArray(statistics.with_min_is_exact(false).with_max_is_exact(false))
    };
    // Rows 300 to 599 are in row group 1.
    for (column, statistics, expected) in [
        (0, int(301, 599, 0), Some("column id: minimum 301 in the statistics, 300 in the data")),
        (0, int(300, 598, 0), Some("column id: maximum 598 in the statistics, 599 in the data")),
        (0, int(300, 599, 2), Some("column id: 2 nulls in the statistics, 0 in the data")),
        // An inexact minimum may be smaller.
        (0, int(0, 599, 0), None),
        (1, text("name 0", "name 9", 1), Some("column name: 1 nulls in the statistics, 43 in the data")),
        (1, text("name 1", "name 9", 43), Some("column name: minimum name 1 in the statistics, name 0 in the data")),
        (1, text("", "o", 43), None),
    ] {
        let changed = with_footer(&path, |metadata| with_statistics(metadata, column, statistics));
        let run = lath(["check", changed.to_str().unwrap()]);
        match expected {
            Some(expected) => {
                assert!(run.text(1).contains(&format!("row group 1, {expected}\n")), "{expected}: {}", run.text(1));
                assert_eq!(run.text(1).lines().count(), 1);
            }
            None => assert_eq!((run.code, run.text(run.code).contains(": ok (")), (0, true), "{}", run.text(run.code)),
        }
    }
}

#[test]
fn bounds_of_text_that_claim_to_be_exact_must_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &numbered(0..900), 300);
    let value = |text: &str| Some(ByteArray::from(text));
    let statistics = ValueStatistics::new(value("name"), value("name 9"), None, Some(43), false)
        .with_min_is_exact(true)
        .with_max_is_exact(true);
    let changed = with_footer(&path, |metadata| with_statistics(metadata, 1, Statistics::ByteArray(statistics)));
    let run = lath(["check", changed.to_str().unwrap()]);
    assert!(run.text(1).contains("minimum name in the statistics, name 0 in the data"), "{}", run.text(1));
}

#[test]
fn deprecated_bounds_are_not_held_against_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &numbered(0..900), 300);
    let statistics = Statistics::Int64(ValueStatistics::new(Some(400i64), Some(401), None, Some(0), true));
    let changed = with_footer(&path, |metadata| with_statistics(metadata, 0, statistics));
    assert_eq!(lath(["check", changed.to_str().unwrap()]).code, 0);
}

#[test]
fn pages_that_contradict_their_index_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &numbered(0..900), 300);
    let bytes = fs::read(&path).unwrap();
    // The column index of `id` holds its bounds as eight bytes each: 300 is the first of row group 1.
    let place = bytes.windows(8).rposition(|window| window == 300i64.to_le_bytes()).unwrap();
    let footer_len = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let index_end = bytes.len() - 8 - footer_len;
    let place = if place < index_end {
        place
    } else {
        bytes[..index_end].windows(8).rposition(|window| window == 300i64.to_le_bytes()).unwrap()
    };
    let mut changed = bytes;
    changed[place..place + 8].copy_from_slice(&310i64.to_le_bytes());
    let path = folder.path().join("b.parquet");
    fs::write(&path, changed).unwrap();
    let run = lath(["check", path.to_str().unwrap()]);
    assert!(
        run.text(1).contains("row group 1, column id, page 0: minimum 310 in the column index, 300 in the data"),
        "{}",
        run.text(1)
    );
}

#[test]
fn an_offset_index_of_other_pages_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &numbered(0..900), 300);
    let metadata = lath_parquet::ParquetFile::open(&path).unwrap().metadata().clone();
    let start = metadata.chunk(1, 0).unwrap().offset_index().unwrap().offset as usize;
    let mut bytes = fs::read(&path).unwrap();
    // A list of structures, the first field of which is the offset, as a signed variable-length number: one more.
    bytes[start + 3] ^= 2;
    let path = folder.path().join("b.parquet");
    fs::write(&path, bytes).unwrap();
    let run = lath(["check", path.to_str().unwrap()]);
    assert!(run.text(3).contains("row group 1, column id: "), "{}", run.text(3));
    assert!(run.text(3).contains("the offset index has a page at"), "{}", run.text(3));
}

#[test]
fn data_that_cannot_be_decoded_is_corrupt_and_hides_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &numbered(0..900), 300);
    let broken_path = folder.path().join("b.parquet");
    fs::write(&broken_path, broken(&path)).unwrap();
    let run = lath(["check", broken_path.to_str().unwrap(), path.to_str().unwrap()]);
    let text = run.text(3);
    assert!(text.contains("b.parquet: row group 1, column id: corrupt data: "), "{text}");
    assert!(text.contains("a.parquet: ok ("), "{text}");
}

#[test]
fn only_the_chosen_columns_are_checked() {
    let run = lath(["check", &sample("trips/2025-01.parquet"), "--columns", "rider.age,price"]);
    assert!(run.text(0).ends_with("ok (10,000 rows, 3 row groups, 2 columns)\n"), "{}", run.text(0));
}

/// Rows of every kind of type that a Bloom filter may hold, with a filter for each column.
fn with_filters(path: &Path) -> PathBuf {
    let ids = 0..500i64;
    let nullable = |id: i64| (id % 5 != 2).then_some(id);
    let lists = ids.clone().map(|id| nullable(id).map(|id| (0..id % 4).map(|n| (n != 1).then_some(n as i32 * 7))));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i8", Arc::new(ids.clone().map(|id| nullable(id).map(|id| id as i8)).collect::<Int8Array>())),
        ("u16", Arc::new(ids.clone().map(|id| nullable(id).map(|id| (id * 131) as u16)).collect::<UInt16Array>())),
        ("i64", Arc::new(ids.clone().map(nullable).collect::<Int64Array>())),
        ("f64", Arc::new(ids.clone().map(|id| nullable(id).map(|id| id as f64 / 3.0)).collect::<Float64Array>())),
        ("text", Arc::new(ids.clone().map(|id| nullable(id).map(|id| format!("text {id}"))).collect::<StringArray>())),
        ("uuid", Arc::new(FixedSizeBinaryArray::try_from_iter(ids.clone().map(|id| [id as u8; 16])).unwrap())),
        ("decimal_9", decimals(ids.clone(), 9)),
        ("decimal_18", decimals(ids.clone(), 18)),
        ("decimal_30", decimals(ids, 30)),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
    ];
    let rows = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)));
    let rows = rows.unwrap();
    let properties = WriterProperties::builder()
        .set_bloom_filter_enabled(true)
        .set_data_page_row_count_limit(60)
        .set_write_batch_size(20)
        .build();
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    path.to_owned()
}

fn decimals(ids: std::ops::Range<i64>, precision: u8) -> ArrayRef {
    let values: Decimal128Array = ids.map(|id| Some(i128::from(id - 250) * 12_345)).collect();
    Arc::new(values.with_precision_and_scale(precision, 2).unwrap())
}

#[test]
fn values_that_a_bloom_filter_lacks_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_filters(&folder.path().join("a.parquet"));
    assert!(lath(["check", path.to_str().unwrap()]).text(0).contains(": ok ("));
    let bytes = fs::read(&path).unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes.clone())).unwrap();
    for column in metadata.row_group(0).columns() {
        let (offset, length) = (column.bloom_filter_offset().unwrap(), column.bloom_filter_length().unwrap());
        let end = offset as usize + length as usize;
        let mut changed = bytes.clone();
        // The last block of the bitset.
        changed[end - 32..end].fill(0);
        fs::write(&path, changed).unwrap();
        let run = lath(["check", path.to_str().unwrap()]);
        let expected = format!("row group 0, column {}: ", column.column_path().string());
        let text = run.text(1);
        assert!(text.contains(&expected) && text.contains("not in the Bloom filter"), "{expected}{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn bloom_filters_outside_the_file_are_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_filters(&folder.path().join("a.parquet"));
    let changed = with_footer(&path, |metadata| {
        let mut builder = metadata.into_builder();
        let mut row_group = builder.take_row_groups().remove(0).into_builder();
        let mut columns = row_group.take_columns();
        columns[2] = columns[2].clone().into_builder().set_bloom_filter_length(Some(i32::MAX)).build().unwrap();
        builder.set_row_groups(vec![row_group.set_column_metadata(columns).build().unwrap()]).build()
    });
    let run = lath(["check", changed.to_str().unwrap()]);
    assert!(run.text(3).contains("column i64: the Bloom filter cannot be read"), "{}", run.text(3));
}

#[test]
fn size_statistics_that_are_wrong_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_filters(&folder.path().join("a.parquet"));
    let with_column = |column: usize, change: fn(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder| {
        let changed = with_footer(&path, |metadata| {
            let mut builder = metadata.into_builder();
            let mut row_group = builder.take_row_groups().remove(0).into_builder();
            let mut columns = row_group.take_columns();
            columns[column] = change(columns[column].clone().into_builder()).build().unwrap();
            builder.set_row_groups(vec![row_group.set_column_metadata(columns).build().unwrap()]).build()
        });
        let run = lath(["check", changed.to_str().unwrap()]);
        run.text(1).to_owned()
    };
    let text = with_column(4, |column| column.set_unencoded_byte_array_data_bytes(Some(1)));
    assert!(text.contains("column text: 1 bytes of byte strings by the size statistics, 3112 in the data"), "{text}");
    let text =
        with_column(2, |column| column.set_definition_level_histogram(Some(LevelHistogram::from(vec![99, 401]))));
    assert!(text.contains("column i64: definition levels [99, 401] by the size statistics, [100, 400]"), "{text}");
    let text = with_column(9, |column| column.set_repetition_level_histogram(Some(LevelHistogram::from(vec![500, 0]))));
    assert!(
        text.contains("column list.list.item: repetition levels [500, 0] by the size statistics, [500, 300]"),
        "{text}"
    );
}

/// Writes one batch with these properties.
fn write_batch(path: &Path, batch: &RecordBatch, properties: WriterProperties) {
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_bloom_filter_without_blocks_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let batch = numbered(0..300);
    write_batch(&path, &batch, WriterProperties::builder().set_bloom_filter_enabled(true).build());
    assert_eq!(lath(["check", path.to_str().unwrap()]).code, 0);
    // The length covers only the header, so that no block is left.
    let changed = with_footer(&path, |metadata| {
        let mut builder = metadata.into_builder();
        let mut row_groups = builder.take_row_groups();
        let mut row_group = row_groups[0].clone().into_builder();
        let mut columns = row_group.take_columns();
        let file = Bytes::from(fs::read(&path).unwrap());
        let filter = parquet::bloom_filter::Sbbf::read_from_column_chunk(&columns[0], &file).unwrap().unwrap();
        let header_bytes = columns[0].bloom_filter_length().unwrap() - filter.num_blocks() as i32 * 32;
        let column = columns[0].clone().into_builder().set_bloom_filter_length(Some(header_bytes));
        columns[0] = column.build().unwrap();
        row_groups[0] = row_group.set_column_metadata(columns).build().unwrap();
        builder.set_row_groups(row_groups).build()
    });
    let run = lath(["check", changed.to_str().unwrap()]);
    let expected = "row group 0, column id: the Bloom filter cannot be read";
    assert!(run.text(3).contains(expected) && run.text(3).lines().count() == 1, "{}", run.text(3));
}

#[test]
fn booleans_in_an_optional_struct_are_sound_over_several_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let flags: BooleanArray = (0..1000).map(|row| (row % 5 > 0).then_some(row % 3 == 0)).collect();
    let fields = Fields::from(vec![Field::new("flag", DataType::Boolean, true)]);
    let nulls = (0..1000).map(|row| row % 7 > 0).collect::<Vec<_>>().into();
    let column: ArrayRef = Arc::new(StructArray::new(fields, vec![Arc::new(flags)], Some(nulls)));
    let batch = RecordBatch::try_from_iter([("optional", column)]).unwrap();
    // Pages of 90 rows begin within a byte of flags.
    let properties = WriterProperties::builder().set_data_page_row_count_limit(90).set_write_batch_size(10).build();
    write_batch(&path, &batch, properties);
    let run = lath(["check", path.to_str().unwrap()]);
    assert!(run.text(0).ends_with("ok (1,000 rows, 1 row group, 1 column)\n"), "{}", run.text(0));
}

#[test]
fn columns_of_one_name_are_each_compared_with_their_own_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let field = |nullable| Field::new("a", DataType::Int64, nullable);
    let schema = Schema::new(vec![field(false), Field::new("b", DataType::Int64, false), field(true)]);
    let columns: [ArrayRef; 3] = [
        Arc::new((0..100).collect::<Int64Array>()),
        Arc::new((0..100).rev().collect::<Int64Array>()),
        Arc::new((0..100).map(|row| (row % 2 > 0).then_some(row + 1000)).collect::<Int64Array>()),
    ];
    let batch = RecordBatch::try_new(Arc::new(schema), columns.to_vec()).unwrap();
    write_batch(&path, &batch, WriterProperties::builder().set_bloom_filter_enabled(true).build());
    let run = lath(["check", path.to_str().unwrap()]);
    assert!(run.text(0).ends_with("ok (100 rows, 1 row group, 3 columns)\n"), "{}", run.text(0));
    // The second of two columns with the same name has wrong statistics.
    let changed = with_footer(&path, |metadata| {
        let statistics = ValueStatistics::new(Some(1001i64), Some(1098), None, Some(50), false);
        let statistics = statistics.with_min_is_exact(true).with_max_is_exact(true);
        let mut builder = metadata.into_builder();
        let mut row_groups = builder.take_row_groups();
        let mut row_group = row_groups[0].clone().into_builder();
        let mut columns = row_group.take_columns();
        columns[2] = columns[2].clone().into_builder().set_statistics(Statistics::Int64(statistics)).build().unwrap();
        row_groups[0] = row_group.set_column_metadata(columns).build().unwrap();
        builder.set_row_groups(row_groups).build()
    });
    let run = lath(["check", changed.to_str().unwrap()]);
    let expected = "row group 0, column a: maximum 1098 in the statistics, 1099 in the data";
    assert!(run.text(1).contains(expected) && run.text(1).lines().count() == 1, "{}", run.text(1));
}

#[test]
fn ten_thousand_columns_take_no_longer_than_each_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let names: Vec<String> = (0..10_000).map(|number| format!("column {number}")).collect();
    let batch = RecordBatch::try_from_iter(names.iter().map(|name| (name, Arc::clone(&column)))).unwrap();
    write_batch(&path, &batch, WriterProperties::builder().build());
    let start = std::time::Instant::now();
    let run = lath(["check", path.to_str().unwrap()]);
    let took = start.elapsed();
    println!("10,000 columns of 3 rows took {took:?}");
    assert!(run.text(0).ends_with("ok (3 rows, 1 row group, 10,000 columns)\n"), "{}", run.text(0));
    // Far above the time it takes, and far below the 17 s (optimized) that it took to plan a read of all columns for each column.
    assert!(took.as_secs() < 10, "{took:?}");
}

#[test]
fn a_column_that_cannot_be_decoded_does_not_hide_those_that_are_read_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder.path().join("a.parquet"), &numbered(0..900), 900);
    let changed = with_footer(&path, |metadata| {
        let mut builder = metadata.into_builder();
        let mut row_groups = builder.take_row_groups();
        let mut row_group = row_groups[0].clone().into_builder();
        let mut columns = row_group.take_columns();
        let value = |text: &str| Some(ByteArray::from(text));
        let statistics = ValueStatistics::new(value("name 1"), value("name 99"), None, Some(128), false);
        let statistics = Statistics::ByteArray(statistics.with_min_is_exact(true).with_max_is_exact(true));
        columns[1] = columns[1].clone().into_builder().set_statistics(statistics).build().unwrap();
        row_groups[0] = row_group.set_column_metadata(columns).build().unwrap();
        builder.set_row_groups(row_groups).build()
    });
    let metadata = lath_parquet::ParquetFile::open(&changed).unwrap().metadata().clone();
    let chunk = metadata.chunk(0, 0).unwrap();
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset()) as usize;
    let mut bytes = fs::read(&changed).unwrap();
    bytes[start..start + 16].fill(0xff);
    fs::write(&changed, bytes).unwrap();
    let run = lath(["check", changed.to_str().unwrap()]);
    let text = run.text(3);
    assert!(text.contains("column id: corrupt data: ") && text.contains("column name: minimum name 1 in"), "{text}");
}

#[test]
fn rows_that_are_not_sorted_as_the_metadata_says_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), Some("c"), None, Some("a")]));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4]));
    let batch = RecordBatch::try_from_iter_with_nullable([("text", texts, true), ("id", ids, false)]).unwrap();
    let sorted = |columns: &[(i32, bool)]| {
        let column =
            |&(column_idx, descending): &(i32, bool)| SortingColumn { column_idx, descending, nulls_first: false };
        let sorting = Some(columns.iter().map(column).collect());
        write_batch(&path, &batch, WriterProperties::builder().set_sorting_columns(sorting).build());
        lath(["check", path.to_str().unwrap()])
    };
    for (columns, expected) in [
        ([(1, false)].as_slice(), None),
        (&[(1, true)], Some("row group 0: sorted by id by its metadata, and row 1 does not follow the row before it")),
        (
            &[(0, false)],
            Some("row group 0: sorted by text by its metadata, and row 3 does not follow the row before it"),
        ),
        (&[(1, false), (0, false)], None),
    ] {
        let run = sorted(columns);
        match expected {
            Some(expected) => assert!(run.text(1).contains(expected), "{}", run.text(1)),
            None => assert!(run.text(0).contains("ok"), "{}", run.text(0)),
        }
    }
}

#[test]
fn an_order_that_rows_do_not_have_is_an_error_where_a_query_relies_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![3, 1, 2]));
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let sorting = vec![SortingColumn { column_idx: 0, descending: false, nulls_first: false }];
    write_batch(&path, &batch, WriterProperties::builder().set_sorting_columns(Some(sorting)).build());
    let sql = |query: &str| lath(["sql", &query.replace("FILE", &format!("'{}'", path.display()))]);
    for query in [
        "SELECT id FROM FILE ORDER BY id NULLS LAST",
        "SELECT id FROM FILE ORDER BY id NULLS LAST LIMIT 2",
        "SELECT id, row_number() OVER (ORDER BY id NULLS LAST) FROM FILE",
    ] {
        let run = sql(query);
        assert_ne!(run.code, 0, "{query}: {}", String::from_utf8_lossy(&run.stdout));
        assert!(run.stderr.contains("row group 0: its footer declares rows sorted by id"), "{}", run.stderr);
    }
    // This query relies on no order.
    assert!(sql("SELECT sum(id) AS s FROM FILE").text(0).contains('6'));
    assert!(sql("SELECT id FROM FILE ORDER BY id DESC").text(0).contains('3'));
}

#[test]
fn floats_that_are_not_sorted_as_the_metadata_says_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    for (floats, expected) in [
        (vec![-1.0, 0.0, -0.0, 2.5, f64::NAN], None),
        (vec![f64::NAN, -1.0, 2.5, 3.0], None),
        (vec![-1.0, f64::NAN, 2.5, 3.0], Some("row 2 does not follow")),
        (vec![1.0, -0.5, 2.0], Some("row 1 does not follow")),
    ] {
        let floats: ArrayRef = Arc::new(Float64Array::from(floats));
        let batch = RecordBatch::try_from_iter([("x", floats)]).unwrap();
        let sorting = vec![SortingColumn { column_idx: 0, descending: false, nulls_first: false }];
        write_batch(&path, &batch, WriterProperties::builder().set_sorting_columns(Some(sorting)).build());
        let run = lath(["check", path.to_str().unwrap()]);
        match expected {
            Some(expected) => assert!(run.text(1).contains(expected), "{}", run.text(1)),
            None => assert!(run.text(0).contains("ok"), "{}", run.text(0)),
        }
    }
}

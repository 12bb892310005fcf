use std::sync::Arc;

use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, DictionaryArray, Int32Array, IntervalMonthDayNanoArray, RecordBatch,
};
use arrow_schema::{DataType, Field, IntervalUnit, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use lath_format::Encoding;
use lath_parquet::ParquetFile;
use lath_testkit::Seeded;
use lath_testkit::equality::same_values;
use lath_testkit::random::{self, SchemaShape};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::ChunkWriter;
use crate::chunk::EncodedChunk;
use crate::file::footer::{self, MAGIC};
use crate::file::output::Output;
use crate::file::row_group::{Chunk, RowGroup, RowGroups};
use crate::schema::WriteSchema;
use crate::stripe::stripe;
use crate::{Codec, ColumnOptions, PageVersion, StatisticsLevel, ValueEncoding, WriteOptions};

/// A file of one row group for each list of batches, and the chunks in it.
pub(super) fn write_file(
    schema: &SchemaRef,
    row_groups: &[Vec<RecordBatch>],
    options: &WriteOptions,
) -> (Bytes, Vec<EncodedChunk>) {
    let write_schema = WriteSchema::new(schema, options).expect("a schema that is written");
    let leaves = write_schema.leaves.iter().map(|leaf| {
        let options = Arc::clone(&leaf.options);
        ChunkWriter::new(&leaf.column, &leaf.arrow_type, options).expect("a type that is written")
    });
    let mut columns: Vec<ChunkWriter> = leaves.collect();
    let mut output = Output::new(Vec::new(), None);
    output.write(MAGIC).expect("memory");
    let mut written = RowGroups::default();
    let mut chunks = Vec::new();
    for batches in row_groups {
        for batch in batches {
            let mut striped = Vec::new();
            for (field, array) in schema.fields().iter().zip(batch.columns()) {
                stripe(field, array, &mut striped).expect("a batch of the schema");
            }
            for (column, striped) in columns.iter_mut().zip(&striped) {
                column.write(striped).expect("values that are written");
            }
        }
        let mut row_group =
            RowGroup { rows: batches.iter().map(RecordBatch::num_rows).sum(), chunks: Vec::new(), sorting: None };
        for column in &mut columns {
            let chunk = column.finish().expect("a chunk");
            let bytes: usize = chunk.pages.iter().map(Bytes::len).sum();
            assert_eq!(bytes as i64, chunk.metadata.compressed_size);
            row_group.chunks.push(Chunk::write(chunk.clone(), None, &mut output).expect("memory"));
            chunks.push(chunk);
        }
        written.push(row_group);
    }
    footer::write(&mut written, &write_schema, options, None, &mut output).expect("a footer");
    (output.into_sink().expect("memory").into(), chunks)
}

/// The chunk of one column of one batch.
pub(crate) fn write_column(array: &ArrayRef, options: &WriteOptions) -> EncodedChunk {
    let schema: SchemaRef =
        Arc::new(Schema::new(vec![Field::new("c", array.data_type().clone(), array.is_nullable())]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(array)]).expect("a batch");
    let (_, mut chunks) = write_file(&schema, &[vec![batch]], options);
    chunks.remove(0)
}

fn read_with_crate(bytes: &Bytes) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).map_err(|error| error.to_string())?;
    let schema = Arc::clone(builder.schema());
    let reader = builder.with_batch_size(1000).build().map_err(|error| error.to_string())?;
    Ok((schema, reader.collect::<Result<_, _>>().map_err(|error| error.to_string())?))
}

fn read_with_lath(bytes: &Bytes) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
    let file = ParquetFile::from_bytes(bytes.clone()).map_err(|error| error.to_string())?;
    let batches = file.scan().build().map_err(|error| error.to_string())?;
    let schema = batches.schema();
    Ok((schema, batches.collect::<Result<_, _>>().map_err(|error| error.to_string())?))
}

fn check_round_trip(schema: &SchemaRef, row_groups: &[Vec<RecordBatch>], options: &WriteOptions) -> Result<(), String> {
    let (bytes, chunks) = write_file(schema, row_groups, options);
    let written: Vec<RecordBatch> = row_groups.concat();
    let lath = read_with_lath(&bytes)?;
    same_values((schema, &written), (&lath.0, &lath.1)).map_err(|what| format!("by lath: {what}"))?;
    if chunks.iter().any(|chunk| chunk.metadata.encodings.contains(&Encoding::Alp)) {
        // The crate refuses a file with an encoding that it does not know.
        return Ok(());
    }
    let by_crate = read_with_crate(&bytes)?;
    same_values((schema, &written), (&by_crate.0, &by_crate.1)).map_err(|what| format!("by the crate: {what}"))
}

fn pick<T: Clone>(random: &mut fastrand::Rng, values: &[T]) -> T {
    values[random.usize(..values.len())].clone()
}

fn random_options(random: &mut fastrand::Rng) -> WriteOptions {
    let codecs = [
        Codec::Uncompressed,
        Codec::Snappy,
        Codec::Gzip { level: 4 },
        Codec::Brotli { level: 1 },
        Codec::Zstd { level: 1 },
        Codec::Lz4Raw,
    ];
    let levels = [StatisticsLevel::None, StatisticsLevel::Chunk, StatisticsLevel::Page];
    WriteOptions::default().all_columns(
        ColumnOptions::new()
            .codec(pick(random, &codecs))
            .encoding(pick(random, &ENCODINGS))
            .dictionary(random.bool())
            .dictionary_bytes(pick(random, &[0, 100, 1000, 1 << 20]))
            .preview_encodings(random.bool())
            .page_version(pick(random, &[PageVersion::V1, PageVersion::V2]))
            .page_rows(pick(random, &[1, 10, 97, 20_000]))
            .page_bytes(pick(random, &[1, 100, 1000, 1 << 20]))
            .statistics(pick(random, &levels))
            .statistics_bytes(pick(random, &[1, 5, 64]))
            .size_statistics(random.bool())
            .offset_index(true)
            .crc(random.bool()),
    )
}

/// Copies of runs of earlier rows, so that values repeat.
fn repeated(random: &mut fastrand::Rng, batch: &RecordBatch) -> RecordBatch {
    let rows = batch.num_rows();
    if rows == 0 {
        return batch.clone();
    }
    let parts: Vec<RecordBatch> = (0..random.usize(1..6))
        .map(|_| {
            let start = random.usize(..rows);
            batch.slice(start, random.usize(..=rows - start))
        })
        .collect();
    arrow_select::concat::concat_batches(batch.schema_ref(), &parts).expect("parts of one batch")
}

#[test]
fn random_batches_are_read_back_whatever_the_options() {
    let mut random = Seeded::new("random_batches_are_read_back_whatever_the_options");
    let cases = std::env::var("LATH_CASES").map_or(150, |text| text.parse().expect("LATH_CASES is a number"));
    for case in 0..cases {
        let seed = random.u64(..);
        let mut choices = fastrand::Rng::with_seed(seed);
        let schema = random::schema(&mut choices, SchemaShape { fields: 4, depth: 3 });
        let options = random_options(&mut choices);
        let row_groups: Vec<Vec<RecordBatch>> = (0..choices.usize(1..3))
            .map(|_| {
                (0..choices.usize(..4))
                    .map(|_| {
                        let rows = pick(&mut choices, &[0, 1, 7, 64, 500, 1500]);
                        let batch = random::record_batch(&mut choices, &schema, rows);
                        if choices.bool() { repeated(&mut choices, &batch) } else { batch }
                    })
                    .collect()
            })
            .collect();
        let outcome = check_round_trip(&schema, &row_groups, &options);
        outcome.unwrap_or_else(|what| panic!("{what}\nin case {case} with seed {seed:#x}: {options:?}\n{schema}"));
    }
}

/// Every leaf type that is read, and several dictionary types.
pub(super) fn leaf_types_of_all_kinds() -> Vec<DataType> {
    use DataType as D;
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let mut types = vec![D::Null, D::Boolean];
    types.extend([D::Int8, D::Int16, D::Int32, D::Int64, D::UInt8, D::UInt16, D::UInt32, D::UInt64]);
    types.extend([D::Float16, D::Float32, D::Float64, D::Date32, D::Date64]);
    types.extend(units.map(|unit| D::Timestamp(unit, None)));
    types.extend(units.map(D::Duration));
    types.extend([D::Time32(TimeUnit::Second), D::Time32(TimeUnit::Millisecond)]);
    types.extend([D::Time64(TimeUnit::Microsecond), D::Time64(TimeUnit::Nanosecond)]);
    types.extend([D::Interval(IntervalUnit::YearMonth), D::Interval(IntervalUnit::DayTime)]);
    types.extend([1, 3, 16, 33].map(D::FixedSizeBinary));
    types.extend([2, 9].map(|precision| D::Decimal32(precision, 1)));
    types.extend([1, 9, 10, 18].map(|precision| D::Decimal64(precision, 0)));
    types.extend([1, 9, 18, 19, 38].map(|precision| D::Decimal128(precision, 1)));
    types.extend([1, 9, 18, 38, 39, 76].map(|precision| D::Decimal256(precision, 0)));
    types.extend([D::Utf8, D::LargeUtf8, D::Utf8View, D::Binary, D::LargeBinary, D::BinaryView]);
    let keys = [D::Int8, D::Int16, D::Int32, D::Int64, D::UInt8, D::UInt16, D::UInt32, D::UInt64];
    types.extend(keys.map(|key| D::Dictionary(Box::new(key), Box::new(D::Utf8))));
    for values in [D::Int32, D::Int64, D::LargeUtf8, D::Binary, D::LargeBinary] {
        types.push(D::Dictionary(Box::new(D::Int16), Box::new(values)));
    }
    types
}

/// Values of any type, including dictionaries with keys of any type.
pub(super) fn leaf_array(random: &mut fastrand::Rng, field: &Field, len: usize) -> ArrayRef {
    let DataType::Dictionary(_, values) = field.data_type() else { return random::array(random, field, len) };
    let entries = random::array(random, &Field::new("values", (**values).clone(), false), 60);
    let key = |_| if field.is_nullable() && random.u8(..4) == 0 { None } else { Some(random.i32(0..60)) };
    let keys: Int32Array = (0..len).map(key).collect();
    let array: ArrayRef = Arc::new(DictionaryArray::new(keys, entries));
    arrow_cast::cast(&array, field.data_type()).expect("keys that fit")
}

const ENCODINGS: [ValueEncoding; 8] = [
    ValueEncoding::Plain,
    ValueEncoding::Rle,
    ValueEncoding::DeltaBinaryPacked,
    ValueEncoding::DeltaLengthByteArray,
    ValueEncoding::DeltaByteArray,
    ValueEncoding::ByteStreamSplit,
    ValueEncoding::Alp,
    ValueEncoding::Sampled,
];

#[test]
fn every_type_is_read_back_in_every_encoding_and_page_version() {
    let mut random = Seeded::new("every_type_is_read_back_in_every_encoding_and_page_version");
    for nullable in [false, true] {
        let fields = leaf_types_of_all_kinds().into_iter().enumerate().map(|(i, data_type)| {
            let nullable = nullable || data_type == DataType::Null;
            Field::new(format!("c{i}"), data_type, nullable)
        });
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batches: Vec<RecordBatch> = [100, 1, 300]
            .map(|rows| {
                let columns = schema.fields().iter().map(|field| leaf_array(&mut random, field, rows));
                RecordBatch::try_new(Arc::clone(&schema), columns.collect()).expect("columns of the schema")
            })
            .into();
        for encoding in ENCODINGS {
            for version in [PageVersion::V1, PageVersion::V2] {
                for dictionary in [false, true] {
                    let options = WriteOptions::default()
                        .encoding(encoding)
                        .page_version(version)
                        .dictionary(dictionary)
                        .all_columns(ColumnOptions::new().page_rows(150));
                    let outcome = check_round_trip(&schema, std::slice::from_ref(&batches), &options);
                    outcome.unwrap_or_else(|what| {
                        panic!("{what}\n{encoding:?}, {version:?}, dictionary {dictionary}, nullable {nullable}")
                    });
                }
            }
        }
    }
}

#[test]
fn a_page_has_the_encoding_that_was_asked_for() {
    let mut random = Seeded::new("a_page_has_the_encoding_that_was_asked_for");
    for (data_type, encoding, expected) in [
        (DataType::Int64, ValueEncoding::DeltaBinaryPacked, Encoding::DeltaBinaryPacked),
        (DataType::Int64, ValueEncoding::DeltaByteArray, Encoding::Plain),
        (DataType::Float64, ValueEncoding::ByteStreamSplit, Encoding::ByteStreamSplit),
        (DataType::Float32, ValueEncoding::Alp, Encoding::Alp),
        (DataType::Float64, ValueEncoding::Alp, Encoding::Alp),
        (DataType::Float16, ValueEncoding::Alp, Encoding::Plain),
        (DataType::Int64, ValueEncoding::Alp, Encoding::Plain),
        (DataType::Utf8, ValueEncoding::DeltaLengthByteArray, Encoding::DeltaLengthByteArray),
        (DataType::Utf8View, ValueEncoding::DeltaByteArray, Encoding::DeltaByteArray),
        (DataType::Boolean, ValueEncoding::Rle, Encoding::Rle),
    ] {
        let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("c", data_type, false)]));
        let batch = random::record_batch(&mut random, &schema, 100);
        let options = WriteOptions::default().encoding(encoding).dictionary(false);
        let (_, chunks) = write_file(&schema, &[vec![batch]], &options);
        assert_eq!(chunks[0].metadata.encodings, [expected]);
        assert_eq!(chunks[0].choice.encoding, expected);
    }
}

#[test]
fn an_encoding_asked_of_one_column_must_be_one_of_its_type() {
    let schema = Schema::new(vec![Field::new("text", DataType::Utf8, false)]);
    let descriptor = ArrowSchemaConverter::new().convert(&schema).expect("a schema");
    let own = ColumnOptions::new().encoding(ValueEncoding::DeltaBinaryPacked);
    let leaf = Arc::new(WriteOptions::default().column("text", own).leaf(Some("text"), "text", 0));
    let error = ChunkWriter::new(&descriptor.column(0), &DataType::Utf8, leaf).expect_err("strings have no deltas");
    assert!(error.to_string().contains("column text"), "{error}");
}

#[test]
fn a_value_that_does_not_fit_is_named_by_column_and_row() {
    let data_type = DataType::Decimal128(9, 2);
    let schema = Schema::new(vec![Field::new("price", data_type.clone(), true)]);
    let descriptor = ArrowSchemaConverter::new().convert(&schema).expect("a schema");
    let leaf = Arc::new(WriteOptions::default().leaf(Some("price"), "price", 0));
    let mut writer = ChunkWriter::new(&descriptor.column(0), &data_type, leaf).expect("a type that is written");
    let write = |writer: &mut ChunkWriter, values: Vec<Option<i128>>| {
        let array: ArrayRef = Arc::new(Decimal128Array::from(values).with_data_type(data_type.clone()));
        let mut striped = Vec::new();
        stripe(schema.field(0), &array, &mut striped).expect("a batch of the schema");
        writer.write(&striped[0])
    };
    write(&mut writer, vec![Some(1), None, Some(2)]).expect("values that fit");
    let error = write(&mut writer, vec![None, Some(5), None, Some(1 << 40)]).expect_err("a value that does not fit");
    assert!(error.to_string().contains("column price, row 6 "), "{error}");
    assert!(error.to_string().contains("1099511627776"), "{error}");
}

/// Values that the `parquet` crate does not write, so that only Lath reads them.
#[test]
fn types_that_the_crate_does_not_write_are_read_back() {
    use DataType as D;
    let mut random = Seeded::new("types_that_the_crate_does_not_write_are_read_back");
    let dictionary = |values: D| D::Dictionary(Box::new(D::Int32), Box::new(values));
    let values =
        [D::Utf8View, D::BinaryView, D::FixedSizeBinary(5), D::Float16, D::Decimal128(20, 2), D::Boolean, D::UInt64];
    let mut types: Vec<DataType> = values.map(dictionary).into();
    types.push(D::Decimal32(1, 0));
    for data_type in types {
        for has_dictionary in [false, true] {
            let field = Field::new("c", data_type.clone(), true);
            let schema: SchemaRef = Arc::new(Schema::new(vec![field.clone()]));
            let batches: Vec<RecordBatch> = (0..3)
                .map(|_| {
                    let column = leaf_array(&mut random, &field, 300);
                    RecordBatch::try_new(Arc::clone(&schema), vec![column]).expect("a batch")
                })
                .collect();
            let options = WriteOptions::default().dictionary(has_dictionary);
            let (bytes, _) = write_file(&schema, std::slice::from_ref(&batches), &options);
            let read = read_with_lath(&bytes).unwrap_or_else(|what| panic!("{data_type}: {what}"));
            same_values((&schema, &batches), (&read.0, &read.1)).unwrap_or_else(|what| panic!("{data_type}: {what}"));
        }
    }
}

#[test]
fn intervals_of_whole_milliseconds_are_written_and_others_refused() {
    let data_type = DataType::Interval(IntervalUnit::MonthDayNano);
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("c", data_type.clone(), false)]));
    let array = |nanos: i64| -> ArrayRef {
        let value = |at: i32| IntervalMonthDayNano::new(at, 2 * at, nanos + i64::from(at) * 5_000_000);
        Arc::new((0..100).map(|at| Some(value(at))).collect::<IntervalMonthDayNanoArray>())
    };
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array(0)]).expect("a batch");
    let (bytes, _) = write_file(&schema, &[vec![batch.clone()]], &WriteOptions::default());
    let read = read_with_lath(&bytes).expect("what was written");
    same_values((&schema, &[batch]), (&read.0, &read.1)).expect("the same");

    let descriptor = ArrowSchemaConverter::new().convert(&schema).expect("a schema");
    let leaf = Arc::new(WriteOptions::default().leaf(Some("c"), "c", 0));
    let mut writer = ChunkWriter::new(&descriptor.column(0), &data_type, leaf).expect("a type that is written");
    let mut striped = Vec::new();
    stripe(schema.field(0), &array(1), &mut striped).expect("a batch of the schema");
    let error = writer.write(&striped[0]).expect_err("a nanosecond over");
    assert!(error.to_string().contains("column c, row 0 "), "{error}");
}

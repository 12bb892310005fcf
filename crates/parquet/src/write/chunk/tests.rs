use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use bytes::Bytes;
use lath_testkit::Seeded;
use lath_testkit::equality::same_values;
use lath_testkit::random::{self, SchemaShape};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;

use super::ChunkWriter;
use crate::ParquetFile;
use crate::write::stripe::stripe;
use crate::write::{Codec, ColumnOptions, EncodedChunk, PageVersion, StatisticsLevel, ValueEncoding, WriteOptions};

/// The leaf types of `data_type` in file order.
fn leaf_types(data_type: &DataType, out: &mut Vec<DataType>) {
    match data_type {
        DataType::Struct(fields) => fields.iter().for_each(|field| leaf_types(field.data_type(), out)),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::Map(item, _) => leaf_types(item.data_type(), out),
        leaf => out.push(leaf.clone()),
    }
}

/// A file of one row group for each batch, its envelope by the `parquet` crate, and the chunks in it.
fn write_file(
    schema: &SchemaRef,
    row_groups: &[Vec<RecordBatch>],
    options: &WriteOptions,
) -> (Bytes, Vec<EncodedChunk>) {
    let descriptor = ArrowSchemaConverter::new().convert(schema).expect("a schema that is written");
    let mut properties = WriterProperties::builder().build();
    add_encoded_arrow_schema_to_metadata(schema, &mut properties);
    let mut writer =
        SerializedFileWriter::new(Vec::new(), descriptor.root_schema_ptr(), Arc::new(properties)).expect("a file");
    let mut types = Vec::new();
    schema.fields().iter().for_each(|field| leaf_types(field.data_type(), &mut types));
    let mut columns: Vec<ChunkWriter> = descriptor
        .columns()
        .iter()
        .zip(&types)
        .map(|(column, data_type)| {
            let leaf = Arc::new(options.leaf(&column.path().string()));
            ChunkWriter::new(column, data_type, leaf).expect("a type that is written")
        })
        .collect();
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
        let mut group = writer.next_row_group().expect("a row group");
        for column in &mut columns {
            let chunk = column.finish().expect("a chunk");
            let bytes = Bytes::from(chunk.pages.concat());
            let close = ColumnCloseResult {
                bytes_written: bytes.len() as u64,
                rows_written: batches.iter().map(|batch| batch.num_rows() as u64).sum(),
                metadata: chunk.metadata.clone(),
                bloom_filter: None,
                column_index: chunk.column_index.clone(),
                offset_index: chunk.offset_index.clone(),
            };
            assert_eq!(bytes.len() as i64, chunk.metadata.compressed_size());
            group.append_column(&bytes, close).expect("a chunk that fits");
            chunks.push(chunk);
        }
        group.close().expect("a row group");
    }
    (writer.into_inner().expect("a file").into(), chunks)
}

fn read_with_crate(bytes: &Bytes) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).map_err(|error| error.to_string())?;
    let schema = Arc::clone(builder.schema());
    let reader = builder.with_batch_size(1000).build().map_err(|error| error.to_string())?;
    Ok((schema, reader.collect::<Result<_, _>>().map_err(|error| error.to_string())?))
}

fn read_with_lath(bytes: &Bytes) -> Result<(SchemaRef, Vec<RecordBatch>), String> {
    let file = ParquetFile::from_bytes(bytes.clone()).map_err(|error| error.to_string())?;
    let batches = file.read().build().map_err(|error| error.to_string())?;
    let schema = batches.schema();
    Ok((schema, batches.collect::<Result<_, _>>().map_err(|error| error.to_string())?))
}

fn check_round_trip(schema: &SchemaRef, row_groups: &[Vec<RecordBatch>], options: &WriteOptions) -> Result<(), String> {
    let (bytes, _) = write_file(schema, row_groups, options);
    let written: Vec<RecordBatch> = row_groups.concat();
    let lath = read_with_lath(&bytes)?;
    same_values((schema, &written), (&lath.0, &lath.1)).map_err(|what| format!("by lath: {what}"))?;
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
    let encodings = [
        ValueEncoding::Plain,
        ValueEncoding::Rle,
        ValueEncoding::DeltaBinaryPacked,
        ValueEncoding::DeltaLengthByteArray,
        ValueEncoding::DeltaByteArray,
        ValueEncoding::ByteStreamSplit,
        ValueEncoding::Sampled,
    ];
    let levels = [StatisticsLevel::None, StatisticsLevel::Chunk, StatisticsLevel::Page];
    WriteOptions::default().all_columns(
        ColumnOptions::new()
            .codec(pick(random, &codecs))
            .encoding(pick(random, &encodings))
            .dictionary(random.bool())
            .dictionary_bytes(pick(random, &[0, 100, 1000, 1 << 20]))
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

/// Runs of rows that occur before, so that values repeat.
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

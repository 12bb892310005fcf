use arrow_schema::Schema;
use parquet::arrow::ArrowSchemaConverter;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, Type as PhysicalType, ZstdLevel};
use parquet::file::properties::{
    CdcOptions, EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};
use parquet::schema::types::{ColumnDescPtr, ColumnPath};

use super::pick;

/// The leaf columns that the `parquet` crate writes for `schema`.
pub fn leaf_columns(schema: &Schema, coerce_types: bool) -> Vec<ColumnDescPtr> {
    let converter = ArrowSchemaConverter::new().with_coerce_types(coerce_types);
    converter.convert(schema).expect("schemas are made of what can be written").columns().to_vec()
}

/// Properties for writing `row_count` rows of `schema`: page versions and sizes, codecs, encodings, dictionaries that
/// overflow, statistics and indexes.
pub fn writer_properties(random: &mut fastrand::Rng, schema: &Schema, row_count: usize) -> WriterProperties {
    let coerce_types = random.u8(..8) == 0;
    let mut builder = WriterProperties::builder()
        .set_coerce_types(coerce_types)
        .set_writer_version(pick(random, &[WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0]))
        .set_data_page_row_count_limit(pick(random, &[1, 7, 100, 1000, 20_000]))
        .set_data_page_size_limit(pick(random, &[1, 100, 1000, 10_000, 1 << 20]))
        .set_dictionary_page_size_limit(pick(random, &[1, 64, 1000, 1 << 20]))
        .set_write_batch_size(pick(random, &[1, 3, 64, 100, 1024]))
        .set_statistics_enabled(pick(
            random,
            &[EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page],
        ))
        .set_write_page_header_statistics(random.bool())
        .set_offset_index_disabled(random.u8(..4) == 0)
        .set_bloom_filter_enabled(random.u8(..8) == 0)
        .set_bloom_filter_max_ndv(100)
        .set_write_path_in_schema(random.u8(..8) > 0)
        .set_data_page_v2_compression_ratio_threshold(pick(random, &[0.5, 1.0, 100.0]))
        .set_compression(codec(random))
        // At most about forty row groups, whatever the number of rows.
        .set_max_row_group_row_count(pick(random, &[Some(row_count / 40 + 1), Some(row_count / 3 + 1), None]));
    if random.u8(..8) == 0 {
        let chunks = CdcOptions { min_chunk_size: 64, max_chunk_size: 512, norm_level: 0 };
        builder = builder.set_content_defined_chunking(Some(chunks));
    }
    for column in leaf_columns(schema, coerce_types) {
        builder = column_properties(random, builder, column.path(), column.physical_type());
    }
    builder.build()
}

fn column_properties(
    random: &mut fastrand::Rng,
    mut builder: WriterPropertiesBuilder,
    path: &ColumnPath,
    physical_type: PhysicalType,
) -> WriterPropertiesBuilder {
    builder = builder.set_column_dictionary_enabled(path.clone(), random.bool());
    if random.u8(..4) > 0 {
        builder = builder.set_column_encoding(path.clone(), pick(random, encodings(physical_type)));
    }
    if random.u8(..4) == 0 {
        builder = builder.set_column_compression(path.clone(), codec(random));
    }
    builder
}

/// The possible encodings of values of a physical type, without dictionaries.
fn encodings(physical_type: PhysicalType) -> &'static [Encoding] {
    match physical_type {
        PhysicalType::BOOLEAN => &[Encoding::PLAIN, Encoding::RLE],
        PhysicalType::INT32 | PhysicalType::INT64 => {
            &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]
        }
        PhysicalType::FLOAT | PhysicalType::DOUBLE => &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT],
        PhysicalType::BYTE_ARRAY => &[Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY],
        PhysicalType::FIXED_LEN_BYTE_ARRAY => {
            &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT, Encoding::DELTA_BYTE_ARRAY]
        }
        PhysicalType::INT96 => &[Encoding::PLAIN],
    }
}

fn codec(random: &mut fastrand::Rng) -> Compression {
    match random.u8(..10) {
        0..3 => Compression::UNCOMPRESSED,
        3..5 => Compression::SNAPPY,
        5 => Compression::GZIP(GzipLevel::default()),
        6 => Compression::BROTLI(BrotliLevel::default()),
        7 => Compression::ZSTD(ZstdLevel::default()),
        8 => Compression::LZ4_RAW,
        _ => Compression::LZ4,
    }
}

//! Metadata as JSON: all that there is, under names that do not change.

use parquet::basic::BoundaryOrder;
use parquet::file::metadata::{ColumnChunkMetaData, LevelHistogram, ParquetMetaData};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;
use serde_json::{Map, Value, json};

use super::Subject;
use crate::page_index::{column_index, pages};
use crate::parquet_type::{codec, encodings, logical_type, physical_type, schema_json};
use crate::statistic::Statistic;

/// The file as one JSON object.
pub(super) fn describe(subject: &Subject) -> Value {
    let metadata = &subject.metadata;
    let file = metadata.file_metadata();
    let pairs = file.key_value_metadata().map(Vec::as_slice).unwrap_or_default();
    let key_values: Map<String, Value> =
        pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone().into())).collect();
    json!({
        "file": subject.name,
        "file_bytes": subject.file_bytes,
        "version": file.version(),
        "created_by": file.created_by(),
        "row_count": file.num_rows(),
        "row_group_count": metadata.num_row_groups(),
        "column_count": file.schema_descr().num_columns(),
        "key_value_metadata": key_values,
        "schema": schema_json(file.schema()),
        "row_groups": subject.row_groups.iter().map(|&index| row_group(subject, index)).collect::<Vec<_>>(),
    })
}

fn row_group(subject: &Subject, index: usize) -> Value {
    let row_group = subject.metadata.row_group(index);
    let schema = row_group.schema_descr();
    let sorting = row_group.sorting_columns().map(|columns| {
        let column = |index: i32| usize::try_from(index).ok().filter(|&index| index < schema.num_columns());
        let describe = |sorting: &parquet::file::metadata::SortingColumn| {
            json!({
                "column": column(sorting.column_idx).map(|index| schema.column(index).path().string()),
                "descending": sorting.descending,
                "nulls_first": sorting.nulls_first,
            })
        };
        columns.iter().map(describe).collect::<Vec<_>>()
    });
    json!({
        "index": index,
        "row_count": row_group.num_rows(),
        "uncompressed_bytes": row_group.total_byte_size(),
        "compressed_bytes": row_group.compressed_size(),
        "file_offset": row_group.file_offset(),
        "ordinal": row_group.ordinal(),
        "sorting_columns": sorting,
        "columns": subject.columns.iter().map(|&column| self::column(&subject.metadata, index, column)).collect::<Vec<_>>(),
    })
}

fn column(metadata: &ParquetMetaData, row_group: usize, index: usize) -> Value {
    let column = metadata.row_group(row_group).column(index);
    let descriptor = column.column_descr();
    let info = descriptor.self_type().get_basic_info();
    json!({
        "path": descriptor.path().string(),
        "physical_type": physical_type(descriptor.physical_type(), descriptor.type_length()),
        "logical_type": logical_type(info, descriptor.type_precision(), descriptor.type_scale()),
        "max_definition_level": descriptor.max_def_level(),
        "max_repetition_level": descriptor.max_rep_level(),
        "codec": codec(column),
        "encodings": encodings(column),
        "page_encodings": column.page_encoding_stats().map(|stats| {
            let describe = |stat: &parquet::file::metadata::PageEncodingStats| {
                json!({
                    "page_type": stat.page_type.to_string(),
                    "encoding": stat.encoding.to_string(),
                    "page_count": stat.count,
                })
            };
            stats.iter().map(describe).collect::<Vec<_>>()
        }),
        "value_count": column.num_values(),
        "uncompressed_bytes": column.uncompressed_size(),
        "compressed_bytes": column.compressed_size(),
        "dictionary_page_offset": column.dictionary_page_offset(),
        "data_page_offset": column.data_page_offset(),
        "file_path": column.file_path(),
        "encrypted": column.crypto_metadata().is_some(),
        "statistics": column.statistics().map(|statistics| describe_statistics(statistics, descriptor)),
        "size_statistics": size_statistics(column),
        "geospatial_statistics": column.geo_statistics().map(|statistics| {
            json!({
                "bounding_box": statistics.bounding_box().map(|bounds| json!({
                    "x": [bounds.get_xmin(), bounds.get_xmax()],
                    "y": [bounds.get_ymin(), bounds.get_ymax()],
                    "z": [bounds.get_zmin(), bounds.get_zmax()],
                    "m": [bounds.get_mmin(), bounds.get_mmax()],
                })),
                "types": statistics.geospatial_types(),
            })
        }),
        "bloom_filter": place(column.bloom_filter_offset(), column.bloom_filter_length()),
        "column_index": place(column.column_index_offset(), column.column_index_length()),
        "offset_index": place(column.offset_index_offset(), column.offset_index_length()),
        "boundary_order": column_index(metadata, row_group, index)
            .and_then(parquet::file::page_index::column_index::ColumnIndexMetaData::get_boundary_order)
            .map(|order| match order {
                BoundaryOrder::ASCENDING => "ascending",
                BoundaryOrder::DESCENDING => "descending",
                BoundaryOrder::UNORDERED => "unordered",
            }),
        "pages": describe_pages(metadata, row_group, index),
    })
}

fn place(offset: Option<i64>, length: Option<i32>) -> Option<Value> {
    offset.map(|offset| json!({ "offset": offset, "bytes": length }))
}

fn describe_statistics(statistics: &Statistics, column: &ColumnDescriptor) -> Value {
    let value =
        |bytes: Option<&[u8]>| bytes.and_then(|bytes| Statistic::decode(bytes, column)).map(|value| value.json());
    json!({
        "min": value(statistics.min_bytes_opt()),
        "max": value(statistics.max_bytes_opt()),
        "min_is_exact": statistics.min_is_exact(),
        "max_is_exact": statistics.max_is_exact(),
        "null_count": statistics.null_count_opt(),
        "distinct_count": statistics.distinct_count_opt(),
        "deprecated": statistics.is_min_max_deprecated(),
    })
}

fn size_statistics(column: &ColumnChunkMetaData) -> Option<Value> {
    let bytes = column.unencoded_byte_array_data_bytes();
    let repetition = column.repetition_level_histogram().map(LevelHistogram::values);
    let definition = column.definition_level_histogram().map(LevelHistogram::values);
    (bytes.is_some() || repetition.is_some() || definition.is_some()).then(|| {
        json!({
            "unencoded_byte_array_data_bytes": bytes,
            "repetition_level_histogram": repetition,
            "definition_level_histogram": definition,
        })
    })
}

fn describe_pages(metadata: &ParquetMetaData, row_group: usize, index: usize) -> Option<Vec<Value>> {
    let column = metadata.row_group(row_group).column(index).column_descr();
    let value =
        |bytes: Option<&[u8]>| bytes.and_then(|bytes| Statistic::decode(bytes, column)).map(|value| value.json());
    let pages = pages(metadata, row_group, index)?;
    let describe = |page: &crate::page_index::PageEntry<'_>| {
        let bounds = page.bounds.as_ref();
        json!({
            "offset": page.offset,
            "compressed_bytes": page.compressed_bytes,
            "first_row": page.first_row,
            "row_count": page.row_count,
            "is_null_page": bounds.map(|bounds| bounds.is_null_page),
            "null_count": bounds.and_then(|bounds| bounds.null_count),
            "min": bounds.and_then(|bounds| value(bounds.min.as_deref())),
            "max": bounds.and_then(|bounds| value(bounds.max.as_deref())),
        })
    };
    Some(pages.iter().map(describe).collect())
}

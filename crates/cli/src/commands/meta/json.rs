//! Metadata as JSON: complete, with stable names.

use lath_format::schema::ColumnDescriptor;
use lath_format::{BoundaryOrder, ColumnChunk, Encoding, IndexLocation, PageEncodingStats, SortingColumn, Statistics};
use serde_json::{Map, Value, json};

use super::Subject;
use crate::metadata::page_index::{FileInfo, column_index, pages};
use crate::metadata::parquet_type::{logical_type, physical_type, schema_json};
use crate::metadata::statistic::Statistic;

/// The file as one JSON object.
pub(super) fn describe(subject: &Subject) -> Value {
    let metadata = subject.metadata();
    let key_values: Map<String, Value> =
        metadata.key_value_metadata().into_iter().map(|pair| (pair.key, pair.value.into())).collect();
    json!({
        "file": subject.name,
        "file_bytes": subject.file_bytes,
        "version": metadata.version(),
        "created_by": metadata.created_by(),
        "row_count": metadata.num_rows(),
        "row_group_count": metadata.row_group_count(),
        "column_count": metadata.column_count(),
        "key_value_metadata": key_values,
        "schema": schema_json(metadata.schema_descr().root_schema()),
        "row_groups": subject.row_groups.iter().map(|&index| row_group(subject, index)).collect::<Vec<_>>(),
    })
}

fn row_group(subject: &Subject, index: usize) -> Value {
    let metadata = subject.metadata();
    let Some(row_group) = metadata.row_group(index) else { return Value::Null };
    let schema = metadata.schema_descr();
    let sorting = row_group.sorting_columns().map(|columns| {
        let column = |index: i32| usize::try_from(index).ok().filter(|&index| index < schema.num_columns());
        let describe = |sorting: &SortingColumn| {
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
        "columns": subject.columns.iter().map(|&column| self::column(subject.info(), index, column)).collect::<Vec<_>>(),
    })
}

fn column(file: FileInfo<'_>, row_group: usize, index: usize) -> Value {
    let metadata = file.metadata;
    let descriptor = &metadata.schema_descr().columns()[index];
    let info = descriptor.self_type().get_basic_info();
    let column = match metadata.chunk(row_group, index) {
        Ok(column) => column,
        Err(error) => return json!({ "path": descriptor.path().string(), "error": error.to_string() }),
    };
    json!({
        "path": descriptor.path().string(),
        "physical_type": physical_type(descriptor.physical_type(), descriptor.type_length()),
        "logical_type": logical_type(info, descriptor.type_precision(), descriptor.type_scale()),
        "max_definition_level": descriptor.max_def_level(),
        "max_repetition_level": descriptor.max_rep_level(),
        "codec": column.codec().to_string(),
        "encodings": names(&column.encodings()),
        "page_encodings": column.page_encoding_stats().map(|stats| {
            let describe = |stat: &PageEncodingStats| {
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
        "encrypted": column.is_encrypted(),
        "statistics": column.statistics().map(|statistics| describe_statistics(column, &statistics, descriptor)),
        "size_statistics": size_statistics(column),
        "geospatial_statistics": column.geospatial_statistics().map(|statistics| {
            json!({
                "bounding_box": statistics.bounding_box.map(|bounds| json!({
                    "x": [bounds.xmin, bounds.xmax],
                    "y": [bounds.ymin, bounds.ymax],
                    "z": [bounds.zmin, bounds.zmax],
                    "m": [bounds.mmin, bounds.mmax],
                })),
                "types": statistics.types,
            })
        }),
        "bloom_filter": place(column.bloom_filter()),
        "column_index": place(column.column_index()),
        "offset_index": place(column.offset_index()),
        "boundary_order": column_index(file, row_group, index).map(|index| match index.boundary_order {
            BoundaryOrder::Ascending => "ascending",
            BoundaryOrder::Descending => "descending",
            BoundaryOrder::Unordered => "unordered",
            _ => "unknown",
        }),
        "pages": describe_pages(file, row_group, index),
    })
}

fn names(encodings: &[Encoding]) -> Vec<String> {
    encodings.iter().map(ToString::to_string).collect()
}

fn place(index: Option<IndexLocation>) -> Option<Value> {
    index.map(|index| json!({ "offset": index.offset, "bytes": index.len }))
}

fn describe_statistics(chunk: ColumnChunk<'_>, statistics: &Statistics<'_>, column: &ColumnDescriptor) -> Value {
    let value =
        |bytes: Option<&[u8]>| bytes.and_then(|bytes| Statistic::decode(bytes, column)).map(|value| value.json());
    json!({
        "min": value(statistics.min),
        "max": value(statistics.max),
        "min_is_exact": statistics.min_is_exact,
        "max_is_exact": statistics.max_is_exact,
        "null_count": statistics.null_count,
        "distinct_count": chunk.distinct_count(),
        "deprecated": statistics.is_deprecated,
    })
}

fn size_statistics(column: ColumnChunk<'_>) -> Option<Value> {
    let statistics = column.size_statistics()?;
    let bytes = statistics.unencoded_byte_array_data_bytes;
    let (repetition, definition) = (statistics.repetition_level_histogram, statistics.definition_level_histogram);
    (bytes.is_some() || repetition.is_some() || definition.is_some()).then(|| {
        json!({
            "unencoded_byte_array_data_bytes": bytes,
            "repetition_level_histogram": repetition,
            "definition_level_histogram": definition,
        })
    })
}

fn describe_pages(info: FileInfo<'_>, row_group: usize, index: usize) -> Option<Vec<Value>> {
    let column = &info.metadata.schema_descr().columns()[index];
    let value =
        |bytes: Option<&[u8]>| bytes.and_then(|bytes| Statistic::decode(bytes, column)).map(|value| value.json());
    let pages = pages(info, row_group, index)?;
    let describe = |page: &crate::metadata::page_index::PageEntry<'_>| {
        let bounds = page.bounds.as_ref();
        json!({
            "offset": page.offset,
            "compressed_bytes": page.compressed_bytes,
            "first_row": page.first_row,
            "row_count": page.row_count,
            "is_null_page": bounds.map(|bounds| bounds.is_null_page),
            "null_count": bounds.and_then(|bounds| bounds.null_count),
            "min": bounds.and_then(|bounds| value(bounds.min)),
            "max": bounds.and_then(|bounds| value(bounds.max)),
        })
    };
    Some(pages.iter().map(describe).collect())
}

//! `parquet_metadata`: the columns of the row groups of files.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use datafusion::common::Result;
use lath_parquet::{ParquetFile, Precision};

use super::{batch, optional_numbers, signed, texts};
use crate::error::external;

/// A column of a row group.
pub(super) struct Chunk {
    file_name: String,
    group: [i64; 5],
    column_id: i64,
    num_values: i64,
    path: String,
    physical_type: String,
    min: Option<String>,
    max: Option<String>,
    null_count: Option<i64>,
    distinct_count: Option<i64>,
    compression: String,
    encodings: String,
    dictionary_page_offset: Option<i64>,
    data_page_offset: i64,
    sizes: [i64; 2],
    bloom_filter: Option<(i64, Option<i64>)>,
    are_exact: [Option<bool>; 2],
}

impl Chunk {
    pub(super) fn add(file_name: &str, file: &ParquetFile, chunks: &mut Vec<Self>) -> Result<()> {
        let metadata = file.metadata();
        for group in metadata.row_groups() {
            let sizes = [group.num_rows(), group.num_columns() as u64].map(signed);
            let sizes = [
                signed(group.index() as u64),
                sizes[0],
                sizes[1],
                group.total_byte_size().unwrap_or_default(),
                signed(group.compressed_size()),
            ];
            for chunk in group.columns() {
                let chunk = chunk.map_err(|error| external(error.into()))?;
                let column = metadata.schema_descr().column(chunk.leaf());
                let path = column.path().string();
                let bounds = file.row_group_column_statistics(group.index(), &path).ok();
                let text = |bound: Option<&Precision<ArrayRef>>| bound.and_then(|bound| shown(bound.value()?));
                let statistics = chunk.statistics();
                chunks.push(Self {
                    file_name: file_name.to_owned(),
                    group: sizes,
                    column_id: signed(chunk.leaf() as u64),
                    num_values: signed(chunk.num_values()),
                    physical_type: column.physical_type().to_string(),
                    min: text(bounds.as_ref().map(|bounds| &bounds.min)),
                    max: text(bounds.as_ref().map(|bounds| &bounds.max)),
                    null_count: statistics.as_ref().and_then(|statistics| statistics.null_count).map(signed),
                    distinct_count: chunk.distinct_count().map(signed),
                    compression: chunk.codec().to_string(),
                    encodings: chunk.encodings().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
                    dictionary_page_offset: chunk.dictionary_page_offset().map(signed),
                    data_page_offset: signed(chunk.data_page_offset()),
                    sizes: [chunk.compressed_size(), chunk.uncompressed_size()].map(signed),
                    bloom_filter: chunk.bloom_filter().map(|place| (place.offset, place.len.map(i64::from))),
                    are_exact: [
                        statistics.as_ref().and_then(|statistics| statistics.min.map(|_| statistics.min_is_exact)),
                        statistics.as_ref().and_then(|statistics| statistics.max.map(|_| statistics.max_is_exact)),
                    ],
                    path: path.replace('.', ", "),
                });
            }
        }
        Ok(())
    }

    pub(super) fn rows(chunks: &[Self]) -> Result<RecordBatch> {
        let texts = |text: &dyn Fn(&Self) -> Option<String>| texts(chunks.iter().map(text));
        let numbers = |number: &dyn Fn(&Self) -> Option<i64>| optional_numbers(chunks.iter().map(number));
        let booleans = |at: usize| -> ArrayRef {
            Arc::new(chunks.iter().map(|chunk| chunk.are_exact[at]).collect::<BooleanArray>())
        };
        batch(vec![
            ("file_name", texts(&|chunk| Some(chunk.file_name.clone()))),
            ("row_group_id", numbers(&|chunk| Some(chunk.group[0]))),
            ("row_group_num_rows", numbers(&|chunk| Some(chunk.group[1]))),
            ("row_group_num_columns", numbers(&|chunk| Some(chunk.group[2]))),
            ("row_group_bytes", numbers(&|chunk| Some(chunk.group[3]))),
            ("column_id", numbers(&|chunk| Some(chunk.column_id))),
            ("num_values", numbers(&|chunk| Some(chunk.num_values))),
            ("path_in_schema", texts(&|chunk| Some(chunk.path.clone()))),
            ("type", texts(&|chunk| Some(chunk.physical_type.clone()))),
            ("stats_min", texts(&|chunk| chunk.min.clone())),
            ("stats_max", texts(&|chunk| chunk.max.clone())),
            ("stats_null_count", numbers(&|chunk| chunk.null_count)),
            ("stats_distinct_count", numbers(&|chunk| chunk.distinct_count)),
            ("stats_min_value", texts(&|chunk| chunk.min.clone())),
            ("stats_max_value", texts(&|chunk| chunk.max.clone())),
            ("compression", texts(&|chunk| Some(chunk.compression.clone()))),
            ("encodings", texts(&|chunk| Some(chunk.encodings.clone()))),
            ("dictionary_page_offset", numbers(&|chunk| chunk.dictionary_page_offset)),
            ("data_page_offset", numbers(&|chunk| Some(chunk.data_page_offset))),
            ("total_compressed_size", numbers(&|chunk| Some(chunk.sizes[0]))),
            ("total_uncompressed_size", numbers(&|chunk| Some(chunk.sizes[1]))),
            ("bloom_filter_offset", numbers(&|chunk| chunk.bloom_filter.map(|place| place.0))),
            ("bloom_filter_length", numbers(&|chunk| chunk.bloom_filter.and_then(|place| place.1))),
            ("min_is_exact", booleans(0)),
            ("max_is_exact", booleans(1)),
            ("row_group_compressed_bytes", numbers(&|chunk| Some(chunk.group[4]))),
        ])
    }
}

/// A bound as text; `None` for null.
fn shown(bound: &ArrayRef) -> Option<String> {
    let options = FormatOptions::new().with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"));
    let formatter = ArrayFormatter::try_new(bound, &options).ok()?;
    bound.is_valid(0).then(|| formatter.value(0).to_string())
}

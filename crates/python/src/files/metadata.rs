//! The metadata in the footer of a file, as plain values of which `lath._metadata` makes objects.

use lath::ParquetFile;
use lath::format::schema::{ColumnDescriptor, ConvertedType, LogicalType, TimeUnit};
use lath::format::{ColumnChunk, IndexLocation, RowGroup, Statistics};
use lath_pyo3::error::Failure;
use lath_pyo3::work;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

/// Bytes of a footer that are not the metadata: its length, and the magic.
const TAIL_BYTES: usize = 8;

/// The metadata of a file. Reads the length of the footer, and may wait for the file.
pub(crate) fn metadata<'py>(py: Python<'py>, file: &ParquetFile) -> PyResult<Bound<'py, PyDict>> {
    let handle = file.clone();
    let end = work::run_to_end(py, move || Ok(handle.read_end()?))?;
    let footer = file.metadata();
    let result = PyDict::new(py);
    result.set_item("version", footer.version())?;
    result.set_item("created_by", footer.created_by())?;
    result.set_item("num_rows", footer.num_rows())?;
    result.set_item("serialized_size", end.len().saturating_sub(TAIL_BYTES))?;
    let pairs = footer.key_value_metadata();
    result.set_item("key_values", pairs.into_iter().map(|pair| (pair.key, pair.value)).collect::<Vec<_>>())?;
    let columns = footer.schema_descr().columns().iter().map(|column| column_dict(py, column));
    result.set_item("columns", columns.collect::<PyResult<Vec<_>>>()?)?;
    let row_groups = PyList::empty(py);
    for row_group in footer.row_groups() {
        row_groups.append(row_group_dict(py, &row_group)?)?;
    }
    result.set_item("row_groups", row_groups)?;
    Ok(result)
}

fn column_dict<'py>(py: Python<'py>, column: &ColumnDescriptor) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("path", column.path().parts())?;
    result.set_item("physical_type", column.physical_type().to_string())?;
    result.set_item("length", column.type_length())?;
    let converted = column.converted_type();
    result.set_item("converted_type", (converted != ConvertedType::NONE).then(|| converted.to_string()))?;
    result.set_item("precision", column.type_precision())?;
    result.set_item("scale", column.type_scale())?;
    result.set_item("max_definition_level", column.max_def_level())?;
    result.set_item("max_repetition_level", column.max_rep_level())?;
    let logical = column.self_type().get_basic_info().logical_type_ref();
    result.set_item("logical_type", logical.map(|logical| logical_type(py, logical)).transpose()?)?;
    Ok(result)
}

/// The name of a logical type, and its parameters.
fn logical_type<'py>(py: Python<'py>, logical: &LogicalType) -> PyResult<(String, Bound<'py, PyDict>)> {
    let parameters = PyDict::new(py);
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => "milliseconds",
        TimeUnit::MICROS => "microseconds",
        TimeUnit::NANOS => "nanoseconds",
    };
    let name = match logical {
        LogicalType::String => "STRING",
        LogicalType::Map => "MAP",
        LogicalType::List => "LIST",
        LogicalType::Enum => "ENUM",
        LogicalType::Date => "DATE",
        LogicalType::Json => "JSON",
        LogicalType::Bson => "BSON",
        LogicalType::Uuid => "UUID",
        LogicalType::Float16 => "FLOAT16",
        LogicalType::Unknown => "NULL",
        LogicalType::Variant(_) => "VARIANT",
        LogicalType::Decimal(decimal) => {
            parameters.set_item("precision", decimal.precision)?;
            parameters.set_item("scale", decimal.scale)?;
            "DECIMAL"
        }
        LogicalType::Time(time) => {
            parameters.set_item("isAdjustedToUTC", time.is_adjusted_to_u_t_c)?;
            parameters.set_item("timeUnit", unit(&time.unit))?;
            "TIME"
        }
        LogicalType::Timestamp(time) => {
            parameters.set_item("isAdjustedToUTC", time.is_adjusted_to_u_t_c)?;
            parameters.set_item("timeUnit", unit(&time.unit))?;
            "TIMESTAMP"
        }
        LogicalType::Integer(int) => {
            parameters.set_item("bitWidth", int.bit_width)?;
            parameters.set_item("isSigned", int.is_signed)?;
            "INT"
        }
        LogicalType::Geometry(geometry) => {
            parameters.set_item("crs", geometry.crs.as_deref())?;
            "GEOMETRY"
        }
        LogicalType::Geography(geography) => {
            parameters.set_item("crs", geography.crs.as_deref())?;
            "GEOGRAPHY"
        }
        LogicalType::_Unknown { field_id } => {
            parameters.set_item("number", *field_id)?;
            "UNDEFINED"
        }
    };
    Ok((name.to_owned(), parameters))
}

fn row_group_dict<'py>(py: Python<'py>, row_group: &RowGroup<'_>) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("num_rows", row_group.num_rows())?;
    result.set_item("total_byte_size", row_group.total_byte_size())?;
    let sorting = row_group.sorting_columns().unwrap_or_default().into_iter();
    let sorting = sorting.map(|column| (column.column_idx, column.descending, column.nulls_first));
    result.set_item("sorting_columns", sorting.collect::<Vec<_>>())?;
    let columns = PyList::empty(py);
    for chunk in row_group.columns() {
        let chunk = chunk.map_err(|error| Failure::from(lath::Error::from(error)))?;
        columns.append(chunk_dict(py, &chunk)?)?;
    }
    result.set_item("columns", columns)?;
    Ok(result)
}

fn chunk_dict<'py>(py: Python<'py>, chunk: &ColumnChunk<'_>) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("file_path", chunk.file_path().as_deref())?;
    result.set_item("num_values", chunk.num_values())?;
    result.set_item("compression", chunk.codec().to_string())?;
    result.set_item("encodings", chunk.encodings().into_iter().map(|it| it.to_string()).collect::<Vec<_>>())?;
    result.set_item("data_page_offset", chunk.data_page_offset())?;
    result.set_item("dictionary_page_offset", chunk.dictionary_page_offset())?;
    result.set_item("total_compressed_size", chunk.compressed_size())?;
    result.set_item("total_uncompressed_size", chunk.uncompressed_size())?;
    result.set_item("is_encrypted", chunk.is_encrypted())?;
    let place = |index: Option<IndexLocation>| index.map(|index| (index.offset, index.len));
    result.set_item("bloom_filter", place(chunk.bloom_filter()))?;
    result.set_item("column_index", place(chunk.column_index()))?;
    result.set_item("offset_index", place(chunk.offset_index()))?;
    let pairs = chunk.key_value_metadata().unwrap_or_default().into_iter();
    result.set_item("key_values", pairs.map(|pair| (pair.key, pair.value)).collect::<Vec<_>>())?;
    let statistics = chunk.statistics().map(|statistics| statistics_dict(py, chunk, &statistics)).transpose()?;
    result.set_item("statistics", statistics)?;
    Ok(result)
}

/// Bounds are the bytes of the footer.
fn statistics_dict<'py>(
    py: Python<'py>,
    chunk: &ColumnChunk<'_>,
    statistics: &Statistics<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("min_raw", statistics.min.map(|bytes| PyBytes::new(py, bytes)))?;
    result.set_item("max_raw", statistics.max.map(|bytes| PyBytes::new(py, bytes)))?;
    result.set_item("is_min_exact", statistics.min_is_exact)?;
    result.set_item("is_max_exact", statistics.max_is_exact)?;
    result.set_item("null_count", statistics.null_count)?;
    result.set_item("distinct_count", chunk.distinct_count())?;
    result.set_item("nan_count", chunk.nan_count())?;
    Ok(result)
}

//! The options of a writer, by their names in `lath._write`.

use std::ffi::CString;

use lath::arrow::schema::Schema;
use lath::{
    BloomFilter, ColumnOptions, Error, PageVersion, Profile, SortingColumn, StatisticsLevel, ValueEncoding,
    WriteOptions,
};
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;

use lath_pyo3::error::Failure;

/// The argument that a user gave, the option, the column that it is for (all if `None`), and the value.
pub(crate) type Setting<'py> = (String, String, Option<String>, Bound<'py, PyAny>);

/// Sets one option.
pub(crate) fn apply(options: WriteOptions, schema: &Schema, setting: &Setting<'_>) -> PyResult<WriteOptions> {
    let (argument, option, column, value) = setting;
    let named = |what: &str| PyErr::from(Failure::invalid(format!("{argument}: {what}")));
    let refuse = |error: Error| match error {
        Error::Invalid { what } => named(&what),
        other => Failure::from(other).into(),
    };
    let text = || value.extract::<String>();
    let count = || match value.extract::<usize>() {
        Ok(0) => Err(named("it has to be at least 1")),
        Ok(count) => Ok(count),
        Err(error) => Err(PyValueError::new_err(format!("{argument}: {error}"))),
    };
    Ok(match &**option {
        "profile" => options.with_defaults(text()?.parse::<Profile>().map_err(refuse)?),
        "row_group_rows" => options.row_group_rows(count()?),
        "row_group_bytes" => options.row_group_bytes(count()?),
        "memory_budget_bytes" => options.memory_budget_bytes(count()?),
        "threads" => options.threads(value.extract()?),
        "created_by" => options.created_by(text()?),
        "metadata" => {
            options.key_value_metadata(column.clone().unwrap_or_default(), value.extract::<Option<String>>()?)
        }
        "sort" => {
            let columns = value.extract::<Vec<(String, bool, bool)>>()?;
            let columns = columns.into_iter().map(|(path, descending, nulls_first)| SortingColumn {
                path,
                descending,
                nulls_first,
            });
            options.sorted_by(schema, columns).map_err(refuse)?
        }
        _ => {
            let all = ColumnOptions::new();
            let choice = match &**option {
                "codec" => all.codec(text()?.parse().map_err(refuse)?),
                "encoding" => all.encoding(text()?.parse::<ValueEncoding>().map_err(refuse)?),
                "dictionary" => all.dictionary(value.extract()?),
                "dictionary_bytes" => all.dictionary_bytes(count()?),
                "page_version" => all.page_version(text()?.parse::<PageVersion>().map_err(refuse)?),
                "page_rows" => all.page_rows(count()?),
                "page_bytes" => all.page_bytes(count()?),
                "bloom_rate" => all.bloom_filter(BloomFilter::FalsePositiveRate(value.extract()?)),
                "bloom_bytes" => all.bloom_filter(BloomFilter::Bytes(count()?)),
                "statistics" => all.statistics(level(&text()?)?),
                "offset_index" => all.offset_index(value.extract()?),
                "crc" => all.crc(value.extract()?),
                other => return Err(Failure::bug(format!("there is no option {other}")).into()),
            };
            match column {
                Some(path) => options.columns_below(schema, path, &choice).map_err(refuse)?,
                None => options.all_columns(choice),
            }
        }
    })
}

fn level(name: &str) -> PyResult<StatisticsLevel> {
    match name {
        "none" => Ok(StatisticsLevel::None),
        "chunk" => Ok(StatisticsLevel::Chunk),
        "page" => Ok(StatisticsLevel::Page),
        other => Err(Failure::bug(format!("there are no statistics {other}")).into()),
    }
}

/// The options with the schema's metadata for the footer, where other libraries look for it: pandas's index is there. Known keys that describe
/// rows or columns are kept as far as they can hold for any rows with this schema, with a warning. Keys that were set by name stay unchanged.
pub(crate) fn with_schema_metadata(
    py: Python<'_>,
    schema: &Schema,
    mut options: WriteOptions,
    settings: &[Setting<'_>],
) -> PyResult<WriteOptions> {
    // A call of the constructor, in `ParquetWriter` and `write_table`.
    const STACK_LEVEL: i32 = 2;
    let is_set =
        |key: &str| settings.iter().any(|(_, option, name, _)| &**option == "metadata" && name.as_deref() == Some(key));
    let own = schema.metadata().iter().filter(|(key, _)| !key.starts_with("ARROW:") && !is_set(key));
    let mut own: Vec<_> = own.collect();
    own.sort_unstable();
    let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    for (key, value) in own {
        let (value, note) = lath_cli::adapt_footer_key(key, value, &columns);
        if let Some(note) = note {
            let note = CString::new(note).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &note, STACK_LEVEL)?;
        }
        options = match value {
            Some(value) => options.key_value_metadata(key, value),
            None => options.without_key_value_metadata(key),
        };
    }
    Ok(options)
}

//! The options of a writer, by their names in `lath._write`.

use std::collections::BTreeMap;
use std::ffi::CString;

use lath::arrow::schema::{Schema, TimeUnit};
use lath::format::schema::ARROW_SCHEMA_META_KEY;
use lath::{
    BloomFilter, ColumnOptions, EncryptionKeys, Error, PageVersion, Profile, SortingColumn, StatisticsLevel,
    ValueEncoding, WriteOptions,
};
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;

use super::conversion::ConversionRules;
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
        "no_arrow_schema" => options.without_key_value_metadata(ARROW_SCHEMA_META_KEY),
        "encryption" => options.encryption(encryption_keys(value)?),
        "metadata" => {
            options.key_value_metadata(column.clone().unwrap_or_default(), value.extract::<Option<String>>()?)
        }
        // It is about the rows.
        "conversion" => options,
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

/// The keys of a dict that `lath._encryption` makes.
fn encryption_keys(value: &Bound<'_, PyAny>) -> PyResult<EncryptionKeys> {
    let given: GivenKeys = value.extract()?;
    let mut keys = EncryptionKeys::new(given.footer_key).plaintext_footer(given.plaintext_footer);
    if let Some(metadata) = given.footer_key_metadata {
        keys = keys.footer_key_metadata(metadata);
    }
    for (path, key) in given.column_keys {
        keys = keys.column_key(path, key);
    }
    for path in given.plaintext_columns {
        keys = keys.plaintext_column(path);
    }
    Ok(match given.aad_prefix {
        Some(prefix) => keys.aad_prefix(prefix, given.store_aad_prefix),
        None => keys,
    })
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GivenKeys {
    footer_key: Vec<u8>,
    footer_key_metadata: Option<Vec<u8>>,
    column_keys: BTreeMap<String, Vec<u8>>,
    plaintext_columns: Vec<String>,
    plaintext_footer: bool,
    aad_prefix: Option<Vec<u8>>,
    store_aad_prefix: bool,
}

/// The rules that `lath._write` gives as the setting `conversion`: the unit of timestamps, the version, and whether digits may be lost.
pub(crate) fn conversion_rules(settings: &[Setting<'_>]) -> PyResult<ConversionRules> {
    let Some((.., value)) = settings.iter().find(|(_, option, ..)| &**option == "conversion") else {
        return Ok(ConversionRules::default());
    };
    let (unit, version, truncates): (Option<String>, String, bool) = value.extract()?;
    let unit = match unit.as_deref() {
        None => None,
        Some("ms") => Some(TimeUnit::Millisecond),
        Some("us") => Some(TimeUnit::Microsecond),
        Some("ns") => Some(TimeUnit::Nanosecond),
        Some(other) => {
            return Err(PyValueError::new_err(format!("coerce_timestamps={other:?}: give \"ms\", \"us\" or \"ns\"")));
        }
    };
    Ok(ConversionRules { unit, no_nanoseconds: version != "2.6", no_u32: version == "1.0", truncates })
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

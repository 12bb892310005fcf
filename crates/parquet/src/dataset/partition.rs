//! Columns that the names of directories have: `year=2026/month=11/part-0.parquet`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};

use super::address::{is_store, percent_decoded, percent_encoded};
use super::options::DatasetOptions;
use crate::error::{Error, Result};

/// What Hive calls a directory whose files have null in the column.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column that the names of directories have.
///
/// Every directory called `key=value` in a file's path or URL, as it was named or found, gives the column `key` a value for
/// all rows of the file. Key and value are URL-decoded; `__HIVE_DEFAULT_PARTITION__` is null, and a file without such a
/// directory has null too. A column of the files that has the same name is passed over.
///
/// The type is the first of these that fits the values of all files: `Int64` (digits, maybe with a minus sign; `01` is 1),
/// `Date32` (`2026-11-21`), `Timestamp(µs)` without a zone (`2026-11-21 08:30:00.25`, or with `T`), else `Utf8View`.
/// [`DatasetOptions::partition_type`](super::DatasetOptions::partition_type) chooses another.
#[derive(Debug, Clone)]
pub struct PartitionColumn {
    field: FieldRef,
    values: ArrayRef,
}

impl PartitionColumn {
    /// A column of values that are known from before: the different values that files have, null included.
    pub fn new(field: FieldRef, values: ArrayRef) -> Self {
        Self { field, values }
    }

    /// Name and type.
    pub fn field(&self) -> &FieldRef {
        &self.field
    }

    /// The different values that the files have, null included;
    /// [`DatasetFile::partition`](super::DatasetFile::partition) says which row of these is a file's.
    pub fn values(&self) -> &ArrayRef {
        &self.values
    }
}

/// The partition columns of a list of files, which need not be Parquet, for they come from the names of directories alone. A
/// [`Dataset`](super::Dataset) finds its own.
#[derive(Debug)]
pub struct Partitions {
    pub(super) columns: Vec<PartitionColumn>,
    /// For each file, and within it for each column, the row of the column's values.
    pub(super) rows: Vec<Box<[u32]>>,
}

/// A column whose type is not known yet.
#[derive(Default)]
struct Texts {
    values: Vec<Option<String>>,
    rows: HashMap<Option<String>, u32>,
}

impl Texts {
    fn row(&mut self, value: Option<String>) -> u32 {
        if let Some(&row) = self.rows.get(&value) {
            return row;
        }
        // There are no more values than files, and those are fewer than 2³².
        let row = self.values.len() as u32;
        self.values.push(value.clone());
        self.rows.insert(value, row);
        row
    }
}

impl Partitions {
    /// Finds the columns in the paths or URLs of files.
    ///
    /// # Errors
    /// [`Error::Invalid`] for values that do not have the type that `options` choose for their column.
    pub fn of(locations: &[&str], options: &DatasetOptions) -> Result<Self> {
        if u32::try_from(locations.len()).is_err() {
            return Err(Error::invalid(format!("{} files are more than a dataset can have", locations.len())));
        }
        let mut keys: Vec<String> = Vec::new();
        let mut texts: Vec<Texts> = Vec::new();
        let mut rows = vec![Box::default(); locations.len()];
        if options.finds_partitions {
            // A first look finds the keys, so that files without one can be given null.
            for location in locations.iter().filter(|location| location.contains('=')) {
                for (key, _) in pairs(location) {
                    let key = percent_decoded(key);
                    if !keys.contains(&key) {
                        keys.push(key);
                        texts.push(Texts::default());
                    }
                }
            }
        }
        if !keys.is_empty() {
            let mut values = vec![None; keys.len()];
            for (location, rows) in locations.iter().zip(&mut rows) {
                values.fill(None);
                for (key, value) in pairs(location) {
                    let key = percent_decoded(key);
                    let value = Some(percent_decoded(value)).filter(|value| value != NULL);
                    if let Some(at) = keys.iter().position(|known| *known == key) {
                        values[at] = value;
                    }
                }
                *rows = texts.iter_mut().zip(&mut values).map(|(texts, value)| texts.row(value.take())).collect();
            }
        }
        let columns = keys.into_iter().zip(texts).map(|(key, texts)| column(key, texts.values, options));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        for (name, _) in &options.partition_types {
            if !columns.iter().any(|column| column.field.name() == name) {
                return Err(Error::invalid(format!("no partition column {name:?}: no directory is called {name}=…")));
            }
        }
        Ok(Self { columns, rows })
    }

    /// The columns.
    pub fn columns(&self) -> &[PartitionColumn] {
        &self.columns
    }

    /// For each of the columns, the row of [`PartitionColumn::values`] that the file at `index` has.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn rows(&self, index: usize) -> &[u32] {
        &self.rows[index]
    }

    /// The values that all rows of the file at `index` have: each column, and a row of its [`PartitionColumn::values`].
    ///
    /// # Panics
    /// If there is no such file.
    pub fn values(&self, index: usize) -> Vec<(&PartitionColumn, usize)> {
        self.columns.iter().zip(&self.rows[index]).map(|(column, &row)| (column, row as usize)).collect()
    }
}

/// The name of the directory for files whose rows have `value` in the column `key`, or null: what [`Partitions`] reads it from.
///
/// ```
/// use lath_parquet::partition_directory;
///
/// assert_eq!(partition_directory("city", Some("Frankfurt/Oder")), "city=Frankfurt%2FOder");
/// assert_eq!(partition_directory("city", None), "city=__HIVE_DEFAULT_PARTITION__");
/// ```
pub fn partition_directory(key: &str, value: Option<&str>) -> String {
    let value = value.map_or_else(|| NULL.to_owned(), percent_encoded);
    format!("{}={value}", percent_encoded(key))
}

/// The `key=value` names of the directories on the way to a file.
fn pairs(location: &str) -> impl Iterator<Item = (&str, &str)> {
    let path = if is_store(location) { location.split(['?', '#']).next().unwrap_or(location) } else { location };
    let mut names = path.split(std::path::is_separator);
    names.next_back();
    names.filter_map(|name| name.split_once('=')).filter(|(key, _)| !key.is_empty())
}

fn column(name: String, texts: Vec<Option<String>>, options: &DatasetOptions) -> Result<PartitionColumn> {
    let chosen = options.partition_types.iter().find(|(column, _)| *column == name).map(|(_, data_type)| data_type);
    let texts = StringArray::from(texts);
    let parse = |data_type: &DataType| {
        cast_with_options(&texts, data_type, &CastOptions { safe: false, ..CastOptions::default() })
    };
    let values = match chosen {
        Some(data_type) => parse(data_type).map_err(|error| {
            Error::invalid(format!("partition column {name:?} cannot be read as {data_type}: {error}"))
        })?,
        // What looks like a date and is none, such as the 30th of February, is text.
        None => parse(&suggested_type(&texts))
            .or_else(|_| parse(&DataType::Utf8View))
            .map_err(|error| Error::invalid(format!("partition column {name:?}: {error}")))?,
    };
    let field = Arc::new(Field::new(name, values.data_type().clone(), true));
    Ok(PartitionColumn { field, values })
}

fn suggested_type(texts: &StringArray) -> DataType {
    let all = |fits: fn(&str) -> bool| texts.iter().flatten().all(fits);
    if texts.iter().flatten().next().is_none() {
        DataType::Utf8View
    } else if all(is_integer) {
        DataType::Int64
    } else if all(is_date) {
        DataType::Date32
    } else if all(is_moment) {
        DataType::Timestamp(TimeUnit::Microsecond, None)
    } else {
        DataType::Utf8View
    }
}

fn is_integer(text: &str) -> bool {
    text.parse::<i64>().is_ok() && !text.starts_with('+')
}

fn is_date(text: &str) -> bool {
    fits(text, "0000-00-00")
}

/// A date, a time of day in seconds, and up to six digits of a fraction.
fn is_moment(text: &str) -> bool {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    (fits(whole, "0000-00-00 00:00:00") || fits(whole, "0000-00-00T00:00:00"))
        && fraction
            .is_none_or(|digits| matches!(digits.len(), 1..=6) && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Whether the text has digits where the form has zeros, and is like it elsewhere.
fn fits(text: &str, form: &str) -> bool {
    let like = |(byte, form): (u8, u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(like)
}

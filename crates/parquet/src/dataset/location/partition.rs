//! Partition columns from the names of directories: `year=2026/month=11/part-0.parquet`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use lath_source::is_store;

use super::address::{percent_decoded, percent_encoded};
use crate::dataset::options::DatasetOptions;
use crate::error::{Error, Result};

/// The name that Hive gives to the directory of files with null in the column.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// A column from the names of directories.
///
/// Every directory called `key=value` in a file's path or URL, as it was named or found, gives the column `key` a value for all
/// rows of the file. Key and value are URL-decoded; `__HIVE_DEFAULT_PARTITION__`, written exactly so, is null, and a file without
/// such a directory has null too. A column of the files with the same name is ignored.
///
/// The type is the first of these that fits the values of all files: `Int64` (digits, with or without a minus sign; `01` is 1),
/// `UInt64`, `Date32` (`2026-11-21`), `Timestamp(µs)` without a zone (`2026-11-21 08:30:00.25`, or with `T`; nanoseconds if a
/// fraction has more than six digits), else `Utf8View`. A value in which a letter, digit, `-`, `.`, `_` or `~` is encoded (`%301`
/// for `01`) is text: names never need such encoding, and [`text_partition_directory`] marks text with it.
/// [`DatasetOptions::partition_type`](crate::dataset::DatasetOptions::partition_type) sets another type.
#[derive(Debug, Clone)]
pub struct PartitionColumn {
    field: FieldRef,
    values: ArrayRef,
}

impl PartitionColumn {
    /// A column with known values: the distinct values of the files, including null.
    pub fn new(field: FieldRef, values: ArrayRef) -> Self {
        Self { field, values }
    }

    /// Name and type.
    pub fn field(&self) -> &FieldRef {
        &self.field
    }

    /// The distinct values of the files, including null; [`DatasetFile::partition`](crate::dataset::DatasetFile::partition) is
    /// the row of a file's value.
    pub fn values(&self) -> &ArrayRef {
        &self.values
    }
}

/// The partition columns of a list of files, which need not be Parquet: only the names of directories matter. A
/// [`Dataset`](crate::dataset::Dataset) finds its own.
#[derive(Debug)]
pub struct Partitions {
    pub(in crate::dataset) columns: Vec<PartitionColumn>,
    /// For each file, and within it for each column, the row of the column's values.
    pub(in crate::dataset) rows: Vec<Box<[u32]>>,
}

/// A column whose type is not known yet.
#[derive(Default)]
struct Texts {
    values: Vec<Option<String>>,
    rows: HashMap<Option<String>, u32>,
    /// Whether a value is marked as text.
    is_text: bool,
}

impl Texts {
    fn row(&mut self, value: Option<String>) -> u32 {
        if let Some(&row) = self.rows.get(&value) {
            return row;
        }
        // There are no more values than files, which are fewer than 2³².
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
    /// [`Error::Invalid`] for values that cannot have the type that `options` set for their column.
    pub fn of(locations: &[&str], options: &DatasetOptions) -> Result<Self> {
        if u32::try_from(locations.len()).is_err() {
            return Err(Error::invalid(format!("{} files are more than a dataset can have", locations.len())));
        }
        let mut keys: Vec<String> = Vec::new();
        let mut texts: Vec<Texts> = Vec::new();
        let mut rows = vec![Box::default(); locations.len()];
        if options.finds_partitions {
            // The first pass finds the keys, so that files without one get null.
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
                    if let Some(at) = keys.iter().position(|known| *known == key) {
                        texts[at].is_text |= is_marked_as_text(value);
                        // Compared before decoding: the text that spells null is encoded.
                        values[at] = (value != NULL).then(|| percent_decoded(value));
                    }
                }
                *rows = texts.iter_mut().zip(&mut values).map(|(texts, value)| texts.row(value.take())).collect();
            }
        }
        let columns = keys.into_iter().zip(texts).map(|(key, texts)| column(key, texts, options));
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

    /// For each of the columns, the row of [`PartitionColumn::values`] with the value of the file at `index`.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn rows(&self, index: usize) -> &[u32] {
        &self.rows[index]
    }

    /// The values of all rows of the file at `index`: each column, and a row of its [`PartitionColumn::values`].
    ///
    /// # Panics
    /// If there is no such file.
    pub fn values(&self, index: usize) -> Vec<(&PartitionColumn, usize)> {
        self.columns.iter().zip(&self.rows[index]).map(|(column, &row)| (column, row as usize)).collect()
    }
}

/// The name of the directory for files whose rows have `value` in the column `key`, or null; [`Partitions`] reads the value back.
/// Use [`text_partition_directory`] for text.
///
/// ```
/// use lath_parquet::partition_directory;
///
/// assert_eq!(partition_directory("city", Some("Frankfurt/Oder")), "city=Frankfurt%2FOder");
/// assert_eq!(partition_directory("city", None), "city=__HIVE_DEFAULT_PARTITION__");
/// assert_eq!(partition_directory("city", Some("__HIVE_DEFAULT_PARTITION__")), "city=%5F_HIVE_DEFAULT_PARTITION__");
/// ```
pub fn partition_directory(key: &str, value: Option<&str>) -> String {
    let value = match value {
        Some(NULL) => first_encoded(NULL),
        Some(value) => percent_encoded(value),
        None => NULL.to_owned(),
    };
    // A search skips names that begin with these.
    let key = if key.starts_with(['_', '.']) { first_encoded(key) } else { percent_encoded(key) };
    format!("{key}={value}")
}

/// The name of the directory for files whose rows have the text `value` in the column `key`. Text that would be read as a number,
/// a date or a time is marked by an encoded first character, which every reader decodes.
///
/// ```
/// use lath_parquet::text_partition_directory;
///
/// assert_eq!(text_partition_directory("zip", "AB1"), "zip=AB1");
/// assert_eq!(text_partition_directory("zip", "01234"), "zip=%301234");
/// ```
pub fn text_partition_directory(key: &str, value: &str) -> String {
    let is_typed = is_integer(value) || is_unsigned(value) || is_date(value) || fraction_len(value).is_some();
    if !is_typed {
        return partition_directory(key, Some(value));
    }
    let plain = partition_directory(key, Some(""));
    plain + &first_encoded(value)
}

/// The text with its first character (ASCII) encoded.
fn first_encoded(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("%{:02X}{}", first.as_bytes()[0], percent_encoded(rest))
}

/// Whether a character is encoded that does not need encoding.
fn is_marked_as_text(value: &str) -> bool {
    let is_needless = |digits: &str| {
        let byte = digits.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    value.split('%').skip(1).any(is_needless)
}

/// The `key=value` names of the directories in a file's path.
fn pairs(location: &str) -> impl Iterator<Item = (&str, &str)> {
    let path = if is_store(location) { location.split(['?', '#']).next().unwrap_or(location) } else { location };
    let mut names = path.split(std::path::is_separator);
    names.next_back();
    names.filter_map(|name| name.split_once('=')).filter(|(key, _)| !key.is_empty())
}

fn column(name: String, texts: Texts, options: &DatasetOptions) -> Result<PartitionColumn> {
    let chosen = options.partition_types.iter().find(|(column, _)| *column == name).map(|(_, data_type)| data_type);
    let Texts { values, is_text, .. } = texts;
    let texts = StringArray::from(values);
    let parse = |data_type: &DataType| {
        cast_with_options(&texts, data_type, &CastOptions { safe: false, ..CastOptions::default() })
    };
    let invalid = |error| Error::invalid(format!("partition column {name:?}: {error}"));
    let values = match chosen {
        Some(data_type) => parse(data_type).map_err(|error| {
            Error::invalid(format!("partition column {name:?} cannot be read as {data_type}: {error}"))
        })?,
        // A value that looks like a date but is not one, such as the 30th of February, is text.
        None if is_text => parse(&DataType::Utf8View).map_err(invalid)?,
        None => parse(&suggested_type(&texts)).or_else(|_| parse(&DataType::Utf8View)).map_err(invalid)?,
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
    } else if all(is_unsigned) {
        DataType::UInt64
    } else if all(is_date) {
        DataType::Date32
    } else if all(|text| fraction_len(text).is_some()) {
        let is_exact = all(|text| fraction_len(text).is_some_and(|digits| digits <= 6));
        DataType::Timestamp(if is_exact { TimeUnit::Microsecond } else { TimeUnit::Nanosecond }, None)
    } else {
        DataType::Utf8View
    }
}

fn is_integer(text: &str) -> bool {
    text.parse::<i64>().is_ok() && !text.starts_with('+')
}

fn is_unsigned(text: &str) -> bool {
    text.parse::<u64>().is_ok() && !text.starts_with('+')
}

fn is_date(text: &str) -> bool {
    fits(text, "0000-00-00")
}

/// The number of digits of the fraction of a second, if the text is a date and time.
fn fraction_len(text: &str) -> Option<usize> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let is_fraction =
        |digits: &str| matches!(digits.len(), 1..=9) && digits.bytes().all(|digit| digit.is_ascii_digit());
    let is_moment = fits(whole, "0000-00-00 00:00:00") || fits(whole, "0000-00-00T00:00:00");
    (is_moment && fraction.is_none_or(is_fraction)).then(|| fraction.map_or(0, str::len))
}

/// Whether the text has digits where the form has zeros, and equals it elsewhere.
fn fits(text: &str, form: &str) -> bool {
    let like = |(byte, form): (u8, u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    text.len() == form.len() && text.bytes().zip(form.bytes()).all(like)
}

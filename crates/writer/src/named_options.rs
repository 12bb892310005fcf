//! Sets options by name, with values as text.

use std::str::FromStr;

use arrow_schema::Schema;
use lath_format::schema::{PathMatch, begins_with, find_path, write_path};
use lath_parquet::{Error, Result};

use super::options::{BloomFilter, ColumnOptions, WriteOptions, parse_byte_size};
use super::schema::{leaf_at, names_in, parquet_schema};
use crate::SortingColumn;

impl WriteOptions {
    /// Sets options of every leaf column of `schema` at or below the dotted `path`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is none, or if Parquet does not have the columns' types.
    pub fn columns_below(self, schema: &Schema, path: &str, options: &ColumnOptions) -> Result<Self> {
        let schema = parquet_schema(schema)?;
        let leaves: Vec<&[String]> = schema.columns().iter().map(|column| column.path().parts()).collect();
        let names = names_in(path, &leaves).map_err(|error| no_column(path, &leaves, error))?;
        let below = leaves.iter().filter(|leaf| begins_with(leaf, &names));
        Ok(below.fold(self, |all, leaf| all.column(write_path(leaf), options.clone())))
    }

    /// As [`sorting_columns`](Self::sorting_columns), with the columns looked up in `schema`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if one is not a leaf column.
    pub fn sorted_by(self, schema: &Schema, columns: impl IntoIterator<Item = SortingColumn>) -> Result<Self> {
        let schema = parquet_schema(schema)?;
        let leaves: Vec<&[String]> = schema.columns().iter().map(|column| column.path().parts()).collect();
        let written = |column: SortingColumn| -> Result<SortingColumn> {
            let leaf = leaf_at(&column.path, &leaves).map_err(|error| no_column(&column.path, &leaves, error))?;
            let path = write_path(leaves[leaf]);
            Ok(SortingColumn { path, ..column })
        };
        Ok(self.sorting_columns(columns.into_iter().map(written).collect::<Result<Vec<_>>>()?))
    }

    /// Sets an option by its name in SQL, from text. Names are the names of the setters (`codec`, `row_group_rows`…), and in
    /// addition `profile` (which individual options override), `compression` for `codec`, `bloom` (columns with a Bloom filter,
    /// as `COLUMN=RATE` with their false positive rate) and `sort` (the sorting columns). Values of single columns are written as
    /// `COLUMN=VALUE`; several values are separated by commas.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an unknown option or column, and for a malformed value.
    ///
    /// ```
    /// use arrow_schema::{DataType, Field, Schema};
    /// use lath_writer::WriteOptions;
    ///
    /// let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("name", DataType::Utf8, true)]);
    /// let options = WriteOptions::default()
    ///     .set(&schema, "profile", "lookup")?
    ///     .set(&schema, "codec", "zstd:3,name=snappy")?
    ///     .set(&schema, "bloom", "id")?;
    /// assert!(options.set(&schema, "codec", "zip").is_err());
    /// # Ok::<(), lath_parquet::Error>(())
    /// ```
    pub fn set(self, schema: &Schema, name: &str, value: &str) -> Result<Self> {
        let options = ColumnOptions::new;
        match name {
            "profile" => Ok(self.with_defaults(value.parse()?)),
            "codec" | "compression" => self.set_each(schema, value, |text| Ok(options().codec(text.parse()?))),
            "encoding" => self.set_each(schema, value, |text| Ok(options().encoding(text.parse()?))),
            "dictionary" => self.set_each(schema, value, |text| Ok(options().dictionary(switch(text)?))),
            "preview_encodings" => Ok(self.preview_encodings(switch(value)?)),
            "page_version" => Ok(self.page_version(value.parse()?)),
            "page_rows" => Ok(self.all_columns(options().page_rows(count(value)?))),
            "page_bytes" => Ok(self.all_columns(options().page_bytes(size(value)?))),
            "row_group_rows" => Ok(self.row_group_rows(count(value)?)),
            "row_group_bytes" => Ok(self.row_group_bytes(size(value)?)),
            "memory_budget_bytes" => Ok(self.memory_budget_bytes(size(value)?)),
            "bloom" => list(value).try_fold(self, |all, text| {
                let rate = |text: &str| text.parse().ok().filter(|rate| *rate > 0.0 && *rate < 1.0);
                let (path, filter) = match text.rsplit_once('=').and_then(|(path, text)| Some((path, rate(text)?))) {
                    Some((path, rate)) => (path, BloomFilter::FalsePositiveRate(rate)),
                    None => (text, BloomFilter::DEFAULT),
                };
                all.columns_below(schema, path, &options().bloom_filter(filter))
            }),
            "sort" => self.sorted_by(schema, list(value).map(SortingColumn::from_str).collect::<Result<Vec<_>>>()?),
            _ => Err(Error::invalid(format!(
                "unknown option {name}; the options are profile, codec, encoding, dictionary, bloom, sort, row_group_rows, row_group_bytes, page_rows, page_bytes, page_version, preview_encodings and \
                 memory_budget_bytes"
            ))),
        }
    }

    /// Sets an option for all columns, or for the named ones. Names may contain an equals sign; values do not.
    fn set_each(self, schema: &Schema, value: &str, parse: impl Fn(&str) -> Result<ColumnOptions>) -> Result<Self> {
        list(value).try_fold(self, |all, choice| match choice.rsplit_once('=') {
            Some((path, value)) => all.columns_below(schema, path, &parse(value)?),
            None => Ok(all.all_columns(parse(choice)?)),
        })
    }
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim)
}

fn switch(text: &str) -> Result<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(Error::invalid(format!("expected on or off, found {text}"))),
    }
}

fn count(text: &str) -> Result<usize> {
    let count = text.replace('_', "").parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| Error::invalid(format!("expected a number of at least 1, found {text}")))
}

fn size(text: &str) -> Result<usize> {
    let size = parse_byte_size(text).and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
    size.ok_or_else(|| Error::invalid(format!("{text} is not a size such as 500000, 64KiB, 128MiB or 1GiB")))
}

/// The error for a path that matches no column; `otherwise` for a path that matches several.
fn no_column(path: &str, leaves: &[&[String]], otherwise: Error) -> Error {
    const SHOWN: usize = 20;
    if matches!(find_path(path, leaves), PathMatch::Ambiguous(_)) {
        return otherwise;
    }
    let mut known = leaves.iter().take(SHOWN).map(|leaf| write_path(leaf)).collect::<Vec<_>>().join(", ");
    if leaves.len() > SHOWN {
        known.push_str(", …");
    }
    Error::invalid(format!("there is no column {path}; the columns are {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Codec, Profile};

    #[test]
    fn options_by_name_are_those_of_the_setters() {
        use arrow_schema::{DataType, Field};
        let schema = Schema::new(vec![
            Field::new("a", DataType::Struct(vec![Field::new("b", DataType::Int32, true)].into()), true),
            Field::new("c", DataType::Utf8, true),
        ]);
        let set = |pairs: &[(&str, &str)]| {
            pairs.iter().try_fold(WriteOptions::default(), |options, (name, value)| options.set(&schema, name, value))
        };
        let options = set(&[
            ("codec", "zstd:3, a=none"),
            ("bloom", "c=0.001"),
            ("profile", "lookup"),
            ("row_group_rows", "1_000"),
        ]);
        let filter = ColumnOptions::new().bloom_filter(BloomFilter::FalsePositiveRate(0.001));
        let expected = WriteOptions::profile(Profile::Lookup)
            .codec(Codec::Zstd { level: 3 })
            .column("a.b", ColumnOptions::new().codec(Codec::Uncompressed))
            .column("c", filter)
            .row_group_rows(1000);
        assert_eq!(format!("{:?}", options.unwrap()), format!("{expected:?}"));
        for (name, value) in [
            ("codec", "zip"),
            ("codec", "d=snappy"),
            ("colour", "red"),
            ("sort", "a"),
            ("bloom", "c=1"),
            ("page_rows", "0"),
            ("page_bytes", "much"),
            ("dictionary", "perhaps"),
        ] {
            assert!(matches!(set(&[(name, value)]), Err(Error::Invalid { .. })), "{name} {value}");
        }
    }
}

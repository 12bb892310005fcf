//! Converts the command line's options to the library's.

use arrow_schema::Schema;
use lath_parquet::{ParquetFile, SortingColumn};
use lath_writer::{BloomFilter, ColumnOptions, Profile, ValueEncoding, WriteOptions};

use super::footer_keys::{self, KeptContent, Outcome};
use crate::args::{Choice, ProfileName, WriteArgs};
use crate::failure::{Failure, Result};

/// The options of Parquet output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParquetRequest<'a> {
    pub(crate) write: &'a WriteArgs,
    /// The columns that rows are sorted by.
    pub(crate) sorted_by: &'a [SortingColumn],
    /// Threads that encode.
    pub(crate) threads: usize,
    /// The file whose properties are taken over where no option is given.
    pub(crate) like: Option<&'a ParquetFile>,
    /// Whether all rows of that file are written in their order, and no others.
    pub(crate) keeps_rows: bool,
}

/// The options for a file with `schema`. The schema's metadata becomes the file's.
pub(crate) fn write_options(request: &ParquetRequest<'_>, schema: &Schema) -> Result<WriteOptions> {
    let ParquetRequest { write: args, sorted_by, threads, like, keeps_rows } = *request;
    let mut options = match args.profile {
        None => WriteOptions::default(),
        Some(ProfileName::Compatible) => WriteOptions::profile(Profile::Compatible),
        Some(ProfileName::Compact) => WriteOptions::profile(Profile::Compact),
        Some(ProfileName::Lookup) => WriteOptions::profile(Profile::Lookup),
    };
    options = apply(options, schema, "--codec", &args.codec, ColumnOptions::codec)?;
    options = apply(options, schema, "--encoding", &args.encoding, ColumnOptions::encoding)?;
    if preview_encodings(args)? {
        options = options.preview_encodings(true);
    }
    options = apply(options, schema, "--dictionary", &args.dictionary, ColumnOptions::dictionary)?;
    let filter = args.bloom_fpp.map_or(BloomFilter::DEFAULT, BloomFilter::FalsePositiveRate);
    for column in &args.bloom {
        options = below(options, schema, "--bloom", column, &ColumnOptions::new().bloom_filter(filter))?;
    }
    let mut all = ColumnOptions::new();
    if let Some(rows) = args.page_rows {
        all = all.page_rows(rows);
    }
    if let Some(bytes) = args.page_bytes {
        all = all.page_bytes(bytes);
    }
    if let Some(version) = args.page_version {
        all = all.page_version(version);
    }
    options = options.all_columns(all);
    if let Some(rows) = args.row_group_rows {
        options = options.row_group_rows(rows);
    }
    if let Some(bytes) = args.row_group_bytes {
        options = options.row_group_bytes(bytes);
    }
    if let Some(bytes) = args.memory {
        // The other half is for sorting.
        options = options.memory_budget_bytes(if sorted_by.is_empty() { bytes } else { bytes / 2 });
    }
    let mut notes: Vec<(&String, &String)> = schema.metadata().iter().collect();
    notes.sort_unstable();
    let columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let lacks_columns =
        like.map_or(!keeps_rows, |file| file.schema().fields().iter().any(|field| !columns.contains(field.name())));
    let has_same_rows = keeps_rows && sorted_by.is_empty();
    let kept = KeptContent { columns: &columns, lacks_columns, has_same_rows, keeps_range: false };
    for (key, value) in notes {
        let value = match footer_keys::adapt(key, value, kept) {
            None => value.clone(),
            Some((outcome, note)) => {
                footer_keys::say(note);
                options = options.without_key_value_metadata(key);
                let Outcome::Changed(value) = outcome else { continue };
                value
            }
        };
        options = options.key_value_metadata(key, Some(value));
    }
    // Without the option, an error of the schema is none of its.
    if !sorted_by.is_empty() {
        let sorted = options.sorted_by(schema, sorted_by.iter().cloned());
        options = sorted.map_err(|error| Failure::Usage(format!("--sort-by: {error}")))?;
    }
    if let Some(file) = like.filter(|_| !args.no_inherit) {
        options = inherit(options, file, schema)?;
    }
    Ok(options.threads(threads))
}

/// Whether samples may choose encodings that are previews.
fn preview_encodings(args: &WriteArgs) -> Result<bool> {
    let is_sampled = args.profile == Some(ProfileName::Compact)
        || args.encoding.iter().any(|choice| choice.value == ValueEncoding::Sampled);
    if args.preview_encodings && !is_sampled {
        let text = "--preview-encodings needs --profile compact or --encoding auto, which choose encodings";
        return Err(Failure::Usage(text.to_owned()));
    }
    Ok(args.preview_encodings)
}

/// Fills options that are not set with the properties of `file`.
fn inherit(options: WriteOptions, file: &ParquetFile, schema: &Schema) -> Result<WriteOptions> {
    let name = file.name().unwrap_or("the input");
    let mut options = options.inherit(file).map_err(|error| Failure::reading(name, error))?;
    // Keys without a value are not in the schema's metadata.
    for pair in file.metadata().key_value_metadata() {
        if pair.value.is_none() && !schema.metadata().contains_key(&pair.key) {
            options = options.key_value_metadata(&pair.key, None);
        }
    }
    Ok(options)
}

/// Sets an option for all columns or for single ones, as given.
fn apply<T: Copy>(
    mut options: WriteOptions,
    schema: &Schema,
    option: &str,
    choices: &[Choice<T>],
    set: fn(ColumnOptions, T) -> ColumnOptions,
) -> Result<WriteOptions> {
    for choice in choices {
        let value = set(ColumnOptions::new(), choice.value);
        options = match &choice.column {
            None => options.all_columns(value),
            Some(column) => below(options, schema, option, column, &value)?,
        };
    }
    Ok(options)
}

/// Sets what `option` is about for the leaf columns at or below `path`.
fn below(
    options: WriteOptions,
    schema: &Schema,
    option: &str,
    path: &str,
    value: &ColumnOptions,
) -> Result<WriteOptions> {
    options.columns_below(schema, path, value).map_err(|error| Failure::Usage(format!("{option}: {error}")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{DataType, Field};
    use lath_parquet::SortingColumn;
    use lath_writer::Codec;

    use super::*;
    use crate::args::WriteArgs;

    fn schema() -> Schema {
        let fields = vec![Field::new("b", DataType::Int32, true), Field::new("c", DataType::Utf8, true)];
        let list = DataType::List(Arc::new(Field::new("element", DataType::Int64, true)));
        Schema::new(vec![
            Field::new("a", DataType::Struct(fields.into()), true),
            Field::new("ab", DataType::Int32, true),
            Field::new("l", list, true),
        ])
    }

    #[test]
    fn a_column_stands_for_the_leaves_below_it() {
        let choice = |column: &str| [Choice { column: Some(column.to_owned()), value: false }];
        let set =
            |column| apply(WriteOptions::default(), &schema(), "--bloom", &choice(column), ColumnOptions::dictionary);
        let with = |paths: &[&str]| {
            let options = ColumnOptions::new().dictionary(false);
            paths.iter().fold(WriteOptions::default(), |all, path| all.column(*path, options.clone()))
        };
        for (column, leaves) in [("a", &["a.b", "a.c"][..]), ("l", &["l.list.element"]), ("a.c", &["a.c"])] {
            assert_eq!(format!("{:?}", set(column).unwrap()), format!("{:?}", with(leaves)));
        }
        let Failure::Usage(message) = set("b").unwrap_err() else { panic!("another failure") };
        assert_eq!(message, "--bloom: there is no column b; the columns are a.b, a.c, ab, l.list.element");
    }

    #[test]
    fn options_of_a_column_override_those_of_all() {
        let choice = |column: Option<&str>, value| Choice { column: column.map(str::to_owned), value };
        let args = WriteArgs {
            codec: vec![choice(Some("a"), Codec::Snappy), choice(None, Codec::Lz4Raw)],
            bloom: vec!["ab".to_owned()],
            bloom_fpp: Some(0.001),
            ..WriteArgs::default()
        };
        let expected = WriteOptions::default()
            .codec(Codec::Lz4Raw)
            .column("a.b", ColumnOptions::new().codec(Codec::Snappy))
            .column("a.c", ColumnOptions::new().codec(Codec::Snappy))
            .column("ab", ColumnOptions::new().bloom_filter(BloomFilter::FalsePositiveRate(0.001)))
            .threads(1);
        let request = ParquetRequest { write: &args, sorted_by: &[], threads: 1, like: None, keeps_rows: false };
        let options = write_options(&request, &schema()).unwrap();
        assert_eq!(format!("{options:?}"), format!("{expected:?}"));
        let by_struct = [SortingColumn::ascending("a")];
        let sorted = write_options(&ParquetRequest { sorted_by: &by_struct, ..request }, &schema());
        assert!(sorted.is_err(), "a struct is no column to sort by");
    }
}

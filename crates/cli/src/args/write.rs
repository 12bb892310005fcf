//! Arguments of commands that write Parquet.

use clap::{Args, ValueEnum};
use lath_parquet::SortingColumn;
use lath_writer::{Codec, PageVersion, ValueEncoding, parse_byte_size};

/// Options of Parquet output. A COLUMN is the path of a leaf column, or of a group, which means all leaves in it.
#[derive(Debug, Default, Args)]
pub(crate) struct WriteArgs {
    /// Defaults for a purpose; the options below override them
    #[arg(long, value_name = "PROFILE", help_heading = "Parquet")]
    pub(crate) profile: Option<ProfileName>,
    /// Codec of all columns, or of one: uncompressed, snappy, lz4, gzip, brotli or zstd, the last three optionally with a level
    /// (zstd:3); may be given several times
    #[arg(long, value_name = "[COLUMN=]CODEC", help_heading = "Parquet", value_parser = parse_codec)]
    pub(crate) codec: Vec<Choice<Codec>>,
    /// Encoding of values that are not dictionary-encoded: plain, rle, delta (DELTA_BINARY_PACKED), delta-length, delta-strings
    /// (DELTA_BYTE_ARRAY), byte-stream-split, alp, or auto, which tries them on the first values; may be given several times. ALP,
    /// for decimal numbers in FLOAT and DOUBLE, is a preview in the specification: few readers support it yet, and auto skips it
    #[arg(long, value_name = "[COLUMN=]ENCODING", help_heading = "Parquet", value_parser = parse_encoding)]
    pub(crate) encoding: Vec<Choice<ValueEncoding>>,
    /// Let auto and the profile compact choose encodings that are a preview in the specification, which few readers support yet:
    /// alp
    #[arg(long, help_heading = "Parquet")]
    pub(crate) preview_encodings: bool,
    /// Whether dictionary encoding is tried first, on or off; may be given several times
    #[arg(long, value_name = "[COLUMN=]ON|OFF", help_heading = "Parquet", value_parser = parse_dictionary)]
    pub(crate) dictionary: Vec<Choice<bool>>,
    /// Columns with a Bloom filter
    #[arg(long, value_name = "COLUMNS", help_heading = "Parquet", value_delimiter = ',')]
    pub(crate) bloom: Vec<String>,
    /// False positive rate of Bloom filters [default: 0.01]
    #[arg(long, value_name = "RATE", help_heading = "Parquet", requires = "bloom", value_parser = parse_rate)]
    pub(crate) bloom_fpp: Option<f64>,
    /// Maximum number of rows in a row group [default: 1048576]
    #[arg(long, value_name = "ROWS", help_heading = "Parquet", value_parser = parse_count)]
    pub(crate) row_group_rows: Option<usize>,
    /// Maximum size of a row group, encoded [default: 512MiB]
    #[arg(long, value_name = "SIZE", help_heading = "Parquet", value_parser = parse_size)]
    pub(crate) row_group_bytes: Option<usize>,
    /// Maximum number of rows in a page [default: 20000, or the profile's]
    #[arg(long, value_name = "ROWS", help_heading = "Parquet", value_parser = parse_count)]
    pub(crate) page_rows: Option<usize>,
    /// Target size of a page, before compression [default: 1MiB, or the profile's]
    #[arg(long, value_name = "SIZE", help_heading = "Parquet", value_parser = parse_size)]
    pub(crate) page_bytes: Option<usize>,
    /// Version of data pages [default: 1]
    #[arg(long, value_name = "VERSION", help_heading = "Parquet")]
    pub(crate) page_version: Option<PageVersion>,
    /// Use the defaults, not the first input's codecs, encodings, row group and page sizes and Bloom filters
    #[arg(long, help_heading = "Parquet")]
    pub(crate) no_inherit: bool,
    /// Memory for rows that are being sorted or written [default: 1GiB]
    #[arg(long, value_name = "SIZE", help_heading = "Parquet", value_parser = parse_size)]
    pub(crate) memory: Option<usize>,
}

/// Sorting.
#[derive(Debug, Default, Args)]
pub(crate) struct SortArgs {
    /// Columns to sort by, the most significant first; COLUMN:desc sorts descending, COLUMN:nulls-first puts nulls before values
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) sort_by: Vec<SortingColumn>,
}

/// A value for all columns, or for one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice<T> {
    pub(crate) column: Option<String>,
    pub(crate) value: T,
}

/// The purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// Readable by any reader since 2018: Snappy, dictionaries or PLAIN
    Compatible,
    /// Small files: each column's encoding chosen by a sample, Zstandard; ALP only with --preview-encodings
    Compact,
    /// Fast lookup by key: small pages; name the keys with --bloom, and with --sort-by where rows can be sorted
    Lookup,
}

impl WriteArgs {
    /// Whether any option says how columns are encoded, or how rows are grouped.
    pub(crate) fn is_set(&self) -> bool {
        let Self {
            profile,
            codec,
            encoding,
            preview_encodings,
            dictionary,
            bloom,
            bloom_fpp,
            row_group_rows,
            row_group_bytes,
            page_rows,
            page_bytes,
            page_version,
            no_inherit,
            memory: _,
        } = self;
        *no_inherit
            || profile.is_some()
            || !codec.is_empty()
            || !encoding.is_empty()
            || *preview_encodings
            || !dictionary.is_empty()
            || !bloom.is_empty()
            || bloom_fpp.is_some()
            || row_group_rows.is_some()
            || row_group_bytes.is_some()
            || page_rows.is_some()
            || page_bytes.is_some()
            || page_version.is_some()
    }
}

/// Splits off the column. Names may contain an equals sign; values do not.
fn choice<T, E: ToString>(text: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<Choice<T>, String> {
    let (column, value) = match text.rsplit_once('=') {
        Some((column, value)) => (Some(column.to_owned()), value),
        None => (None, text),
    };
    Ok(Choice { column, value: parse(value).map_err(|error| error.to_string())? })
}

fn parse_codec(text: &str) -> Result<Choice<Codec>, String> {
    choice(text, str::parse)
}

fn parse_encoding(text: &str) -> Result<Choice<ValueEncoding>, String> {
    choice(text, str::parse)
}

fn parse_dictionary(text: &str) -> Result<Choice<bool>, String> {
    choice(text, |text| match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("write on or off, or COLUMN=on or COLUMN=off"),
    })
}

fn parse_rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && rate < 1.0 => Ok(rate),
        _ => Err("write a number between 0 and 1, such as 0.01".to_owned()),
    }
}

pub(super) fn parse_count(text: &str) -> Result<usize, String> {
    match text.replace('_', "").parse() {
        Ok(0) | Err(_) => Err("write a number of at least 1".to_owned()),
        Ok(count) => Ok(count),
    }
}

pub(super) fn parse_size(text: &str) -> Result<usize, String> {
    let size = parse_byte_size(text).and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
    size.ok_or_else(|| "write a size such as 500000, 64KiB, 128MiB or 1GiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_for_all_columns_or_one() {
        let of = |column: Option<&str>, value| Ok(Choice { column: column.map(str::to_owned), value });
        assert_eq!(parse_codec("zstd:19"), of(None, Codec::Zstd { level: 19 }));
        assert_eq!(parse_codec("a.b=LZ4"), of(Some("a.b"), Codec::Lz4Raw));
        assert_eq!(parse_codec("a=b=none"), of(Some("a=b"), Codec::Uncompressed));
        for text in ["zip", "a=", ""] {
            assert!(parse_codec(text).is_err(), "{text:?}");
        }
    }
}

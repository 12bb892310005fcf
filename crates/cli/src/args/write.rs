//! Arguments of commands that write Parquet.

use clap::{Args, ValueEnum};
use lath_parquet::{Codec, PageVersion, SortingColumn, ValueEncoding};

use crate::quantity::parse_bytes;

/// How Parquet is written. A COLUMN is the path of a leaf column, or of a group, which means all leaves in it.
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
    #[arg(long, value_name = "VERSION", help_heading = "Parquet", value_parser = parse_page_version)]
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
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', value_parser = parse_sort_key)]
    pub(crate) sort_by: Vec<SortingColumn>,
}

/// A value for all columns, or for one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice<T> {
    pub(crate) column: Option<String>,
    pub(crate) value: T,
}

/// What a file is written for.
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

/// Splits off the column. Names may have an equals sign of their own; values have none.
fn choice<T>(text: &str, parse: fn(&str) -> Result<T, String>) -> Result<Choice<T>, String> {
    match text.rsplit_once('=') {
        Some((column, value)) => Ok(Choice { column: Some(column.to_owned()), value: parse(value)? }),
        None => Ok(Choice { column: None, value: parse(text)? }),
    }
}

fn parse_codec(text: &str) -> Result<Choice<Codec>, String> {
    choice(text, |text| {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level.parse().map_err(|_| format!("{level} is not a level"))?)),
            None => (text, None),
        };
        let within = |level: Option<u32>, default: u32, range: std::ops::RangeInclusive<u32>| match level {
            Some(level) if !range.contains(&level) => {
                Err(format!("{name} has levels from {} to {}", range.start(), range.end()))
            }
            level => Ok(level.unwrap_or(default)),
        };
        let codec = match name.to_ascii_lowercase().as_str() {
            "zstd" => return Ok(Codec::Zstd { level: within(level, 1, 1..=22)? }),
            "gzip" => return Ok(Codec::Gzip { level: within(level, 6, 1..=9)? }),
            "brotli" => return Ok(Codec::Brotli { level: within(level, 5, 0..=11)? }),
            "uncompressed" | "none" => Codec::Uncompressed,
            "snappy" => Codec::Snappy,
            "lz4" | "lz4_raw" => Codec::Lz4Raw,
            _ => {
                return Err(format!("there is no codec {name}; write uncompressed, snappy, lz4, gzip, brotli or zstd"));
            }
        };
        if level.is_some() { Err(format!("{name} has no levels")) } else { Ok(codec) }
    })
}

fn parse_encoding(text: &str) -> Result<Choice<ValueEncoding>, String> {
    choice(text, |name| match name.to_ascii_lowercase().replace('_', "-").as_str() {
        "plain" => Ok(ValueEncoding::Plain),
        "rle" => Ok(ValueEncoding::Rle),
        "delta" | "delta-binary-packed" => Ok(ValueEncoding::DeltaBinaryPacked),
        "delta-length" | "delta-length-byte-array" => Ok(ValueEncoding::DeltaLengthByteArray),
        "delta-strings" | "delta-byte-array" => Ok(ValueEncoding::DeltaByteArray),
        "byte-stream-split" => Ok(ValueEncoding::ByteStreamSplit),
        "alp" => Ok(ValueEncoding::Alp),
        "auto" => Ok(ValueEncoding::Sampled),
        _ => Err(format!(
            "there is no encoding {name}; write plain, rle, delta, delta-length, delta-strings, byte-stream-split, alp or \
             auto (dictionaries: --dictionary)"
        )),
    })
}

fn parse_dictionary(text: &str) -> Result<Choice<bool>, String> {
    choice(text, |text| match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("write on or off, or COLUMN=on or COLUMN=off".to_owned()),
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
    let size = parse_bytes(text).and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
    size.ok_or_else(|| "write a size such as 500000, 64KiB, 128MiB or 1GiB".to_owned())
}

fn parse_page_version(text: &str) -> Result<PageVersion, String> {
    match text {
        "1" => Ok(PageVersion::V1),
        "2" => Ok(PageVersion::V2),
        _ => Err("write 1 or 2".to_owned()),
    }
}

fn parse_sort_key(text: &str) -> Result<SortingColumn, String> {
    let mut parts = text.split(':');
    let mut key = SortingColumn::ascending(parts.next().unwrap_or_default());
    for part in parts {
        match part {
            "asc" => key.descending = false,
            "desc" => key.descending = true,
            "nulls-first" => key.nulls_first = true,
            "nulls-last" => key.nulls_first = false,
            _ => {
                return Err(format!(
                    ":{part} is not a sort option; write :asc, :desc, :nulls-first or :nulls-last after a column"
                ));
            }
        }
    }
    if key.path.is_empty() { Err("a column is missing".to_owned()) } else { Ok(key) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_have_levels_and_columns() {
        let of = |column: Option<&str>, value| Ok(Choice { column: column.map(str::to_owned), value });
        assert_eq!(parse_codec("zstd"), of(None, Codec::Zstd { level: 1 }));
        assert_eq!(parse_codec("zstd:19"), of(None, Codec::Zstd { level: 19 }));
        assert_eq!(parse_codec("a.b=LZ4"), of(Some("a.b"), Codec::Lz4Raw));
        assert_eq!(parse_codec("a=b=none"), of(Some("a=b"), Codec::Uncompressed));
        for text in ["zip", "zstd:0", "zstd:23", "zstd:x", "snappy:1", "gzip:10", "a=", ""] {
            assert!(parse_codec(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn encodings_have_short_and_full_names() {
        let value = |text: &str| parse_encoding(text).map(|choice| choice.value);
        assert_eq!(value("DELTA_BINARY_PACKED"), Ok(ValueEncoding::DeltaBinaryPacked));
        assert_eq!(value("id=delta"), Ok(ValueEncoding::DeltaBinaryPacked));
        assert_eq!(value("delta-strings"), Ok(ValueEncoding::DeltaByteArray));
        assert_eq!(value("price=ALP"), Ok(ValueEncoding::Alp));
        assert!(value("dictionary").is_err());
    }

    #[test]
    fn sort_keys_have_directions() {
        assert_eq!(parse_sort_key("a.b"), Ok(SortingColumn::ascending("a.b")));
        let key = parse_sort_key("a:desc:nulls-first").unwrap();
        assert!(key.descending && key.nulls_first);
        assert!(parse_sort_key("a:down").is_err());
        assert!(parse_sort_key(":desc").is_err());
    }
}

//! Options of `CREATE EXTERNAL TABLE … STORED AS CSV` and `STORED AS JSON`, and of `COPY … TO` such files: each is honoured, or an error.

use std::collections::HashMap;
use std::path::Path;

use datafusion::common::{Result, plan_err};
use lath_text::{Compression, CsvWriteOptions, DateTimeFormat, InferRows, TextFormat, TextOptions, TextWriteOptions};

use crate::write::is_true;

/// Options for reading and writing the files of a table.
#[derive(Debug, Clone, Default)]
pub(super) struct FileOptions {
    pub(super) text: TextOptions,
    /// The compression that all files have to have, if the option was given.
    pub(super) compression: Option<Option<Compression>>,
}

impl FileOptions {
    /// Parses the options of a statement.
    pub(super) fn parse(format: TextFormat, options: &HashMap<String, String>) -> Result<Self> {
        let mut parsed = Self::default();
        let mut names: Vec<&String> = options.keys().collect();
        names.sort_unstable();
        for name in names {
            let (value, short) = (options[name].as_str(), name.strip_prefix("format.").unwrap_or(name));
            let is_known = match format {
                TextFormat::Csv => parsed.set(short, value)? || parsed.set_csv(short, value)?,
                TextFormat::JsonLines => parsed.set(short, value)? || parsed.set_json(short, value)?,
            };
            if !is_known {
                let own = match format {
                    TextFormat::Csv => CSV_OPTIONS,
                    TextFormat::JsonLines => JSON_OPTIONS,
                };
                return plan_err!("option {short} is not known; the options are {own}");
            }
        }
        let TextOptions { delimiter, quote, .. } = parsed.text;
        if quote.is_some() && delimiter == quote {
            return plan_err!("the options delimiter and quote have to differ");
        }
        Ok(parsed)
    }

    /// Sets an option of both formats; `false` if it is none.
    fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "compression" => {
                self.compression = match value.to_ascii_lowercase().as_str() {
                    "auto" => None,
                    "" | "none" | "uncompressed" => Some(None),
                    "gzip" | "gz" => Some(Some(Compression::Gzip)),
                    "zstd" | "zst" => Some(Some(Compression::Zstd)),
                    other => {
                        return plan_err!(
                            "option compression: {other} is not read; it is auto, uncompressed, gzip or zstd"
                        );
                    }
                }
            }
            "schema_infer_max_rec" | "infer_rows" => {
                self.text.infer_rows = Some(match value.parse() {
                    _ if value.eq_ignore_ascii_case("all") => InferRows::All,
                    Ok(rows) if rows > 0 => InferRows::First(rows),
                    _ => return plan_err!("option {name}: {value} is neither a number of rows from 1 on nor all"),
                });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_csv(&mut self, name: &str, value: &str) -> Result<bool> {
        let text = &mut self.text;
        match name {
            "has_header" | "header" => text.header = is_true(name, value)?,
            "delimiter" | "delim" | "sep" => text.delimiter = Some(character(name, value)?),
            "quote" => text.quote = optional_character(name, value)?,
            // A doubled quote is part of a value in any case.
            "escape" => text.escape = optional_character(name, value)?.filter(|&escape| Some(escape) != text.quote),
            "double_quote" => {
                if !is_true(name, value)? {
                    return plan_err!("option double_quote: two quotes within quotes are always one quote");
                }
            }
            "newlines_in_values" => {
                // They are read in any case.
                is_true(name, value)?;
            }
            "truncated_rows" => {
                if is_true(name, value)? {
                    return plan_err!("option truncated_rows: rows have to have all fields");
                }
            }
            "null_value" | "null" | "nullstr" => text.nulls = vec![value.to_owned()],
            "skip" | "skip_lines" => match value.parse() {
                Ok(lines) => text.skip_lines = lines,
                Err(_) => return plan_err!("option {name}: {value} is not a number of lines"),
            },
            "null_regex" => return plan_err!("option null_regex: nulls go by their whole text; write null_value"),
            "date_format" | "timestamp_format" => match DateTimeFormat::new(value) {
                Ok(format) => text.date_formats.push(format),
                Err(what) => return plan_err!("option {name}: {what}"),
            },
            "decimal" => match value {
                "." | "," => text.decimal_point = value.as_bytes()[0],
                _ => return plan_err!("option decimal: {value} is neither . nor ,"),
            },
            "comment" | "terminator" => {
                return plan_err!("option {name}: CSV with it is not read; change the files first");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_json(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "newline_delimited" => {
                if !is_true(name, value)? {
                    return plan_err!("option newline_delimited: JSON is read as one object per line");
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// How files are written that are read with these options.
    pub(super) fn written(&self, format: TextFormat) -> TextWriteOptions {
        let TextOptions { delimiter, quote, escape, header, nulls, decimal_point, .. } = &self.text;
        let csv = CsvWriteOptions {
            delimiter: delimiter.unwrap_or(b','),
            quote: *quote,
            escape: *escape,
            header: *header,
            null: nulls.first().cloned().unwrap_or_default(),
            decimal_point: *decimal_point,
        };
        TextWriteOptions { format, compression: self.compression.flatten(), csv }
    }
}

/// The options of `COPY … TO` a file of text. Its name says the delimiter and the compression that are not given.
pub(crate) fn copied_text(target: &str, format: TextFormat, named: Vec<(String, String)>) -> Result<TextWriteOptions> {
    const READING: [&str; 6] =
        ["infer_rows", "schema_infer_max_rec", "date_format", "timestamp_format", "skip", "skip_lines"];
    if let Some((name, _)) = named.iter().find(|(name, _)| READING.contains(&name.as_str())) {
        return plan_err!("option {name}: it is for reading; write dates and times as they are to be with to_char");
    }
    let options = FileOptions::parse(format, &named.into_iter().collect())?;
    let mut written = options.written(format);
    let path = Path::new(target);
    let compression = path.extension().and_then(|extension| Compression::from_extension(extension.to_str()?));
    if options.compression.is_none() {
        written.compression = compression;
    }
    let path = if compression.is_some() { path.with_extension("") } else { path.to_owned() };
    if options.text.delimiter.is_none() && path.extension().is_some_and(|name| name.eq_ignore_ascii_case("tsv")) {
        written.csv.delimiter = b'\t';
    }
    Ok(written)
}

const CSV_OPTIONS: &str = "has_header, delimiter, quote, escape, null_value, date_format, timestamp_format, decimal, skip, compression and infer_rows";
const JSON_OPTIONS: &str = "compression and infer_rows";

fn character(name: &str, value: &str) -> Result<u8> {
    match value.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(*byte),
        _ => plan_err!("option {name}: {value:?} is not one ASCII character"),
    }
}

fn optional_character(name: &str, value: &str) -> Result<Option<u8>> {
    match value {
        "" | "none" => Ok(None),
        value => character(name, value).map(Some),
    }
}

//! Arguments of `convert`.

use std::path::PathBuf;

use arrow_schema::DataType;
use clap::{Args, ValueEnum};
use lath_text::{DateTimeFormat, InferRows};

use super::destination::DestinationArgs;
use super::{DecodeArgs, InputArgs, SortArgs, TableArgs, WriteArgs};
use crate::type_name::parse_type;

pub(super) const HELP: &str = "\
The format of an input is given by --from, else by its name, else by its first bytes; the format of the output by --format,
else by its name. Several inputs become one table; columns are matched by name.

The types of CSV and JSON lines are inferred: from all rows of a file of up to 32 MiB, else from the first 20,000
(--infer-rows). A type is chosen only if no value loses information: 1.50 is a number, 01234 is text. An empty CSV field is
null. --type sets the type of a column, --schema-of takes the types of all columns from another file. A value that does not fit
its type is an error that names line and column. The delimiter of CSV (comma, semicolon, tab or |) and compression (gzip,
zstd) are detected.

Examples:
  lath convert trips.csv -o trips.parquet
  lath convert trips.csv -o trips.parquet --type zip=string --type 'fare=decimal(10,2)'
  lath convert 'logs/*.jsonl' -o all.arrow --infer-rows all
  lath convert trips.parquet -o trips.csv
  lath convert umsatz.csv.gz -o umsatz.parquet --decimal , --date-format %d.%m.%Y --null NA
  lath convert old.arrow --format jsonl | head";

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Input format [default: by name, else by content]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<FileFormat>,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) csv: CsvArgs,
    #[command(flatten)]
    pub(crate) decode: DecodeArgs,
    #[command(flatten)]
    pub(crate) sort: SortArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) destination: DestinationArgs,
}

/// Options for reading CSV and JSON lines.
#[derive(Debug, Args)]
pub(crate) struct TextArgs {
    /// Number of rows from which types are inferred, or all [default: all of a file of up to 32 MiB, else 20000]
    #[arg(long, visible_alias = "sample", value_name = "ROWS", help_heading = "CSV and JSON lines", value_parser = parse_infer_rows)]
    pub(crate) infer_rows: Option<InferRows>,
    /// Type of a column, instead of the inferred one; may be given several times. Types are bool, int, bigint, double,
    /// string, binary, date, time, timestamp, timestamptz, decimal(18,2), or one as Arrow writes it, such as 'List(Int32)'
    #[arg(long = "type", value_name = "COLUMN=TYPE", help_heading = "CSV and JSON lines", value_parser = parse_column_type)]
    pub(crate) types: Vec<(String, DataType)>,
    /// Take the types of columns from this Parquet or Arrow IPC file
    #[arg(long, value_name = "FILE", help_heading = "CSV and JSON lines")]
    pub(crate) schema_of: Option<PathBuf>,
    /// Delimiter of CSV input [default: detected]
    #[arg(long, value_name = "CHARACTER", help_heading = "CSV", value_parser = parse_delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Quote character of CSV input, or none
    #[arg(long, value_name = "CHARACTER", help_heading = "CSV", default_value = "\"", value_parser = parse_quote)]
    pub(crate) quote: Quote,
    /// CSV input has no header line; columns are named column_1, column_2, …
    #[arg(long, help_heading = "CSV")]
    pub(crate) no_header: bool,
    /// Text that is read as null, besides an empty field; may be given several times
    #[arg(long = "null", value_name = "TEXT", help_heading = "CSV", allow_hyphen_values = true)]
    pub(crate) nulls: Vec<String>,
    /// Format of dates or timestamps besides ISO 8601, in strftime syntax, such as %d.%m.%Y or '%d.%m.%Y %H:%M'; may be given
    /// several times
    #[arg(long, value_name = "FORMAT", help_heading = "CSV", value_parser = DateTimeFormat::new)]
    pub(crate) date_format: Vec<DateTimeFormat>,
    /// Decimal separator: . or ,
    #[arg(long, value_name = "CHARACTER", help_heading = "CSV", default_value = ".", value_parser = parse_decimal)]
    pub(crate) decimal: u8,
}

/// Options for writing CSV.
#[derive(Debug, Args)]
pub(crate) struct CsvArgs {
    /// Delimiter of CSV output [default: a tab for *.tsv, else the one of --delimiter, else a comma]
    #[arg(long, value_name = "CHARACTER", help_heading = "CSV", value_parser = parse_delimiter)]
    pub(crate) output_delimiter: Option<u8>,
    /// Text that is written for null in CSV output [default: the first --null, else an empty field]
    #[arg(long, value_name = "TEXT", help_heading = "CSV", allow_hyphen_values = true)]
    pub(crate) output_null: Option<String>,
}

/// Input format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// Parquet
    Parquet,
    /// Comma-separated values
    Csv,
    /// One JSON object per line
    Jsonl,
    /// Arrow IPC, file or stream
    Arrow,
}

/// The quote character, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quote(pub(crate) Option<u8>);

fn parse_infer_rows(text: &str) -> Result<InferRows, String> {
    match text.parse() {
        _ if text == "all" => Ok(InferRows::All),
        Ok(0) | Err(_) => Err("write a number of rows from 1 on, or all".to_owned()),
        Ok(rows) => Ok(InferRows::First(rows)),
    }
}

fn parse_column_type(text: &str) -> Result<(String, DataType), String> {
    let (column, data_type) = text.split_once('=').ok_or("write the column, =, and its type, as in zip=string")?;
    Ok((column.to_owned(), parse_type(data_type)?))
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("a delimiter is one ASCII character; \\t stands for a tab".to_owned()),
    }
}

fn parse_quote(text: &str) -> Result<Quote, String> {
    match text.as_bytes() {
        b"none" => Ok(Quote(None)),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r') => Ok(Quote(Some(*byte))),
        _ => Err("a quote is one ASCII character, or none".to_owned()),
    }
}

fn parse_decimal(text: &str) -> Result<u8, String> {
    match text {
        "." => Ok(b'.'),
        "," => Ok(b','),
        _ => Err("decimals are separated by . or ,".to_owned()),
    }
}

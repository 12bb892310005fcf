//! Arguments of `convert`.

use std::path::PathBuf;

use arrow_schema::DataType;
use clap::{Args, ValueEnum};

use super::destination::DestinationArgs;
use super::{DecodeArgs, InputArgs, SortArgs, TableArgs, WriteArgs};
use crate::source::parse_type;

pub(super) const HELP: &str = "\
The format of an input is told by --from, else by its name, else by its first bytes; that of the output by --format, else by
its name. Several inputs make one table: columns are matched by name.

CSV and JSON lines do not say which types their values have. They are inferred from the first rows (--infer-rows):
integers, floats, booleans, dates and timestamps in CSV, where nothing between two commas is null; numbers, booleans,
strings, lists and objects in JSON. A column without any value in these rows is text. --type gives the type of a column,
--schema-of those of all columns that another file has. A value that does not fit is an error.

Examples:
  lath convert trips.csv -o trips.parquet
  lath convert trips.csv -o trips.parquet --type zip=string --type 'fare=decimal(10,2)'
  lath convert 'logs/*.jsonl' -o all.arrow --infer-rows all
  lath convert trips.parquet -o trips.csv
  zcat log.csv.gz | lath convert - --from csv -o log.parquet
  lath convert old.arrow --format jsonl | head";

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Format of the inputs [default: by name, else by content]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) from: Option<FileFormat>,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) decode: DecodeArgs,
    #[command(flatten)]
    pub(crate) sort: SortArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    #[command(flatten)]
    pub(crate) destination: DestinationArgs,
}

/// How CSV and JSON lines are read.
#[derive(Debug, Args)]
pub(crate) struct TextArgs {
    /// Rows from which types are inferred: a number, or all, which keeps the input in memory
    #[arg(long, value_name = "ROWS", help_heading = "CSV and JSON lines", default_value = "10000", value_parser = parse_infer_rows)]
    pub(crate) infer_rows: InferRows,
    /// Type of a column, in place of the inferred one; may be given several times. Types are bool, int, bigint, double,
    /// string, binary, date, time, timestamp, timestamptz, decimal(18,2), or one as Arrow writes it, such as 'List(Int32)'
    #[arg(long = "type", value_name = "COLUMN=TYPE", help_heading = "CSV and JSON lines", value_parser = parse_column_type)]
    pub(crate) types: Vec<(String, DataType)>,
    /// Take the types of columns from this Parquet or Arrow IPC file
    #[arg(long, value_name = "FILE", help_heading = "CSV and JSON lines")]
    pub(crate) schema_of: Option<PathBuf>,
    /// What stands between two values of CSV [default: a comma; a tab in *.tsv]
    #[arg(long, value_name = "CHARACTER", help_heading = "CSV and JSON lines", value_parser = parse_delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// The first line of CSV holds values, not names; columns are called column_1, column_2, …
    #[arg(long, help_heading = "CSV and JSON lines")]
    pub(crate) no_header: bool,
}

/// Format of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// Parquet
    Parquet,
    /// Comma-separated values
    Csv,
    /// One JSON object a line
    Jsonl,
    /// Arrow IPC, file or stream
    Arrow,
}

/// From how many rows types are inferred; `None` for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InferRows(pub(crate) Option<usize>);

fn parse_infer_rows(text: &str) -> Result<InferRows, String> {
    match text.parse() {
        _ if text == "all" => Ok(InferRows(None)),
        Ok(0) | Err(_) => Err("write a number of rows from 1 on, or all".to_owned()),
        Ok(rows) => Ok(InferRows(Some(rows))),
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

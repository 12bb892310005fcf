//! Arguments of `rewrite`, `merge` and `split`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::destination::ReportArgs;
use super::write::{parse_count, parse_size};
use super::{DecodeArgs, InputArgs, ReadArgs, SortArgs, TableArgs, WriteArgs};

pub(super) const REWRITE_HELP: &str = "\
Several inputs become one file; with --in-place each input is replaced by its rewritten file, atomically.
Directories called key=value are stored as columns, unless --no-partitions is given; --in-place leaves each file its own
columns.

Examples:
  lath rewrite trips.parquet -o small.parquet --profile compact
  lath rewrite data/ -o all.parquet --sort-by city,started:desc --codec zstd:9
  lath rewrite trips.parquet -o slim.parquet --columns id,price --where \"price > 20\"
  lath rewrite trips.parquet --in-place --profile lookup --bloom id --sort-by id
  lath rewrite a.parquet -o b.parquet --encoding price=byte-stream-split --dictionary price=off";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("target").required(true).args(["output", "in_place"]))]
pub(crate) struct RewriteArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Keep only the rows that satisfy this SQL expression (see lath find --help)
    #[arg(short = 'w', long = "where", value_name = "EXPR")]
    pub(crate) predicate: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) sort: SortArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// Write to this file, which appears complete or not at all; - is standard output
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Replace each input
    #[arg(long, help_heading = "Output")]
    pub(crate) in_place: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

pub(super) const MERGE_HELP: &str = "\
With --sort-by, every input has to be sorted by these columns already, and so is the output; only a few rows of each input are in
memory at a time. Without --sort-by the inputs are concatenated, and row groups are copied unchanged where no option requires a
change.

Examples:
  lath merge day-*.parquet -o month.parquet --sort-by timestamp
  lath merge parts/ -o whole.parquet";

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    #[command(flatten)]
    pub(crate) sort: SortArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) decode: DecodeArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// Write to this file, which appears complete or not at all; - is standard output
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

pub(super) const SPLIT_HELP: &str = "\
OUT is numbered before its extension: part.parquet gives part-00000.parquet, part-00001.parquet and so on. Where OUT is a
directory, files are named after the first input. All files appear together, or none does.

Examples:
  lath split big.parquet --rows 1000000 -o part.parquet
  lath split big.parquet --bytes 128MiB -o parts/
  lath split big.parquet --row-groups 1 -o groups/";

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("size").required(true).args(["rows", "row_groups", "bytes"]))]
pub(crate) struct SplitArgs {
    #[command(flatten)]
    pub(crate) inputs: InputArgs,
    /// Rows in each file
    #[arg(long, value_name = "ROWS", value_parser = parse_count)]
    pub(crate) rows: Option<usize>,
    /// Row groups in each file
    #[arg(long, value_name = "COUNT", value_parser = parse_count)]
    pub(crate) row_groups: Option<usize>,
    /// Maximum bytes of pages in each file, as stored in the inputs; larger row groups are split by rows
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) bytes: Option<usize>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) decode: DecodeArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// Name of the files, or their directory
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

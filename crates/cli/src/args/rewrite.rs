//! Arguments of `rewrite`, `merge` and `split`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::destination::ReportArgs;
use super::write::{parse_count, parse_size};
use super::{DecodeArgs, InputArgs, ReadArgs, SortArgs, TableArgs, WriteArgs};

pub(super) const REWRITE_HELP: &str = "\
Several inputs become one file; with --in-place each is replaced by what becomes of it, whole or not at all.
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
    /// Keep only the rows for which this SQL expression holds (see lath find --help)
    #[arg(short = 'w', long = "where", value_name = "EXPR")]
    pub(crate) predicate: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) sort: SortArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// Write to this file, which appears whole or not at all; - is standard output
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Replace each input
    #[arg(long, help_heading = "Output")]
    pub(crate) in_place: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

pub(super) const MERGE_HELP: &str = "\
With --sort-by, every input has to be sorted by these columns already, and so is the output; a few rows of each input are in memory
at a time. Without, the inputs' rows follow one another, and their row groups are copied as they are where no option says
otherwise.

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
    /// Write to this file, which appears whole or not at all; - is standard output
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

pub(super) const SPLIT_HELP: &str = "\
Files are called by OUT with a number before its ending: part.parquet gives part-00000.parquet, part-00001.parquet and so on.
Where OUT is a directory, they are called by the first input. They appear together, or none does.

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
    /// Most bytes of pages in each file, as the inputs have them; row groups that are larger are cut by rows
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) bytes: Option<usize>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) decode: DecodeArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
    /// How the files are called
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

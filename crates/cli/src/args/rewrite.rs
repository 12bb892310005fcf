//! Arguments of `rewrite`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::destination::ReportArgs;
use super::{InputArgs, ReadArgs, SortArgs, WriteArgs};

pub(super) const REWRITE_HELP: &str = "\
Several inputs become one file; with --in-place each is replaced by what becomes of it, whole or not at all.

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

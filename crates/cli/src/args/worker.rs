//! Arguments of `worker`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::write::parse_size;

pub(super) const HELP: &str = "\
lath sql --cluster sends a worker parts of queries: it reads files, filters, joins and groups, and returns rows. A worker opens only files
below the folders and URLs of --allow, with the credentials of its environment. Every client that can connect can read those, so it listens on
this machine alone unless the variable LATH_CLUSTER_TOKEN or --token-file has a token that the coordinator sends, too. Rows and tokens travel
unencrypted: let workers and coordinators talk within a network of their own. All have to run the same version.

Examples:
  lath worker --allow /data
  LATH_CLUSTER_TOKEN=secret lath worker --listen 0.0.0.0:9301 --allow s3://lake/trips --memory 8GiB

  LATH_CLUSTER_TOKEN=secret lath sql --cluster 10.0.0.7:9301,10.0.0.8:9301 \"SELECT count(*) FROM 's3://lake/trips/'\"";

/// The address of a worker, the files that it may open, and its resources.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// Listen at this address; a port alone is one of this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9301")]
    pub(crate) listen: String,
    /// Open files below this folder, or objects below this URL; can be given several times [example: s3://lake/trips]
    #[arg(long, value_name = "FOLDER", required = true)]
    pub(crate) allow: Vec<String>,
    /// Answer only coordinators with the token in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Number of threads [default: one per core]
    #[arg(short, long, value_name = "NUMBER")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Bound the memory of sorting, joining and grouping, of all queries together; the rest spills to disk [example: 8GiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub(crate) memory: Option<usize>,
}

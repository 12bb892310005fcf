//! The workers of `sql`.

use std::env;

use lath_cluster::{Cluster, ClusterOptions};
use lath_writer::parse_byte_size;

use crate::args::SqlArgs;
use crate::failure::{Failure, Result};

use super::listen::token;
use super::worker::{TOKEN, failed};

/// The variable with the addresses of workers.
const CLUSTER: &str = "LATH_CLUSTER";
/// The variable with the bytes that a query has to read to run on workers.
const MIN_BYTES: &str = "LATH_CLUSTER_MIN_BYTES";

/// The workers that the arguments or the environment name; `None` if they name none.
pub(super) fn cluster(args: &SqlArgs) -> Result<Option<Cluster>> {
    let variable = env::var(CLUSTER).unwrap_or_default();
    let named: Vec<&str> = match args.cluster.as_slice() {
        [] => variable.split(',').collect(),
        named => named.iter().map(String::as_str).collect(),
    };
    let named: Vec<&str> = named.into_iter().filter(|address| !address.trim().is_empty()).collect();
    if named.is_empty() {
        return Ok(None);
    }
    let token = token(args.cluster_token_file.as_deref(), TOKEN)?;
    let mut options = token.into_iter().fold(ClusterOptions::new(), ClusterOptions::token);
    if let Ok(text) = env::var(MIN_BYTES) {
        let bytes = parse_byte_size(&text)
            .ok_or_else(|| Failure::Usage(format!("{MIN_BYTES}: write a size such as 0, 64KiB, 128MiB or 1GiB")))?;
        options = options.min_bytes(bytes);
    }
    Cluster::new(named, options).map(Some).map_err(failed)
}

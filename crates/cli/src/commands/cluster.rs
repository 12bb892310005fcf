//! The workers of `sql`.

use std::env;
use std::num::NonZeroUsize;

use lath_cluster::{Cluster, ClusterOptions, RunningWorker, WorkerOptions, WorkerServer};
use lath_writer::parse_byte_size;

use crate::args::SqlArgs;
use crate::failure::{Failure, Result};

use super::listen::token;
use super::worker::failed;

/// The variable with the token of workers.
pub(super) const TOKEN: &str = "LATH_CLUSTER_TOKEN";
/// The variable with the addresses of workers.
const CLUSTER: &str = "LATH_CLUSTER";
/// The variable with the bytes that a query has to read to run on workers.
const MIN_BYTES: &str = "LATH_CLUSTER_MIN_BYTES";
/// The folders and stores that workers of this command may open: all, as the command itself.
const EVERYTHING: [&str; 8] = ["/", "s3://", "s3a://", "gs://", "az://", "abfss://", "http://", "https://"];

/// Workers of a session, and those among them that live as long as it.
pub(super) struct SessionCluster {
    pub(super) cluster: Cluster,
    _workers: Vec<RunningWorker>,
}

impl SessionCluster {
    /// The workers that the arguments or the environment name; `None` if they name none.
    pub(super) fn of(args: &SqlArgs) -> Result<Option<Self>> {
        let variable = env::var(CLUSTER).unwrap_or_default();
        let named: Vec<&str> = match args.cluster.as_slice() {
            [] => variable.split(',').collect(),
            named => named.iter().map(String::as_str).collect(),
        };
        let named: Vec<&str> = named.into_iter().map(str::trim).filter(|address| !address.is_empty()).collect();
        if named.is_empty() {
            return Ok(None);
        }
        let token = token(args.cluster_token_file.as_deref(), TOKEN)?;
        let (mut addresses, mut workers) = (Vec::new(), Vec::new());
        for address in named {
            match address.strip_prefix("local:") {
                None => addresses.push(address.to_owned()),
                Some(count) => {
                    let count: NonZeroUsize = count.parse().map_err(|_| {
                        Failure::Usage(format!("{address}: write the number of workers after local:, as local:4"))
                    })?;
                    for _ in 0..count.get() {
                        let options =
                            EVERYTHING.into_iter().fold(WorkerOptions::new(), WorkerOptions::allow).threads(1);
                        let options = token.iter().fold(options, WorkerOptions::token);
                        let server = WorkerServer::bind("127.0.0.1:0", options).map_err(failed)?;
                        addresses.push(server.address().to_string());
                        workers.push(server.start());
                    }
                }
            }
        }
        let mut options = token.into_iter().fold(ClusterOptions::new(), ClusterOptions::token);
        if let Ok(text) = env::var(MIN_BYTES) {
            let bytes = parse_byte_size(&text)
                .ok_or_else(|| Failure::Usage(format!("{MIN_BYTES}: write a size such as 0, 64KiB, 128MiB or 1GiB")))?;
            options = options.min_bytes(bytes);
        }
        let cluster = Cluster::new(addresses, options).map_err(failed)?;
        Ok(Some(Self { cluster, _workers: workers }))
    }
}

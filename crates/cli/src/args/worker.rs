//! Arguments of `worker`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::write::parse_size;

pub(super) const HELP: &str = "\
lath sql --cluster sends a worker parts of queries: it reads files, filters, joins and groups, and returns rows. A worker opens only files
below the folders and URLs of --allow, with the credentials of its environment, and writes only objects below the URLs of --allow-write: the files
of COPY … PARTITIONED BY. Every client that can connect can do the same, so it listens on this machine alone unless the variable
LATH_CLUSTER_TOKEN or --token-file has a token that the coordinator sends, too. With --tls-certificate and --tls-key, it uses TLS, and its
address is https://HOST:PORT. Otherwise rows and tokens travel unencrypted: run workers and coordinators within a network that you trust. All
have to run the same version.

Examples:
  lath worker --allow /data
  LATH_CLUSTER_TOKEN=secret lath worker --listen 0.0.0.0:9301 --allow s3://lake/trips --memory 8GiB

  LATH_CLUSTER_TOKEN=secret lath worker --listen 0.0.0.0:9301 --allow s3://lake --allow-write s3://lake/copies

  LATH_CLUSTER_TOKEN=secret lath worker --listen 0.0.0.0:9301 --allow /data --tls-certificate worker.pem --tls-key worker.key --cluster-ca ca.pem

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
    /// Write files of COPY and INSERT below this URL of an object store; can be given several times [example: s3://lake/copies]
    #[arg(long, value_name = "URL")]
    pub(crate) allow_write: Vec<String>,
    /// Answer only coordinators with the token in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Use TLS with the certificate in this PEM file, which may have intermediate authorities after it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Trust other workers whose certificates are signed by the authority in this PEM file, as LATH_CLUSTER_CA says, too [default: the authorities of
    /// the system]
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_ca: Option<PathBuf>,
    /// Number of threads [default: one per core]
    #[arg(short, long, value_name = "NUMBER")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Bound the memory of sorting, joining and grouping, of all queries together; the rest spills to disk [example: 8GiB]
    #[arg(long, value_name = "BYTES", value_parser = parse_size)]
    pub(crate) memory: Option<usize>,
}

//! The workers of `sql`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use lath_cluster::{Cluster, ClusterOptions, Error};
use lath_writer::parse_byte_size;

use crate::args::SqlArgs;
use crate::failure::{Failure, Result};

use super::listen::token;

/// The variable with the token of workers.
pub(super) const TOKEN: &str = "LATH_CLUSTER_TOKEN";
/// The variable with the addresses of workers.
const CLUSTER: &str = "LATH_CLUSTER";
/// The variable with the bytes that a query has to read to run on workers.
const MIN_BYTES: &str = "LATH_CLUSTER_MIN_BYTES";

/// The variable with the file of the authorities that signed the certificates of workers.
const AUTHORITIES: &str = "LATH_CLUSTER_CA";

/// The file of the authorities that signed the certificates of workers: the given one, or else the one that the environment names.
pub(super) fn authorities(file: Option<&Path>) -> Result<Option<Vec<u8>>> {
    let named = env::var_os(AUTHORITIES).filter(|name| !name.is_empty()).map(PathBuf::from);
    file.map(Path::to_owned).or(named).map(|file| read(&file)).transpose()
}

pub(super) fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).map_err(|error| Failure::reaching(file, &error))
}

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
    options = authorities(args.cluster_ca.as_deref())?.into_iter().fold(options, ClusterOptions::authorities);
    if let Ok(text) = env::var(MIN_BYTES) {
        let bytes = parse_byte_size(&text)
            .ok_or_else(|| Failure::Usage(format!("{MIN_BYTES}: write a size such as 0, 64KiB, 128MiB or 1GiB")))?;
        options = options.min_bytes(bytes);
    }
    Cluster::new(named, options).map(Some).map_err(failed)
}

pub(super) fn failed(error: Error) -> Failure {
    match error {
        Error::Io(what) => Failure::Io(what),
        other => Failure::Usage(other.to_string()),
    }
}

//! Workers of this process, for trying.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;

use crate::error::{Error, Result};
use crate::worker::{RunningWorker, WorkerOptions, WorkerServer};

/// The folders and stores that they may open: all, as the process itself.
const EVERYTHING: [&str; 8] = ["/", "s3://", "s3a://", "gs://", "az://", "abfss://", "http://", "https://"];

/// The number of workers in `local:N`; `None` for other addresses.
pub(crate) fn local_count(address: &str) -> Result<Option<usize>> {
    let Some(count) = address.strip_prefix("local:") else { return Ok(None) };
    let count: NonZeroUsize = count
        .parse()
        .map_err(|_| Error::Address(format!("{address}: write the number of workers after local:, as local:4")))?;
    Ok(Some(count.get()))
}

/// The stores that they may write to: all, as the process itself.
const STORES: [&str; 5] = ["s3://", "s3a://", "gs://", "az://", "abfss://"];

/// Starts workers of one thread, and returns them with their addresses.
pub(crate) fn start_local(count: usize, token: &str) -> Result<Vec<(RunningWorker, String)>> {
    let start = |_| {
        let options = EVERYTHING.into_iter().fold(WorkerOptions::new(), WorkerOptions::allow);
        let options = STORES.into_iter().fold(options, WorkerOptions::allow_write);
        let server = WorkerServer::bind("127.0.0.1:0", options.threads(1).token(token))?;
        let address = server.address().to_string();
        Ok((server.start(), address))
    };
    (0..count).map(start).collect()
}

/// A token that no other process knows: everyone on this machine reaches local workers.
pub(crate) fn random_token() -> String {
    // The keys of each state are random numbers of the operating system.
    (0..4).map(|part| format!("{:016x}", RandomState::new().hash_one(part))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ() {
        let (one, other) = (random_token(), random_token());
        assert!(one != other && one.len() == 64, "{one} {other}");
    }
}

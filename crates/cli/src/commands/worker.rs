//! `worker`: computes parts of other machines' queries.

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use lath_cluster::{WorkerOptions, WorkerServer};

use crate::args::WorkerArgs;
use crate::console::quantity::plural;
use crate::failure::{Failure, Outcome, Result};
use crate::interrupt::{self, GracefulStop};

use super::cluster::{TOKEN, authorities, failed, read};
use super::listen::{address, token};

/// Interval at which signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Answers until a signal comes; a second one ends the queries that still run.
pub(super) fn run(args: &WorkerArgs) -> Result<Outcome> {
    let address = address(&args.listen)?;
    let token = token(args.token_file.as_deref(), TOKEN)?;
    if token.is_none() && !address.ip().is_loopback() {
        return Err(Failure::Usage(format!(
            "other machines reach {address}, and a worker returns rows of all files that it may open: set {TOKEN} or give --token-file"
        )));
    }
    let mut options = args.allow.iter().fold(WorkerOptions::new(), WorkerOptions::allow);
    options = args.allow_write.iter().fold(options, WorkerOptions::allow_write);
    options = token.into_iter().fold(options, WorkerOptions::token);
    if let (Some(certificate), Some(key)) = (&args.tls_certificate, &args.tls_key) {
        options = options.tls(read(certificate)?, read(key)?);
    }
    options = authorities(args.cluster_ca.as_deref())?.into_iter().fold(options, WorkerOptions::authorities);
    if let Some(threads) = args.threads {
        options = options.threads(threads.get());
    }
    if let Some(bytes) = args.memory {
        options = options.memory_budget_bytes(bytes);
    }
    let options = options.uncommitted(interrupt::uncommitted());
    let scheme = if args.tls_certificate.is_some() { "https://" } else { "" };
    let stop = GracefulStop::new();
    let server = WorkerServer::bind(&address.to_string(), options).map_err(failed)?;
    super::print(&format!(
        "{scheme}{} answers with {}, until Ctrl-C\n",
        server.address(),
        plural(server.threads() as u64, "thread"),
    ))?;
    let running = server.start();
    while let ControlFlow::Continue(()) = stop.poll() {
        if running.has_ended() {
            break;
        }
        thread::sleep(POLL_INTERVAL);
    }
    let stopped = running.stop().map_err(failed);
    // Queries that were cut off may hold their files still.
    interrupt::uncommitted().abandon();
    stopped?;
    Ok(Outcome::Done)
}

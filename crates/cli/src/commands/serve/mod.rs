//! `serve`: a database for other programs.

#[cfg(feature = "flight")]
mod flight;
mod iceberg;

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use super::listen::{address, token};
use crate::args::ServeArgs;
use crate::failure::{Failure, Outcome, Result};
use crate::interrupt::GracefulStop;

/// The variable with the token.
const TOKEN: &str = "LATH_SERVE_TOKEN";

/// Interval at which signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Serves until a signal comes.
pub(super) fn run(args: &ServeArgs) -> Result<Outcome> {
    let token = token(args.token_file.as_deref(), TOKEN)?;
    if args.no_token && token.is_some() {
        return Err(Failure::Usage(format!("--no-token answers without a token, and {TOKEN} has one: unset it")));
    }
    #[cfg(feature = "flight")]
    if let Some(text) = &args.protocol.flight {
        return flight::run(args, address(text)?, token);
    }
    #[cfg(feature = "flight")]
    if args.flight.engine.threads.is_some() || args.flight.engine.memory.is_some() {
        return Err(Failure::Usage(
            "--threads and --memory are for --flight: clients of Iceberg compute themselves".to_owned(),
        ));
    }
    match &args.protocol.iceberg {
        Some(text) => iceberg::run(args, address(text)?, token),
        None => Err(Failure::Usage("name a protocol and its address, such as --iceberg 8181".to_owned())),
    }
}

/// Refuses to answer other machines without a token.
fn check_token(address: SocketAddr, token: Option<&String>, advice: &str) -> Result<()> {
    match token {
        None if !address.ip().is_loopback() => {
            Err(Failure::Usage(format!("other machines reach {address}: set {TOKEN} or give --token-file{advice}")))
        }
        _ => Ok(()),
    }
}

/// Waits until a signal comes, or a server has ended by itself.
fn wait(stop: &GracefulStop, has_ended: impl Fn() -> bool) {
    while let ControlFlow::Continue(()) = stop.poll() {
        if has_ended() {
            return;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

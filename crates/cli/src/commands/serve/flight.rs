//! Arrow Flight SQL.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use lath_flight::{Error, FlightOptions, FlightServer};

use super::{check_token, wait};
use crate::args::ServeArgs;
use crate::commands::engine;
use crate::encryption_key;
use crate::failure::{Failure, Outcome, Result};
use crate::interrupt::{self, GracefulStop};

pub(super) fn run(args: &ServeArgs, address: SocketAddr, token: Option<String>) -> Result<Outcome> {
    if args.no_token {
        return Err(Failure::Usage(
            "--no-token is for --iceberg, which only reads: clients of --flight change the database".to_owned(),
        ));
    }
    check_token(address, token.as_ref(), "")?;
    let limits = &args.flight;
    let mut options = token.into_iter().fold(FlightOptions::new(), FlightOptions::token);
    if let (Some(certificate), Some(key)) = (&limits.tls_certificate, &limits.tls_key) {
        options = options.tls(read(certificate)?, read(key)?);
    }
    if let Some(threads) = limits.engine.threads {
        options = options.threads(threads.get());
    }
    if let Some(bytes) = limits.engine.memory {
        options = options.memory_budget_bytes(bytes);
    }
    if limits.read_only {
        options = options.read_only();
    }
    options = limits.statement_time.into_iter().fold(options, FlightOptions::statement_time);
    options = limits.idle_time.into_iter().fold(options, FlightOptions::idle_time);
    if let Some(connections) = limits.connections {
        options = options.connections(connections.get());
    }
    options = encryption_key::key()?.into_iter().fold(options, FlightOptions::encryption_key);
    let options = options.uncommitted(interrupt::uncommitted());
    let stop = GracefulStop::new();
    let server = FlightServer::bind(&address.to_string(), &args.database, options).map_err(failed)?;
    let scheme = if server.uses_tls() { "grpc+tls" } else { "grpc" };
    crate::commands::print(&format!(
        "{scheme}://{} serves {} by Arrow Flight SQL, until Ctrl-C\n",
        server.address(),
        args.database.display(),
    ))?;
    let running = server.start();
    wait(&stop, || running.has_ended());
    let stopped = running.stop().map_err(failed);
    // Statements that were cut off may hold their files still.
    interrupt::uncommitted().abandon();
    stopped?;
    Ok(Outcome::Done)
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).map_err(|error| Failure::reaching(file, &error))
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Database(error) => engine::failed(error),
        Error::Io(what) => Failure::Io(what),
        other => Failure::Usage(other.to_string()),
    }
}

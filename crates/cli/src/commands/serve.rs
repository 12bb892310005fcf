//! `serve`: a database for other programs.

use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use lath_serve::{IcebergServer, NAMESPACE, ServeOptions};
use lath_table::{Database, Error};

use crate::args::ServeArgs;
use crate::console::quantity::plural;
use crate::encryption_key::table_options;
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;
use crate::interrupt::GracefulStop;

use super::listen::{address, token};

/// The variable with the token.
const TOKEN: &str = "LATH_SERVE_TOKEN";

/// Interval at which signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Serves until a signal comes.
pub(super) fn run(args: &ServeArgs) -> Result<Outcome> {
    let address = address(&args.iceberg)?;
    let token = token(args.token_file.as_deref(), TOKEN)?;
    if args.no_token && token.is_some() {
        return Err(Failure::Usage(format!("--no-token answers without a token, and {TOKEN} has one: unset it")));
    }
    if token.is_none() && !address.ip().is_loopback() && !args.no_token {
        return Err(Failure::Usage(format!(
            "other machines reach {address}: set {TOKEN} or give --token-file, or answer without one with --no-token"
        )));
    }
    let folder = args.database.display();
    let database = Database::open_read_only(&args.database, table_options()?).map_err(|error| match error {
        Error::NoDatabase { .. } => Failure::Usage(format!(
            "{folder} is not a database; lath table create DATABASE --table NAME makes one, and lath table publish publishes its tables"
        )),
        other => table_failure(other),
    })?;
    let options = ServeOptions::new(address);
    let options = token.into_iter().fold(options, ServeOptions::token);
    let stop = GracefulStop::new();
    let server = IcebergServer::start(database, &options)
        .map_err(|error| Failure::Io(format!("{address}: cannot listen: {error}")))?;
    let tables = server.published_tables().map_err(table_failure)?.len() as u64;
    super::print(&format!(
        "http://{} serves {} of {folder} in the namespace {NAMESPACE}, until Ctrl-C\n",
        server.address(),
        plural(tables, "published table"),
    ))?;
    while let ControlFlow::Continue(()) = stop.poll() {
        thread::sleep(POLL_INTERVAL);
    }
    server.stop();
    Ok(Outcome::Done)
}

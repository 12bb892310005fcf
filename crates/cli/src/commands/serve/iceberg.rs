//! The REST catalog of Iceberg.

use std::net::SocketAddr;

use lath_serve::{IcebergServer, NAMESPACE, ServeOptions};
use lath_table::{Database, Error};

use super::{check_token, wait};
use crate::args::ServeArgs;
use crate::console::quantity::plural;
use crate::encryption_key::table_options;
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;
use crate::interrupt::GracefulStop;

pub(super) fn run(args: &ServeArgs, address: SocketAddr, token: Option<String>) -> Result<Outcome> {
    if !args.no_token {
        check_token(address, token.as_ref(), ", or answer without one with --no-token")?;
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
    crate::commands::print(&format!(
        "http://{} serves {} of {folder} in the namespace {NAMESPACE}, until Ctrl-C\n",
        server.address(),
        plural(tables, "published table"),
    ))?;
    wait(&stop, || false);
    server.stop();
    Ok(Outcome::Done)
}

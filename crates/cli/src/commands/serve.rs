//! `serve`: a database for other programs.

use std::env;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use lath_serve::{IcebergServer, NAMESPACE, ServeOptions};
use lath_table::{Database, Error, TableOptions};

use crate::args::ServeArgs;
use crate::console::quantity::plural;
use crate::failure::{Failure, Outcome, Result};
use crate::input::table_failure::table_failure;
use crate::interrupt::GracefulStop;

/// The variable with the token.
const TOKEN: &str = "LATH_SERVE_TOKEN";

/// Interval at which signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Serves until a signal comes.
pub(super) fn run(args: &ServeArgs) -> Result<Outcome> {
    let address = address(&args.iceberg)?;
    let token = token(args)?;
    if token.is_none() && !address.ip().is_loopback() && !args.no_token {
        return Err(Failure::Usage(format!(
            "other machines reach {address}: set {TOKEN} or give --token-file, or answer without one with --no-token"
        )));
    }
    let folder = args.database.display();
    let database = Database::open_read_only(&args.database, TableOptions::new()).map_err(|error| match error {
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

/// The address that a text means. A port alone is on loopback.
fn address(text: &str) -> Result<SocketAddr> {
    let port = text.strip_prefix(':').unwrap_or(text);
    let whole = match port.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => text.to_owned(),
    };
    let resolved = whole.to_socket_addrs().map(|mut addresses| addresses.next());
    match resolved {
        Ok(Some(address)) => Ok(address),
        Ok(None) => Err(Failure::Usage(format!("{text}: there is no such address"))),
        Err(error) => Err(Failure::Usage(format!("{text} is not an address such as 127.0.0.1:8181: {error}"))),
    }
}

fn token(args: &ServeArgs) -> Result<Option<String>> {
    let (text, place) = match &args.token_file {
        Some(file) => {
            let text = fs::read_to_string(file).map_err(|error| Failure::reaching(file, &error))?;
            (text, file.display().to_string())
        }
        None => match env::var(TOKEN) {
            Ok(_) if args.no_token => {
                return Err(Failure::Usage(format!(
                    "--no-token answers without a token, and {TOKEN} has one: unset it"
                )));
            }
            Ok(text) => (text, TOKEN.to_owned()),
            Err(env::VarError::NotPresent) => return Ok(None),
            Err(env::VarError::NotUnicode(_)) => return Err(Failure::Usage(format!("{TOKEN} is not Unicode"))),
        },
    };
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::Usage(format!("{place}: a token is one line of visible ASCII characters without spaces")));
    }
    Ok(Some(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_on_loopback() {
        for text in ["8181", ":8181", "127.0.0.1:8181"] {
            assert_eq!(address(text).unwrap(), "127.0.0.1:8181".parse().unwrap(), "{text}");
        }
        assert_eq!(address("[::1]:0").unwrap(), "[::1]:0".parse().unwrap());
        for text in ["", "127.0.0.1", "x", "70000", "127.0.0.1:x"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}

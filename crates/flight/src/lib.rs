//! Serves a database of Lath to clients of [Arrow Flight SQL](https://arrow.apache.org/docs/format/FlightSql.html): JDBC, ADBC, ODBC and programs.
//!
//! All clients use one opened database, so that small commits of several clients share a sync of the disk. Each connection has its own session,
//! and each transaction of a client another one, which ends with the connection. Rows are computed as a client takes them.
//!
//! ```
//! use lath_flight::{FlightOptions, FlightServer};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("shop");
//! let server = FlightServer::bind("127.0.0.1:0", &folder, FlightOptions::new().token("secret"))?;
//! let running = server.start();
//! assert!(running.address().ip().is_loopback());
//! running.stop()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod answer;
mod client;
mod endpoint;
mod error;
mod handles;
mod ingest;
mod metadata;
mod options;
mod rows;
mod run;
mod sending;
mod server;
mod service;
mod state;
mod statements;
mod status;
mod transaction;
mod update;

pub use self::error::{Error, Result};
pub use self::options::FlightOptions;
pub use self::server::{FlightServer, RunningFlightServer};

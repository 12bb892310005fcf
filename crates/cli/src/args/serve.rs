//! Arguments of `serve`.

#[cfg(feature = "flight")]
use std::num::NonZeroUsize;
use std::path::PathBuf;
#[cfg(feature = "flight")]
use std::time::Duration;

use clap::Args;

use super::folder::folder;
#[cfg(feature = "flight")]
use super::{sql::EngineArgs, wait::parse_wait};

pub(super) const HELP: &str = "\
--iceberg: programs that read tables of Iceberg (pyiceberg, DuckDB, Spark, Trino, …) find the tables that lath table publish has published by their
names, in the namespace public, always at the newest snapshot, while other processes change and publish them. They read the files by themselves, so
they have to see the same folder. Other tables are not listed.

--flight: clients of Arrow Flight SQL (JDBC, ADBC, ODBC, DBeaver, Grafana, …) query and change all tables in SQL, as lath sql -D DATABASE does, over
the network. The database is created if it does not exist. Without TLS, rows and tokens travel unencrypted: serve within a network that you trust.

The variable LATH_SERVE_TOKEN or --token-file has a token that clients have to send; by --flight, as a bearer token or as the password of any user.

Examples:
  lath serve --iceberg 127.0.0.1:8181 shop/
  LATH_SERVE_TOKEN=secret lath serve --iceberg 0.0.0.0:8181 shop/

  lath serve --flight 31337 shop/
  LATH_SERVE_TOKEN=secret lath serve --flight 0.0.0.0:31337 --tls-certificate server.pem --tls-key server.key --memory 8GiB --statement-time 60 shop/

  python: pyiceberg.catalog.load_catalog(uri=\"http://127.0.0.1:8181\", type=\"rest\").load_table(\"public.orders\").scan().to_arrow()
  DuckDB: ATTACH '' AS shop (TYPE iceberg, ENDPOINT 'http://127.0.0.1:8181', AUTHORIZATION_TYPE 'none');
  python: adbc_driver_flightsql.dbapi.connect(\"grpc://127.0.0.1:31337\").cursor().execute(\"SELECT * FROM orders\")
  JDBC:   jdbc:arrow-flight-sql://127.0.0.1:31337/?useEncryption=false&user=any&password=secret";

/// The database, the address and the clients.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Folder of the database
    #[arg(value_name = "DATABASE", value_parser = folder())]
    pub(crate) database: PathBuf,
    #[command(flatten)]
    pub(crate) protocol: ProtocolArgs,
    /// Answer only requests with the token in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Answer without a token at an address that other machines reach (--iceberg alone)
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) no_token: bool,
    #[cfg(feature = "flight")]
    #[command(flatten)]
    pub(crate) flight: FlightArgs,
}

/// How the database is served.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ProtocolArgs {
    /// Serve the published tables as a REST catalog of Iceberg, at this address; a port alone is one of this machine
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) iceberg: Option<String>,
    /// Serve all tables to clients of Arrow Flight SQL, at this address; a port alone is one of this machine
    #[cfg(feature = "flight")]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) flight: Option<String>,
}

/// Security and limits of Arrow Flight SQL.
#[cfg(feature = "flight")]
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --flight")]
pub(crate) struct FlightArgs {
    /// Use TLS with the certificate in this PEM file, which may have intermediate authorities after it
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with = "iceberg")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate", conflicts_with = "iceberg")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Refuse statements that change the database
    #[arg(long, conflicts_with = "iceberg")]
    pub(crate) read_only: bool,
    /// End statements that take longer than this, with the time in which a client takes their rows [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = parse_wait, conflicts_with = "iceberg")]
    pub(crate) statement_time: Option<Duration>,
    /// Forget prepared statements and roll back transactions that are not used for this time, and end statements whose client takes or sends nothing
    /// for as long [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = parse_wait, conflicts_with = "iceberg")]
    pub(crate) idle_time: Option<Duration>,
    /// Number of connections at a time [default: 1000]
    #[arg(long, value_name = "NUMBER", conflicts_with = "iceberg")]
    pub(crate) connections: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) engine: EngineArgs,
}

//! Arguments of `serve`.

use std::path::PathBuf;

use clap::Args;

use super::folder::folder;

pub(super) const HELP: &str = "\
Programs that read tables of Iceberg (pyiceberg, DuckDB, Spark, Trino, …) find the tables that lath table publish has published by their names, in the
namespace public, always at the newest snapshot, while other processes change and publish them. They read the files by themselves, so they have to
see the same folder. Other tables are not listed. The variable LATH_SERVE_TOKEN or --token-file has a token that clients have to send.

Examples:
  lath serve --iceberg 127.0.0.1:8181 shop/
  LATH_SERVE_TOKEN=secret lath serve --iceberg 0.0.0.0:8181 shop/

  python: pyiceberg.catalog.load_catalog(uri=\"http://127.0.0.1:8181\", type=\"rest\").load_table(\"public.orders\").scan().to_arrow()
  DuckDB: ATTACH '' AS shop (TYPE iceberg, ENDPOINT 'http://127.0.0.1:8181', AUTHORIZATION_TYPE 'none');";

/// The database, the address and the clients.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Folder of the database
    #[arg(value_name = "DATABASE", value_parser = folder())]
    pub(crate) database: PathBuf,
    /// Serve the published tables as a REST catalog of Iceberg, at this address; a port alone is one of this machine
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) iceberg: String,
    /// Answer only requests with the token in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Answer without a token at an address that other machines reach
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) no_token: bool,
}

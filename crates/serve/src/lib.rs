//! A read-only REST catalog of [Iceberg](https://iceberg.apache.org) over a database of keyed tables.
//!
//! Programs that know the protocol (pyiceberg, DuckDB, Spark, Trino, …) find the published tables of the database by their names, and always
//! the newest snapshot. They read metadata and data files by themselves: the server sends no rows and no credentials.
//!
//! | request | answer |
//! | --- | --- |
//! | `GET /v1/config` | the requests that are answered |
//! | `GET /v1/namespaces`, `GET` or `HEAD /v1/namespaces/public` | the one namespace, `public` |
//! | `GET /v1/namespaces/public/tables` | the published tables |
//! | `GET` or `HEAD /v1/namespaces/public/tables/NAME` | the newest metadata of a table |
//! | a change of these | 403 |
//! | another method | 405 |
//! | another path | 404 |
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let shop = folder.path().join("shop");
//! # lath_table::Database::create(&shop, lath_table::TableOptions::new())?;
//! use lath_serve::{IcebergServer, ServeOptions};
//! use lath_table::{Database, TableOptions};
//!
//! let database = Database::open_read_only(&shop, TableOptions::new())?;
//! let server = IcebergServer::start(database, &ServeOptions::new("127.0.0.1:0".parse()?).token("secret"))?;
//! println!("http://{}", server.address());
//! server.stop();
//! # Ok(())
//! # }
//! ```

mod answer;
mod catalog;
mod route;
mod server;
mod token;

pub use catalog::NAMESPACE;
pub use server::{IcebergServer, ServeOptions};

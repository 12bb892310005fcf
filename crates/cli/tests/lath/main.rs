//! Runs the `lath` binary. Its output is read back by other readers and compared with the `parquet` crate's reading of the same files.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod arrow_file;
mod catalog;
mod catalog_check;
mod check;
mod check_collection;
#[cfg(all(unix, feature = "cluster"))]
mod cluster;
mod collection;
mod convert;
mod csv_files;
mod csv_types;
#[cfg(feature = "sql")]
mod describe;
#[cfg(all(unix, feature = "sql"))]
mod documents;
mod encryption;
mod exit_codes;
mod files;
mod find;
mod follow;
mod formats;
mod generate;
mod inputs;
#[cfg(unix)]
mod interrupt;
mod invocation;
mod json_types;
mod keyed_table;
mod kv;
#[cfg(feature = "lake")]
mod lake;
mod merge;
mod metadata;
#[cfg(all(unix, feature = "object-store", feature = "sql"))]
mod object_store;
mod parquet_types;
mod partitions;
#[cfg(feature = "sql")]
mod paths;
#[cfg(all(unix, feature = "sql"))]
mod prompt;
mod rewrite;
mod rows;
mod search;
#[cfg(all(unix, feature = "serve"))]
mod serve;
#[cfg(all(unix, feature = "flight"))]
mod serve_flight;
#[cfg(feature = "sql")]
mod sql;
mod table_folder;
mod terminal;
mod text_inputs;

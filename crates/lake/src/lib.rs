//! Tables of Delta Lake and Iceberg, read as [`Dataset`](lath_parquet::Dataset)s.
//!
//! The Parquet files of such a folder do not determine its rows: a log or a tree of manifests says which files belong to a version of the table, which of
//! their rows are deleted, and how their columns map to the columns of the table. [`open`] reads it. The result is a dataset, so
//! scans, counts, statistics and SQL work on it as on files.
//!
//! ```no_run
//! # fn main() -> lath_lake::Result<()> {
//! use lath_lake::{LakeOptions, open};
//!
//! let events = open("lake/events", &LakeOptions::new().at("2026-11-28 12:00".parse()?))?;
//! println!("version {} has {} rows", events.version(), events.dataset().scan().count()?);
//! # Ok(())
//! # }
//! ```

mod delta;
mod iceberg;
mod lake;
mod opening;
mod rest;
mod storage;

pub use lake::{At, Lake, LakeOptions, LakeVersion, LogFile};
pub use lath_parquet::{Error, Result};
pub use opening::{find, find_version, format_at, is_latest, open, open_version};
pub use rest::RestCatalog;

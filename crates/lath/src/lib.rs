//! Lath is an embedded storage engine for Parquet, with SIMD in every hot path.
//!
//! A program needs only this crate. It includes all of [`lath_parquet`] and [`lath_writer`]; [`rows`] and [`RowWriter`], which read and
//! write rows as values of Rust types; [`store`], an ordered key-value store; [`table`], tables with a primary key; and
//! [`arrow`], the Arrow types in its interfaces. [`prelude`] has the names that most programs need.
//!
//! # One file
//!
//! A [`ParquetFile`] is read as Arrow record batches; [`ParquetFile::scan`] chooses columns, row groups and threads.
//!
//! ```
//! use lath::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips/2025-01.parquet");
//! let file = ParquetFile::open(path)?;
//! let mut row_count = 0;
//! for batch in file.scan().select(["started", "rider.plan"]).build()? {
//!     row_count += batch?.num_rows() as u64;
//! }
//! assert_eq!(row_count, file.row_count());
//! # Ok(())
//! # }
//! ```
//!
//! # Many files
//!
//! A [`Dataset`] is many files as one table: directories, globs, or locations in object stores. Directories called `key=value`
//! are columns.
//!
//! ```
//! use lath::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips");
//! let trips = Dataset::open([folder], DatasetOptions::new())?;
//! assert_eq!(trips.files().len(), 3);
//! assert_eq!(trips.scan().count()?, 30_000);
//! # Ok(())
//! # }
//! ```
//!
//! # Rows that satisfy a condition
//!
//! A [`Scan`] of a file or a dataset finds rows by SQL text ([`Scan::filter`]) or by a condition built in Rust
//! ([`Scan::predicate`], [`column()`]). It reads only what is needed: statistics, Bloom filters, dictionaries and the
//! page index prune row groups and pages.
//!
//! ```
//! use lath::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips");
//! let trips = Dataset::open([folder], DatasetOptions::new())?;
//! let text = trips.scan().filter("minutes > 45 AND \"from\" = 'Harbour'")?.count()?;
//! let built = column("minutes").gt(45) & column("from").eq("Harbour");
//! let mut found = 0;
//! for batch in trips.scan().predicate(built).select(["started", "minutes"]).build()? {
//!     found += batch?.num_rows() as u64;
//! }
//! assert_eq!(found, text);
//! # Ok(())
//! # }
//! ```
//!
//! # Writing
//!
//! A [`ParquetWriter`] writes record batches to a file, which appears complete or not at all.
//!
//! ```
//! use std::sync::Arc;
//!
//! use lath::arrow::array::{Float64Array, Int64Array};
//! use lath::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("prices.parquet");
//! let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
//! let prices: ArrayRef = Arc::new(Float64Array::from(vec![9.5, 12.0, 0.75]));
//! let batch = RecordBatch::try_from_iter([("id", ids), ("price", prices)])?;
//!
//! let options = WriteOptions::profile(Profile::Lookup).key_columns(["id"]);
//! let mut writer = ParquetWriter::create(&path, &batch.schema(), options)?;
//! writer.write(&batch)?;
//! let summary = writer.finish()?;
//! assert_eq!(summary.rows, 3);
//! assert_eq!(ParquetFile::open(&path)?.scan().predicate(column("id").is_in([2])).count()?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # The ordered store
//!
//! A [`Store`](store::Store) keeps keys in order, in named trees, with transactions and snapshots.
//!
#![cfg_attr(feature = "store", doc = "```")]
#![cfg_attr(not(feature = "store"), doc = "```ignore")]
//! use lath::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("readings.lath");
//! let store = Store::open(&path)?;
//! let mut transaction = store.begin()?;
//! let mut readings = transaction.tree("readings")?;
//! readings.put(b"roof/0815", b"21.5")?;
//! readings.put(b"roof/0816", b"21.7")?;
//! transaction.commit()?;
//!
//! let snapshot = store.snapshot()?;
//! let readings = snapshot.tree("readings")?.ok_or("no readings")?;
//! assert_eq!(readings.get(b"roof/0816")?, Some(&b"21.7"[..]));
//! assert_eq!(readings.prefix(b"roof/").count(), 2);
//! # Ok(())
//! # }
//! ```

pub mod arrow;
pub mod prelude;
mod rows;

pub use bytes::Bytes;
#[cfg(feature = "catalog")]
#[doc(inline)]
pub use lath_catalog as catalog;
#[doc(inline)]
pub use lath_format as format;
#[cfg(feature = "lake")]
#[doc(inline)]
pub use lath_lake as lake;
pub use lath_parquet::*;
#[cfg(feature = "store")]
#[doc(inline)]
pub use lath_store as store;
#[cfg(feature = "table")]
#[doc(inline)]
pub use lath_table as table;
pub use lath_writer::*;
pub use rows::{RowError, RowWriter, Rows, WriteRowError, rows};

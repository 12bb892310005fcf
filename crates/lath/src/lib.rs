//! Lath is an embedded storage engine for Parquet, with SIMD in every hot path.
//!
//! This crate is the door to it: everything of [`lath_parquet`], [`rows`], which turns record batches into values of Rust
//! types, [`RowWriter`], which writes such values, and [`store`], an ordered key-value store.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/trips/2025-01.parquet");
//! let file = lath::ParquetFile::open(path)?;
//! let mut row_count = 0;
//! for batch in file.read().columns(["started", "rider.plan"]).build()? {
//!     row_count += batch?.num_rows() as u64;
//! }
//! assert_eq!(row_count, file.row_count());
//! # Ok(())
//! # }
//! ```

mod rows;

#[doc(inline)]
pub use lath_format as format;
pub use lath_parquet::*;
#[cfg(feature = "store")]
#[doc(inline)]
pub use lath_store as store;
pub use rows::{RowError, RowWriter, Rows, WriteRowError, rows};

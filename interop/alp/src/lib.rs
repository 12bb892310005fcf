//! ALP pages and files of the `parquet` crate, version 60, and values to put into them.

pub mod columns;
pub mod peer;

/// An error fails a check or a measurement.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

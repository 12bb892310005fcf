//! Writes Arrow record batches to Parquet files, and files that appear whole or not at all.
//!
//! ```
//! # use std::sync::Arc;
//! # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
//! use lath_writer::{ParquetWriter, WriteOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("numbers.parquet");
//! let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
//! let batch = RecordBatch::try_from_iter([("number", numbers)])?;
//! let mut writer = ParquetWriter::create(&path, &batch.schema(), WriteOptions::default())?;
//! writer.write(&batch)?;
//! writer.finish()?;
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//! RecordBatch --stripe--> StripedLeaf, one for each leaf --chunk--> EncodedChunk --file--> bytes and footer
//! ```
//!
//! Leaves do not depend on each other, so that they are encoded in parallel; `file` puts their chunks in column order and counts
//! bytes. `lath-parquet` reads files whose row groups are copied or whose options are inherited.

mod chunk;
mod encode;
mod file;
mod footprint;
mod named_options;
mod options;
mod physical;
mod schema;
mod sort;
mod sort_keys;
mod statistics;
mod stripe;
mod target;

pub use file::{ChosenEncoding, ColumnSummary, ParquetWriter, WriteSummary, needs_writer_name};
pub use lath_format::EncryptionKeys;
pub use lath_parquet::{Error, Result, SortingColumn};
pub use options::{
    BloomFilter, Codec, ColumnOptions, PageVersion, Profile, StatisticsLevel, ValueEncoding, WriteOptions,
    parse_byte_size,
};
pub use schema::parquet_schema;
pub use sort::{MergedBatches, RowOrder, SortOptions, SortedBatches, Sorter, SortingWriter};
pub use target::{
    AtomicFile, AtomicFiles, SentFile, SentFiles, SentObject, UncommittedFiles, UncommittedWork, abort_unfinished,
};

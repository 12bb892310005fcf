//! The names that most programs need: `use lath::prelude::*;`.
//!
//! Errors are not among them, because files, rows and the store have one each: [`lath::Error`](crate::Error),
//! [`lath::RowError`](crate::RowError), [`lath::WriteRowError`](crate::WriteRowError), `lath::store::Error`.

#[doc(no_inline)]
pub use crate::arrow::array::{ArrayRef, RecordBatch};
#[doc(no_inline)]
pub use crate::arrow::schema::SchemaRef;
#[cfg(feature = "store")]
#[doc(no_inline)]
pub use crate::store::Store;
#[doc(no_inline)]
pub use crate::{
    BloomFilter, Codec, ColumnOptions, Dataset, DatasetOptions, Literal, OpenOptions, ParquetFile, ParquetWriter,
    Predicate, Profile, RowWriter, Scan, SortingColumn, ValueEncoding, WriteOptions, column, rows,
};

//! Writes footers and page indexes.
//!
//! [`ColumnChunkMetaData`], [`RowGroupMetaData`] and [`FooterMetaData`] are plain structures, whose fields are written in the order of
//! [parquet.thrift]. Page indexes are the structures that are also read:
//!
//! ```
//! use lath_format::{OffsetIndex, PageLocation};
//!
//! let page = PageLocation { offset: 4, compressed_page_size: 100, first_row_index: 0 };
//! let index = OffsetIndex { page_locations: vec![page], unencoded_byte_array_data_bytes: None };
//! let mut bytes = Vec::new();
//! index.write(&mut bytes);
//! assert_eq!(OffsetIndex::from_bytes(&bytes)?, index);
//! # Ok::<(), lath_format::Error>(())
//! ```
//!
//! [parquet.thrift]: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift

mod chunk;
mod footer;
mod logical_type;
mod page_index;
mod schema;
mod statistics;

pub use chunk::ColumnChunkMetaData;
pub use footer::{FooterMetaData, RowGroupMetaData};
pub use statistics::{Bound, ChunkStatistics};

//! Reads and writes the metadata of Parquet files: footers and page indexes, and the numbers of encodings, codecs and types.
//!
//! Opening a file walks over its footer once, to find row groups and column chunks. Column chunks are read on demand, so reading three of ten
//! thousand columns costs little, and a column that this version cannot read (because of an unknown encoding, codec or type) does not prevent
//! reading others.
//!
//! ```
//! # fn main() -> lath_format::Result<()> {
//! use lath_format::FileMetaData;
//!
//! # let footer = b"\x15\x02\x19\x2c\x48\x04root\x15\x02\x00\x15\x02\x25\x00\x18\x02id\x00\x16\x06\x19\x1c\x19\x1c\x26\x08\
//! #     \x1c\x15\x02\x19\x15\x00\x19\x18\x02id\x15\x00\x16\x06\x16\x2a\x16\x2a\x26\x08\x00\x00\x16\x2a\x16\x06\x00\x00";
//! // The bytes between the last column chunk and the footer's length.
//! let metadata = FileMetaData::from_bytes(footer.to_vec())?;
//! assert_eq!(metadata.row_group_count(), 1);
//! let chunk = metadata.chunk(0, 0)?;
//! assert_eq!(chunk.num_values(), 3);
//! assert_eq!(chunk.data_page_offset(), 4);
//! # Ok(())
//! # }
//! ```

mod chunk;
mod codec;
mod crypto;
mod encoding;
mod error;
mod file;
mod layout;
mod order;
mod outline;
mod packed;
mod page_index;
mod page_type;
mod row_group;
pub mod schema;
mod statistics;
mod stored;
pub mod thrift;
pub mod write;

pub use chunk::{ColumnChunk, IndexLocation, PageEncodingStats};
pub use codec::CompressionCodec;
pub use crypto::{
    ChunkDecryptor, ChunkEncryptor, DecryptionKeys, EncryptionKeys, FileEncryptor, MODULE_OVERHEAD, Module,
};
pub use encoding::Encoding;
pub use error::{Error, Result};
pub use file::{FileMetaData, Footer};
pub use order::ColumnOrder;
pub use page_index::{BoundaryOrder, ColumnIndex, OffsetIndex, PageLocation};
pub use page_type::PageType;
pub use row_group::{RowGroup, SortingColumn};
pub use schema::DEEPEST_SCHEMA;
pub use statistics::{BoundingBox, GeospatialStatistics, SizeStatistics, Statistics};

//! Writing: record batches to leaves, leaves to pages, pages to a file.
//!
//! ```text
//! RecordBatch --stripe--> Striped, one for each leaf --chunk--> EncodedChunk --file--> bytes and footer
//! ```
//!
//! A leaf knows nothing of its neighbours, so that leaves are encoded in parallel; the file half puts their chunks in
//! column order and counts bytes.

mod bloom;
mod chunk;
mod column_type;
mod compress;
mod copy;
mod encode;
mod file;
mod footer;
mod footprint;
mod index;
mod named_options;
mod options;
mod output;
mod page;
mod page_index;
mod physical;
mod pool;
mod row_group;
mod sample;
mod schema;
mod segments;
mod sort;
mod sort_keys;
mod statistics;
mod stripe;
mod striped;
mod summary;
mod target;

pub use file::ParquetWriter;
pub use options::{
    BloomFilter, Codec, ColumnOptions, PageVersion, Profile, SortingColumn, StatisticsLevel, ValueEncoding,
    WriteOptions, parse_byte_size,
};
pub use schema::parquet_schema;
pub(crate) use sort::has_one_order;
pub use sort::{MergedBatches, RowOrder, SortOptions, SortedBatches, Sorter, SortingWriter};
pub use summary::{ChosenEncoding, ColumnSummary, WriteSummary};
pub use target::{AtomicFile, AtomicFiles, Uncommitted};

pub(crate) use striped::Striped;

use bytes::Bytes;
use lath_format::write::ColumnChunkMetaData;
use lath_format::{ColumnIndex, Encoding, OffsetIndex};

/// A column chunk, ready to be written.
#[derive(Debug, Clone)]
pub(crate) struct EncodedChunk {
    /// Pages with their headers, in file order; the dictionary page is first.
    pub(crate) pages: Vec<Bytes>,
    /// The chunk's metadata in the footer; offsets count from the chunk's first byte.
    pub(crate) metadata: ColumnChunkMetaData,
    /// Statistics of the pages.
    pub(crate) column_index: Option<ColumnIndex>,
    /// Places of the pages; offsets count from the chunk's first byte.
    pub(crate) offset_index: Option<OffsetIndex>,
    /// Header and bitset.
    pub(crate) bloom_filter: Option<Bytes>,
    /// The encoding of the values, with the reason.
    pub(crate) choice: EncodingChoice,
}

/// The encoding of a chunk's values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EncodingChoice {
    /// The encoding of most data pages.
    pub(crate) encoding: Encoding,
    /// Why it was chosen, as text for people.
    pub(crate) reason: String,
    /// Bytes of the values in Arrow.
    pub(crate) arrow_bytes: u64,
}

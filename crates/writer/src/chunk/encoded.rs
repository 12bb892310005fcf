//! An encoded column chunk.

use bytes::Bytes;
use lath_format::write::ColumnChunkMetaData;
use lath_format::{ColumnIndex, Encoding, OffsetIndex};

/// A column chunk, ready to be written.
#[derive(Debug, Clone)]
pub(crate) struct EncodedChunk {
    /// Pages with their headers, in file order; the dictionary page is first. If the chunk is to be encrypted, header and body
    /// of each page are apart, and sizes and offsets count what encryption adds.
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

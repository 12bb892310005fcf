//! Splits a column chunk into pages, decrypts and decompresses them, and separates levels from values, without interpreting the
//! values.
//!
//! Data pages of version 1, after decompression, and of version 2, where only the values are compressed:
//!
//! ```text
//! v1  | u32 length | repetition levels | u32 length | definition levels | values |
//! v2  | repetition levels | definition levels | values |
//! ```
//!
//! <https://parquet.apache.org/docs/file-format/data-pages/>

mod bit_order;
mod buffers;
mod chunk;
mod compression_flag;
mod header;
mod places;
mod reader;
mod window;

#[cfg(test)]
mod tests;

use arrow_buffer::Buffer;

pub use bit_order::BitOrder;
pub use chunk::ChunkSpec;
pub(crate) use header::data_page_version;
pub(crate) use lath_format::Encoding;
pub(crate) use places::PagePlaces;
pub(crate) use reader::{PageOptions, PageReader, PageSummary};
pub(crate) use window::HEADER_BYTES;

/// A page of a column chunk.
#[derive(Debug)]
pub(crate) enum Page {
    /// The dictionary that later data pages refer to.
    Dictionary(DictionaryPage),
    /// Levels and values.
    Data(DataPage),
}

/// A dictionary page.
#[derive(Debug)]
pub(crate) struct DictionaryPage {
    /// The entries, decompressed.
    pub(crate) values: Buffer,
    /// Number of entries.
    pub(crate) value_count: usize,
    /// Encoding of the entries.
    pub(crate) encoding: Encoding,
}

/// A data page of either version.
#[derive(Debug)]
pub(crate) struct DataPage {
    /// Number of level entries, nulls included.
    pub(crate) value_count: usize,
    /// Repetition levels.
    pub(crate) rep_levels: Levels,
    /// Definition levels.
    pub(crate) def_levels: Levels,
    /// The values without levels, decompressed.
    pub(crate) values: Buffer,
    /// Encoding of the values.
    pub(crate) encoding: Encoding,
}

/// The encoded levels of a data page, without length prefix.
#[derive(Debug)]
pub(crate) enum Levels {
    /// The maximum level is 0, so that nothing is stored.
    None,
    /// The RLE/bit-packing hybrid.
    Rle(Buffer),
    /// The deprecated BIT_PACKED encoding.
    BitPacked(Buffer, BitOrder),
}

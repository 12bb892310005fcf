mod against_crate;
mod by_hand;

use std::sync::Arc;

use bytes::Bytes;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use super::{ChunkSpec, Levels, Page, PageOptions, PageReader};
use crate::error::Result;
use crate::options::Limits;
use lath_source::ByteRanges;

pub(super) const OPTIONS: PageOptions = PageOptions {
    verify_crc: true,
    limits: Limits {
        footer_bytes: Limits::DEFAULT_FOOTER_BYTES,
        page_header_bytes: Limits::DEFAULT_PAGE_HEADER_BYTES,
        page_bytes: Limits::DEFAULT_PAGE_BYTES,
        schema_depth: Limits::DEFAULT_SCHEMA_DEPTH,
        batch_elements: Limits::DEFAULT_BATCH_ELEMENTS,
        padding_bytes: Limits::DEFAULT_PADDING_BYTES,
    },
};

/// The footer of a file in memory, as the crate reads it.
fn metadata(file: &Bytes) -> ParquetMetaData {
    ParquetMetaDataReader::new().parse_and_finish(file).expect("a sound footer")
}

/// All pages of a chunk.
fn pages(source: Arc<dyn ByteRanges>, chunk: ChunkSpec, options: PageOptions) -> Result<Vec<Page>> {
    let mut reader = PageReader::new(source, chunk, options)?;
    let mut pages = Vec::new();
    while let Some(page) = reader.next_page()? {
        pages.push(page);
    }
    assert!(matches!(reader.next_page(), Ok(None)), "the end is not final");
    Ok(pages)
}

fn level_bytes(levels: &Levels) -> &[u8] {
    match levels {
        Levels::None => &[],
        Levels::Rle(bytes) | Levels::BitPacked(bytes, _) => bytes,
    }
}

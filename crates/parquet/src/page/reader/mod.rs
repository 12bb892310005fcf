//! Reads the pages of a column chunk.

mod bodies;
mod headers;
mod seek;

use std::sync::Arc;

use lath_source::ByteRanges;

use super::buffers::BufferPool;
use super::chunk::ChunkSpec;
use super::header::{PageHeader, PageKind};
use super::places::PagePlaces;
use super::window::Window;
use super::{DictionaryPage, Page};
use crate::codec::Decompressor;
use crate::error::{Error, Result};
use crate::options::Limits;

/// Options of reading pages.
#[derive(Debug, Clone)]
pub(crate) struct PageOptions {
    /// Whether pages that carry a CRC are checked against it.
    pub(crate) verify_crc: bool,
    /// Limits on the sizes of headers and pages.
    pub(crate) limits: Limits,
}

/// The kind of a page and its counts from the header, before the body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageSummary {
    /// A dictionary page.
    Dictionary,
    /// A data page.
    Data {
        /// Number of level entries, nulls included.
        value_count: usize,
        /// Number of rows, if the header has it.
        row_count: Option<usize>,
    },
}

/// Reads the pages of a column chunk in order.
///
/// Memory: one window of the file (32 KiB, or a page if that is larger), the pages that the caller holds, and a few
/// buffers kept for reuse, none larger than the largest page.
#[derive(Debug)]
pub(crate) struct PageReader {
    window: Window,
    chunk: ChunkSpec,
    options: PageOptions,
    decompressor: Decompressor,
    buffers: BufferPool,
    /// File offset after the last page.
    position: u64,
    /// File offset that no page may exceed.
    end: u64,
    values_left: u64,
    /// Number of pages, and of data pages, whose header has been read.
    page_count: usize,
    data_page_count: usize,
    /// File offset of the header that was read last.
    header_offset: u64,
    /// The header that was read last, until its page is taken or skipped.
    pending: Option<PageHeader>,
    /// The dictionary page's header and the file offset of its body, once it was taken.
    dictionary: Option<(PageHeader, u64)>,
    /// Places of the data pages, for skipping many.
    places: Option<Arc<PagePlaces>>,
    /// Whether pages were skipped by `places`, which then must agree with the headers.
    has_skipped_by_places: bool,
}

impl PageReader {
    /// A reader for the pages of `chunk`. Nothing is read yet.
    pub(crate) fn new(source: Arc<dyn ByteRanges>, chunk: ChunkSpec, options: PageOptions) -> Result<Self> {
        let mut reader = Self {
            window: Window::new(source),
            decompressor: Decompressor::new(chunk.codec).map_err(|error| chunk.locate(error))?,
            chunk,
            options,
            buffers: BufferPool::default(),
            position: 0,
            end: 0,
            values_left: 0,
            page_count: 0,
            data_page_count: 0,
            header_offset: 0,
            pending: None,
            dictionary: None,
            places: None,
            has_skipped_by_places: false,
        };
        reader.rewind()?;
        Ok(reader)
    }

    /// Restarts with another chunk of the same file, keeping buffers and codec contexts.
    pub(crate) fn restart(&mut self, chunk: ChunkSpec) -> Result<()> {
        if !self.decompressor.is_for(chunk.codec) {
            self.decompressor = Decompressor::new(chunk.codec).map_err(|error| chunk.locate(error))?;
        }
        self.chunk = chunk;
        self.rewind()
    }

    /// Restarts with a chunk of another file, keeping buffers and codec contexts.
    pub(crate) fn restart_in_file(&mut self, source: Arc<dyn ByteRanges>, chunk: ChunkSpec) -> Result<()> {
        self.window.restart(source);
        self.restart(chunk)
    }

    fn rewind(&mut self) -> Result<()> {
        let chunk = &self.chunk;
        let file_len = self.window.file_len();
        if chunk.start > file_len {
            let what = format!("column chunk at offset {} of a file of {file_len} bytes", chunk.start);
            return Err(chunk.locate(Error::corrupt(what)));
        }
        self.position = chunk.start;
        self.end = chunk.end(file_len);
        self.values_left = chunk.value_count;
        self.page_count = 0;
        self.data_page_count = 0;
        self.header_offset = chunk.start;
        self.pending = None;
        self.dictionary = None;
        self.places = None;
        self.has_skipped_by_places = false;
        Ok(())
    }

    /// The dictionary page once more, for a caller that released its values too early.
    pub(crate) fn dictionary_again(&mut self) -> Result<Option<DictionaryPage>> {
        let Some((header, body_offset)) = self.dictionary.clone() else { return Ok(None) };
        self.dictionary(&header, body_offset).map(Some).map_err(|error| self.locate(error))
    }

    /// The next page that has values; `None` once the pages read have all the chunk's values.
    pub(crate) fn next_page(&mut self) -> Result<Option<Page>> {
        self.try_next_page().map_err(|error| self.locate(error))
    }

    /// Kind and counts of the next page, which stays the next one.
    pub(crate) fn peek_page(&mut self) -> Result<Option<PageSummary>> {
        self.peek_header().map_err(|error| self.locate(error))?;
        Ok(self.pending.as_ref().and_then(|header| match &header.kind {
            PageKind::Dictionary(_) => Some(PageSummary::Dictionary),
            PageKind::DataV1(header) => Some(PageSummary::Data { value_count: header.value_count, row_count: None }),
            PageKind::DataV2(header) => {
                Some(PageSummary::Data { value_count: header.value_count, row_count: Some(header.row_count) })
            }
            PageKind::Other => None,
        }))
    }

    /// Skips the next page without reading its body.
    pub(crate) fn skip_page(&mut self) -> Result<()> {
        self.peek_header().map_err(|error| self.locate(error))?;
        self.take_header();
        Ok(())
    }

    /// Adds the place of the last returned page to an error.
    pub(crate) fn locate(&self, error: Error) -> Error {
        let error = error.locate(|at| {
            at.page = at.page.or(self.page_count.checked_sub(1));
            at.offset = at.offset.or(Some(self.header_offset));
        });
        self.chunk.locate(error)
    }

    fn try_next_page(&mut self) -> Result<Option<Page>> {
        self.peek_header()?;
        let body_offset = self.position;
        let Some(header) = self.take_header() else { return Ok(None) };
        let limit = self.options.limits.page_bytes;
        for (what, len) in [
            ("page size in bytes", header.compressed_len),
            ("page size in bytes, decompressed", header.uncompressed_len),
        ] {
            if len as u64 > limit {
                return Err(Error::limit(format!("{what} (page_bytes)"), limit, len as u64));
            }
        }
        if let PageKind::Dictionary(_) = &header.kind {
            if self.values_left < self.chunk.value_count {
                return Err(Error::corrupt("a dictionary page after data pages"));
            }
            let page = self.dictionary(&header, body_offset)?;
            self.dictionary = Some((header, body_offset));
            return Ok(Some(Page::Dictionary(page)));
        }
        let body = self.window.page(body_offset, header.compressed_len, self.end)?;
        let body = self.open_body(&header, body)?;
        let page = match &header.kind {
            PageKind::DataV1(kind) => self.data_v1(kind, &header, &body).map(Page::Data),
            PageKind::DataV2(kind) => self.data_v2(kind, &header, &body).map(Page::Data),
            PageKind::Dictionary(_) | PageKind::Other => return Err(Error::corrupt("page of an unknown kind")),
        };
        page.map(Some)
    }
}

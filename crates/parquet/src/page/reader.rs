use std::sync::Arc;

use arrow_buffer::Buffer;

use super::buffers::BufferPool;
use super::chunk::ChunkSpec;
use super::header::{DataHeaderV1, DataHeaderV2, DictionaryHeader, PageHeader, PageKind};
use super::places::PagePlaces;
use super::window::Window;
use super::{BitOrder, DataPage, DictionaryPage, Levels, Page};
use crate::codec::Decompressor;
use crate::error::{Error, Result};
use crate::options::Limits;
use lath_format::Encoding;
use lath_format::thrift::ThriftError;
use lath_format::{ChunkDecryptor, Module};
use lath_source::ByteRanges;

/// Bytes that are looked at first for a page header; most have fewer than 100.
const HEADER_GUESS_BYTES: usize = 64;

/// What a caller can choose about reading pages.
#[derive(Debug, Clone)]
pub(crate) struct PageOptions {
    /// Whether pages that carry a CRC are checked against it.
    pub(crate) verify_crc: bool,
    /// Bounds on what is read.
    pub(crate) limits: Limits,
}

/// What is known of a page before its body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageSummary {
    /// A dictionary page.
    Dictionary,
    /// A data page.
    Data {
        /// Number of level entries, nulls included.
        value_count: usize,
        /// Number of rows, where the header says it.
        row_count: Option<usize>,
    },
}

/// Reads the pages of a column chunk in order.
///
/// Memory: one window of the file (32 KiB, or a page if that is larger), the pages that the caller holds, and a few
/// buffers kept for use again, none larger than the largest page.
#[derive(Debug)]
pub(crate) struct PageReader {
    window: Window,
    chunk: ChunkSpec,
    options: PageOptions,
    decompressor: Decompressor,
    buffers: BufferPool,
    /// File offset behind the last page.
    position: u64,
    /// File offset that no page may reach past.
    end: u64,
    values_left: u64,
    /// Pages and data pages of which a header has been read.
    page_count: usize,
    data_page_count: usize,
    /// File offset of the header that was read last.
    header_offset: u64,
    /// The header that was read last, until its page is taken or skipped.
    pending: Option<PageHeader>,
    /// The dictionary page's header and the file offset of its body, once it was taken.
    dictionary: Option<(PageHeader, u64)>,
    /// Where the data pages are, for skipping many.
    places: Option<Arc<PagePlaces>>,
    /// Pages were skipped by `places`, which then have to agree with the headers.
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

    /// Sets where the pages of this chunk are, unless they cannot be there.
    pub(crate) fn set_places(&mut self, places: Arc<PagePlaces>) {
        self.places = Some(places).filter(|places| self.chunk.decryptor.is_none() && places.are_within(&self.chunk));
    }

    /// Between two pages: skips to the page with the row that is `row_count` rows later, if places are known. Returns how many rows were
    /// skipped.
    pub(crate) fn seek(&mut self, row_count: u64) -> u64 {
        let Some(places) = &self.places else { return 0 };
        let has_dictionary = self.dictionary.is_some();
        if !has_dictionary && places.start() != self.chunk.start {
            // Something comes before the first data page that has to be read.
            return 0;
        }
        let row = self.chunk.value_count - self.values_left;
        let (page, first_row, offset) = places.page_of(row.saturating_add(row_count));
        let Some(skipped) = first_row.checked_sub(row).filter(|skipped| *skipped > 0) else { return 0 };
        self.pending = None;
        self.position = offset;
        self.values_left -= skipped;
        self.page_count = page + usize::from(has_dictionary);
        self.data_page_count = page;
        self.has_skipped_by_places = true;
        // A page too long to be read at once is not, but then its header comes with as much as a window has.
        let end = places.end_of(page).unwrap_or(self.end).min(self.end);
        if end - offset <= self.options.limits.page_bytes {
            self.window.expect(offset..end);
        }
        skipped
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

    /// What the header of the next page says; the page stays the next one.
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

    /// Compares `places` with the headers of all pages, from the chunk's start on.
    pub(crate) fn compare_places(&mut self, places: &PagePlaces) -> Result<()> {
        let differs = |what: String| Err(Error::corrupt(format!("the offset index has {what}")));
        let mut stated = places.with_rows();
        while let Some(page) = self.peek_page()? {
            if let PageSummary::Data { value_count, row_count } = page {
                let rows = if self.chunk.max_rep_level == 0 { Some(value_count) } else { row_count };
                let at = self.header_offset;
                let result = match stated.next() {
                    Some((offset, _)) if offset != at => differs(format!("a page at {offset} for the one at {at}")),
                    Some((_, count)) if rows.is_some_and(|rows| rows as u64 != count) => {
                        differs(format!("{count} rows in a page of {}", rows.unwrap_or_default()))
                    }
                    Some(_) => Ok(()),
                    None => differs("fewer pages than there are".to_owned()),
                };
                result.map_err(|error| self.locate(error))?;
            }
            self.skip_page()?;
        }
        match stated.next() {
            Some((offset, _)) => differs(format!("a page at {offset}, where there is none")),
            None => Ok(()),
        }
    }

    /// Passes over the next page without reading its body.
    pub(crate) fn skip_page(&mut self) -> Result<()> {
        self.peek_header().map_err(|error| self.locate(error))?;
        self.take_header();
        Ok(())
    }

    /// Adds to an error the place of the page that was returned last.
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
                return Err(Error::corrupt("a dictionary page behind data pages"));
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
            PageKind::Dictionary(_) | PageKind::Other => return Err(Error::corrupt("page of no known kind")),
        };
        page.map(Some)
    }

    /// Decrypts a page's body, or checks it against its CRC.
    fn open_body(&self, header: &PageHeader, body: Buffer) -> Result<Buffer> {
        Ok(match &self.chunk.decryptor {
            // The cipher's tag proves more than a CRC, and writers differ in what they take the CRC of.
            Some(decryptor) => Buffer::from_vec(decryptor.decrypt(&body, self.body_module(header))?),
            None => {
                self.verify_crc(header, &body)?;
                body
            }
        })
    }

    /// Which module the body of the page is whose header has just been taken.
    fn body_module(&self, header: &PageHeader) -> Module {
        match header.kind {
            PageKind::Dictionary(_) => Module::Dictionary,
            _ => Module::Data(self.data_page_count - 1),
        }
    }

    fn verify_crc(&self, header: &PageHeader, body: &[u8]) -> Result<()> {
        let Some(stated) = header.crc.filter(|_| self.options.verify_crc) else { return Ok(()) };
        let computed = crc32fast::hash(body);
        if stated == computed {
            return Ok(());
        }
        Err(Error::corrupt(format!("page has CRC {computed:08x} where its header says {stated:08x}")))
    }

    /// The dictionary page with this header. Its values have memory of their own: they stay in use for the whole chunk.
    fn dictionary(&mut self, header: &PageHeader, body_offset: u64) -> Result<DictionaryPage> {
        let PageKind::Dictionary(DictionaryHeader { value_count, encoding }) = header.kind else {
            return Err(Error::corrupt("page of no known kind"));
        };
        let values = if self.decompressor.copies_nothing() {
            let body = self.window.page_apart(body_offset, header.compressed_len, self.end)?;
            self.open_body(header, body)?
        } else {
            let body = self.window.page(body_offset, header.compressed_len, self.end)?;
            let body = self.open_body(header, body)?;
            // The pages after a dictionary are much shorter than those at the end of the chunk before.
            self.buffers.clear();
            let mut values = Vec::new();
            self.decompressor.decompress(&body, &mut values, header.uncompressed_len)?;
            Buffer::from_vec(values).slice_with_length(0, header.uncompressed_len)
        };
        Ok(DictionaryPage { values, value_count, encoding })
    }

    fn data_v1(&mut self, kind: &DataHeaderV1, header: &PageHeader, body: &Buffer) -> Result<DataPage> {
        let mut rest = self.decompress(body, header.uncompressed_len)?;
        let (max_rep, max_def) = (self.chunk.max_rep_level, self.chunk.max_def_level);
        let order = self.chunk.bit_order;
        let rep_levels =
            split_levels(&mut rest, kind.rep_level_encoding, order, max_rep, kind.value_count, "repetition")?;
        let def_levels =
            split_levels(&mut rest, kind.def_level_encoding, order, max_def, kind.value_count, "definition")?;
        Ok(DataPage { value_count: kind.value_count, rep_levels, def_levels, values: rest, encoding: kind.encoding })
    }

    fn data_v2(&mut self, kind: &DataHeaderV2, header: &PageHeader, body: &Buffer) -> Result<DataPage> {
        let levels_len = kind.rep_levels_len + kind.def_levels_len;
        if levels_len > body.len() || levels_len > header.uncompressed_len {
            return Err(Error::corrupt(format!("levels of {levels_len} bytes in a page of {} bytes", body.len())));
        }
        let stored = body.slice(levels_len);
        let values_len = header.uncompressed_len - levels_len;
        let values = if kind.is_compressed { self.decompress(&stored, values_len)? } else { stored };
        let levels = |max_level: u8, offset: usize, len: usize| match max_level {
            0 => Levels::None,
            _ => Levels::Rle(body.slice_with_length(offset, len)),
        };
        Ok(DataPage {
            value_count: kind.value_count,
            rep_levels: levels(self.chunk.max_rep_level, 0, kind.rep_levels_len),
            def_levels: levels(self.chunk.max_def_level, kind.rep_levels_len, kind.def_levels_len),
            values,
            encoding: kind.encoding,
        })
    }

    fn decompress(&mut self, stored: &Buffer, len: usize) -> Result<Buffer> {
        if self.decompressor.copies_nothing() {
            return Ok(stored.clone());
        }
        let mut buffer = self.buffers.take();
        self.decompressor.decompress(stored, &mut buffer, len)?;
        Ok(self.buffers.lend(buffer, len))
    }

    /// Reads headers up to that of the next page with values; none is pending afterwards if no values are left.
    fn peek_header(&mut self) -> Result<()> {
        while self.pending.is_none() && self.values_left > 0 {
            self.read_header()?;
            let skip = self
                .pending
                .as_ref()
                .is_some_and(|header| header.kind == PageKind::Other || header.data_value_count() == Some(0));
            self.check_place()?;
            if skip {
                self.take_header();
            }
        }
        Ok(())
    }

    /// An error if pages were skipped by places, and the pending data page has other rows than its place says.
    fn check_place(&self) -> Result<()> {
        let Some(places) = self.places.as_ref().filter(|_| self.has_skipped_by_places) else { return Ok(()) };
        let value_count = self.pending.as_ref().and_then(PageHeader::data_value_count);
        let Some(value_count) = value_count.filter(|count| *count > 0) else { return Ok(()) };
        let row = self.chunk.value_count - self.values_left;
        let (page, first_row, _) = places.page_of(row);
        let rows = places.rows_of(page);
        if first_row == row && rows == value_count as u64 {
            return Ok(());
        }
        let what =
            format!("a page of {value_count} values where the offset index has one of {rows} rows from {first_row} on");
        Err(Error::corrupt(what))
    }

    /// Takes the header that was read last and moves behind its page.
    fn take_header(&mut self) -> Option<PageHeader> {
        let header = self.pending.take()?;
        self.position += header.compressed_len as u64;
        if let Some(value_count) = header.data_value_count() {
            self.values_left = self.values_left.saturating_sub(value_count as u64);
            self.data_page_count += 1;
        }
        Some(header)
    }

    /// Reads the header at `self.position` and moves behind it.
    fn read_header(&mut self) -> Result<()> {
        self.header_offset = self.position;
        self.page_count += 1;
        if self.position >= self.chunk.start.saturating_add(self.chunk.len).min(self.end) {
            let (left, all) = (self.values_left, self.chunk.value_count);
            return Err(Error::corrupt(format!("column chunk ends {left} values before its {all} values are read")));
        }
        let (header, header_len) = match self.chunk.decryptor.clone() {
            Some(decryptor) => self.decrypt_header(&decryptor)?,
            None => self.parse_header()?,
        };
        self.position += header_len as u64;
        let left = self.end.saturating_sub(self.position);
        if header.compressed_len as u64 > left {
            let len = header.compressed_len;
            return Err(Error::corrupt(format!("page of {len} bytes where the column chunk has {left} left")));
        }
        self.pending = Some(header);
        Ok(())
    }

    fn parse_header(&mut self) -> Result<(PageHeader, usize)> {
        let limit = self.options.limits.page_header_bytes;
        let mut min_len = HEADER_GUESS_BYTES;
        loop {
            let bytes = self.window.peek(self.position, min_len, self.end)?;
            // Only as much as the limit allows is parsed, however much is in memory.
            let bytes = &bytes[..bytes.len().min(usize::try_from(limit).unwrap_or(usize::MAX))];
            match PageHeader::read(bytes) {
                Ok(header) => return Ok(header),
                Err(ThriftError::Malformed(what)) => return Err(Error::corrupt(what)),
                Err(ThriftError::Incomplete(needed)) => {
                    let left = self.end - self.position;
                    if needed as u64 > left {
                        return Err(Error::corrupt(format!(
                            "page header runs past the column chunk, {left} bytes left"
                        )));
                    }
                    if needed as u64 > limit {
                        return Err(Error::limit(
                            "page header size in bytes (page_header_bytes)",
                            limit,
                            needed as u64,
                        ));
                    }
                    // Doubled, so that a header with many fields is not parsed again for each of them.
                    min_len = needed.max(2 * bytes.len());
                }
            }
        }
    }

    fn decrypt_header(&mut self, decryptor: &ChunkDecryptor) -> Result<(PageHeader, usize)> {
        let left = self.end - self.position;
        let too_long = || Error::corrupt(format!("page header runs past the column chunk, {left} bytes left"));
        let start = self.window.peek(self.position, HEADER_GUESS_BYTES, self.end)?;
        let len = ChunkDecryptor::module_len(*start.first_chunk().ok_or_else(too_long)?);
        if len as u64 > left {
            return Err(too_long());
        }
        let limit = self.options.limits.page_header_bytes;
        if len as u64 > limit {
            return Err(Error::limit("page header size in bytes (page_header_bytes)", limit, len as u64));
        }
        let module = &self.window.peek(self.position, len, self.end)?[..len];
        // Only the header itself tells a dictionary page, and only the first page can be one.
        let data = Module::DataHeader(self.data_page_count);
        let plaintext = match decryptor.decrypt(module, data) {
            Err(_) if self.page_count == 1 => decryptor.decrypt(module, Module::DictionaryHeader)?,
            other => other?,
        };
        match PageHeader::read(&plaintext) {
            Ok((header, _)) => Ok((header, len)),
            Err(ThriftError::Malformed(what)) => Err(Error::corrupt(what)),
            Err(ThriftError::Incomplete(_)) => Err(Error::corrupt("page header ends within a structure")),
        }
    }
}

/// Takes the levels of a data page of the first version off the front of `rest`.
fn split_levels(
    rest: &mut Buffer,
    encoding: Encoding,
    order: BitOrder,
    max_level: u8,
    value_count: usize,
    kind: &'static str,
) -> Result<Levels> {
    if max_level == 0 {
        return Ok(Levels::None);
    }
    let (prefix, len) = match encoding {
        Encoding::Rle => match rest.first_chunk::<4>() {
            Some(&len) => (4, u32::from_le_bytes(len) as usize),
            None => return Err(Error::corrupt(format!("page of {} bytes has no {kind} levels", rest.len()))),
        },
        Encoding::BitPacked => {
            let width = u8::BITS - max_level.leading_zeros();
            (0, (value_count as u64 * u64::from(width)).div_ceil(8) as usize)
        }
        other => return Err(Error::unsupported(format!("{other} for {kind} levels"))),
    };
    let left = rest.len() - prefix;
    if len > left {
        return Err(Error::corrupt(format!("{kind} levels of {len} bytes where the page has {left} left")));
    }
    let levels = rest.slice_with_length(prefix, len);
    *rest = rest.slice(prefix + len);
    Ok(if prefix == 0 { Levels::BitPacked(levels, order) } else { Levels::Rle(levels) })
}

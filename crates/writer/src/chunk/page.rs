//! Builds pages: levels before values, compressed, with a checksum, after a header.
//!
//! Pages of a chunk are stored in segments of memory, several to a segment, and returned as slices of them: their bytes are
//! written once, by the compressor or, without one, by the encoder.

use std::ops::Range;

use bytes::Bytes;
use lath_format::{CompressionCodec, Encoding, MODULE_OVERHEAD, PageType};

use super::compress::Compressor;
use crate::options::{LeafOptions, PageVersion, SEGMENT_BYTES, Segments};
use lath_format::thrift::ThriftWriter;
use lath_parquet::{Error, Result};

/// Bytes kept free before a page for its header: sixteen fields of at most six bytes.
const HEADER_ROOM: usize = 96;

/// Bytes of a chunk's first segment; a file may have thousands of small chunks.
const FIRST_SEGMENT_BYTES: usize = 64 << 10;

/// Fields of data pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DataPage<'a> {
    pub(crate) encoding: Encoding,
    /// Level entries, nulls included.
    pub(crate) entries: usize,
    pub(crate) nulls: usize,
    pub(crate) rows: usize,
    /// Encoded levels; `None` if the maximum level is 0.
    pub(crate) rep_levels: Option<&'a [u8]>,
    pub(crate) def_levels: Option<&'a [u8]>,
}

/// Size of a page with its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageSize {
    pub(crate) stored: usize,
    pub(crate) uncompressed: usize,
}

/// Builds the pages of one chunk after another; keeps its buffers.
#[derive(Debug)]
pub(crate) struct PageWriter {
    codec: CompressionCodec,
    compressor: Compressor,
    version: PageVersion,
    crc: bool,
    /// Bytes that encryption adds to each header and body.
    overhead: usize,
    /// Body of a page before compression.
    body: Vec<u8>,
    header: Vec<u8>,
    segments: Segments,
    /// The current segment; pages end at `used`.
    segment: Vec<u8>,
    used: usize,
    open: Vec<Range<usize>>,
    pages: Vec<Bytes>,
    stored_len: usize,
    /// Bytes of the previous chunk.
    last_len: usize,
}

impl PageWriter {
    pub(crate) fn new(options: &LeafOptions) -> Result<Self> {
        Ok(Self {
            codec: options.codec.id(),
            compressor: Compressor::new(options.codec)?,
            version: options.page_version,
            // Encrypted pages are authenticated.
            crc: options.crc && !options.is_encrypted,
            overhead: if options.is_encrypted { MODULE_OVERHEAD } else { 0 },
            body: Vec::new(),
            header: Vec::with_capacity(HEADER_ROOM),
            segments: options.segments.clone(),
            segment: Vec::new(),
            used: 0,
            open: Vec::new(),
            pages: Vec::new(),
            stored_len: 0,
            last_len: 0,
        })
    }

    pub(crate) fn codec(&self) -> CompressionCodec {
        self.codec
    }

    /// Bytes of the pages so far.
    pub(crate) fn stored_len(&self) -> usize {
        self.stored_len
    }

    /// Bytes of memory that are not in pages.
    pub(crate) fn spare_len(&self) -> usize {
        self.body.capacity() + self.segment.len() - self.used
    }

    /// Adds a data page whose values `encode` writes to the front of a slice of at least `max_len` bytes, returning their number
    /// of bytes.
    pub(crate) fn data_page(
        &mut self,
        page: DataPage<'_>,
        max_len: usize,
        encode: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> Result<PageSize> {
        let v2 = self.version == PageVersion::V2;
        let prefix_len = if v2 { 0 } else { 4 };
        let level_lens = [page.rep_levels, page.def_levels].map(|levels| levels.map_or(0, |l| l.len() + prefix_len));
        let levels_len: usize = level_lens.iter().sum();
        let (start, body_len) = self.fill(levels_len + max_len, |body| {
            let mut at = 0;
            for levels in [page.rep_levels, page.def_levels].into_iter().flatten() {
                if !v2 {
                    body[at..at + 4].copy_from_slice(&to_u32(levels.len())?.to_le_bytes());
                    at += 4;
                }
                body[at..at + levels.len()].copy_from_slice(levels);
                at += levels.len();
            }
            Ok(at + encode(&mut body[at..])?)
        })?;
        let kept = if v2 { levels_len } else { 0 };
        let (start, stored_len, is_compressed) = self.store(start, kept, body_len - kept, v2)?;
        let (entries, nulls, rows) = (to_i32(page.entries)?, to_i32(page.nulls)?, to_i32(page.rows)?);
        let [rep_len, def_len] = [to_i32(level_lens[0])?, to_i32(level_lens[1])?];
        if v2 {
            self.close_page(PageType::DataPageV2, start, stored_len, body_len, |header| {
                header.structure(8, |header| {
                    header.i32(1, entries);
                    header.i32(2, nulls);
                    header.i32(3, rows);
                    header.i32(4, page.encoding.id());
                    header.i32(5, def_len);
                    header.i32(6, rep_len);
                    header.bool(7, is_compressed);
                });
            })
        } else {
            self.close_page(PageType::DataPage, start, stored_len, body_len, |header| {
                header.structure(5, |header| {
                    header.i32(1, entries);
                    header.i32(2, page.encoding.id());
                    header.i32(3, Encoding::Rle.id());
                    header.i32(4, Encoding::Rle.id());
                });
            })
        }
    }

    /// Adds a dictionary page of entries, which `encode` writes as for [`data_page`](Self::data_page). It becomes the chunk's
    /// first page.
    pub(crate) fn dictionary_page(
        &mut self,
        entries: usize,
        max_len: usize,
        encode: impl FnOnce(&mut [u8]) -> Result<usize>,
    ) -> Result<PageSize> {
        let entries = to_i32(entries)?;
        let (start, body_len) = self.fill(max_len, encode)?;
        let (start, stored_len, _) = self.store(start, 0, body_len, false)?;
        let size = self.close_page(PageType::DictionaryPage, start, stored_len, body_len, |header| {
            header.structure(7, |header| {
                header.i32(1, entries);
                header.i32(2, Encoding::Plain.id());
            });
        })?;
        self.seal();
        let pieces = if self.overhead > 0 { 2 } else { 1 };
        let pieces = self.pages.len().min(pieces);
        self.pages.rotate_right(pieces);
        Ok(size)
    }

    /// Returns the pages, of chunks that are to be encrypted in two pieces each, the header and the body; the writer is then ready for the
    /// next chunk.
    pub(crate) fn finish(&mut self) -> Vec<Bytes> {
        self.seal();
        self.last_len = std::mem::take(&mut self.stored_len);
        std::mem::take(&mut self.pages)
    }

    /// Lets `write` fill a body of at most `room` bytes: in the segment without compression, else in a buffer. Returns its start
    /// in the segment, and its length.
    fn fill(&mut self, room: usize, write: impl FnOnce(&mut [u8]) -> Result<usize>) -> Result<(usize, usize)> {
        if self.compressor.copies_nothing() {
            let start = self.reserve(room)?;
            return Ok((start, write(&mut self.segment[start..])?));
        }
        if self.body.len() < room {
            self.body = vec![0; room.next_power_of_two()];
        }
        Ok((0, write(&mut self.body)?))
    }

    /// Stores a body in the segment, its first `kept` bytes uncompressed: returns its start, its length, and whether it is
    /// compressed. Without compression the body is there already, at `start`.
    fn store(
        &mut self,
        start: usize,
        kept: usize,
        compressible: usize,
        may_stay: bool,
    ) -> Result<(usize, usize, bool)> {
        if self.compressor.copies_nothing() {
            return Ok((start, kept + compressible, false));
        }
        // A body that does not become smaller is stored uncompressed, if the header can say so.
        let max_len = self.compressor.max_len(compressible).max(compressible);
        let start = self.reserve(kept + max_len)?;
        let stored = &mut self.segment[start..];
        stored[..kept].copy_from_slice(&self.body[..kept]);
        let values = &self.body[kept..kept + compressible];
        if may_stay && compressible == 0 {
            return Ok((start, kept, false));
        }
        let len = self.compressor.compress(values, &mut stored[kept..kept + max_len])?;
        if may_stay && len >= compressible {
            stored[kept..kept + compressible].copy_from_slice(values);
            return Ok((start, kept + compressible, false));
        }
        Ok((start, kept + len, true))
    }

    /// Makes space for a header and a body of `len` bytes; returns the start of the body.
    fn reserve(&mut self, len: usize) -> Result<usize> {
        to_i32(len)?;
        if self.segment.len() - self.used < HEADER_ROOM + len {
            self.seal();
            let needed = HEADER_ROOM + len;
            // As much as the chunk has already, or the previous one had.
            let expected = self.stored_len.max(self.last_len).clamp(FIRST_SEGMENT_BYTES, SEGMENT_BYTES);
            let len = needed.max(expected.next_power_of_two());
            self.segment = if len == SEGMENT_BYTES { self.segments.take() } else { vec![0; len] };
        }
        Ok(self.used + HEADER_ROOM)
    }

    /// Writes the header before a body in the segment.
    fn close_page(
        &mut self,
        kind: PageType,
        start: usize,
        stored_len: usize,
        body_len: usize,
        particulars: impl FnOnce(&mut ThriftWriter<'_>),
    ) -> Result<PageSize> {
        let end = start + stored_len;
        self.header.clear();
        let mut header = ThriftWriter::new(&mut self.header);
        header.i32(1, kind.id());
        header.i32(2, to_i32(body_len)?);
        header.i32(3, to_i32(stored_len + self.overhead)?);
        if self.crc {
            header.i32(4, crc32fast::hash(&self.segment[start..end]).cast_signed());
        }
        particulars(&mut header);
        header.end();
        let header_len = self.header.len();
        self.segment[start - header_len..start].copy_from_slice(&self.header);
        self.used = end;
        let stored = match self.overhead {
            0 => {
                self.open.push(start - header_len..end);
                header_len + stored_len
            }
            overhead => {
                self.open.extend([start - header_len..start, start..end]);
                header_len + stored_len + 2 * overhead
            }
        };
        self.stored_len += stored;
        Ok(PageSize { stored, uncompressed: header_len + body_len })
    }

    /// Turns the segment's pages into slices of it.
    fn seal(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let segment = self.segments.lend(std::mem::take(&mut self.segment), self.used);
        self.pages.extend(self.open.drain(..).map(|range| segment.slice(range)));
        self.used = 0;
    }
}

fn to_i32(len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| Error::limit("bytes of a page", i32::MAX as u64, len as u64))
}

fn to_u32(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| Error::limit("bytes of a page", i32::MAX as u64, len as u64))
}

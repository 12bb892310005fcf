use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use bytes::Bytes;

use crate::error::{Error, Result};
use lath_source::ByteRanges;

/// Bytes read at once if pages are smaller.
const WINDOW_BYTES: usize = 1 << 15;

/// Maximum number of earlier windows kept for reuse. One is in use if the caller drops each batch before it requests the next;
/// more if batches of views are decoded ahead.
/// next; more where batches of views are decoded ahead.
const MAX_RETIRED: usize = 8;

/// Bytes read for a header if pages are so large that each is read by itself, or skipped.
const LONE_HEADER_BYTES: usize = 4096;

/// Bytes read after a page that does not fit, so that the next page's header comes with it.
pub(crate) const HEADER_BYTES: usize = 256;

/// The part of a column chunk that is in memory. Pages are slices of it; nothing is copied.
#[derive(Debug)]
pub(super) struct Window {
    source: Arc<dyn ByteRanges>,
    /// File offset of the first byte.
    start: u64,
    /// The bytes from `start` on, of which pages take slices.
    buffer: Buffer,
    /// The memory of `buffer`, for reuse when no page refers to it any more.
    owner: Option<Bytes>,
    /// Earlier windows whose pages were still in use when they were replaced.
    retired: Vec<Bytes>,
    /// Whether the source reads into the buffers that it is offered.
    source_reuses: bool,
    /// Length of the previous page, to end windows where pages are likely to end.
    page_len: usize,
    /// Location of the page that is read next, with its header.
    expected: Range<u64>,
}

impl Window {
    pub(super) fn new(source: Arc<dyn ByteRanges>) -> Self {
        Self {
            source,
            start: 0,
            buffer: Buffer::from_vec(Vec::<u8>::new()),
            owner: None,
            retired: Vec::new(),
            source_reuses: true,
            page_len: 0,
            expected: 0..0,
        }
    }

    /// Sets the location of the next page, which is then read at once.
    pub(super) fn expect(&mut self, page: Range<u64>) {
        self.expected = page;
    }

    /// Restarts with another file, keeping memory.
    pub(super) fn restart(&mut self, source: Arc<dyn ByteRanges>) {
        self.buffer = Buffer::from_vec(Vec::<u8>::new());
        self.retired.extend(self.owner.take());
        self.start = 0;
        self.source = source;
        // Another file may have another kind of source.
        self.source_reuses = true;
    }

    /// Length of the file.
    pub(super) fn file_len(&self) -> u64 {
        self.source.len()
    }

    /// The bytes in memory from `offset` on, at least `min_len` of them, but none from `end` on.
    pub(super) fn peek(&mut self, offset: u64, min_len: usize, end: u64) -> Result<&[u8]> {
        let left = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let position = self.locate(offset, min_len.min(left), end)?;
        let bytes = &self.buffer[position..];
        Ok(&bytes[..bytes.len().min(left)])
    }

    /// The bytes of a page's body: `len` bytes from `offset` on, which must not exceed `end`.
    pub(super) fn page(&mut self, offset: u64, len: usize, end: u64) -> Result<Buffer> {
        let position = self.locate(offset, len, end)?;
        self.page_len = len;
        Ok(self.buffer.slice_with_length(position, len))
    }

    /// As [`Window::page`], but not as a slice of the window if the source allocates memory for each read: for a dictionary page,
    /// which stays in use while the window moves on. The allocator determines the alignment of such memory.
    pub(super) fn page_apart(&mut self, offset: u64, len: usize, end: u64) -> Result<Buffer> {
        if let Some(position) = self.position(offset, len) {
            return Ok(match self.source_reuses {
                true => Buffer::from_vec(self.buffer[position..position + len].to_vec()),
                false => self.buffer.slice_with_length(position, len),
            });
        }
        self.check_left(offset, len, end)?;
        let bytes = self.source.read(offset..offset + len as u64).map_err(|error| Error::io("read", error))?;
        if bytes.len() < len {
            return Err(Error::io("read", std::io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(Buffer::from(bytes).slice_with_length(0, len))
    }

    /// Position of `offset` in `self.buffer`, with at least `len` bytes from there.
    fn locate(&mut self, offset: u64, len: usize, end: u64) -> Result<usize> {
        if let Some(position) = self.position(offset, len) {
            return Ok(position);
        }
        self.load(offset, len, end)?;
        Ok(0)
    }

    /// Position of `offset` in `self.buffer`, if `len` bytes from there are in memory.
    fn position(&self, offset: u64, len: usize) -> Option<usize> {
        let position = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let left = self.buffer.len().checked_sub(position)?;
        (len <= left).then_some(position)
    }

    /// Checks that a column chunk that ends at `end` has `len` bytes from `offset` on; returns how many it has.
    fn check_left(&self, offset: u64, len: usize, end: u64) -> Result<u64> {
        let left = end.saturating_sub(offset);
        if len as u64 > left {
            return Err(Error::corrupt(format!("{len} bytes needed where the column chunk has {left}")));
        }
        Ok(left)
    }

    /// Replaces the window by one that starts at `offset` and has at least `len` bytes.
    fn load(&mut self, offset: u64, len: usize, end: u64) -> Result<()> {
        let left = self.check_left(offset, len, end)?;
        let window_len = match std::mem::take(&mut self.expected) {
            page if page.start == offset => (page.end - offset).max(len as u64),
            _ => self.window_len(len) as u64,
        };
        let range = offset..offset + window_len.min(left);
        let range_len = (range.end - range.start) as usize;

        let scratch = self.scratch(range_len);
        let scratch_address = scratch.as_ptr();
        let offered = !scratch.is_empty();
        let bytes = self.source.read_reusing(range, scratch).map_err(|error| Error::io("read", error))?;
        if bytes.len() < range_len {
            return Err(Error::io("read", std::io::ErrorKind::UnexpectedEof.into()));
        }
        if offered {
            self.source_reuses = bytes.as_ptr() == scratch_address;
        }
        self.start = offset;
        self.buffer = Buffer::from(bytes.clone()).slice_with_length(0, range_len);
        self.owner = self.source_reuses.then_some(bytes);
        Ok(())
    }

    /// Number of bytes to read if `len` bytes are needed at once: whole pages, as far as can be guessed, because the part of a
    /// page at a window's end is read again.
    fn window_len(&self, len: usize) -> usize {
        if len >= WINDOW_BYTES {
            return len.saturating_add(HEADER_BYTES);
        }
        let page_len = self.page_len.max(len) + HEADER_BYTES / 4;
        if page_len >= WINDOW_BYTES {
            return LONE_HEADER_BYTES.max(len + HEADER_BYTES);
        }
        WINDOW_BYTES / page_len * page_len + HEADER_BYTES
    }

    /// Memory of at least `len` bytes for the source to read into, if the source does that.
    fn scratch(&mut self, len: usize) -> Vec<u8> {
        self.buffer = Buffer::from_vec(Vec::<u8>::new());
        self.retired.extend(self.owner.take());
        if !self.source_reuses {
            self.retired.clear();
            return Vec::new();
        }
        if len <= LONE_HEADER_BYTES {
            // Large buffers are reused with the page.
            return vec![0; len];
        }
        // Neither too short nor so long that it would only hold memory.
        self.retired.retain(|bytes| bytes.len() >= len && bytes.len() / 4 <= len);
        if self.retired.len() > MAX_RETIRED {
            self.retired.remove(0);
        }
        let free = self.retired.iter().position(Bytes::is_unique).map(|free| self.retired.swap_remove(free));
        // A little more than needed, because the page after a long one may be a little longer.
        let spare = if len > WINDOW_BYTES + HEADER_BYTES { len / 16 } else { 0 };
        free.map_or_else(|| vec![0; len + spare], Vec::from)
    }
}

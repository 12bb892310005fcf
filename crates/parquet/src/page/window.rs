use std::sync::Arc;

use arrow_buffer::Buffer;
use bytes::Bytes;

use crate::error::{Error, Result};
use crate::source::ByteRanges;

/// Bytes read at once where pages are smaller.
const WINDOW_BYTES: usize = 1 << 16;

/// Read beyond a page that does not fit, so that the next page's header comes with it.
const HEADER_BYTES: usize = 256;

/// Most earlier windows that are kept for use again.
const MAX_RETIRED: usize = 1;

/// The part of a column chunk that is in memory. Pages are slices of it; nothing is copied out.
#[derive(Debug)]
pub(super) struct Window {
    source: Arc<dyn ByteRanges>,
    /// File offset of the first byte.
    start: u64,
    /// The bytes from `start` on, as pages take slices of it.
    buffer: Buffer,
    /// The same memory, to be taken back when no page refers to it any more.
    owner: Option<Bytes>,
    retired: Vec<Bytes>,
    /// Whether the source puts its bytes into the buffers that it is offered.
    source_reuses: bool,
    /// Length of the page before, to end windows where pages are likely to end.
    page_len: usize,
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
        }
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

    /// The bytes of a page's body: `len` bytes from `offset` on, which must not reach past `end`.
    pub(super) fn page(&mut self, offset: u64, len: usize, end: u64) -> Result<Buffer> {
        let position = self.locate(offset, len, end)?;
        self.page_len = len;
        Ok(self.buffer.slice_with_length(position, len))
    }

    /// Where `offset` is in `self.buffer`, with at least `len` bytes from there.
    fn locate(&mut self, offset: u64, len: usize, end: u64) -> Result<usize> {
        let position = offset.checked_sub(self.start).and_then(|position| usize::try_from(position).ok());
        match position {
            Some(position) if position <= self.buffer.len() && len <= self.buffer.len() - position => Ok(position),
            _ => {
                self.load(offset, len, end)?;
                Ok(0)
            }
        }
    }

    /// Replaces the window by one that starts at `offset` and has at least `len` bytes.
    fn load(&mut self, offset: u64, len: usize, end: u64) -> Result<()> {
        let left = end.saturating_sub(offset);
        if len as u64 > left {
            return Err(Error::corrupt(format!("{len} bytes needed where the column chunk has {left}")));
        }
        let range = offset..offset + (self.window_len(len) as u64).min(left);
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

    /// How much to read if `len` bytes are needed at once: whole pages, as far as can be guessed, since the part of a
    /// page at a window's end is read again.
    fn window_len(&self, len: usize) -> usize {
        if len >= WINDOW_BYTES {
            return len.saturating_add(HEADER_BYTES);
        }
        let page_len = self.page_len.max(len) + HEADER_BYTES / 4;
        if page_len >= WINDOW_BYTES { WINDOW_BYTES } else { WINDOW_BYTES / page_len * page_len + HEADER_BYTES }
    }

    /// Memory of at least `len` bytes for the source to read into, if the source does that.
    fn scratch(&mut self, len: usize) -> Vec<u8> {
        self.buffer = Buffer::from_vec(Vec::<u8>::new());
        if !self.source_reuses {
            self.retired.clear();
            return Vec::new();
        }
        self.retired.extend(self.owner.take());
        // A dictionary page is often much larger than the pages after it, and not worth keeping for them.
        self.retired.retain(|bytes| bytes.len() / 4 <= len);
        let free = self.retired.iter().position(|bytes| bytes.len() >= len && bytes.is_unique());
        let scratch = free.map(|free| Vec::from(self.retired.swap_remove(free)));
        if self.retired.len() > MAX_RETIRED {
            self.retired.remove(0);
        }
        scratch.unwrap_or_else(|| vec![0; len])
    }
}

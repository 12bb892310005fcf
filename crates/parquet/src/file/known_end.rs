use std::io;
use std::ops::Range;

use bytes::Bytes;

use lath_source::ByteRanges;

/// A file whose last bytes are in memory.
#[derive(Debug)]
pub(super) struct KnownEnd<'a> {
    source: &'a dyn ByteRanges,
    end: Bytes,
}

impl<'a> KnownEnd<'a> {
    /// A source whose last bytes are `end`; `None` if `end` is longer than the file.
    pub(super) fn new(source: &'a dyn ByteRanges, end: Bytes) -> Option<Self> {
        (end.len() as u64 <= source.len()).then_some(Self { source, end })
    }
}

impl ByteRanges for KnownEnd<'_> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        let start = self.len() - self.end.len() as u64;
        if range.start < start || range.start > range.end || range.end > self.len() {
            return self.source.read(range);
        }
        // Both ends are within the bytes in memory.
        Ok(self.end.slice((range.start - start) as usize..(range.end - start) as usize))
    }
}

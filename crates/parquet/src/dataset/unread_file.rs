use std::io;
use std::ops::Range;

use bytes::Bytes;

use lath_source::ByteRanges;

/// A file of which nothing can be read.
#[derive(Debug)]
pub(super) struct UnreadFile {
    pub(super) len: u64,
}

impl ByteRanges for UnreadFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, _: Range<u64>) -> io::Result<Bytes> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "only the end of the file is known"))
    }
}

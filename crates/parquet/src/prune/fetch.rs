//! Reading what pruning needs of a file.

use std::io;
use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::file::ParquetFile;

/// The bytes of all ranges, which lie within the file.
pub(super) fn read_many(file: &ParquetFile, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
    let locate = |error: io::Error| file.locate(Error::io("read", error));
    let read = file.source().read_many(ranges).map_err(locate)?;
    let is_whole = |(bytes, range): (&Bytes, &Range<u64>)| bytes.len() as u64 >= range.end - range.start;
    if read.len() != ranges.len() || !read.iter().zip(ranges).all(is_whole) {
        return Err(locate(io::Error::from(io::ErrorKind::UnexpectedEof)));
    }
    Ok(read)
}

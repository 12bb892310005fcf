//! Bloom filters of the file: whole, or enough blocks to estimate the number of set bits.

use bytes::Bytes;

use super::super::thresholds::MAX_SAMPLE_BYTES;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::filters::{FilterHeader, MAX_HEADER_LEN};

/// The first blocks of the first filter of a leaf column, at most 1 MiB; `None` if there is no readable filter.
pub fn bloom_filter_sample(file: &ParquetFile, leaf: usize) -> Result<Option<Bytes>> {
    let metadata = file.metadata();
    let mut chunks = (0..metadata.row_group_count()).filter_map(|row_group| metadata.chunk(row_group, leaf).ok());
    let Some(chunk) = chunks.find(|chunk| chunk.bloom_filter().is_some()) else { return Ok(None) };
    let offset = chunk.bloom_filter().and_then(|filter| u64::try_from(filter.offset).ok());
    let Some(offset) = offset.filter(|&offset| offset < file.source().len() && !chunk.is_encrypted()) else {
        return Ok(None);
    };
    let Some(header) = FilterHeader::read(&read(file, offset, offset + MAX_HEADER_LEN)?) else { return Ok(None) };
    let bitset = header.bitset(offset);
    if bitset.end > file.source().len() {
        return Ok(None);
    }
    read(file, bitset.start, bitset.end.min(bitset.start + MAX_SAMPLE_BYTES)).map(Some)
}

/// The part of a range that lies within the file.
fn read(file: &ParquetFile, start: u64, end: u64) -> Result<Bytes> {
    let end = end.min(file.source().len());
    let bytes = file.source().read(start..end).map_err(|error| file.locate(Error::io("read", error)))?;
    Ok(bytes.slice(..bytes.len().min((end - start) as usize)))
}

impl ParquetFile {
    /// The bits of a column chunk's [Bloom filter](https://github.com/apache/parquet-format/blob/master/BloomFilter.md), whole
    /// blocks of 32 bytes; `None` if it has none.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it does not lie within the file, or is of an unknown kind;
    /// [`Error::Encrypted`] if it is encrypted; [`Error::Io`] if it cannot be read; errors of the chunk's metadata.
    pub fn bloom_filter(&self, row_group: usize, leaf: usize) -> Result<Option<Bytes>> {
        let chunk = self.metadata().chunk(row_group, leaf).map_err(|error| self.locate(error.into()))?;
        let Some(filter) = chunk.bloom_filter() else { return Ok(None) };
        if chunk.is_encrypted() {
            return Err(self.locate(Error::encrypted("the Bloom filter")));
        }
        let outside = || self.locate(Error::corrupt("it does not lie within the file"));
        let len = self.source().len();
        let offset = u64::try_from(filter.offset).ok().filter(|offset| *offset < len).ok_or_else(outside)?;
        let Some(header) = FilterHeader::read(&read(self, offset, offset + MAX_HEADER_LEN)?) else {
            return Err(self.locate(Error::corrupt("its header is malformed, or it has no block of 32 bytes")));
        };
        let stated = filter.len.map(|len| u64::try_from(len).map_err(|_| outside())).transpose()?;
        let bitset = header.bitset(offset);
        if bitset.end > len || stated.is_some_and(|stated| offset.saturating_add(stated) > len) {
            return Err(outside());
        }
        if stated.is_some_and(|stated| stated < header.filter_len()) {
            return Err(self.locate(Error::corrupt("it is longer by its header than by the footer")));
        }
        read(self, bitset.start, bitset.end).map(Some)
    }
}

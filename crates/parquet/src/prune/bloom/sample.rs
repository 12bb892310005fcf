//! Blocks of a filter, by which to tell how full it is.

use bytes::Bytes;

use super::header::{MAX_HEADER_LEN, Place};
use crate::error::{Error, Result};
use crate::file::ParquetFile;

/// Keys fall into all blocks alike, so that some of them tell enough.
const MAX_SAMPLE_BYTES: u64 = 1 << 20;

/// The first blocks of the first filter that a leaf column has, at most 1 MiB; `None` if there is none that can be read.
pub(crate) fn sample(file: &ParquetFile, leaf: usize) -> Result<Option<Bytes>> {
    let mut chunks = file.metadata().row_groups().iter().map(|row_group| row_group.column(leaf));
    let Some(chunk) = chunks.find(|chunk| chunk.bloom_filter_offset().is_some()) else { return Ok(None) };
    let offset = chunk.bloom_filter_offset().and_then(|offset| u64::try_from(offset).ok());
    let Some(offset) = offset.filter(|&offset| offset < file.source().len() && chunk.crypto_metadata().is_none())
    else {
        return Ok(None);
    };
    let read = |start: u64, end: u64| {
        let end = end.min(file.source().len());
        let bytes = file.source().read(start..end).map_err(|error| file.locate(Error::io("read", error)))?;
        Ok::<_, Error>(bytes.slice(..bytes.len().min((end - start) as usize)))
    };
    let Some(place) = Place::read(&read(offset, offset + MAX_HEADER_LEN)?) else { return Ok(None) };
    let bitset = place.bitset(offset);
    if bitset.end > file.source().len() {
        return Ok(None);
    }
    read(bitset.start, bitset.end.min(bitset.start + MAX_SAMPLE_BYTES)).map(Some)
}

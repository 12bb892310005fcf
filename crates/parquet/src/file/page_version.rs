use super::ParquetFile;
use crate::error::{Error, Result};
use crate::page::data_page_version;

/// Maximum bytes of a header: it may contain statistics.
const MAX_HEADER_BYTES: u64 = 4096;

/// The version of the first data page of a file; `None` if there is none, or if it cannot be read.
pub fn first_page_version(file: &ParquetFile) -> Result<Option<u8>> {
    let Ok(chunk) = file.metadata().chunk(0, 0) else { return Ok(None) };
    let (start, len) = (chunk.data_page_offset(), file.source().len());
    if start >= len || chunk.is_encrypted() {
        return Ok(None);
    }
    let range = start..len.min(start + MAX_HEADER_BYTES);
    let bytes = file.source().read(range).map_err(|error| file.locate(Error::io("read", error)))?;
    Ok(data_page_version(&bytes))
}

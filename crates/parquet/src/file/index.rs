//! The page index: column and offset indexes, which lie between the column chunks and the footer.
//!
//! <https://github.com/apache/parquet-format/blob/master/PageIndex.md>

use parquet::DecodeResult;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder};

use super::footer::read;
use crate::envelope::guard;
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::source::ByteRanges;

/// The metadata with the indexes that the file has, by one read.
pub(super) fn load(source: &dyn ByteRanges, metadata: &ParquetMetaData, limits: &Limits) -> Result<ParquetMetaData> {
    let file_bytes = source.len();
    let mut decoder = guard(|| {
        let decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(file_bytes, metadata.clone())?;
        Ok(decoder.with_page_index_policy(PageIndexPolicy::Optional))
    })?;
    let mut start = None;
    loop {
        let decoded =
            guard(|| decoder.try_decode()).map_err(|error| error.locate(|at| at.offset = at.offset.or(start)))?;
        match decoded {
            DecodeResult::Data(metadata) => return Ok(metadata),
            DecodeResult::NeedsData(ranges) if start.is_none() => {
                for range in ranges {
                    let refuse = |error: Error| error.locate(|at| at.offset = Some(range.start));
                    if range.end > file_bytes {
                        return Err(refuse(Error::corrupt("the page index ends past the end of the file")));
                    }
                    let len = range.end - range.start;
                    if len > limits.footer_bytes {
                        let what = "bytes of the page index (footer_bytes)";
                        return Err(refuse(Error::limit(what, limits.footer_bytes, len)));
                    }
                    start = Some(range.start);
                    let bytes = read(source, range.clone())?;
                    guard(|| decoder.push_range(range, bytes))?;
                }
            }
            DecodeResult::NeedsData(_) | DecodeResult::Finished => {
                return Err(Error::corrupt("the page index is incomplete"));
            }
        }
    }
}

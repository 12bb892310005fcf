//! The page index: column and offset indexes, which lie between the column chunks and the footer.
//!
//! <https://github.com/apache/parquet-format/blob/master/PageIndex.md>

use parquet::DecodeResult;
use parquet::file::metadata::{
    OffsetIndexBuilder, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder, RowGroupMetaData,
};

use super::footer::read;
use crate::envelope::guard;
use crate::error::{Error, Result};
use crate::options::Limits;
use lath_source::ByteRanges;

/// The metadata with the indexes that the file has, by one read, but for those of columns that are encrypted and that
/// `is_locked` has no key for, by row group and column.
pub(super) fn load(
    source: &dyn ByteRanges,
    metadata: &ParquetMetaData,
    limits: &Limits,
    is_locked: impl Fn(usize, usize) -> bool,
) -> Result<ParquetMetaData> {
    let mut locked = Vec::new();
    for (row_group, group) in metadata.row_groups().iter().enumerate() {
        for (column, chunk) in group.columns().iter().enumerate() {
            if chunk.crypto_metadata().is_some() && is_locked(row_group, column) {
                locked.push((row_group, column));
            }
        }
    }
    if locked.is_empty() {
        return load_all(source, metadata, limits);
    }
    let Some(open) = without_locked(metadata, &locked)? else { return Ok(metadata.clone()) };
    let loaded = load_all(source, &open, limits)?;
    let mut offsets = loaded.offset_index().cloned();
    for &(row_group, column) in &locked {
        let index = offsets.as_mut().and_then(|index| index.get_mut(row_group)?.get_mut(column));
        if let Some(index) = index {
            *index = OffsetIndexBuilder::new().build();
        }
    }
    let builder = metadata.clone().into_builder();
    Ok(builder.set_column_index(loaded.column_index().cloned()).set_offset_index(offsets).build())
}

/// The metadata with the locked chunks' indexes out of the way. The `parquet` crate reads the offset indexes of all columns or of
/// none, so that they get that of another one; `None` where a row group has no other.
fn without_locked(metadata: &ParquetMetaData, locked: &[(usize, usize)]) -> Result<Option<ParquetMetaData>> {
    let mut builder = metadata.clone().into_builder();
    let mut groups: Vec<RowGroupMetaData> = builder.take_row_groups();
    for of_group in locked.chunk_by(|one, other| one.0 == other.0) {
        let Some(group) = groups.get_mut(of_group[0].0) else { continue };
        let mut chunks = group.columns().to_vec();
        let is_open = |column: usize| !of_group.iter().any(|locked| locked.1 == column);
        let open =
            chunks.iter().enumerate().find(|(column, chunk)| is_open(*column) && chunk.offset_index_length().is_some());
        let Some((_, open)) = open else { return Ok(None) };
        let place = (open.offset_index_offset(), open.offset_index_length());
        for &(_, column) in of_group {
            let chunk = chunks[column].clone().into_builder().set_column_crypto_metadata(None);
            let chunk = chunk.set_column_index_offset(None).set_column_index_length(None);
            chunks[column] = guard(|| chunk.set_offset_index_offset(place.0).set_offset_index_length(place.1).build())?;
        }
        *group = guard(|| group.clone().into_builder().set_column_metadata(chunks).build())?;
    }
    Ok(Some(builder.set_row_groups(groups).build()))
}

fn load_all(source: &dyn ByteRanges, metadata: &ParquetMetaData, limits: &Limits) -> Result<ParquetMetaData> {
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

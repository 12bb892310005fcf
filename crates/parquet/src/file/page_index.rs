use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lath_format::{ChunkDecryptor, ColumnIndex, FileMetaData, IndexLocation, Module, OffsetIndex};
use lath_source::ByteRanges;

use super::footer::read;
use crate::error::{Error, Result};
use crate::options::Limits;

/// The [page index](https://github.com/apache/parquet-format/blob/master/PageIndex.md) of a file: a column index and an offset
/// index for each column chunk that has them.
#[derive(Debug)]
pub struct PageIndex {
    leaves: usize,
    /// By row group, then by leaf.
    columns: Vec<Option<ColumnIndex>>,
    offsets: Vec<Option<OffsetIndex>>,
}

impl PageIndex {
    /// The column index of a chunk.
    pub fn column_index(&self, row_group: usize, leaf: usize) -> Option<&ColumnIndex> {
        self.columns.get(self.place(row_group, leaf)?)?.as_ref()
    }

    /// The offset index of a chunk.
    pub fn offset_index(&self, row_group: usize, leaf: usize) -> Option<&OffsetIndex> {
        self.offsets.get(self.place(row_group, leaf)?)?.as_ref()
    }

    fn place(&self, row_group: usize, leaf: usize) -> Option<usize> {
        (leaf < self.leaves).then(|| row_group * self.leaves + leaf)
    }

    /// Reads all indexes at once: writers put the indexes of a file next to each other.
    pub(super) fn read(source: &dyn ByteRanges, metadata: &FileMetaData, limits: &Limits) -> Result<Self> {
        let count = metadata.row_group_count() * metadata.column_count();
        let (mut columns, mut offsets) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for row_group in metadata.row_groups() {
            for chunk in row_group.columns() {
                // Chunks that cannot be decrypted are left out.
                let chunk = chunk.ok().and_then(|chunk| Some((chunk, chunk.decryptor().ok()?.map(Arc::new))));
                let Some((chunk, decryptor)) = chunk else {
                    columns.push(None);
                    offsets.push(None);
                    continue;
                };
                columns.push(Part::of(chunk.column_index(), decryptor.as_ref())?);
                offsets.push(Part::of(chunk.offset_index(), decryptor.as_ref())?);
            }
        }
        let ranges = || columns.iter().chain(&offsets).flatten().map(|part: &Part| &part.range);
        let start = ranges().map(|range| range.start).min().unwrap_or(0);
        let end = ranges().map(|range| range.end).max().unwrap_or(0);
        let locate = |error: Error| error.locate(|at| at.offset = at.offset.or(Some(start)));
        if end > source.len() {
            return Err(locate(Error::corrupt("the page index ends past the end of the file")));
        }
        if end - start > limits.footer_bytes {
            let what = "bytes of the page index (footer_bytes)";
            return Err(locate(Error::limit(what, limits.footer_bytes, end - start)));
        }
        let bytes = if start < end { read(source, start..end)? } else { Bytes::new() };
        let within = |part: &Part, module| {
            let range = (part.range.start - start) as usize..(part.range.end - start) as usize;
            match &part.decryptor {
                Some(decryptor) => decryptor.decrypt(&bytes[range], module).map(Cow::Owned),
                None => Ok(Cow::Borrowed(&bytes[range])),
            }
        };
        let column = |part: &Part| ColumnIndex::from_bytes(&within(part, Module::ColumnIndex)?);
        let offset = |part: &Part| OffsetIndex::from_bytes(&within(part, Module::OffsetIndex)?);
        let columns = columns.iter().map(|part| part.as_ref().map(column).transpose()).collect::<Result<_, _>>();
        let offsets = offsets.iter().map(|part| part.as_ref().map(offset).transpose()).collect::<Result<_, _>>();
        let columns = columns.map_err(|error| locate(error.into()))?;
        let offsets = offsets.map_err(|error| locate(error.into()))?;
        Ok(Self { leaves: metadata.column_count(), columns, offsets })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let columns =
            self.columns.iter().map(|index| size_of_val(index) + index.as_ref().map_or(0, ColumnIndex::memory_bytes));
        let pages = |index: &OffsetIndex| size_of_val(index.page_locations.as_slice());
        let offsets = self.offsets.iter().map(|index| size_of_val(index) + index.as_ref().map_or(0, pages));
        columns.sum::<usize>() + offsets.sum::<usize>()
    }
}

/// The index of one chunk, before it is read.
struct Part {
    range: Range<u64>,
    decryptor: Option<Arc<ChunkDecryptor>>,
}

impl Part {
    /// `None` if the file does not have it.
    fn of(location: Option<IndexLocation>, decryptor: Option<&Arc<ChunkDecryptor>>) -> Result<Option<Self>> {
        let Some(IndexLocation { offset, len: Some(len) }) = location else { return Ok(None) };
        let (Ok(start), Ok(len)) = (u64::try_from(offset), u64::try_from(len)) else {
            return Err(Error::corrupt("a part of the page index is at a negative offset"));
        };
        Ok(Some(Self { range: start..start.saturating_add(len), decryptor: decryptor.cloned() }))
    }
}

//! Ranges of a file other than its pages: indexes, filters, and bytes for planning.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lath_format::IndexLocation;

use super::ParquetFile;
use crate::error::{Error, Result};
use crate::page::{PageOptions, PagePlaces, PageReader};

/// Minimum length in bytes of a column chunk in which pages are found by the offset index. In a shorter chunk, reading the
/// headers of skipped pages is faster.
const LEAST_CHUNK_BYTES: u64 = 1 << 20;

impl ParquetFile {
    /// The bytes of all ranges, which lie within the file.
    pub(crate) fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let locate = |error: io::Error| self.locate(Error::io("read", error));
        let read = self.source().read_many(ranges).map_err(locate)?;
        let is_whole = |(bytes, range): (&Bytes, &Range<u64>)| bytes.len() as u64 >= range.end - range.start;
        if read.len() != ranges.len() || !read.iter().zip(ranges).all(is_whole) {
            return Err(locate(io::Error::from(io::ErrorKind::UnexpectedEof)));
        }
        Ok(read)
    }

    /// The bytes of a range, which lies within the file.
    ///
    /// # Errors
    /// [`Error::Io`] if they cannot be read.
    pub fn read_range(&self, range: Range<u64>) -> Result<Bytes> {
        let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let read = self.source().read(range).map_err(|error| self.locate(Error::io("read", error)))?;
        Ok(read.slice(..len.min(read.len())))
    }

    /// The location of an index in the footer; `None` if it cannot be used: it does not lie within the file, or is longer than
    /// [`footer_bytes`](crate::Limits::footer_bytes).
    pub(crate) fn index_range(&self, location: Option<IndexLocation>) -> Option<Range<u64>> {
        let IndexLocation { offset, len } = location?;
        let (start, len) = (u64::try_from(offset).ok()?, u64::try_from(len?).ok()?);
        let end = start.checked_add(len)?;
        let is_sound = start > 0 && len > 0 && len <= self.limits().footer_bytes && end <= self.source().len();
        is_sound.then_some(start..end)
    }

    /// The smallest range of the file with all its page indexes, which writers put next to each other; `None` if there are no
    /// usable ones.
    pub fn page_index_range(&self) -> Option<Range<u64>> {
        let chunks = self.metadata().row_groups().flat_map(|row_group| row_group.columns()).flatten();
        let ranges = chunks.flat_map(|chunk| [chunk.column_index(), chunk.offset_index()]);
        ranges
            .filter_map(|location| self.index_range(location))
            .reduce(|all, range| all.start.min(range.start)..all.end.max(range.end))
    }

    /// Compares the offset index of a column chunk, by which pages are found, with the headers of the pages. Does nothing if the
    /// chunk has no index, or is encrypted.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if they differ, or one of them is malformed; [`Error::Invalid`] for a chunk that the file does not have;
    /// [`Error::Io`] if they cannot be read.
    pub fn check_offset_index(&self, row_group: usize, column: usize) -> Result<()> {
        let spec = self.chunk_spec(row_group, column)?;
        let chunk = self.metadata().chunk(row_group, column)?;
        let Some(range) = self.index_range(chunk.offset_index()) else {
            return Ok(());
        };
        if spec.decryptor.is_some() {
            return Ok(());
        }
        let row_count = self.row_group_row_counts().get(row_group).copied().unwrap_or(0);
        let bytes = self.read_many(std::slice::from_ref(&range))?;
        let Some(places) = bytes.first().and_then(|bytes| PagePlaces::read(bytes, row_count)) else {
            return Err(spec.locate(Error::corrupt("a malformed offset index")));
        };
        let options = PageOptions { verify_crc: false, limits: self.limits().clone() };
        let mut pages = PageReader::new(Arc::clone(self.source()), spec, options)?;
        pages.compare_places(&places).map_err(|error| pages.locate(error))
    }

    /// Places of the pages of some leaves' chunks in a row group, from their offset indexes, which are read together. `None` for
    /// chunks that are short or encrypted, and for repeated leaves, whose values are not counted in the index.
    ///
    /// # Errors
    /// [`Error::Io`] if they cannot be read.
    pub(crate) fn page_places(&self, row_group: usize, columns: &[usize]) -> Result<Vec<Option<Arc<PagePlaces>>>> {
        let least =
            if self.source().request_cost_bytes() > 0 { self.source().request_cost_bytes() } else { LEAST_CHUNK_BYTES };
        self.page_places_from(row_group, columns, least)
    }

    /// As [`page_places`](Self::page_places), for chunks of at least `least` bytes.
    pub(crate) fn page_places_from(
        &self,
        row_group: usize,
        columns: &[usize],
        least: u64,
    ) -> Result<Vec<Option<Arc<PagePlaces>>>> {
        let mut places = vec![None; columns.len()];
        let leaves = self.metadata().schema_descr().columns();
        let range_of = |&column: &usize| {
            let chunk = self.metadata().chunk(row_group, column).ok()?;
            let is_long = chunk.compressed_size() >= least;
            let is_plain = !chunk.is_encrypted() && leaves.get(column)?.max_rep_level() == 0;
            if !is_long || !is_plain {
                return None;
            }
            self.index_range(chunk.offset_index())
        };
        let (numbers, ranges): (Vec<usize>, Vec<Range<u64>>) =
            columns.iter().map(range_of).enumerate().filter_map(|(number, range)| Some((number, range?))).unzip();
        if ranges.is_empty() {
            return Ok(places);
        }
        let row_count = self.row_group_row_counts().get(row_group).copied().unwrap_or(0);
        for (number, bytes) in numbers.into_iter().zip(self.read_many(&ranges)?) {
            places[number] = PagePlaces::read(&bytes, row_count).map(Arc::new);
        }
        Ok(places)
    }
}

//! Row groups that are being written, and their metadata for the footer.

use std::collections::VecDeque;
use std::io::Write;

use bytes::Bytes;
use lath_format::write::ColumnChunkMetaData;
use lath_format::{ChunkEncryptor, FileEncryptor, SortingColumn};
use lath_parquet::Result;

use super::encrypt::{EncryptedPages, encrypt_indexes, invalid};
use super::output::{Output, signed, too_long};
use super::pool::Pool;
use crate::chunk::{EncodedChunk, EncodingChoice};

/// A row group in the footer.
#[derive(Debug)]
pub(crate) struct RowGroup {
    pub(crate) rows: usize,
    pub(crate) chunks: Vec<Chunk>,
    /// The sorting columns, if they differ from the options.
    pub(crate) sorting: Option<Vec<SortingColumn>>,
}

/// A column chunk that has been written, with the metadata that is still to be written.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Offset of the chunk's first byte within the file.
    pub(crate) start: u64,
    /// Offsets count from the file's first byte.
    pub(crate) metadata: ColumnChunkMetaData,
    /// Encoded, until it is written.
    pub(crate) column_index: Option<Bytes>,
    /// Encoded, until it is written.
    pub(crate) offset_index: Option<Bytes>,
    /// Until it is written.
    pub(crate) bloom_filter: Option<Bytes>,
    /// `None` for a copy.
    pub(crate) choice: Option<EncodingChoice>,
}

/// Row groups in the order of the file; the last may still lack chunks.
#[derive(Debug, Default)]
pub(crate) struct RowGroups {
    done: Vec<RowGroup>,
    unfinished: VecDeque<RowGroup>,
    /// Bytes of the waiting Bloom filters.
    bloom_bytes: usize,
}

impl RowGroups {
    /// Begins a row group whose chunks come from the pool.
    pub(crate) fn begin(&mut self, rows: usize, sorting: Option<Vec<SortingColumn>>) {
        self.unfinished.push_back(RowGroup { rows, chunks: Vec::new(), sorting });
    }

    /// Writes the next chunks, as far as the pool has finished them.
    pub(crate) fn write_finished<W: Write>(
        &mut self,
        pool: &Pool,
        leaf_count: usize,
        encryptor: Option<&FileEncryptor>,
        output: &mut Output<W>,
    ) -> Result<()> {
        while let Some(row_group) = self.unfinished.front_mut() {
            let index = self.done.len();
            while row_group.chunks.len() < leaf_count {
                let Some(chunk) = pool.take_chunk(row_group.chunks.len()) else { return Ok(()) };
                let chunk = match encryptor {
                    Some(encryptor) => {
                        let path = chunk.metadata.column.path().string();
                        let encryptor = encryptor.chunk(&path, index, row_group.chunks.len()).map_err(invalid)?;
                        Chunk::write(chunk, encryptor.as_ref(), output)?
                    }
                    None => Chunk::write(chunk, None, output)?,
                };
                self.bloom_bytes += chunk.bloom_filter.as_ref().map_or(0, Bytes::len);
                row_group.chunks.push(chunk);
            }
            self.done.extend(self.unfinished.pop_front());
        }
        Ok(())
    }

    /// Adds a row group whose chunks are in the file.
    pub(crate) fn push(&mut self, row_group: RowGroup) {
        let filters = row_group.chunks.iter().filter_map(|chunk| chunk.bloom_filter.as_ref());
        self.bloom_bytes += filters.map(Bytes::len).sum::<usize>();
        self.done.push(row_group);
    }

    pub(crate) fn bloom_bytes(&self) -> usize {
        self.bloom_bytes
    }

    /// Writes the waiting Bloom filters: the filters of one column next to each other, so that a lookup in all row groups reads
    /// one range.
    pub(crate) fn write_bloom_filters<W: Write>(&mut self, output: &mut Output<W>) -> Result<()> {
        let leaf_count = self.done.first().map_or(0, |row_group| row_group.chunks.len());
        for leaf in 0..leaf_count {
            for chunk in self.done.iter_mut().filter_map(|row_group| row_group.chunks.get_mut(leaf)) {
                let Some(filter) = chunk.bloom_filter.take() else { continue };
                chunk.metadata.bloom_filter = Some(output.place(&filter)?);
            }
        }
        self.bloom_bytes = 0;
        Ok(())
    }

    pub(crate) fn done(&self) -> &[RowGroup] {
        &self.done
    }

    pub(crate) fn done_mut(&mut self) -> &mut [RowGroup] {
        &mut self.done
    }

    /// Whether chunks of a row group are still to come.
    pub(crate) fn has_unfinished(&self) -> bool {
        !self.unfinished.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.done.len() + self.unfinished.len()
    }
}

impl Chunk {
    /// Writes the pages, encrypted if the column is.
    pub(crate) fn write<W: Write>(
        chunk: EncodedChunk,
        encryptor: Option<&ChunkEncryptor>,
        output: &mut Output<W>,
    ) -> Result<Self> {
        let EncodedChunk { pages, mut metadata, column_index, offset_index, bloom_filter, choice } = chunk;
        let start = output.position();
        match encryptor {
            None => pages.iter().try_for_each(|page| output.write(page))?,
            Some(encryptor) => {
                let mut modules = EncryptedPages::new(encryptor, &pages, metadata.dictionary_page_offset.is_some());
                while let Some(module) = modules.next()? {
                    output.write(module)?;
                }
            }
        }
        let distance = signed(start)?;
        move_pages(&mut metadata, distance)?;
        let encoded = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = Vec::new();
            write(&mut bytes);
            Bytes::from(bytes)
        };
        let offset_index = offset_index.map(|index| index.moved(distance).ok_or_else(too_long)).transpose()?;
        let mut written = Self {
            start,
            metadata,
            column_index: column_index.map(|index| encoded(&|out| index.write(out))),
            offset_index: offset_index.map(|index| encoded(&|out| index.write(out))),
            bloom_filter,
            choice: Some(choice),
        };
        if let Some(encryptor) = encryptor {
            let Self { column_index, offset_index, bloom_filter, .. } = &mut written;
            encrypt_indexes(encryptor, column_index, offset_index, bloom_filter)?;
        }
        Ok(written)
    }
}

/// Adds `distance` to the offsets of pages.
pub(crate) fn move_pages(metadata: &mut ColumnChunkMetaData, distance: i64) -> Result<()> {
    let further = |offset: i64| offset.checked_add(distance).ok_or_else(too_long);
    metadata.data_page_offset = further(metadata.data_page_offset)?;
    metadata.dictionary_page_offset = metadata.dictionary_page_offset.map(further).transpose()?;
    Ok(())
}

//! A footer with its schema, from which row groups and column chunks are read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::crypto::FileDecryptor;
use crate::error::{Error, Result};
use crate::layout::{Bases, Layout};
use crate::outline::Outline;
use crate::packed::{PACKED_ROW_GROUPS, PackedRowGroups, StoredChunk};
use crate::schema::SchemaDescPtr;
use crate::thrift::ThriftReader;

pub(crate) struct StoredFooter {
    bytes: Bytes,
    /// The bytes; without row groups if these are packed.
    outline: Outline,
    packed: Option<PackedRowGroups>,
    schema: SchemaDescPtr,
    leaves: usize,
    decryptor: Option<Arc<FileDecryptor>>,
}

impl StoredFooter {
    /// # Errors
    /// [`Error::Corrupt`] if row groups do not have a chunk for each leaf of the schema.
    pub(crate) fn new(
        mut bytes: Bytes,
        mut outline: Outline,
        decryptor: Option<Arc<FileDecryptor>>,
        schema: SchemaDescPtr,
    ) -> Result<Self> {
        let leaves = schema.num_columns();
        if outline.columns != leaves && !outline.tails.is_empty() {
            let what = format!("expected {leaves} column chunks in each row group, found {}", outline.columns);
            return Err(Error::corrupt(what));
        }
        let mut packed = None;
        if outline.row_counts.len() >= PACKED_ROW_GROUPS {
            packed = Some(PackedRowGroups::pack(&bytes, &outline));
            (outline, bytes) = outline.without_row_groups(&bytes);
        }
        Ok(Self { bytes, outline, packed, schema, leaves, decryptor })
    }

    /// The places of the footer's parts.
    pub(crate) fn outline(&self) -> &Outline {
        &self.outline
    }

    /// A part of the footer.
    pub(crate) fn part(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    pub(crate) fn schema(&self) -> &SchemaDescPtr {
        &self.schema
    }

    pub(crate) fn decryptor(&self) -> Option<&FileDecryptor> {
        self.decryptor.as_deref()
    }

    #[inline]
    pub(crate) fn row_group_count(&self) -> usize {
        self.outline.row_counts.len()
    }

    /// By row group.
    #[inline]
    pub(crate) fn row_counts(&self) -> &[u64] {
        &self.outline.row_counts
    }

    /// Number of leaf columns.
    #[inline]
    pub(crate) fn column_count(&self) -> usize {
        self.leaves
    }

    /// The dotted path of a leaf column.
    pub(crate) fn column_path(&self, leaf: usize) -> String {
        self.schema.columns().get(leaf).map(|column| column.path().string()).unwrap_or_default()
    }

    /// Whether a leaf column has values of fixed width.
    #[inline]
    pub(crate) fn has_fixed_width(&self, leaf: usize) -> bool {
        self.outline.leaves.has_fixed_width.get(leaf).copied().unwrap_or(false)
    }

    /// # Errors
    /// [`Error::Unsupported`] if the physical type of the column is unknown.
    #[inline]
    pub(crate) fn check_type(&self, leaf: usize) -> Result<()> {
        if self.outline.leaves.unknown_types.is_empty() { Ok(()) } else { self.find_type(leaf) }
    }

    #[cold]
    fn find_type(&self, leaf: usize) -> Result<()> {
        let unknown = &self.outline.leaves.unknown_types;
        let Ok(index) = unknown.binary_search_by_key(&leaf, |(leaf, _)| *leaf) else { return Ok(()) };
        let (_, id) = unknown[index];
        Err(Error::unsupported(format!("physical type {id} of column {}", self.column_path(leaf))))
    }

    /// The encoded chunk of a row group and leaf, which must exist.
    #[inline]
    pub(crate) fn chunk(&self, row_group: usize, leaf: usize) -> StoredChunk<'_> {
        if let Some(chunk) = self.packed.as_ref().and_then(|packed| packed.chunk(row_group, leaf)) {
            return chunk;
        }
        let index = row_group * self.leaves + leaf;
        let start = self.outline.chunk_starts.get(index).copied().unwrap_or(u32::MAX) as usize;
        let layout = self.outline.chunk_layouts.get(index).and_then(|&layout| self.outline.layouts.get(layout));
        let shared = self.bytes.get(start..).unwrap_or_default();
        StoredChunk { bases: Bases { shared, record: &[] }, fields: layout.map(Layout::fields), pieces: &[] }
    }

    /// A reader of a row group's fields after its columns, and the number of the field before.
    pub(crate) fn row_group_tail(&self, row_group: usize) -> (ThriftReader<'_>, i16) {
        let reader = match &self.packed {
            Some(packed) => ThriftReader::new(packed.tail(row_group)),
            None => {
                let tail = self.outline.tails.get(row_group).copied().unwrap_or(u32::MAX);
                ThriftReader::at(&self.bytes, tail as usize)
            }
        };
        (reader, if self.outline.columns > 0 { 1 } else { 0 })
    }

    /// Bytes of memory, without the schema, which files can share.
    pub(crate) fn memory_bytes(&self) -> usize {
        let packed = self.packed.as_ref().map_or(0, PackedRowGroups::memory_bytes);
        size_of::<Self>() + self.bytes.len() + self.outline.memory_bytes() + packed
    }
}

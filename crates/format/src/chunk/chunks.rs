//! The chunks of a file, with a cache of decoded and decrypted metadata.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::ColumnChunk;
use super::facts::ReadFacts;
use super::parts::Parts;
use crate::error::{Error, Result};
use crate::layout::flag;
use crate::stored::StoredFooter;
use crate::thrift::ThriftReader;

/// The decoded chunks of a column, by row group: chunks without a layout that can be read.
type ReadColumn = Box<[(u32, ReadFacts)]>;

/// The decrypted metadata of a column's chunks, by row group: only chunks that are encrypted and can be decrypted.
type DecryptedColumn = Box<[Option<Box<[u8]>>]>;

/// The column chunks of a file, which are read on demand.
pub(crate) struct Chunks {
    footer: StoredFooter,
    /// By leaf: decoded chunks, and decrypted metadata.
    read: OnceLock<Box<[OnceLock<ReadColumn>]>>,
    decrypted: OnceLock<Box<[OnceLock<DecryptedColumn>]>>,
    /// Bytes that both take.
    read_bytes: AtomicUsize,
}

impl Chunks {
    pub(crate) fn new(footer: StoredFooter) -> Self {
        Self { footer, read: OnceLock::new(), decrypted: OnceLock::new(), read_bytes: AtomicUsize::new(0) }
    }

    /// The footer.
    #[inline]
    pub(crate) fn footer(&self) -> &StoredFooter {
        &self.footer
    }

    /// The chunk of `leaf` in `row_group`.
    #[inline]
    pub(crate) fn chunk(&self, row_group: usize, leaf: usize) -> Result<ColumnChunk<'_>> {
        if row_group >= self.footer.row_group_count() || leaf >= self.footer.column_count() {
            return Err(no_chunk(row_group, leaf));
        }
        self.footer.check_type(leaf)?;
        ColumnChunk::new(self, row_group, leaf)
    }

    /// Bytes of memory that they currently take, including the footer.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.footer.memory_bytes() + self.read_bytes.load(Ordering::Relaxed)
    }

    /// The decoded values of a chunk without a layout; `None` if it has a layout, or cannot be read. All chunks of a column are decoded together.
    pub(super) fn read_facts(&self, row_group: usize, leaf: usize) -> Option<&ReadFacts> {
        let column = self.read.get_or_init(|| self.by_leaf()).get(leaf)?;
        let column = column.get_or_init(|| {
            let column = self.read_column(leaf);
            self.read_bytes.fetch_add(size_of_val(&*column), Ordering::Relaxed);
            column
        });
        let index = column.binary_search_by_key(&(row_group as u32), |(row_group, _)| *row_group).ok()?;
        Some(&column.get(index)?.1)
    }

    /// The chunk's decrypted metadata, if they are encrypted and can be decrypted. All chunks of a column are decrypted together.
    pub(super) fn decrypted_metadata(&self, row_group: usize, leaf: usize) -> Option<&[u8]> {
        self.footer.decryptor()?;
        let column = self.decrypted.get_or_init(|| self.by_leaf()).get(leaf)?;
        let column = column.get_or_init(|| {
            let column = self.decrypt_column(leaf);
            let bytes = column.iter().map(|chunk| size_of_val(chunk) + chunk.as_ref().map_or(0, |chunk| chunk.len()));
            self.read_bytes.fetch_add(bytes.sum(), Ordering::Relaxed);
            column
        });
        column.get(row_group)?.as_deref()
    }

    fn by_leaf<T>(&self) -> Box<[OnceLock<T>]> {
        let columns: Box<[OnceLock<T>]> =
            std::iter::repeat_with(OnceLock::new).take(self.footer.column_count()).collect();
        self.read_bytes.fetch_add(size_of_val(&*columns), Ordering::Relaxed);
        columns
    }

    fn read_column(&self, leaf: usize) -> ReadColumn {
        let row_groups = 0..self.footer.row_group_count();
        let chunks = row_groups.map(|row_group| (row_group, self.footer.chunk(row_group, leaf)));
        let chunks = chunks.filter(|(_, stored)| stored.fields.is_none());
        let mut facts = Vec::with_capacity(chunks.clone().count());
        // Reading the chunk finds the error again.
        facts.extend(chunks.filter_map(|(row_group, stored)| {
            let facts = self.read(stored.bases.shared, row_group, leaf).ok()?;
            Some((row_group as u32, facts))
        }));
        facts.into()
    }

    /// Reads the chunk of `leaf` in `row_group` at the start of `bytes`.
    pub(super) fn read(&self, bytes: &[u8], row_group: usize, leaf: usize) -> Result<ReadFacts> {
        let mut facts = ReadFacts::default();
        let parts = Parts::find(bytes, &mut facts, |reader, facts| facts.read_metadata(reader))?;
        // The plaintext copy is for readers without the key, and lacks the statistics.
        match self.decrypted_metadata(row_group, leaf).filter(|_| parts.is_encrypted()) {
            Some(decrypted) => {
                facts.flags |= flag::DECRYPTED;
                let read = facts.read_metadata(&mut ThriftReader::new(decrypted));
                read.map_err(|error| Error::malformed("metadata of a column chunk", error))?;
            }
            None => drop(parts.metadata(&self.footer, row_group, leaf)?),
        }
        facts.check()?;
        Ok(facts)
    }

    fn decrypt_column(&self, leaf: usize) -> DecryptedColumn {
        let decrypt = |row_group| {
            let chunk = self.footer.chunk(row_group, leaf).bytes();
            let parts = Parts::locate(&chunk).ok().filter(Parts::is_encrypted)?;
            match parts.metadata(&self.footer, row_group, leaf) {
                Ok(Cow::Owned(metadata)) => Some(metadata.into()),
                _ => None,
            }
        };
        (0..self.footer.row_group_count()).map(decrypt).collect()
    }
}

#[cold]
fn no_chunk(row_group: usize, leaf: usize) -> Error {
    Error::corrupt(format!("the file has no column {leaf} in row group {row_group}"))
}

impl fmt::Debug for Chunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks")
            .field("row_groups", &self.footer.row_group_count())
            .field("columns", &self.footer.column_count())
            .finish_non_exhaustive()
    }
}

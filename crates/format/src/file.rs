use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::chunk::{ColumnChunk, ReadColumn, ReadFacts, decrypt_column};
use crate::crypto::{DecryptionKeys, FileDecryptor, Plaintext, decrypt_footer};
use crate::error::{Error, Result};
use crate::layout::{Bases, Layout};
use crate::order::{ColumnOrder, column_orders};
use crate::outline::Outline;
use crate::packed::{PACKED_ROW_GROUPS, PackedRowGroups, StoredChunk};
use crate::row_group::RowGroup;
use crate::schema::{KeyValue, SchemaDescPtr, key_values, parse_schema};
use crate::thrift::ThriftReader;

/// A footer of which it is known where its parts are.
///
/// It becomes [`FileMetaData`] with its schema, which is that of another file where both have the same
/// [`schema_bytes`](Self::schema_bytes): files of one table do not have to have it made for each of them.
pub struct Footer {
    bytes: Bytes,
    outline: Outline,
    decryptor: Option<Arc<FileDecryptor>>,
}

impl Footer {
    /// Finds the parts of a `FileMetaData`, which is decrypted first if it has to be: `is_encrypted` where the file ends with
    /// `PARE`. The schema may have a depth of `schema_depth`, and at most [`DEEPEST_SCHEMA`](crate::DEEPEST_SCHEMA).
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a structure is cut short or malformed, or a required field is missing; [`Error::Limit`] if the
    /// schema is too deep; [`Error::Encrypted`] and [`Error::InvalidKey`] if it cannot be decrypted with `keys`.
    pub fn find(bytes: Bytes, is_encrypted: bool, keys: Option<&DecryptionKeys>, schema_depth: usize) -> Result<Self> {
        let Plaintext { footer, decryptor } = decrypt_footer(bytes, is_encrypted, keys)?;
        let outline = Outline::find(&footer, schema_depth)?;
        Ok(Self { bytes: footer, outline, decryptor })
    }

    /// The list of schema elements as it stands in the footer: files with the same bytes have the same schema.
    pub fn schema_bytes(&self) -> &[u8] {
        &self.bytes[self.outline.schema.clone()]
    }

    /// The file's key-value metadata as it stands in the footer.
    pub fn key_value_bytes(&self) -> &[u8] {
        &self.bytes[self.outline.key_values.clone()]
    }

    /// The file's key-value metadata.
    pub fn key_value_metadata(&self) -> Vec<KeyValue> {
        key_values(self.key_value_bytes())
    }

    /// The schema.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if an element breaks the rules of the format.
    pub fn parse_schema(&self) -> Result<SchemaDescPtr> {
        parse_schema(self.schema_bytes())
    }

    /// The metadata, with the schema that [`parse_schema`](Self::parse_schema) gives for this footer or for one with the same
    /// bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if row groups do not have a chunk for each leaf of the schema.
    pub fn with_schema(self, schema: SchemaDescPtr) -> Result<FileMetaData> {
        FileMetaData::new(self, schema)
    }
}

impl fmt::Debug for Footer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Footer").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

type DecryptedColumn = Box<[Option<Box<[u8]>>]>;

/// What the footer of a file says. Column chunks are read when they are asked for.
pub struct FileMetaData {
    bytes: Bytes,
    /// Without row groups where they are packed.
    outline: Outline,
    packed: Option<PackedRowGroups>,
    schema: SchemaDescPtr,
    column_orders: OnceLock<Box<[ColumnOrder]>>,
    leaves: usize,
    /// By leaf: what was read of chunks that have no layout, and what was decrypted.
    read: OnceLock<Box<[OnceLock<ReadColumn>]>>,
    decrypted: OnceLock<Box<[OnceLock<DecryptedColumn>]>>,
    /// Bytes that both take.
    read_bytes: AtomicUsize,
    decryptor: Option<Arc<FileDecryptor>>,
}

impl FileMetaData {
    /// The metadata in a `FileMetaData` that is not encrypted.
    ///
    /// # Errors
    /// As [`Footer::find`], [`Footer::parse_schema`] and [`Footer::with_schema`].
    pub fn from_bytes(footer: impl Into<Bytes>) -> Result<Self> {
        let footer = Footer::find(footer.into(), false, None, crate::DEEPEST_SCHEMA)?;
        let schema = footer.parse_schema()?;
        footer.with_schema(schema)
    }

    fn new(footer: Footer, schema: SchemaDescPtr) -> Result<Self> {
        let Footer { mut bytes, mut outline, decryptor } = footer;
        let leaves = schema.num_columns();
        if outline.columns != leaves && !outline.tails.is_empty() {
            let what = format!("row groups of {} column chunks, and a schema of {leaves} columns", outline.columns);
            return Err(Error::corrupt(what));
        }
        let mut packed = None;
        if outline.row_counts.len() >= PACKED_ROW_GROUPS {
            packed = Some(PackedRowGroups::pack(&bytes, &outline));
            (outline, bytes) = outline.without_row_groups(&bytes);
        }
        Ok(Self {
            bytes,
            outline,
            packed,
            schema,
            column_orders: OnceLock::new(),
            leaves,
            read: OnceLock::new(),
            decrypted: OnceLock::new(),
            read_bytes: AtomicUsize::new(0),
            decryptor,
        })
    }

    /// The version of the format that the writer names.
    pub fn version(&self) -> i32 {
        self.outline.version
    }

    /// Number of rows, as the file says it; that of its row groups can be another one.
    pub fn num_rows(&self) -> i64 {
        self.outline.row_count
    }

    /// The program that wrote the file.
    pub fn created_by(&self) -> Option<&str> {
        let range = self.outline.created_by.clone()?;
        std::str::from_utf8(self.bytes.get(range)?).ok()
    }

    /// Pairs that the writer left; empty if there are none.
    pub fn key_value_metadata(&self) -> Vec<KeyValue> {
        key_values(self.bytes.get(self.outline.key_values.clone()).unwrap_or_default())
    }

    /// The schema.
    pub fn schema_descr(&self) -> &SchemaDescPtr {
        &self.schema
    }

    /// The order that the statistics of a leaf column are in.
    pub fn column_order(&self, leaf: usize) -> ColumnOrder {
        let orders = self.column_orders.get_or_init(|| {
            column_orders(self.bytes.get(self.outline.column_orders.clone()).unwrap_or_default()).into()
        });
        orders.get(leaf).copied().unwrap_or(ColumnOrder::Undefined)
    }

    /// Number of leaf columns.
    pub fn column_count(&self) -> usize {
        self.leaves
    }

    /// Number of row groups.
    #[inline]
    pub fn row_group_count(&self) -> usize {
        self.outline.row_counts.len()
    }

    /// Number of rows of each row group. Their sum is below 2⁶³.
    pub fn row_counts(&self) -> &[u64] {
        &self.outline.row_counts
    }

    /// A row group; `None` if the file does not have it.
    pub fn row_group(&self, row_group: usize) -> Option<RowGroup<'_>> {
        (row_group < self.row_group_count()).then(|| RowGroup::new(self, row_group))
    }

    /// All row groups.
    pub fn row_groups(&self) -> impl ExactSizeIterator<Item = RowGroup<'_>> {
        (0..self.row_group_count()).map(|index| RowGroup::new(self, index))
    }

    /// A column chunk.
    ///
    /// # Errors
    /// [`Error::CorruptChunk`] if its metadata are malformed, [`Error::Unsupported`] if the column has a physical type that is
    /// not known (its schema says BYTE_ARRAY), [`Error::Encrypted`] if they are encrypted and the key was not
    /// given, [`Error::Corrupt`] if the file does not have it.
    #[inline]
    pub fn chunk(&self, row_group: usize, leaf: usize) -> Result<ColumnChunk<'_>> {
        if row_group >= self.row_group_count() || leaf >= self.leaves {
            return Err(no_chunk(row_group, leaf));
        }
        if !self.outline.leaves.unknown_types.is_empty() {
            self.check_type(leaf)?;
        }
        ColumnChunk::new(self, row_group, leaf)
    }

    fn check_type(&self, leaf: usize) -> Result<()> {
        let unknown = &self.outline.leaves.unknown_types;
        let Ok(index) = unknown.binary_search_by_key(&leaf, |(leaf, _)| *leaf) else { return Ok(()) };
        let (_, id) = unknown[index];
        Err(Error::unsupported(format!("physical type {id} of column {}", self.column_path(leaf))))
    }

    /// Bytes of memory that the metadata take now.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.bytes.len()
            + self.outline.memory_bytes()
            + self.packed.as_ref().map_or(0, PackedRowGroups::memory_bytes)
            + self.read_bytes.load(Ordering::Relaxed)
    }

    /// The dotted path of a leaf column.
    pub(crate) fn column_path(&self, leaf: usize) -> String {
        self.schema.columns().get(leaf).map(|column| column.path().string()).unwrap_or_default()
    }

    /// Whether the values of a leaf column are no byte strings.
    #[inline]
    pub(crate) fn has_fixed_width(&self, leaf: usize) -> bool {
        self.outline.leaves.has_fixed_width.get(leaf).copied().unwrap_or(false)
    }

    pub(crate) fn decryptor(&self) -> Option<&FileDecryptor> {
        self.decryptor.as_deref()
    }

    /// What was read of a chunk that has no layout; `None` if it has one, or cannot be read. Those of a column are read together.
    pub(crate) fn read_facts(&self, row_group: usize, leaf: usize) -> Option<&ReadFacts> {
        let column = self.read.get_or_init(|| self.by_leaf()).get(leaf)?;
        let column = column.get_or_init(|| {
            let column = ReadFacts::read_column(self, leaf);
            self.read_bytes.fetch_add(size_of_val(&*column), Ordering::Relaxed);
            column
        });
        let index = column.binary_search_by_key(&(row_group as u32), |(row_group, _)| *row_group).ok()?;
        Some(&column.get(index)?.1)
    }

    /// The chunk's metadata, if they were encrypted and can be decrypted. Those of a column are decrypted together.
    pub(crate) fn decrypted_metadata(&self, row_group: usize, leaf: usize) -> Option<&[u8]> {
        self.decryptor.as_ref()?;
        let column = self.decrypted.get_or_init(|| self.by_leaf()).get(leaf)?;
        let column = column.get_or_init(|| {
            let column = decrypt_column(self, leaf);
            let bytes = column.iter().map(|chunk| size_of_val(chunk) + chunk.as_ref().map_or(0, |chunk| chunk.len()));
            self.read_bytes.fetch_add(bytes.sum(), Ordering::Relaxed);
            column
        });
        column.get(row_group)?.as_deref()
    }

    fn by_leaf<T>(&self) -> Box<[OnceLock<T>]> {
        let columns: Box<[OnceLock<T>]> = std::iter::repeat_with(OnceLock::new).take(self.leaves).collect();
        self.read_bytes.fetch_add(size_of_val(&*columns), Ordering::Relaxed);
        columns
    }

    /// A chunk as it stands in the footer, of a row group and leaf that the file has.
    #[inline]
    pub(crate) fn stored_chunk(&self, row_group: usize, leaf: usize) -> StoredChunk<'_> {
        if let Some(chunk) = self.packed.as_ref().and_then(|packed| packed.chunk(row_group, leaf)) {
            return chunk;
        }
        let index = row_group * self.leaves + leaf;
        let start = self.outline.chunk_starts.get(index).copied().unwrap_or(u32::MAX) as usize;
        let layout = self.outline.chunk_layouts.get(index).and_then(|&layout| self.outline.layouts.get(layout));
        let shared = self.bytes.get(start..).unwrap_or_default();
        StoredChunk { bases: Bases { shared, record: &[] }, fields: layout.map(Layout::fields), pieces: &[] }
    }

    /// A reader of a row group's fields behind its columns, and the number of the field before.
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
}

#[cold]
fn no_chunk(row_group: usize, leaf: usize) -> Error {
    Error::corrupt(format!("the file has no column {leaf} in row group {row_group}"))
}

impl fmt::Debug for FileMetaData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileMetaData")
            .field("row_groups", &self.row_group_count())
            .field("columns", &self.column_count())
            .field("created_by", &self.created_by())
            .finish_non_exhaustive()
    }
}

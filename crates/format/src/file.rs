use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use crate::chunk::{Chunks, ColumnChunk};
use crate::crypto::{DecryptionKeys, FileDecryptor, Plaintext, decrypt_footer};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::order::{ColumnOrder, column_orders};
use crate::outline::Outline;
use crate::row_group::RowGroup;
use crate::schema::{KeyValue, SchemaDescPtr, key_values, parse_schema};
use crate::stored::StoredFooter;

/// A footer whose parts have been found.
///
/// With its schema it becomes [`FileMetaData`]. Files with the same [`schema_bytes`](Self::schema_bytes) can share a schema, which then is parsed
/// only once for the files of a table.
pub struct Footer {
    bytes: Bytes,
    outline: Outline,
    decryptor: Option<Arc<FileDecryptor>>,
}

impl Footer {
    /// Finds the parts of a `FileMetaData`, after decrypting it if `is_encrypted` (the file ends with `PARE`). The schema may be `schema_depth`
    /// deep, and at most [`DEEPEST_SCHEMA`](crate::DEEPEST_SCHEMA).
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a structure is truncated or malformed, or a required field is missing; [`Error::Limit`] if the schema is too deep;
    /// [`Error::Encrypted`] and [`Error::InvalidKey`] if the footer cannot be decrypted with `keys`.
    pub fn find(bytes: Bytes, is_encrypted: bool, keys: Option<&DecryptionKeys>, schema_depth: usize) -> Result<Self> {
        let Plaintext { footer, decryptor } = decrypt_footer(bytes, is_encrypted, keys)?;
        let outline = Outline::find(&footer, schema_depth)?;
        Ok(Self { bytes: footer, outline, decryptor })
    }

    /// The encoded list of schema elements. Files with the same bytes have the same schema.
    pub fn schema_bytes(&self) -> &[u8] {
        &self.bytes[self.outline.schema.clone()]
    }

    /// The file's encoded key-value metadata.
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
    /// [`Error::Corrupt`] if an element violates the format.
    pub fn parse_schema(&self) -> Result<SchemaDescPtr> {
        parse_schema(self.schema_bytes())
    }

    /// The metadata with their schema, which is the result of [`parse_schema`](Self::parse_schema) for a footer with the same bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if row groups do not have a chunk for each leaf of the schema.
    pub fn with_schema(self, schema: SchemaDescPtr) -> Result<FileMetaData> {
        let Self { bytes, outline, decryptor } = self;
        let footer = StoredFooter::new(bytes, outline, decryptor, schema)?;
        Ok(FileMetaData { chunks: Chunks::new(footer), column_orders: OnceLock::new() })
    }
}

impl fmt::Debug for Footer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Footer").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

/// The metadata in the footer of a file. Column chunks are read on demand.
pub struct FileMetaData {
    chunks: Chunks,
    column_orders: OnceLock<Box<[ColumnOrder]>>,
}

impl FileMetaData {
    /// Reads an unencrypted `FileMetaData`.
    ///
    /// # Errors
    /// As [`Footer::find`], [`Footer::parse_schema`] and [`Footer::with_schema`].
    pub fn from_bytes(footer: impl Into<Bytes>) -> Result<Self> {
        let footer = Footer::find(footer.into(), false, None, crate::DEEPEST_SCHEMA)?;
        let schema = footer.parse_schema()?;
        footer.with_schema(schema)
    }

    /// The version of the format, as the writer set it.
    pub fn version(&self) -> i32 {
        self.outline().version
    }

    /// Number of rows in the footer. It can differ from the sum over the row groups.
    pub fn num_rows(&self) -> i64 {
        self.outline().row_count
    }

    /// The program that wrote the file.
    pub fn created_by(&self) -> Option<&str> {
        let range = self.outline().created_by.clone()?;
        std::str::from_utf8(self.chunks.footer().part(range)).ok()
    }

    /// The key-value metadata; empty if there are none.
    pub fn key_value_metadata(&self) -> Vec<KeyValue> {
        key_values(self.chunks.footer().part(self.outline().key_values.clone()))
    }

    /// The schema.
    pub fn schema_descr(&self) -> &SchemaDescPtr {
        self.chunks.footer().schema()
    }

    /// The order of the statistics of a leaf column.
    pub fn column_order(&self, leaf: usize) -> ColumnOrder {
        let orders = self
            .column_orders
            .get_or_init(|| column_orders(self.chunks.footer().part(self.outline().column_orders.clone())).into());
        orders.get(leaf).copied().unwrap_or(ColumnOrder::Undefined)
    }

    /// Number of leaf columns.
    pub fn column_count(&self) -> usize {
        self.chunks.footer().column_count()
    }

    /// Number of row groups.
    #[inline]
    pub fn row_group_count(&self) -> usize {
        self.chunks.footer().row_group_count()
    }

    /// Number of rows of each row group. Their sum is below 2⁶³.
    pub fn row_counts(&self) -> &[u64] {
        self.chunks.footer().row_counts()
    }

    /// A row group; `None` if there is none with this number.
    pub fn row_group(&self, row_group: usize) -> Option<RowGroup<'_>> {
        (row_group < self.row_group_count()).then(|| RowGroup::new(&self.chunks, row_group))
    }

    /// All row groups.
    pub fn row_groups(&self) -> impl ExactSizeIterator<Item = RowGroup<'_>> {
        (0..self.row_group_count()).map(|index| RowGroup::new(&self.chunks, index))
    }

    /// A column chunk.
    ///
    /// # Errors
    /// [`Error::CorruptChunk`] if its metadata are malformed, [`Error::Unsupported`] if the physical type of the column is unknown (its schema
    /// then says BYTE_ARRAY), [`Error::Encrypted`] if its metadata are encrypted and the key was not given, [`Error::Corrupt`] if there is no such
    /// chunk.
    #[inline]
    pub fn chunk(&self, row_group: usize, leaf: usize) -> Result<ColumnChunk<'_>> {
        self.chunks.chunk(row_group, leaf)
    }

    fn outline(&self) -> &Outline {
        self.chunks.footer().outline()
    }

    /// Bytes of memory that the metadata currently take.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() - size_of::<StoredFooter>() + self.chunks.memory_bytes()
    }
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

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

/// What the footer of a file says. Column chunks are read when they are asked for.
pub struct FileMetaData {
    chunks: Chunks,
    column_orders: OnceLock<Box<[ColumnOrder]>>,
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

    /// The version of the format that the writer names.
    pub fn version(&self) -> i32 {
        self.outline().version
    }

    /// Number of rows, as the file says it; that of its row groups can be another one.
    pub fn num_rows(&self) -> i64 {
        self.outline().row_count
    }

    /// The program that wrote the file.
    pub fn created_by(&self) -> Option<&str> {
        let range = self.outline().created_by.clone()?;
        std::str::from_utf8(self.chunks.footer().part(range)).ok()
    }

    /// Pairs that the writer left; empty if there are none.
    pub fn key_value_metadata(&self) -> Vec<KeyValue> {
        key_values(self.chunks.footer().part(self.outline().key_values.clone()))
    }

    /// The schema.
    pub fn schema_descr(&self) -> &SchemaDescPtr {
        self.chunks.footer().schema()
    }

    /// The order that the statistics of a leaf column are in.
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

    /// A row group; `None` if the file does not have it.
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
    /// [`Error::CorruptChunk`] if its metadata are malformed, [`Error::Unsupported`] if the column has a physical type that is
    /// not known (its schema says BYTE_ARRAY), [`Error::Encrypted`] if they are encrypted and the key was not
    /// given, [`Error::Corrupt`] if the file does not have it.
    #[inline]
    pub fn chunk(&self, row_group: usize, leaf: usize) -> Result<ColumnChunk<'_>> {
        self.chunks.chunk(row_group, leaf)
    }

    fn outline(&self) -> &Outline {
        self.chunks.footer().outline()
    }

    /// Bytes of memory that the metadata take now.
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

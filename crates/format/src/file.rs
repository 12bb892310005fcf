use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parquet::basic::Type as PhysicalType;

use crate::chunk::{ColumnChunk, DecodedColumn};
use crate::crypto::{DecryptionKeys, FileDecryptor, Plaintext, decrypt_footer};
use crate::error::{Error, Result};
use crate::order::{ColumnOrder, column_orders};
use crate::outline::Outline;
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

/// What the footer of a file says. Column chunks are decoded when they are asked for, all of a column at once.
pub struct FileMetaData {
    bytes: Bytes,
    outline: Outline,
    schema: SchemaDescPtr,
    column_orders: OnceLock<Box<[ColumnOrder]>>,
    columns: Box<[OnceLock<DecodedColumn>]>,
    decoded_bytes: AtomicUsize,
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
        let Footer { bytes, outline, decryptor } = footer;
        let leaves = schema.num_columns();
        if outline.columns != leaves && !outline.tails.is_empty() {
            let what = format!("row groups of {} column chunks, and a schema of {leaves} columns", outline.columns);
            return Err(Error::corrupt(what));
        }
        let columns = std::iter::repeat_with(OnceLock::new).take(leaves).collect();
        let (column_orders, decoded_bytes) = (OnceLock::new(), AtomicUsize::new(0));
        Ok(Self { bytes, outline, schema, column_orders, columns, decoded_bytes, decryptor })
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
        self.columns.len()
    }

    /// Number of row groups.
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
    /// [`Error::CorruptChunk`] if its metadata are malformed, [`Error::Encrypted`] if they are encrypted and the key was not
    /// given, [`Error::Corrupt`] if the file does not have it.
    pub fn chunk(&self, row_group: usize, leaf: usize) -> Result<ColumnChunk<'_>> {
        let (true, Some(column)) = (row_group < self.row_group_count(), self.columns.get(leaf)) else {
            return Err(Error::corrupt(format!("the file has no column {leaf} in row group {row_group}")));
        };
        let decoded = match column.get() {
            Some(decoded) => decoded,
            None => {
                let decoded = DecodedColumn::decode(self, leaf);
                let bytes = decoded.memory_bytes();
                if column.set(decoded).is_ok() {
                    self.decoded_bytes.fetch_add(bytes, Ordering::Relaxed);
                }
                let Some(decoded) = column.get() else { return Err(Error::corrupt("a column was not kept")) };
                decoded
            }
        };
        ColumnChunk::new(self, decoded, row_group, leaf)
    }

    /// Bytes of memory that the metadata take now.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.bytes.len()
            + self.outline.memory_bytes()
            + size_of_val(&*self.columns)
            + self.decoded_bytes.load(Ordering::Relaxed)
    }

    /// The dotted path of a leaf column.
    pub(crate) fn column_path(&self, leaf: usize) -> String {
        self.schema.columns().get(leaf).map(|column| column.path().string()).unwrap_or_default()
    }

    /// Whether the values of a leaf column are no byte strings.
    pub(crate) fn has_fixed_width(&self, leaf: usize) -> bool {
        let physical_type = self.schema.columns().get(leaf).map(|column| column.physical_type());
        !matches!(physical_type, None | Some(PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn decryptor(&self) -> Option<&FileDecryptor> {
        self.decryptor.as_deref()
    }

    /// Where the `ColumnChunk` begins, of a row group and leaf that the file has.
    pub(crate) fn chunk_start(&self, row_group: usize, leaf: usize) -> usize {
        self.outline.chunk_starts.get(row_group * self.columns.len() + leaf).copied().unwrap_or(u32::MAX) as usize
    }

    /// A reader of a row group's fields behind its columns, and the number of the field before.
    pub(crate) fn row_group_tail(&self, row_group: usize) -> (ThriftReader<'_>, i16) {
        let tail = self.outline.tails.get(row_group).copied().unwrap_or(u32::MAX);
        (ThriftReader::at(&self.bytes, tail as usize), if self.outline.columns > 0 { 1 } else { 0 })
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

//! A secondary index of a table: its columns, and the format of its entries.
//!
//! The key of an entry has the encoded values of the indexed columns, followed by the encoded key of the row, so that entries are in the
//! order of the values. The value of an entry is the length of the encoded values (4 bytes).

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_row::Rows;
use arrow_schema::FieldRef;
use lath_store::{RecordReader, RecordWriter, Tree};

use super::layout::INDEX_PREFIX;
use crate::error::{Error, Result};
use crate::row::{KeyCodec, MAX_KEY_LEN, TableSchema};

/// An index.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    name: String,
    number: u64,
    is_unique: bool,
    /// The numbers of the columns.
    ids: Vec<u32>,
    codec: Arc<KeyCodec>,
}

impl Index {
    /// An index of these columns, by their places in the schema.
    pub(crate) fn new(
        name: String,
        number: u64,
        is_unique: bool,
        columns: Vec<usize>,
        schema: &TableSchema,
    ) -> Result<Self> {
        let fields: Vec<FieldRef> =
            columns.iter().map(|&column| FieldRef::clone(&schema.arrow().fields()[column])).collect();
        let ids = columns.iter().map(|&column| schema.id(column)).collect();
        Ok(Self { name, number, is_unique, ids, codec: Arc::new(KeyCodec::new(columns, fields, schema.floats())?) })
    }

    /// The index in another schema, in which its columns may have other names and places.
    pub(crate) fn in_schema(&self, schema: &TableSchema) -> Result<Self> {
        Self::from_ids(self.name.clone(), self.number, self.is_unique, &self.ids, schema)
    }

    fn from_ids(name: String, number: u64, is_unique: bool, ids: &[u32], schema: &TableSchema) -> Result<Self> {
        let places = ids.iter().map(|&id| schema.place_of_id(id)).collect::<Option<Vec<_>>>();
        let places = places.ok_or_else(|| Error::corrupt("an index has a column that the schema lacks"))?;
        Self::new(name, number, is_unique, places, schema)
    }

    /// The indexes of a table.
    pub(crate) fn read_all(meta: Option<Tree<'_>>, schema: &TableSchema) -> Result<Vec<Self>> {
        let Some(meta) = meta else { return Ok(Vec::new()) };
        let parse = |entry: lath_store::Result<lath_store::Entry<'_>>| {
            let (key, value) = entry?;
            Self::from_bytes(key.strip_prefix(INDEX_PREFIX).unwrap_or_default(), value, schema)
        };
        meta.prefix(INDEX_PREFIX).map(parse).collect()
    }

    /// Its key among the facts of the table.
    pub(crate) fn meta_key(&self) -> Vec<u8> {
        [INDEX_PREFIX, self.name.as_bytes()].concat()
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut record = RecordWriter::default();
        record.u64(self.number).u32(self.is_unique.into()).u32(self.ids.len() as u32);
        for &id in &self.ids {
            record.u32(id);
        }
        record.finish()
    }

    fn from_bytes(name: &[u8], bytes: &[u8], schema: &TableSchema) -> Result<Self> {
        let name = std::str::from_utf8(name).map_err(|_| Error::corrupt("the name of an index is not UTF-8"))?;
        let mut record = RecordReader::new("an index", bytes)?;
        let (number, is_unique) = (record.u64()?, record.u32()? != 0);
        let ids = (0..record.u32()?).map(|_| record.u32()).collect::<Result<Vec<_>, _>>()?;
        Self::from_ids(name.to_owned(), number, is_unique, &ids, schema)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn is_unique(&self) -> bool {
        self.is_unique
    }

    pub(crate) fn codec(&self) -> &KeyCodec {
        &self.codec
    }

    /// The entries of rows with these indexed columns and encoded keys.
    pub(crate) fn entries<'k>(
        &self,
        arrays: &[ArrayRef],
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<Vec<IndexEntry>> {
        let values: Rows = self.codec.encode(arrays)?;
        let has_null = |row: usize| arrays.iter().any(|array| array.is_null(row));
        let mut entries = Vec::with_capacity(values.num_rows());
        for (row, key) in keys.enumerate() {
            let values = values.row(row);
            let entry = IndexEntry {
                values_len: values.data().len(),
                bytes: [values.data(), key].concat(),
                is_bound: self.is_unique && !has_null(row),
            };
            if entry.bytes.len() > MAX_KEY_LEN {
                return Err(Error::KeyTooLong { row, len: entry.bytes.len(), limit: MAX_KEY_LEN });
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    /// The error that another row has the values of this entry.
    pub(crate) fn not_unique(&self, entry: &IndexEntry) -> Error {
        match self.codec.decode([entry.values()]) {
            Ok(values) => Error::NotUnique { index: self.name.clone(), values: self.codec.describe(&values, 0) },
            Err(error) => error,
        }
    }
}

/// An entry of an index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IndexEntry {
    bytes: Vec<u8>,
    values_len: usize,
    /// Whether no other entry may have its values: the index is unique and none of them is null.
    is_bound: bool,
}

impl IndexEntry {
    /// The key in the tree.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn values(&self) -> &[u8] {
        &self.bytes[..self.values_len]
    }

    /// The encoded key of its row.
    pub(crate) fn row_key(&self) -> &[u8] {
        &self.bytes[self.values_len..]
    }

    pub(crate) fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// The value in the tree.
    pub(crate) fn tree_value(&self) -> [u8; 4] {
        (self.values_len as u32).to_le_bytes()
    }
}

/// The encoded values of an entry of the tree.
pub(crate) fn entry_values<'e>(entry: &'e [u8], value: &[u8]) -> Result<&'e [u8]> {
    let key = row_key(entry, value)?;
    Ok(&entry[..entry.len() - key.len()])
}

/// The encoded key of the row that an entry of the tree is about.
pub(crate) fn row_key<'e>(entry: &'e [u8], value: &[u8]) -> Result<&'e [u8]> {
    let values_len = value.try_into().map(u32::from_le_bytes);
    let key = values_len.ok().and_then(|len| entry.get(len as usize..));
    key.ok_or_else(|| Error::corrupt("an entry of an index is too short"))
}

//! The key-value metadata of column chunks, which the `parquet` crate does not read.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;

use super::ParquetFile;
use super::footer::Footer;
use crate::error::{Error, Result};
use lath_format::thrift::{ThriftError, ThriftReader, WireType};

/// For each row group and column with key-value metadata, that list as it stands in the footer, in Thrift's compact protocol.
pub(crate) type ChunkKeyValues = HashMap<(usize, usize), Bytes>;

/// The numbers of fields on the way: of `FileMetaData`, `RowGroup`, `ColumnChunk` and `ColumnMetaData`.
const ROW_GROUPS: i16 = 4;
const COLUMNS: i16 = 1;
const META_DATA: i16 = 3;
pub(crate) const KEY_VALUE_METADATA: i16 = 8;

impl ParquetFile {
    /// The key-value metadata of the column chunks. Reads the footer once more; an encrypted one is left unread.
    pub(crate) fn chunk_key_values(&self) -> Result<&ChunkKeyValues> {
        if let Some(known) = self.shared.chunk_key_values.get() {
            return Ok(known);
        }
        let limits = &self.shared.options.limits;
        let footer =
            Footer::read(&*self.source, self.shared.footer_bytes, limits).map_err(|error| self.locate(error))?;
        let found = match footer.plain_content() {
            Some(content) => find(&content).map_err(|error| {
                self.locate(Error::corrupt(format!("malformed key-value metadata of a column chunk: {error:?}")))
            })?,
            None => ChunkKeyValues::new(),
        };
        Ok(self.shared.chunk_key_values.get_or_init(|| found))
    }

    /// The numbers of the leaf columns of which a chunk has key-value metadata, counted from 0. An encrypted footer has none
    /// that can be read.
    ///
    /// # Errors
    /// [`Error::Io`] if the footer cannot be read once more; [`Error::Corrupt`] if it has changed since.
    pub fn columns_with_chunk_key_values(&self) -> Result<BTreeSet<usize>> {
        Ok(self.chunk_key_values()?.keys().map(|&(_, column)| column).collect())
    }
}

fn find(footer: &Bytes) -> Result<ChunkKeyValues, ThriftError> {
    let mut found = ChunkKeyValues::new();
    ThriftReader::new(footer).each_field(|reader, field| match (field.id, field.wire_type) {
        (ROW_GROUPS, WireType::List) => reader.each_structure(|reader, row_group| {
            reader.each_field(|reader, field| match (field.id, field.wire_type) {
                (COLUMNS, WireType::List) => reader.each_structure(|reader, column| {
                    reader.each_field(|reader, field| match (field.id, field.wire_type) {
                        (META_DATA, WireType::Struct) => reader.each_field(|reader, field| {
                            let start = reader.position();
                            reader.skip(field)?;
                            if (field.id, field.wire_type) == (KEY_VALUE_METADATA, WireType::List) {
                                found.insert((row_group, column), footer.slice(start..reader.position()));
                            }
                            Ok(())
                        }),
                        _ => reader.skip(field),
                    })
                }),
                _ => reader.skip(field),
            })
        }),
        _ => reader.skip(field),
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use lath_testkit::parquet_test_data;

    use super::*;

    #[test]
    fn lists_of_column_chunks_are_found() {
        let Some(folder) = parquet_test_data() else { return };
        let file = ParquetFile::open(folder.join("data/column_chunk_key_value_metadata.parquet")).unwrap();
        let found = file.chunk_key_values().unwrap();
        // Two pairs: "foo" with "bar", and "thisiskeywithoutvalue" without a value.
        let expected = [&b"\x2c\x18\x03foo\x18\x03bar\x00\x18\x15"[..], b"thisiskeywithoutvalue\x00"].concat();
        assert_eq!(found.keys().collect::<Vec<_>>(), [&(0, 0)]);
        assert_eq!(found[&(0, 0)], expected);
        assert_eq!(file.columns_with_chunk_key_values().unwrap(), BTreeSet::from([0]));
    }
}

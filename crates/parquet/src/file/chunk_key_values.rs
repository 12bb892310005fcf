use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;

use super::ParquetFile;

/// For each row group and column with key-value metadata, that list as stored in the footer, in Thrift's compact protocol.
pub type ChunkKeyValues = HashMap<(usize, usize), Bytes>;

impl ParquetFile {
    /// The key-value metadata of the column chunks, without chunks that cannot be decrypted.
    #[doc(hidden)]
    pub fn chunk_key_values(&self) -> ChunkKeyValues {
        let chunks = self.metadata().row_groups().flat_map(|row_group| row_group.columns().flatten());
        let found = chunks
            .filter_map(|chunk| Some(((chunk.row_group(), chunk.leaf()), chunk.encoded_key_value_metadata()?.into())));
        found.collect()
    }

    /// The numbers of the leaf columns that have a chunk with key-value metadata, counted from 0, without columns that cannot be
    /// decrypted.
    pub fn columns_with_chunk_key_values(&self) -> BTreeSet<usize> {
        self.chunk_key_values().keys().map(|&(_, column)| column).collect()
    }
}

#[cfg(test)]
mod tests {
    use lath_testkit::parquet_test_data;

    use super::*;

    #[test]
    fn lists_of_column_chunks_are_found() {
        let Some(folder) = parquet_test_data() else { return };
        let file = ParquetFile::open(folder.join("data/column_chunk_key_value_metadata.parquet")).unwrap();
        let found = file.chunk_key_values();
        // Two pairs: "foo" with "bar", and "thisiskeywithoutvalue" without a value.
        let expected = [&b"\x2c\x18\x03foo\x18\x03bar\x00\x18\x15"[..], b"thisiskeywithoutvalue\x00"].concat();
        assert_eq!(found.keys().collect::<Vec<_>>(), [&(0, 0)]);
        assert_eq!(found[&(0, 0)], expected);
        assert_eq!(file.columns_with_chunk_key_values(), BTreeSet::from([0]));
    }
}

//! Bloom filters of key columns, for callers that store them elsewhere or build their own.

use std::ops::Range;

use arrow_array::Array;
use bytes::Bytes;
use lath_kernels::bloom;
use lath_kernels::compare::Comparison;
use lath_predicate::{Value, ValueTest};

use crate::error::Result;
use crate::file::ParquetFile;
use crate::filters::FilterHeader;
use crate::prune::{KeyKind, Keys, array_hashes};
use crate::schema::{Leaf, NodeKind};

/// Hash of a column's values for Bloom filters: XXH64 of their PLAIN bytes, as the format defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterHash {
    kind: KeyKind,
}

/// A Bloom filter of a column chunk, as stored in the file.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct StoredFilter {
    /// Offset within the file.
    pub offset: u64,
    /// Header and bitset.
    pub bytes: Bytes,
    /// Bytes of the header, which the bitset follows.
    pub header_len: usize,
}

impl StoredFilter {
    /// The bitset: whole blocks of 32 bytes.
    pub fn bitset(&self) -> &[u8] {
        &self.bytes[self.header_len..]
    }

    /// Whether the filter may contain a value with this hash. A malformed filter may contain every value.
    pub fn may_have(&self, hash: u64) -> bool {
        bloom::check(self.bitset(), hash).unwrap_or(true)
    }
}

impl FilterHash {
    /// The hashes of all slots of an array of the column's type; hashes of null slots are meaningless. `None` for types whose
    /// stored bytes differ from Arrow's.
    pub fn hash_array(&self, array: &dyn Array) -> Option<Vec<u64>> {
        array_hashes(self.kind, array)
    }

    /// The hashes of a value; a filter that contains the value contains at least one of them: two for the float 0, whose sign is
    /// unknown. `None` for a value that cannot be looked up, such as NaN.
    pub fn hash_value(&self, value: &Value) -> Option<Vec<u64>> {
        Some(Keys::new(self.kind, &ValueTest::Compare(Comparison::Equal, value.clone()))?.into_hashes())
    }

    /// A number that identifies the hash, for storage.
    pub fn code(&self) -> u64 {
        self.kind.code()
    }

    /// The hash with this number; `None` if there is none.
    pub fn from_code(code: u64) -> Option<Self> {
        KeyKind::from_code(code).map(|kind| Self { kind })
    }
}

impl ParquetFile {
    /// The hash of the column or nested field at the dotted `path`; `None` if it has no Bloom filters: booleans, INT96, fields
    /// within lists, and missing columns.
    pub fn filter_hash(&self, path: &str) -> Option<FilterHash> {
        let (field, leaf) = self.flat_leaf(path)?;
        let descriptor = self.metadata().schema_descr().columns().get(leaf.column)?;
        KeyKind::new(descriptor, field.data_type()).map(|kind| FilterHash { kind })
    }

    /// Reads the Bloom filters of the column or nested field at the dotted `path`, for each row group; `None` for row groups
    /// without a usable filter.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if they cannot be read.
    pub fn read_bloom_filters(&self, path: &str) -> Result<Vec<Option<StoredFilter>>> {
        self.read_bloom_filters_in(path, 0..self.metadata().row_group_count())
    }

    /// As [`read_bloom_filters`](Self::read_bloom_filters), for a range of row groups.
    ///
    /// # Errors
    /// As there.
    pub fn read_bloom_filters_in(&self, path: &str, row_groups: Range<usize>) -> Result<Vec<Option<StoredFilter>>> {
        let leaf = self.flat_leaf(path).map(|(_, leaf)| leaf.column);
        let range_of = |row_group: usize| {
            let chunk = self.metadata().chunk(row_group, leaf?).ok().filter(|chunk| !chunk.is_encrypted())?;
            let location = chunk.bloom_filter()?;
            let (start, len) = (u64::try_from(location.offset).ok()?, u64::try_from(location.len?).ok()?);
            let end = start.checked_add(len)?;
            (start > 0 && end <= self.source().len()).then_some(start..end)
        };
        let ranges: Vec<_> = row_groups.map(range_of).collect();
        let wanted: Vec<_> = ranges.iter().flatten().cloned().collect();
        let mut read = if wanted.is_empty() { Vec::new() } else { self.read_many(&wanted)? }.into_iter();
        let filter = |range: Option<Range<u64>>| {
            let (offset, len) = range.map(|range| (range.start, range.end - range.start))?;
            let bytes = read.next()?.slice(..len as usize);
            let header = FilterHeader::read(&bytes).filter(|header| header.filter_len() == len)?;
            Some(StoredFilter { offset, bytes, header_len: header.header_len.into() })
        };
        Ok(ranges.into_iter().map(filter).collect())
    }

    /// The field and the leaf at `path`, if it is a column of one leaf outside lists.
    fn flat_leaf(&self, path: &str) -> Option<(arrow_schema::FieldRef, Leaf)> {
        let (field, node) = self.node_at(path).ok()?;
        match node.kind {
            NodeKind::Leaf(leaf) if leaf.max_rep_level == 0 => Some((field, leaf)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
    use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};

    fn file() -> ParquetFile {
        let columns: [(&str, ArrayRef); 4] = [
            ("id", Arc::new(Int64Array::from_iter_values(0..100))),
            ("name", Arc::new(StringArray::from_iter_values((0..100).map(|id| format!("name {id}"))))),
            ("price", Arc::new(Float64Array::from_iter_values((0..100).map(f64::from)))),
            ("is_new", Arc::new(BooleanArray::from(vec![true; 100]))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let column = ColumnOptions::new().bloom_filter(BloomFilter::FalsePositiveRate(0.01));
        let options = WriteOptions::default().column("id", column.clone()).column("name", column).row_group_rows(40);
        let mut bytes = Vec::new();
        let mut writer = ParquetWriter::new(&mut bytes, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        ParquetFile::from_bytes(bytes.into()).unwrap()
    }

    #[test]
    fn filters_have_the_hashes_of_values_and_of_arrays() {
        let file = file();
        let values = |name: &str, at: usize| match name {
            "id" => Value::Int(at as i128),
            _ => Value::Bytes(format!("name {at}").into()),
        };
        for name in ["id", "name"] {
            let hash = file.filter_hash(name).unwrap();
            assert_eq!(FilterHash::from_code(hash.code()), Some(hash));
            let filters = file.read_bloom_filters(name).unwrap();
            assert_eq!(filters.len(), 3);
            let second = file.read_bloom_filters_in(name, 1..2).unwrap();
            assert_eq!(second[0].as_ref().unwrap().bytes, filters[1].as_ref().unwrap().bytes);
            let mut at = 0;
            for batch in file.scan().select([name]).build().unwrap() {
                let hashes = hash.hash_array(batch.unwrap().column(0)).unwrap();
                for hash_array in hashes {
                    assert_eq!(hash.hash_value(&values(name, at)), Some(vec![hash_array]));
                    let filter = filters[at / 40].as_ref().unwrap();
                    assert!(filter.may_have(hash_array), "{name} {at}");
                    let stored = file.read_range(filter.offset..filter.offset + filter.bytes.len() as u64).unwrap();
                    assert_eq!(stored, filter.bytes);
                    at += 1;
                }
            }
            assert_eq!(at, 100);
        }
        assert!(file.read_bloom_filters("price").unwrap().iter().all(Option::is_none));
        assert!(file.filter_hash("is_new").is_none() && file.filter_hash("no such column").is_none());
    }

    #[test]
    fn a_float_that_is_zero_has_two_hashes_and_nan_has_none() {
        let hash = file().filter_hash("price").unwrap();
        assert_eq!(hash.hash_value(&Value::Float(0.0)).map(|hashes| hashes.len()), Some(2));
        assert_eq!(hash.hash_value(&Value::Float(f64::NAN)), None);
    }

    #[test]
    fn every_way_of_hashing_has_a_number_of_its_own() {
        let codes: Vec<u64> = (1..8).chain([8 | 16 << 8, 9 | 16 << 8]).collect();
        for code in codes {
            assert_eq!(FilterHash::from_code(code).map(|hash| hash.code()), Some(code));
        }
        assert!([0, 10, 1 | 1 << 8].iter().all(|code| FilterHash::from_code(*code).is_none()));
    }
}

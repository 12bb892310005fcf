//! Cached reads of single rows of a file: Bloom filters by row group, and columns by block.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::ArrayRef;
use arrow_schema::FieldRef;
use lath_parquet::{FilterHash, ParquetFile, RowReader, Strings};

use super::block_cache::{BlockCache, CacheEntry, Part, RowGroupFilters};
use crate::error::Result;
use crate::row::ByteList;

/// A file whose blocks are read and cached.
#[derive(Debug)]
pub(crate) struct ColdBlocks {
    /// A unique number.
    id: u64,
    file: ParquetFile,
    reader: RowReader,
    filters: Vec<KeyFilter>,
}

/// A key column with Bloom filters.
#[derive(Debug)]
struct KeyFilter {
    /// Its place among the key columns.
    at: usize,
    name: String,
    hash: FilterHash,
}

impl ColdBlocks {
    /// Opens a file, with strings in this form. `key` has the leading key columns, whose Bloom filters lookups probe.
    pub(crate) fn open(file: ParquetFile, strings: Strings, key: &[FieldRef]) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let reader = RowReader::new(file.clone(), strings)?;
        let fields = key.iter().enumerate();
        // Filters of floats are not used: conditions and other engines treat both zeros as one value, and keys do not.
        let filters = fields.filter(|(_, field)| !field.data_type().is_floating()).filter_map(|(at, field)| {
            let hash = file.filter_hash(field.name())?;
            Some(KeyFilter { at, name: field.name().clone(), hash })
        });
        let filters = filters.collect();
        Ok(Self { id: NEXT.fetch_add(1, Ordering::Relaxed), file, reader, filters })
    }

    /// The row groups that have these rows.
    pub(crate) fn row_groups_with(&self, rows: &Range<u64>) -> Range<usize> {
        self.reader.row_groups_with(rows)
    }

    /// Probes the filters of row groups for keys with these key columns.
    pub(crate) fn probe(&self, key_columns: &[ArrayRef]) -> Probe<'_> {
        let hashes = |filter: &KeyFilter| filter.hash.hash_array(&key_columns[filter.at]);
        Probe { blocks: self, hashes: self.filters.iter().map(hashes).collect(), known: None }
    }

    fn filters(&self, cache: &BlockCache, row_group: usize) -> Result<Arc<RowGroupFilters>> {
        let part = (self.id, Part::Filters { row_group: row_group as u32 });
        if let Some(CacheEntry::Filters(filters)) = cache.get(&part) {
            return Ok(filters);
        }
        let mut filters = Vec::with_capacity(self.filters.len());
        for filter in &self.filters {
            let read = self.file.read_bloom_filters_in(&filter.name, row_group..row_group + 1)?;
            filters.push(read.into_iter().next().flatten());
        }
        let filters = Arc::new(filters);
        cache.put(part, CacheEntry::Filters(Arc::clone(&filters)));
        Ok(filters)
    }

    /// The encoded keys of a block, from the cache or from `encode`.
    pub(crate) fn keys(
        &self,
        cache: &BlockCache,
        block: usize,
        encode: impl FnOnce() -> Result<ByteList>,
    ) -> Result<Arc<ByteList>> {
        let part = (self.id, Part::Keys { block: block as u32 });
        if let Some(CacheEntry::Keys(keys)) = cache.get(&part) {
            return Ok(keys);
        }
        let keys = Arc::new(encode()?);
        cache.put(part, CacheEntry::Keys(Arc::clone(&keys)));
        Ok(keys)
    }

    /// Reads a column of a block with these rows, bypassing the cache.
    pub(crate) fn read(&self, column: usize, rows: Range<u64>) -> Result<ArrayRef> {
        Ok(self.reader.read(column, rows)?)
    }

    /// A column of a block with these rows.
    pub(crate) fn column(&self, cache: &BlockCache, column: usize, block: usize, rows: Range<u64>) -> Result<ArrayRef> {
        let part = (self.id, Part::Column { column: column as u32, block: block as u32 });
        if let Some(CacheEntry::Column(array)) = cache.get(&part) {
            return Ok(array);
        }
        let array = self.read(column, rows)?;
        cache.put(part, CacheEntry::Column(Arc::clone(&array)));
        Ok(array)
    }
}

/// Keys to probe the filters for.
pub(crate) struct Probe<'b> {
    blocks: &'b ColdBlocks,
    /// For each filter, the hashes of all keys.
    hashes: Vec<Option<Vec<u64>>>,
    /// The filters that were used last, with the number of their row group.
    known: Option<(usize, Arc<RowGroupFilters>)>,
}

impl Probe<'_> {
    /// Whether filters let the key at this place pass in one of the row groups with these rows.
    pub(crate) fn may_have(&mut self, cache: &BlockCache, at: usize, rows: &Range<u64>) -> Result<bool> {
        if self.hashes.iter().all(Option::is_none) {
            return Ok(true);
        }
        for row_group in self.blocks.reader.row_groups_with(rows) {
            let filters = match self.known.take() {
                Some((number, filters)) if number == row_group => filters,
                _ => self.blocks.filters(cache, row_group)?,
            };
            let is_possible = self.hashes.iter().zip(&*filters).all(|(hashes, filter)| match (hashes, filter) {
                (Some(hashes), Some(filter)) => filter.may_have(hashes[at]),
                _ => true,
            });
            self.known = Some((row_group, filters));
            if is_possible {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

//! Blocks of a file, read one at a time and kept in the cache.
//!
//! | question | what is read, unless the cache has it |
//! | --- | --- |
//! | May the file have a key? | the Bloom filters of the row group that the fences lead to |
//! | In which row is a key? | the key columns of one block |
//! | What does a row have in a column? | the column in one block |

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::ArrayRef;
use lath_parquet::{FilterHash, ParquetFile, RowReader};

use crate::block_cache::{BlockCache, Cached, Part, RowGroupFilters};
use crate::byte_list::ByteList;
use crate::cold::ColdFile;
use crate::error::{Error, Result};
use crate::fences::BLOCK_ROWS;

/// A file as blocks are read of it.
#[derive(Debug)]
pub(crate) struct ColdBlocks {
    /// A number that no other one has.
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

/// A key that a file may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyInBlock {
    /// Its place among the keys that are looked for.
    pub(crate) at: usize,
    pub(crate) block: usize,
}

impl ColdBlocks {
    pub(crate) fn open(file: &ColdFile) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let parquet = file.file().open()?;
        let reader = RowReader::new(parquet.clone(), file.schema().strings())?;
        let fields = file.stored_schema().key().fields().iter().enumerate();
        // Conditions and other engines take both zeros for one value, and keys do not: filters of floats are left alone.
        let filters = fields.filter(|(_, field)| !field.data_type().is_floating()).filter_map(|(at, field)| {
            let hash = parquet.filter_hash(field.name())?;
            Some(KeyFilter { at, name: field.name().clone(), hash })
        });
        let filters = filters.collect();
        Ok(Self { id: NEXT.fetch_add(1, Ordering::Relaxed), file: parquet, reader, filters })
    }
}

impl ColdFile {
    /// Of keys in ascending order and with these key columns, those that Bloom filters do not rule out, each with the block that has it if
    /// the file does.
    pub(crate) fn probe(
        &self,
        cache: &BlockCache,
        keys: &[&[u8]],
        key_columns: &[ArrayRef],
    ) -> Result<Vec<KeyInBlock>> {
        let blocks = self.blocks()?;
        let hashes = |filter: &KeyFilter| filter.hash.of_array(&key_columns[filter.at]);
        let hashes: Vec<Option<Vec<u64>>> = blocks.filters.iter().map(hashes).collect();
        let has_filters = hashes.iter().any(Option::is_some);
        let mut known: Option<(usize, Arc<RowGroupFilters>)> = None;
        let mut left = Vec::new();
        for (at, block) in self.fences().blocks_of(keys.iter().copied()).enumerate() {
            let Some(block) = block else { continue };
            let mut is_possible = !has_filters;
            for row_group in blocks.reader.row_groups_of(&self.block_rows(block)) {
                if is_possible {
                    break;
                }
                let filters = match known.take() {
                    Some((number, filters)) if number == row_group => filters,
                    _ => self.filters(cache, row_group)?,
                };
                is_possible = hashes.iter().zip(&*filters).all(|(hashes, filter)| match (hashes, filter) {
                    (Some(hashes), Some(filter)) => filter.may_have(hashes[at]),
                    _ => true,
                });
                known = Some((row_group, filters));
            }
            if is_possible {
                left.push(KeyInBlock { at, block });
            }
        }
        Ok(left)
    }

    fn filters(&self, cache: &BlockCache, row_group: usize) -> Result<Arc<RowGroupFilters>> {
        let blocks = self.blocks()?;
        let part = (blocks.id, Part::Filters { row_group: row_group as u32 });
        if let Some(Cached::Filters(filters)) = cache.get(&part) {
            return Ok(filters);
        }
        let mut filters = Vec::with_capacity(blocks.filters.len());
        for filter in &blocks.filters {
            let read = blocks.file.read_bloom_filters_of(&filter.name, row_group..row_group + 1)?;
            filters.push(read.into_iter().next().flatten());
        }
        let filters = Arc::new(filters);
        cache.put(part, Cached::Filters(Arc::clone(&filters)));
        Ok(filters)
    }

    /// The row of a block that has this key.
    pub(crate) fn row_in_block(&self, cache: &BlockCache, block: usize, key: &[u8]) -> Result<Option<u64>> {
        let keys = self.keys_of_block(cache, block)?;
        let at = keys.lower_bound(key);
        let is_it = at < keys.len() && keys.get(at) == key;
        Ok(is_it.then_some(block as u64 * BLOCK_ROWS + at as u64))
    }

    fn keys_of_block(&self, cache: &BlockCache, block: usize) -> Result<Arc<ByteList>> {
        let part = (self.blocks()?.id, Part::Keys { block: block as u32 });
        if let Some(Cached::Keys(keys)) = cache.get(&part) {
            return Ok(keys);
        }
        let codec = self.schema().key();
        let columns = codec.columns().iter().map(|&column| {
            let place = self.upgrade().place(column);
            let place = place.ok_or_else(|| Error::corrupt("a file lacks a key column"))?;
            let rows = self.block_rows(block);
            let row_count = (rows.end - rows.start) as usize;
            self.upgrade().column(column, Some(self.blocks()?.reader.read(place, rows)?), row_count)
        });
        let encoded = codec.encode(&columns.collect::<Result<Vec<_>>>()?)?;
        let keys: ByteList = encoded.iter().collect();
        let keys = Arc::new(keys);
        cache.put(part, Cached::Keys(Arc::clone(&keys)));
        Ok(keys)
    }

    /// What a block has in a column of the file's own schema.
    pub(crate) fn column_of_block(&self, cache: &BlockCache, column: usize, block: usize) -> Result<ArrayRef> {
        let blocks = self.blocks()?;
        let part = (blocks.id, Part::Column { column: column as u32, block: block as u32 });
        if let Some(Cached::Column(array)) = cache.get(&part) {
            return Ok(array);
        }
        let array = blocks.reader.read(column, self.block_rows(block))?;
        cache.put(part, Cached::Column(Arc::clone(&array)));
        Ok(array)
    }
}

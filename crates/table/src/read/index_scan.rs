//! Finds rows by the values of indexed columns.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;

use super::count::count_keys;
use super::lookup::{SortedKeys, get_many};
use super::range::RangeScan;
use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::records::{Index, IndexEntry, row_key};
use crate::row::key::{Key, KeyRange, key_prefix, key_range};
use crate::row::{BATCH_ROWS, ByteList};
use crate::view::{Commit, Engine, View, WithExpired};

impl Snapshot {
    /// The rows with these values in the columns of an index, or in its first ones, in the order of the index.
    ///
    /// # Errors
    /// [`Error::NoSuchIndex`], [`Error::Key`] for values that do not fit its columns, and whatever goes wrong while reading.
    pub fn get_by_index(&self, name: &str, values: impl Into<Key>) -> Result<RecordBatch> {
        let (engine, pinned) = self.parts();
        get_by_index(engine, &mut Arc::clone(pinned), name, &values.into())
    }

    /// The number of rows that [`get_by_index`](Self::get_by_index) finds, without reading them unless rows of the table expire.
    ///
    /// # Errors
    /// As there.
    pub fn count_by_index(&self, name: &str, values: impl Into<Key>) -> Result<u64> {
        let (engine, pinned) = self.parts();
        let (index, range) = range_of_values(pinned, name, &values.into())?;
        let mut view = Arc::clone(pinned);
        if view.expiry().is_some() {
            let mut cursor = IndexCursor { index, range, is_done: false };
            let mut count = 0;
            while let Some(batch) = cursor.next(engine, &mut view)? {
                count += batch.num_rows() as u64;
            }
            return Ok(count);
        }
        let Some(tree) = view.index_tree(index.number())? else { return Ok(0) };
        count_keys(&tree, &range)
    }

    /// The rows with values in a range in the columns of an index, in the order of the index; nulls come first. Bounds are as in
    /// [`range`](Self::range). Each row is looked up by its key, in one pass over the files per batch.
    ///
    /// # Errors
    /// As [`get_by_index`](Self::get_by_index).
    pub fn range_by_index<K: Clone + Into<Key>>(
        &self,
        name: &str,
        bounds: impl RangeBounds<K>,
    ) -> Result<IndexBatches> {
        let (engine, pinned) = self.parts();
        let index = find_index(View::indexes(pinned), name)?;
        let range = key_range(&bounds, index.codec())?;
        let cursor = IndexCursor { index, range, is_done: false };
        Ok(IndexBatches { engine: Arc::clone(engine), pinned: Arc::clone(pinned), cursor })
    }
}

/// The index with this name.
pub(crate) fn find_index(indexes: &[Index], name: &str) -> Result<Index> {
    let found = indexes.iter().find(|index| index.name() == name).cloned();
    found.ok_or_else(|| Error::NoSuchIndex { name: name.to_owned() })
}

/// An index, and its entries with these values in its first columns.
fn range_of_values(view: &dyn View, name: &str, values: &Key) -> Result<(Index, KeyRange)> {
    let index = find_index(view.indexes(), name)?;
    let prefix = key_prefix(values, index.codec())?;
    let range = KeyRange::from_prefixes(Bound::Included(prefix.clone()), Bound::Included(prefix));
    Ok((index, range))
}

/// The rows with these values in the first columns of an index.
pub(crate) fn get_by_index(engine: &Engine, view: &mut dyn View, name: &str, values: &Key) -> Result<RecordBatch> {
    let (index, range) = range_of_values(view, name, values)?;
    let mut cursor = IndexCursor { index, range, is_done: false };
    let mut batches = Vec::new();
    while let Some(batch) = cursor.next(engine, view)? {
        batches.push(batch);
    }
    Ok(concat_batches(view.schema().arrow(), &batches)?)
}

/// Batches of [`Snapshot::range_by_index`]. There are no batches after an error.
#[derive(Debug)]
pub struct IndexBatches {
    engine: Arc<Engine>,
    pinned: Arc<Commit>,
    cursor: IndexCursor,
}

impl Iterator for IndexBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.cursor.next(&self.engine, &mut self.pinned).transpose();
        self.cursor.is_done |= !matches!(batch, Some(Ok(_)));
        batch
    }
}

/// Reads rows in the order of an index, some at a time.
#[derive(Debug)]
struct IndexCursor {
    index: Index,
    /// The rest of the range.
    range: KeyRange,
    is_done: bool,
}

impl IndexCursor {
    fn next(&mut self, engine: &Engine, view: &mut dyn View) -> Result<Option<RecordBatch>> {
        let keys = self.next_keys(view)?;
        if keys.len() == 0 {
            return Ok(None);
        }
        let columns: Vec<usize> = (0..view.schema().arrow().fields().len()).collect();
        let found = get_many(engine, view, &SortedKeys::from_list(&keys), &columns)?;
        if view.expiry().is_none() && found.rows.num_rows() != keys.len() {
            return Err(Error::corrupt(format!(
                "the index {:?} has entries of rows that are not there",
                self.index.name()
            )));
        }
        Ok(Some(found.rows))
    }

    /// The keys of the next rows; none at the end.
    fn next_keys(&mut self, view: &mut dyn View) -> Result<ByteList> {
        let mut keys = ByteList::default();
        if self.is_done {
            return Ok(keys);
        }
        let Some(tree) = view.index_tree(self.index.number())? else { return Ok(keys) };
        let mut cursor = tree.cursor();
        let mut last = None;
        let mut has_entry = cursor.lower_bound(&self.range.low)?;
        while has_entry && keys.len() < BATCH_ROWS {
            let (Some(entry), Some(value)) = (cursor.key(), cursor.value()?) else { break };
            if !self.range.is_below_end(entry) {
                break;
            }
            keys.push(row_key(entry, value)?);
            last = Some([entry, &[0]].concat());
            has_entry = cursor.next()?;
        }
        self.is_done = keys.len() < BATCH_ROWS;
        if let Some(last) = last {
            self.range.low = last;
        }
        Ok(keys)
    }
}

/// The entries that an index of the view's rows has, with rows that have expired, in ascending order. They are in memory together.
pub(crate) fn entries_of_rows(engine: &Arc<Engine>, view: &mut dyn View, index: &Index) -> Result<Vec<IndexEntry>> {
    let schema = Arc::clone(view.schema());
    let names =
        |columns: &[usize]| columns.iter().map(|&at| schema.arrow().field(at).name().clone()).collect::<Vec<_>>();
    let key_columns = schema.key().columns();
    let selected = [names(index.codec().columns()), names(key_columns)].concat();
    let mut entries = Vec::new();
    let view = Box::new(WithExpired(view));
    for batch in RangeScan::new(Arc::clone(engine), Ok(view), KeyRange::default()).select(selected).build()? {
        let batch = batch?;
        let (values, keys) = batch.columns().split_at(index.codec().columns().len());
        let keys = schema.key().encode(keys)?;
        entries.extend(index.entries(values, keys.iter().map(|key| key.data()))?);
    }
    entries.sort_unstable();
    Ok(entries)
}

//! Updates indexes in the transaction that changes the rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, UInt64Array};
use arrow_row::Rows;
use arrow_select::take::take;

use super::open_write::OpenWrite;
use crate::error::{Error, Result};
use crate::file::{DataFile, columns_of_rows};
use crate::read::{SortedKeys, contains_many, get_many};
use crate::records::{Index, IndexEntry, row_key};
use crate::row::ByteList;
use crate::view::{View, WithExpired};

/// Changes to the entries of one index.
#[derive(Debug, Default)]
struct EntryChanges {
    removed: BTreeSet<IndexEntry>,
    added: BTreeSet<IndexEntry>,
}

impl OpenWrite {
    /// Changes the entries of rows that are about to be put. The indexed columns of the rows that they replace are read. If a unique index
    /// forbids the rows, nothing is changed; rows that have expired forbid nothing, and are deleted if they are in the way.
    pub(crate) fn index_rows(&mut self, keys: &Rows, columns: &[ArrayRef]) -> Result<()> {
        let indexes = Arc::clone(self.indexes());
        if indexes.is_empty() || keys.num_rows() == 0 {
            return Ok(());
        }
        let sorted = SortedKeys::from_rows(keys);
        let rows = UInt64Array::from_iter_values(sorted.last_rows().into_iter().map(|row| row as u64));
        let old = self.old_entries(&indexes, &sorted)?;
        let mut all = Vec::with_capacity(indexes.len());
        let mut expired = BTreeSet::new();
        for (index, old) in indexes.iter().zip(old) {
            let arrays = index.codec().select(columns);
            let arrays = arrays.iter().map(|array| take(array, &rows, None)).collect::<Result<Vec<_>, _>>()?;
            let new: BTreeSet<IndexEntry> = index.entries(&arrays, sorted.keys().iter())?.into_iter().collect();
            let changes = EntryChanges {
                removed: old.difference(&new).cloned().collect(),
                added: new.difference(&old).cloned().collect(),
            };
            self.find_conflicts(index, &changes, &mut expired)?;
            all.push(changes);
        }
        if !expired.is_empty() {
            self.delete_keys(&expired.iter().collect())?;
        }
        for (index, changes) in indexes.iter().zip(all) {
            self.change_entries(index, &changes)?;
        }
        Ok(())
    }

    /// Removes the entries of rows that are about to be deleted. Keys are distinct and in ascending order.
    pub(crate) fn unindex_keys(&mut self, keys: &ByteList) -> Result<()> {
        let indexes = Arc::clone(self.indexes());
        if indexes.is_empty() {
            return Ok(());
        }
        let old = self.old_entries(&indexes, &SortedKeys::from_sorted(keys.clone()))?;
        for (index, removed) in indexes.iter().zip(old) {
            self.change_entries(index, &EntryChanges { removed, added: BTreeSet::new() })?;
        }
        Ok(())
    }

    /// Removes the entries of rows of a file that are about to be masked. `keys` are the keys of `rows`.
    pub(crate) fn unindex_rows(&mut self, cold: &DataFile, rows: &[u64], keys: &[Vec<u8>]) -> Result<()> {
        let indexes = Arc::clone(self.indexes());
        for index in &*indexes {
            let mut keys = keys.iter().map(Vec::as_slice);
            let mut changes = EntryChanges::default();
            let engine = Arc::clone(self.engine());
            for (count, arrays) in columns_of_rows(&engine.blocks, cold, rows, index.codec().columns())? {
                changes.removed.extend(index.entries(&arrays, keys.by_ref().take(count))?);
            }
            self.change_entries(index, &changes)?;
        }
        Ok(())
    }

    /// The entries of each index for existing rows with these keys, also for rows that have expired.
    fn old_entries(&mut self, indexes: &[Index], keys: &SortedKeys) -> Result<Vec<BTreeSet<IndexEntry>>> {
        let columns: BTreeSet<usize> = indexes.iter().flat_map(|index| index.codec().columns()).copied().collect();
        let columns: Vec<usize> = columns.into_iter().collect();
        // Each key once, so that rows come in their order.
        let distinct = SortedKeys::from_sorted(keys.keys().clone());
        let found = get_many(&Arc::clone(self.engine()), &mut WithExpired(&mut self.view()?), &distinct, &columns)?;
        let there: ByteList = found
            .places
            .iter()
            .zip(keys.keys().iter())
            .filter(|(place, _)| place.is_some())
            .map(|(_, key)| key)
            .collect();
        let mut old = Vec::with_capacity(indexes.len());
        for index in indexes {
            let place = |column: &usize| columns.iter().position(|other| other == column);
            let places = index.codec().columns().iter().map(place).collect::<Option<Vec<_>>>();
            let places = places.ok_or_else(|| Error::internal("an indexed column was not read"))?;
            let arrays: Vec<ArrayRef> = places.iter().map(|&at| Arc::clone(found.rows.column(at))).collect();
            old.push(index.entries(&arrays, there.iter())?.into_iter().collect());
        }
        Ok(old)
    }

    /// Returns an error if a unique index forbids the added entries. Adds the keys of rows to `expired` that would forbid them and have expired.
    fn find_conflicts(&mut self, index: &Index, changes: &EntryChanges, expired: &mut BTreeSet<Vec<u8>>) -> Result<()> {
        let removed: BTreeSet<&[u8]> = changes.removed.iter().map(IndexEntry::bytes).collect();
        let mut added: BTreeMap<&[u8], &IndexEntry> = BTreeMap::new();
        for entry in changes.added.iter().filter(|entry| entry.is_bound()) {
            if added.insert(entry.values(), entry).is_some() {
                return Err(index.not_unique(entry));
            }
        }
        let engine = Arc::clone(self.engine());
        let mut view = self.view()?;
        let Some(tree) = view.index_tree(index.number())? else { return Ok(()) };
        let mut conflicts: Vec<(Vec<u8>, &IndexEntry)> = Vec::new();
        for (values, entry) in added {
            for other in tree.prefix(values) {
                let (other, value) = other?;
                if !removed.contains(&other[..]) {
                    conflicts.push((row_key(&other, value)?.to_vec(), entry));
                }
            }
        }
        if conflicts.is_empty() {
            return Ok(());
        }
        let keys = SortedKeys::from_list(&conflicts.iter().map(|(key, _)| key).collect());
        let are_there = match view.expiry() {
            Some(_) => contains_many(&engine, &mut view, &keys)?,
            None => vec![true; conflicts.len()],
        };
        for ((key, entry), is_there) in conflicts.into_iter().zip(are_there) {
            if is_there {
                return Err(index.not_unique(entry));
            }
            expired.insert(key);
        }
        Ok(())
    }

    fn change_entries(&mut self, index: &Index, changes: &EntryChanges) -> Result<()> {
        if changes.removed.is_empty() && changes.added.is_empty() {
            return Ok(());
        }
        self.touch_entries(index.number(), changes.removed.iter(), changes.added.iter());
        let mut tree = self.index_tree_mut(index.number())?;
        for entry in &changes.removed {
            tree.remove(entry.bytes())?;
        }
        for entry in &changes.added {
            tree.put(entry.bytes(), &entry.tree_value())?;
        }
        Ok(())
    }
}

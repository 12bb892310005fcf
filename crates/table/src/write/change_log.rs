//! The records of the change feed in the store.
//!
//! The key of a change is the stamp of the commit, big-endian, followed by the key of the row: a commit has at most one change of a row.
//! The value is the kind of change, followed by a hot row whose checksum is seeded by all that; it is empty if the row was deleted.

use std::sync::Arc;

use arrow_row::Rows;
use lath_store::TreeMut;

use super::open_write::OpenWrite;
use crate::consumer_files::StoredConsumer;
use crate::error::{Error, Result};
use crate::read::{Place, SortedKeys, find_places};
use crate::records::{ChangeKind, Feed};
use crate::row::{ByteList, value_codec};

fn tree_key(stamp: u64, key: &[u8]) -> Vec<u8> {
    [&stamp.to_be_bytes(), key].concat()
}

fn put(tree: &mut TreeMut<'_>, kind: ChangeKind, stamp: u64, key: &[u8], schema: u32, row: &[u8]) -> Result<()> {
    let tree_key = tree_key(stamp, key);
    let kind = [kind as u8];
    let mut hot = Vec::new();
    value_codec::write(&mut hot, &[&tree_key[..], &kind].concat(), stamp, schema, row);
    Ok(tree.put(&tree_key, &[&kind[..], &hot].concat())?)
}

impl OpenWrite {
    /// Records rows that are about to be put. Each key is looked for, to tell inserts from updates.
    pub(crate) fn record_puts(&mut self, keys: &Rows, values: Option<&Rows>) -> Result<()> {
        if self.state().feed.is_none() {
            return Ok(());
        }
        let sorted = SortedKeys::from_rows(keys);
        let places = self.places(&sorted)?;
        let (stamp, schema) = (self.state().stamp, self.schema().version());
        let mut tree = self.changes_tree()?;
        for ((key, row), place) in sorted.keys().iter().zip(sorted.last_rows()).zip(places) {
            let before = tree.get(&tree_key(stamp, key))?.map(ChangeKind::from_record).transpose()?;
            let kind = match before {
                Some(ChangeKind::Insert) => ChangeKind::Insert,
                Some(_) => ChangeKind::Update,
                None if place == Place::Nowhere => ChangeKind::Insert,
                None => ChangeKind::Update,
            };
            put(&mut tree, kind, stamp, key, schema, values.map_or(&[], |values| values.row(row).data()))?;
        }
        Ok(())
    }

    /// Records the rows with these keys, which are about to be deleted. Keys are distinct and in ascending order.
    pub(crate) fn record_deletes(&mut self, keys: &ByteList) -> Result<()> {
        if self.state().feed.is_none() {
            return Ok(());
        }
        let places = self.places(&SortedKeys::from_sorted(keys.clone()))?;
        let there = keys.iter().zip(places).filter(|(_, place)| *place != Place::Nowhere);
        self.record_deleted(there.map(|(key, _)| key))
    }

    /// Records rows of a file that are about to be masked. These are their keys.
    pub(crate) fn record_deletes_of_rows(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        if self.state().feed.is_none() {
            return Ok(());
        }
        self.record_deleted(keys.iter().map(Vec::as_slice))
    }

    fn record_deleted<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>) -> Result<()> {
        let (stamp, schema) = (self.state().stamp, self.schema().version());
        let mut tree = self.changes_tree()?;
        for key in keys {
            let tree_key = tree_key(stamp, key);
            // A row that one commit inserts and deletes is no change.
            match tree.get(&tree_key)?.map(ChangeKind::from_record).transpose()? {
                Some(ChangeKind::Insert) => drop(tree.remove(&tree_key)?),
                _ => put(&mut tree, ChangeKind::Delete, stamp, key, schema, &[])?,
            }
        }
        Ok(())
    }

    fn places(&mut self, keys: &SortedKeys) -> Result<Vec<Place>> {
        find_places(&self.engine().clone(), &mut self.view()?, keys)
    }

    /// Removes the changes that are not to be kept any more: whole commits, and never the newest one.
    pub(crate) fn forget_old_changes(&mut self) -> Result<()> {
        let Some(feed) = self.state().feed.clone() else { return Ok(()) };
        let stamp = self.state().stamp;
        let mut from = feed.from.max((stamp + 1).saturating_sub(feed.max_commits));
        let engine = Arc::clone(self.engine());
        let mut tree = self.changes_tree()?;
        let count = tree.len()?;
        if count > feed.max_rows
            && let Some((last, _)) = tree.as_tree()?.nth(count - feed.max_rows - 1)?
        {
            let last = last.first_chunk::<8>().ok_or_else(|| Error::corrupt("the key of a change is too short"))?;
            from = from.max(u64::from_be_bytes(*last) + 1);
        }
        // The feed may begin behind this commit, which has turned it on.
        let mut from = from.min(stamp).max(feed.from);
        if from > feed.from {
            from = first_needed(&mut tree, &engine.consumers()?, feed.from, from)?;
        }
        if from > feed.from {
            tree.remove_range(&[], Some(&from.to_be_bytes()))?;
            self.set_feed(Some(Feed { from, ..feed }));
        }
        Ok(())
    }
}

/// The first commit whose changes a consumer needs, if they are not more than are kept for it; at most `from`. The feed begins with `kept`.
fn first_needed(tree: &mut TreeMut<'_>, consumers: &[StoredConsumer], kept: u64, from: u64) -> Result<u64> {
    let mut needed = from;
    for consumer in consumers {
        let next = consumer.position.saturating_add(1);
        // A consumer that was cut off needs nothing any more.
        let is_behind = (kept..needed).contains(&next);
        if is_behind && tree.as_tree()?.count::<&[u8]>(&next.to_be_bytes()[..]..)? <= consumer.max_rows {
            needed = next;
        }
    }
    Ok(needed)
}

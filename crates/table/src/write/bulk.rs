//! Writes many rows that are put at once directly to files, without the hot tree.
//!
//! A transaction buffers the rows that it puts. They are written when the transaction is read, when they take [`flush_bytes`], and at the
//! commit:
//!
//! | number of rows | written to |
//! | --- | --- |
//! | fewer than [`bulk_rows`] | the hot tree |
//! | as many or more | files, in the order of the table; hot rows and tombstones with these keys are removed, and rows of older files masked |
//!
//! Files are written and synced before the transaction commits, and removed if it does not commit. A process that is killed in between
//! leaves files that no commit names, as in a flush. With indexes or a change feed, each batch is written separately, because the rows that
//! it replaces are read then.
//!
//! [`flush_bytes`]: crate::TableOptions::flush_bytes
//! [`bulk_rows`]: crate::TableOptions::bulk_rows

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_row::Rows;
use lath_parquet::DeleteMask;

use super::open_write::OpenWrite;
use super::ordered_files::OrderedFiles;
use super::pending_rows::{PendingRows, SortedRows};
use super::sorted_files::SortedFiles;
use crate::error::Result;
use crate::file::locate_in_files;
use crate::records::TreeName;
use crate::row::{ByteList, batch, check_nulls};
use crate::view::View;

/// Number of rows that are given to a writer at once.
const GATHERED_ROWS: usize = 1 << 16;

impl OpenWrite {
    /// Puts rows, which replace those with the same keys. If a key repeats, the last row wins.
    pub(crate) fn put(&mut self, keys: Rows, columns: Vec<ArrayRef>) -> Result<()> {
        if keys.num_rows() == 0 {
            return Ok(());
        }
        // Rows of callers are conformed; this keeps any other from writing one that cannot be read.
        let schema = Arc::clone(self.schema());
        columns.iter().zip(schema.arrow().fields()).try_for_each(|(column, field)| check_nulls(column, field))?;
        let is_followed = self.is_followed();
        if is_followed {
            self.index_rows(&keys, &columns)?;
            if self.state().feed.is_some() {
                let values = self.schema().values().encode(&columns)?;
                self.record_puts(&keys, values.as_ref())?;
            }
        }
        let max_bytes = self.engine().options.flush_bytes;
        let pending = self.pending_mut();
        pending.push(&keys, columns);
        let is_full = pending.bytes() >= max_bytes;
        if is_followed || is_full { self.write_pending() } else { Ok(()) }
    }

    /// Whether indexes or the change feed depend on the rows.
    pub(crate) fn is_followed(&self) -> bool {
        !self.indexes().is_empty() || self.state().feed.is_some()
    }

    /// Writes the rows that were put and not written yet. After an error they are written by the next call.
    pub(crate) fn write_pending(&mut self) -> Result<()> {
        let mut pending = std::mem::take(self.pending_mut());
        if pending.is_empty() {
            return Ok(());
        }
        let written = match pending.row_count() as u64 >= self.engine().options.bulk_rows {
            true => self.write_files(&mut pending),
            false => pending.batches().iter().try_for_each(|batch| self.put_hot(batch)),
        };
        if written.is_err() {
            *self.pending_mut() = pending;
        }
        written
    }

    fn write_files(&mut self, pending: &mut PendingRows) -> Result<()> {
        let engine = Arc::clone(self.engine());
        let schema = Arc::clone(self.schema());
        let sorted = pending.sort(engine.runtime.threads())?;
        let files = SortedFiles::for_transaction(&engine, self.state(), &schema)?;
        let mut files = OrderedFiles::new(files, engine.options.flush_bytes);
        for start in (0..sorted.len()).step_by(GATHERED_ROWS) {
            let end = sorted.len().min(start + GATHERED_ROWS);
            let (columns, keys) = sorted.rows(start..end)?;
            files.push(batch(schema.arrow(), columns, end - start)?, &keys)?;
        }
        let files = files.finish()?;
        self.remove_replaced(&sorted)?;
        for file in files.files() {
            self.add_file(file)?;
        }
        self.keep_on_commit(files);
        Ok(())
    }

    /// Removes hot rows and tombstones with the keys of these rows, and masks rows of files that have them. Files that have no row left stay
    /// until the next flush or merge, as a merge in progress may be reading them.
    fn remove_replaced(&mut self, rows: &SortedRows<'_>) -> Result<()> {
        let engine = Arc::clone(self.engine());
        let keys: Vec<&[u8]> = rows.keys().collect();
        for name in [TreeName::Hot, TreeName::Tombstones] {
            let found = self.keys_among(name, &keys)?;
            if found.len() > 0 {
                self.remove_keys(name, &found)?;
            }
        }
        let manifest = Arc::clone(self.manifest());
        let mut files = Vec::new();
        for entry in manifest.files() {
            let (Some(first), Some(last)) = (keys.first(), keys.last()) else { break };
            if *last >= &entry.min[..] && *first <= &entry.max[..] {
                files.push((engine.cold(&mut self.view()?, entry)?, &**entry));
            }
        }
        let located = locate_in_files(&engine.blocks, &files, &keys, engine.runtime.threads())?;
        for ((_, entry), located) in files.into_iter().zip(located) {
            let rows: DeleteMask = located.into_iter().map(|(_, row)| row).collect();
            self.add_to_mask(entry.number, &rows)?;
        }
        Ok(())
    }

    /// The keys of a tree that are among `keys`, which are in ascending order.
    fn keys_among(&mut self, name: TreeName, keys: &[&[u8]]) -> Result<ByteList> {
        let mut found = ByteList::default();
        let mut view = self.view()?;
        let Some(tree) = view.tree(name)? else { return Ok(found) };
        if tree.len()? < keys.len() as u64 {
            let mut cursor = tree.cursor();
            let mut has_key = cursor.lower_bound(keys.first().copied().unwrap_or_default())?;
            let mut left = keys;
            while has_key && let Some(key) = cursor.key() {
                left = &left[left.partition_point(|other| *other < key)..];
                match left.first() {
                    Some(first) if *first == key => found.push(key),
                    Some(_) => {}
                    None => break,
                }
                has_key = cursor.next()?;
            }
        } else {
            let there = tree.get_many(keys)?;
            keys.iter().zip(there).filter(|(_, value)| value.is_some()).for_each(|(key, _)| found.push(key));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use arrow_array::{Int64Array, RecordBatch};

    use super::*;
    use crate::error::Error;
    use crate::{Table, TableOptions};

    #[test]
    fn no_null_is_written_to_a_column_without_nulls() {
        let folder = tempfile::tempdir().unwrap();
        let numbers = |first: Option<i64>| -> ArrayRef { Arc::new(Int64Array::from(vec![first, Some(2)])) };
        let columns = [("k", numbers(Some(1)), false), ("v", numbers(Some(1)), false), ("w", numbers(None), true)];
        let rows = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        let table = Table::create(folder.path().join("t"), &rows.schema(), &["k"], TableOptions::new()).unwrap();
        let mut transaction = table.begin().unwrap();
        let key = |column: &ArrayRef| transaction.changing.schema().key().encode(&[Arc::clone(column)]).unwrap();
        let (good, bad) = (key(&numbers(Some(1))), key(&numbers(None)));
        for (keys, first, value, wanted) in [(bad, None, Some(1), "k"), (good, Some(1), None, "v")] {
            let put = transaction.changing.put(keys, vec![numbers(first), numbers(value), numbers(None)]);
            assert!(matches!(&put, Err(Error::Null { column, row: 0 }) if column == wanted), "{put:?}");
        }
        transaction.upsert(&rows).unwrap();
        transaction.commit().unwrap();
        assert_eq!(table.count().unwrap(), 2);
    }
}

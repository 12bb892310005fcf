//! Transactions: several changes that become visible together.

use std::collections::HashSet;
use std::ops::RangeBounds;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrow_select::take::take;
use lath_parquet::Predicate;
use lath_store::Durability;

use super::open_write::OpenWrite;
use super::pending_rows::MAX_BATCH_ROWS;
use crate::error::{Error, Result};
use crate::read::scan::TableScan;
use crate::read::{FoundRows, RangeScan, SortedKeys, contains_many, get, get_by_index, get_many, reading};
use crate::records::TreeName;
use crate::row::key::{Key, Keys, key_range};
use crate::row::{ConformedRows, MAX_KEY_LEN, batch};
use crate::view::{Engine, View};

/// Changes to a table that become visible to others together, or not at all. It sees its own changes.
///
/// A table has one open transaction at a time. A transaction that is dropped without [`commit`](Self::commit) changes nothing. A thread with
/// an open transaction must not flush or compact the table, because it would wait for itself. If an operation returns an error about its
/// arguments, it has changed nothing, and the transaction can continue.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// # use lath_table::{Table, TableOptions};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let batch = |id: i64, sum: i64| {
/// #     let columns = [("id", Arc::new(Int64Array::from(vec![id])) as ArrayRef), ("sum", Arc::new(Int64Array::from(vec![sum])) as _)];
/// #     RecordBatch::try_from_iter(columns)
/// # };
/// # let table = Table::create(folder.path().join("accounts"), &batch(1, 0)?.schema(), &["id"], TableOptions::new())?;
/// let mut transaction = table.begin()?;
/// transaction.upsert(&batch(1, 50)?)?;
/// transaction.upsert(&batch(2, 70)?)?;
/// assert_eq!(transaction.count()?, 2);
/// transaction.commit()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Transaction {
    pub(crate) changing: OpenWrite,
    /// Whether the caller computes the values of generated columns.
    pub(crate) computes_generated: bool,
}

/// Counts of [`Transaction::update`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateCounts {
    /// Number of rows of the table that were changed.
    pub rows: u64,
    /// Number of rows of the batch whose key the table does not have.
    pub absent: u64,
}

impl Transaction {
    pub(crate) fn new(changing: OpenWrite) -> Self {
        Self { changing, computes_generated: false }
    }

    pub(crate) fn begin(engine: &Arc<Engine>) -> Result<Self> {
        Ok(Self::new(OpenWrite::begin(engine)?))
    }

    /// A table's part of a transaction over several tables, in which rows expire by `clock`.
    pub(crate) fn part(engine: &Arc<Engine>, clock: i64) -> Result<Self> {
        Ok(Self::new(OpenWrite::part(engine, clock)?))
    }

    /// Puts rows, which replace existing rows with the same keys. If the batch repeats a key, the last row wins. Files are read only if the
    /// table has indexes or a change feed, or if there are enough rows to become files at once
    /// ([`TableOptions::bulk_rows`](crate::TableOptions::bulk_rows)). Rows are buffered until the transaction is read or committed, or until
    /// they take [`TableOptions::flush_bytes`](crate::TableOptions::flush_bytes). Rows that then become files are synced, and the files are
    /// removed if the transaction does not commit.
    ///
    /// # Errors
    /// [`Error::Batch`] for a batch that does not have the columns of the table, [`Error::Null`], [`Error::KeyTooLong`], [`Error::NotUnique`].
    pub fn upsert(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = self.changing.schema().conform(batch)?;
        self.put_rows(rows)
    }

    /// Puts rows whose keys are new.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] for a key that the table has, or an earlier row of the batch; otherwise as [`upsert`](Self::upsert).
    pub fn insert(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = Arc::clone(self.changing.schema());
        let rows = schema.conform(batch)?;
        let key_columns = schema.key().select(&rows.columns);
        let keys = SortedKeys::new(&schema, &key_columns)?;
        let is_there = contains_many(&Arc::clone(self.changing.engine()), &mut self.changing.view()?, &keys)?;
        let duplicate = is_there.iter().position(|&is_there| is_there).or_else(|| keys.first_duplicate());
        if let Some(row) = duplicate {
            return Err(Error::DuplicateKey { key: schema.key().describe(&key_columns, row), row });
        }
        self.put_rows(rows)
    }

    /// Changes some columns of existing rows: the batch has the key columns and the columns to change. Rows of the batch whose key the table
    /// does not have change nothing, and are counted. If the batch repeats a key, the last row wins.
    ///
    /// # Errors
    /// As [`upsert`](Self::upsert).
    pub fn update(&mut self, batch: &RecordBatch) -> Result<UpdateCounts> {
        let schema = Arc::clone(self.changing.schema());
        let keys = SortedKeys::new(&schema, &schema.conform_key(batch)?)?;
        let mut changed: Vec<(usize, ArrayRef)> = Vec::new();
        let mut categories = None;
        for field in batch.schema_ref().fields() {
            let column = schema.column(field.name())?;
            let mut array = schema.conform_column(batch, column, &mut categories)?;
            if schema.key().columns().contains(&column) {
                array = schema.key().one_form(&[array])?.remove(0);
            }
            changed.push((column, array));
        }
        let all: Vec<usize> = (0..schema.arrow().fields().len()).collect();
        let found = get_many(&Arc::clone(self.changing.engine()), &mut self.changing.view()?, &keys, &all)?;
        // For each row that was found, the last row of the batch with its key.
        let mut last = vec![0_u64; found.rows.num_rows()];
        let mut absent = 0;
        for (row, place) in found.places.iter().enumerate() {
            match place {
                Some(place) => last[*place] = row as u64,
                None => absent += 1,
            }
        }
        let last = UInt64Array::from(last);
        let mut columns = found.rows.columns().to_vec();
        for (column, array) in changed {
            columns[column] = take(&array, &last, None)?;
        }
        let rows = found.rows.num_rows() as u64;
        if rows > 0 {
            self.put_rows(ConformedRows { columns, categories })?;
        }
        Ok(UpdateCounts { rows, absent })
    }

    /// Deletes the rows with these keys, if they exist. It reads no file unless the table has indexes or a change feed, so it does not return
    /// how many rows it deleted.
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Batch`] or [`Error::Null`] for keys that no row can have.
    pub fn delete(&mut self, keys: impl Keys) -> Result<()> {
        let keys = reading::sorted_keys(self.changing.schema(), &keys)?;
        self.check_lengths(keys.keys().iter().map(<[u8]>::len))?;
        self.changing.delete_keys(keys.keys())
    }

    /// Deletes the rows for which `predicate` is true, and returns their number.
    ///
    /// # Errors
    /// [`Error::Predicate`] or [`Error::Parquet`] for a condition that does not fit the table's columns, and any error of reading.
    pub fn delete_where(&mut self, predicate: &Predicate) -> Result<u64> {
        let predicate = match self.changing.expiry() {
            Some(expiry) => &predicate.clone().and(expiry.live()),
            None => predicate,
        };
        let hot = self.changing.hot_keys_where(predicate)?;
        let cold = self.changing.cold_rows_where(predicate)?;
        let mut count = hot.len() as u64;
        for (file, rows) in cold {
            count += rows.len();
            self.changing.delete_rows(file, &rows)?;
        }
        self.changing.delete_keys(&hot)?;
        Ok(count)
    }

    /// The rows of a batch as the table stores them: with its columns in their order and types, and one form of each float in the key.
    ///
    /// # Errors
    /// [`Error::Batch`] for a batch that does not have the columns of the table, [`Error::Null`].
    pub fn stored_rows(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let schema = self.changing.schema();
        batch(schema.arrow(), schema.conform(rows)?.columns, rows.num_rows())
    }

    /// Checks rows as [`upsert`](Self::upsert) does, and puts none. Unique indexes and foreign keys are not looked at.
    ///
    /// # Errors
    /// [`Error::Batch`], [`Error::Null`], [`Error::Constraint`] and [`Error::TooLong`] as there.
    pub fn check_batch(&self, rows: &RecordBatch) -> Result<()> {
        let schema = self.changing.schema();
        schema.check_constraints(&schema.conform(rows)?.columns)
    }

    pub(crate) fn put_rows(&mut self, rows: ConformedRows) -> Result<()> {
        let ConformedRows { columns, categories } = rows;
        let schema = Arc::clone(self.changing.schema());
        self.check_generated(&schema)?;
        schema.check_constraints(&columns)?;
        let row_count = columns.first().map_or(0, Array::len);
        // Indexes and the change feed have to see all of the rows or none.
        let max_rows = if self.changing.is_followed() { row_count.max(1) } else { MAX_BATCH_ROWS };
        let mut pieces = Vec::new();
        for start in (0..row_count).step_by(max_rows) {
            let len = max_rows.min(row_count - start);
            let piece: Vec<ArrayRef> = columns.iter().map(|column| column.slice(start, len)).collect();
            pieces.push((schema.key().encode(&schema.key().select(&piece))?, piece));
        }
        self.check_lengths(pieces.iter().flat_map(|(keys, _)| keys.iter().map(|key| key.data().len())))?;
        if let Some(categories) = categories {
            self.changing.set_categories(categories)?;
        }
        pieces.into_iter().try_for_each(|(keys, piece)| self.changing.put(keys, piece))
    }

    /// Applies `change`, or nothing if it fails.
    pub(crate) fn all_or_nothing<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let savepoint = self.changing.savepoint()?;
        let changed = change(self);
        if changed.is_err() {
            self.changing.rollback(&savepoint)?;
        }
        changed
    }

    pub(crate) fn check_lengths(&self, lens: impl Iterator<Item = usize>) -> Result<()> {
        match lens.enumerate().find(|&(_, len)| len > MAX_KEY_LEN) {
            Some((row, len)) => Err(Error::KeyTooLong { row, len, limit: MAX_KEY_LEN }),
            None => Ok(()),
        }
    }

    /// The row with this key.
    ///
    /// # Errors
    /// [`Error::Key`] for a key that no row can have.
    pub fn get(&mut self, key: impl Into<Key>) -> Result<Option<RecordBatch>> {
        get::get(&Arc::clone(self.changing.engine()), &mut self.changing.view()?, &key.into())
    }

    /// The rows with these keys, in one pass.
    ///
    /// # Errors
    /// [`Error::Key`], [`Error::Batch`] or [`Error::Null`] for keys that no row can have.
    pub fn get_many(&mut self, keys: impl Keys) -> Result<FoundRows> {
        reading::get_many(&Arc::clone(self.changing.engine()), &mut self.changing.view()?, &keys)
    }

    /// [`Snapshot::get_by_index`](crate::Snapshot::get_by_index), with the changes of this transaction.
    ///
    /// # Errors
    /// As there.
    pub fn get_by_index(&mut self, name: &str, values: impl Into<Key>) -> Result<RecordBatch> {
        get_by_index(&Arc::clone(self.changing.engine()), &mut self.changing.view()?, name, &values.into())
    }

    /// Starts a scan.
    pub fn scan(&mut self) -> TableScan<'_> {
        TableScan::new(Arc::clone(self.changing.engine()), self.boxed_view())
    }

    /// Starts a read of a range of keys, in key order. A bound may have only the first key columns.
    ///
    /// # Errors
    /// [`Error::Key`] for bounds that do not fit the key columns.
    pub fn range<K: Clone + Into<Key>>(&mut self, bounds: impl RangeBounds<K>) -> Result<RangeScan<'_>> {
        let range = key_range(&bounds, self.changing.schema().key())?;
        Ok(RangeScan::new(Arc::clone(self.changing.engine()), self.boxed_view(), range))
    }

    fn boxed_view(&mut self) -> Result<Box<dyn View + '_>> {
        Ok(Box::new(self.changing.view()?))
    }

    /// The number of rows.
    ///
    /// # Errors
    /// Whatever goes wrong while looking for keys in files.
    pub fn count(&mut self) -> Result<u64> {
        self.scan().count()
    }

    /// Writes rows that are buffered, which reading and committing do, too.
    ///
    /// # Errors
    /// As [`upsert`](Self::upsert), for rows that were put before.
    pub fn write_buffered(&mut self) -> Result<()> {
        self.changing.view().map(drop)
    }

    /// The number after the greatest key that rows have or had lately, for a table whose key is a column of 64-bit integers: no row has it
    /// or a greater one. 1 for a table without rows.
    ///
    /// # Errors
    /// [`Error::Key`] for another key, or if the greatest key is the greatest number.
    pub fn next_number(&mut self) -> Result<i64> {
        let schema = Arc::clone(self.changing.schema());
        let mut view = self.changing.view()?;
        let mut greatest: Option<Vec<u8>> = view.manifest().files().iter().map(|file| file.max.clone()).max();
        for name in [TreeName::Hot, TreeName::Tombstones] {
            let Some(tree) = view.tree(name)? else { continue };
            greatest = greatest.max(tree.last()?.map(|(key, _)| key));
        }
        let Some(greatest) = greatest else { return Ok(1) };
        let decoded = schema.decode_keys([greatest.as_slice()])?;
        let [numbers] = decoded.as_slice() else { return Err(Error::key("the key is no single column of numbers")) };
        let numbers = numbers.as_primitive_opt::<Int64Type>();
        let number = numbers.ok_or_else(|| Error::key("the key is no column of 64-bit integers"))?.value(0);
        number.checked_add(1).ok_or_else(|| Error::key("a row has the greatest number as its key"))
    }

    /// Makes the changes visible to others, with the table's durability.
    ///
    /// # Errors
    /// As [`lath_store::Transaction::commit`], and [`Error::PartOfTransaction`].
    pub fn commit(self) -> Result<()> {
        let durability = self.changing.engine().options.durability;
        self.commit_with(durability)
    }

    /// Makes the changes visible to others, with this durability.
    ///
    /// # Errors
    /// As [`lath_store::Transaction::commit`], and [`Error::PartOfTransaction`].
    pub fn commit_with(self, durability: Durability) -> Result<()> {
        self.changing.commit(durability)
    }
}

impl SortedKeys {
    /// The first given row whose key an earlier one has.
    pub(super) fn first_duplicate(&self) -> Option<usize> {
        let mut seen = HashSet::new();
        self.places().iter().position(|&place| !seen.insert(place))
    }
}

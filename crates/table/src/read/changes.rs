//! The change feed as record batches.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;

use super::range::{RangeBatches, RangeScan};
use super::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::records::{Change, ChangeKind, TreeName};
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, ByteList, StoredRows, TableSchema, ValueColumns, batch};
use crate::view::{Commit, View};

/// The column with the kind of a change.
pub(crate) const KIND: &str = "_change";

/// The column with the sequence of a change.
pub(crate) const SEQUENCE: &str = "_sequence";

impl Snapshot {
    /// The changes of commits after the sequence `since`, in the order of commits, then of keys. A commit has at most one change of a row:
    /// inserting and deleting a row in one commit is no change, and deleting it and putting it again is an update.
    ///
    /// The first column is `_change` (`insert`, `update` or `delete`), the second is `_sequence`, the number of the commit, and the columns of
    /// the table follow with the new row. A deleted row has its key, and nulls in the other columns. All rows have the schema of this snapshot,
    /// even if they are older. A schema change is not a change of rows; a reader detects it by comparing [`Changes::schema`] with the previous
    /// one.
    ///
    /// A reader that stores [`Changes::resume_at`] in the same transaction as its own results sees each change exactly once. A commit that is
    /// not [durable](crate::Durability) can be lost in a crash after it was read; a synced commit cannot.
    ///
    /// # Errors
    /// [`Error::NoChanges`] if the table has no change feed, if the feed no longer has the changes after `since`, or if `since` is later than
    /// the last commit, because commits were lost.
    pub fn changes(&self, since: u64) -> Result<Changes> {
        let (_, pinned) = self.parts();
        let feed = pinned.state().feed.as_ref().ok_or(Error::NoChanges { since, kept_since: None })?;
        // The feed begins after the commit that turned it on.
        if since.saturating_add(1) < feed.from || since > pinned.stamp() {
            return Err(Error::NoChanges { since, kept_since: Some(feed.from - 1) });
        }
        Ok(Changes::new(Arc::clone(pinned), since))
    }

    /// The rows of another snapshot of the table as inserts of the commit `since`, and then the changes of commits after it.
    pub(crate) fn rows_and_changes(&self, rows: &Self, since: u64) -> Result<Changes> {
        let mut changes = self.changes(since)?;
        let ((engine, pinned), (_, first)) = (self.parts(), rows.parts());
        let first = first.in_schema(View::schema(pinned), pinned.clock());
        let batches = RangeScan::new(Arc::clone(engine), Ok(Box::new(first)), KeyRange::default()).build()?;
        changes.rows = Some(Box::new(batches));
        changes.resume_at = since.saturating_sub(1);
        Ok(changes)
    }
}

/// Batches of changes. There are no batches after an error.
#[derive(Debug)]
pub struct Changes {
    pinned: Arc<Commit>,
    /// The rows before the changes, as inserts of the commit `since`.
    rows: Option<Box<RangeBatches<'static>>>,
    since: u64,
    output: SchemaRef,
    /// The first key of the tree that was not read.
    next: Vec<u8>,
    resume_at: u64,
    is_done: bool,
}

impl Changes {
    pub(crate) fn new(pinned: Arc<Commit>, since: u64) -> Self {
        let output = change_schema(View::schema(&pinned));
        let next = since.saturating_add(1).to_be_bytes().to_vec();
        Self { pinned, rows: None, since, output, next, resume_at: since, is_done: false }
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.output)
    }

    /// The sequence up to which all changes were returned, for the next call of [`Snapshot::changes`]. That call returns changes of later
    /// commits again, even if the last batch had some of them: a reader that stops in the middle ignores these. While rows of
    /// [`Snapshot::changes_from`] are left, it is below the commit of these rows.
    pub fn resume_at(&self) -> u64 {
        self.resume_at
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(rows) = &mut self.rows {
            if let Some(rows) = rows.next().transpose()? {
                return self.inserts(&rows).map(Some);
            }
            self.rows = None;
            self.resume_at = self.since;
        }
        let pinned = Arc::clone(&self.pinned);
        let schema = View::schema(&pinned);
        let values = ValueColumns::all(schema);
        let mut rows = ChangedRows::default();
        let mut has_more = false;
        if let Some(tree) = pinned.shared_tree(TreeName::Changes)? {
            let mut cursor = tree.cursor();
            has_more = cursor.lower_bound(&self.next)?;
            while has_more {
                let (Some(key), Some(value)) = (cursor.key(), cursor.value()?) else { break };
                let change = Change::parse(key, value)?;
                if rows.kinds.len() == BATCH_ROWS {
                    self.next = key.to_vec();
                    // The commit of the next change may have begun in this batch.
                    self.resume_at = change.stamp - 1;
                    break;
                }
                rows.push(&change, &values)?;
                has_more = cursor.next()?;
            }
        }
        if !has_more {
            self.is_done = true;
            self.resume_at = pinned.stamp();
        }
        if rows.kinds.is_empty() { Ok(None) } else { rows.into_batch(&values, &self.output).map(Some) }
    }
}

impl Changes {
    /// Rows as inserts of the commit after which changes begin.
    fn inserts(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let count = rows.num_rows();
        let kinds = StringArray::from_iter_values(std::iter::repeat_n(ChangeKind::Insert.as_str(), count));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(kinds), Arc::new(UInt64Array::from(vec![self.since; count]))];
        columns.extend(rows.columns().iter().cloned());
        batch(&self.output, columns, count)
    }
}

impl Iterator for Changes {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let batch = self.next_batch().transpose();
        self.is_done |= !matches!(batch, Some(Ok(_)));
        batch
    }
}

/// The columns of changes, not yet decoded.
#[derive(Debug, Default)]
struct ChangedRows {
    kinds: Vec<&'static str>,
    stamps: Vec<u64>,
    keys: ByteList,
    rows: StoredRows,
    /// For each change, its row in `rows`; `None` if it deleted the row.
    places: Vec<Option<u64>>,
}

impl ChangedRows {
    fn push(&mut self, change: &Change<'_>, values: &ValueColumns) -> Result<()> {
        self.kinds.push(change.kind.as_str());
        self.stamps.push(change.stamp);
        self.keys.push(change.key);
        let is_there = change.kind != ChangeKind::Delete;
        self.places.push(is_there.then_some(self.rows.len() as u64));
        if is_there {
            self.rows.push(change.schema, change.row, values)?;
        }
        Ok(())
    }

    fn into_batch(self, values: &ValueColumns, output: &SchemaRef) -> Result<RecordBatch> {
        let schema = values.schema();
        let keys = schema.decode_keys(self.keys.iter())?;
        let places = UInt64Array::from(self.places);
        let values = self.rows.decode(values)?;
        let mut columns: Vec<Option<ArrayRef>> = vec![None; schema.arrow().fields().len()];
        for (&column, array) in schema.key().columns().iter().zip(keys) {
            columns[column] = Some(array);
        }
        for (&column, array) in schema.values().columns().iter().zip(values) {
            columns[column] = Some(take(&array, &places, None)?);
        }
        let row_count = self.kinds.len();
        let mut all: Vec<ArrayRef> =
            vec![Arc::new(StringArray::from(self.kinds)), Arc::new(UInt64Array::from(self.stamps))];
        for column in columns {
            all.push(column.ok_or_else(|| Error::internal("a change lacks a column"))?);
        }
        batch(output, all, row_count)
    }
}

fn change_schema(schema: &TableSchema) -> SchemaRef {
    let mut fields = vec![
        Arc::new(Field::new(KIND, DataType::Utf8, false)),
        Arc::new(Field::new(SEQUENCE, DataType::UInt64, false)),
    ];
    for (column, field) in schema.arrow().fields().iter().enumerate() {
        let is_key = schema.key().columns().contains(&column);
        fields.push(Arc::new(Field::clone(field).with_nullable(!is_key)));
    }
    Arc::new(Schema::new(fields))
}

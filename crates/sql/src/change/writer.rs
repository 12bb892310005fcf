//! The writer of a change, which runs on the transaction's thread.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::execution::memory_pool::MemoryReservation;
use lath_table::{MergeWhen, Transaction, WhenMatched};
use tokio::sync::mpsc::Receiver;

use super::row_numbers::RowNumbers;
use super::touched::KeySet;
use super::{Change, MergeAction};
use crate::error::table_error;
use crate::keyed::KeyedTable;
use crate::transaction::{OpenTransaction, StatementChanges};

/// A message to the writer.
pub(super) enum Message {
    Rows(RecordBatch),
    /// The end of the rows. Without it, nothing is changed.
    End,
}

/// Applies rows to a transaction.
pub(super) struct Writer<'t> {
    changes: Changes<'t>,
    change: Change,
    /// The numbers of rows that are inserted, if the table has no primary key.
    row_numbers: Option<RowNumbers>,
    /// The columns of rows that are inserted.
    inserted: SchemaRef,
    /// The columns of the table.
    columns: SchemaRef,
    keys: SchemaRef,
    staging: Staging,
    /// The keys of rows that a MERGE has updated or deleted.
    touched: KeySet,
    inserts: Vec<RecordBatch>,
    updates: Vec<RecordBatch>,
    memory: MemoryReservation,
    count: u64,
}

/// The transaction of a statement.
enum Changes<'t> {
    /// The statement is one.
    Own(Box<Transaction>),
    /// The statement is part of one, which changes the table with this name.
    Open { changes: StatementChanges<'t>, table: String },
}

impl Changes<'_> {
    fn get(&mut self) -> Result<&mut Transaction> {
        match self {
            Self::Own(transaction) => Ok(transaction),
            Self::Open { changes, table } => changes.table(table),
        }
    }

    /// Commits, or leaves the changes to the transaction that the statement is part of.
    fn finish(self) -> Result<()> {
        match self {
            Self::Own(transaction) => transaction.commit().map_err(table_error),
            Self::Open { changes, .. } => changes.finish(),
        }
    }
}

/// The kinds of rows that are put only after the last row has come: keys, or values of unique indexes, may be taken until then.
#[derive(Debug, Clone, Copy)]
struct Staging {
    inserts: bool,
    updates: bool,
}

impl<'t> Writer<'t> {
    /// Begins a transaction, or a part of the open one. Blocks until the transaction or the statement before has ended.
    pub(super) fn begin(
        table: &KeyedTable,
        open: Option<&'t OpenTransaction>,
        change: Change,
        memory: MemoryReservation,
    ) -> Result<Self> {
        let (mut changes, snapshot) = match open {
            Some(open) => {
                let changes = open.change()?;
                let snapshot = changes.snapshot().table(table.name());
                (Changes::Open { changes, table: table.name().to_owned() }, snapshot)
            }
            None => {
                let transaction = table.table().begin().map_err(table_error)?;
                // While the transaction is open, this stays the newest commit.
                (Changes::Own(Box::new(transaction)), table.table().snapshot())
            }
        };
        let snapshot = snapshot.map_err(table_error)?;
        table.check_columns(&snapshot)?;
        let is_unique = snapshot.indexes().iter().any(|index| index.is_unique);
        let staging = match &change {
            Change::Merge { actions, moves_keys } => Staging {
                inserts: *moves_keys || is_unique || actions.contains(&MergeAction::Delete),
                updates: is_unique,
            },
            _ => Staging { inserts: false, updates: is_unique },
        };
        let inserted = nullable(table.schema().fields().iter());
        let shown = table.clone().with_row_column();
        let columns = nullable(shown.schema().fields().iter());
        let row_numbers = match table.has_row_numbers() {
            true => Some(RowNumbers {
                next: changes.get()?.next_number().map_err(table_error)?,
                schema: Arc::clone(&columns),
            }),
            false => None,
        };
        let table = shown;
        let keys = nullable(table.key_columns().iter().map(|&place| &columns.fields()[place]));
        let touched = KeySet::new(&keys)?;
        let (inserts, updates) = (Vec::new(), Vec::new());
        Ok(Self {
            changes,
            change,
            row_numbers,
            inserted,
            columns,
            keys,
            staging,
            touched,
            inserts,
            updates,
            memory,
            count: 0,
        })
    }

    /// Applies the received rows, commits, and returns the number of rows.
    pub(super) fn write(mut self, mut rows: Receiver<Message>) -> Result<u64> {
        loop {
            match rows.blocking_recv() {
                Some(Message::Rows(batch)) if batch.num_rows() == 0 => {}
                Some(Message::Rows(batch)) => self.apply(&batch)?,
                Some(Message::End) => break,
                None => return exec_err!("the statement was stopped, so nothing was changed"),
            }
        }
        if let Change::DeleteWhere(predicate) = &self.change {
            self.count = self.changes.get()?.delete_where(predicate).map_err(table_error)?;
        }
        self.put_staged()?;
        self.changes.finish()?;
        Ok(self.count)
    }

    fn apply(&mut self, batch: &RecordBatch) -> Result<()> {
        let row_count = batch.num_rows() as u64;
        match self.change.clone() {
            Change::Insert => {
                let rows = columns_at(batch, 0, &self.inserted)?;
                let rows = self.numbered(rows)?;
                self.changes.get()?.insert(&rows).map_err(table_error)?;
            }
            Change::Replace => self.update(self.rows(batch, 0)?, None)?,
            Change::InsertNew => {
                self.count += self.insert_new(&self.rows(batch, 0)?)?;
                return Ok(());
            }
            Change::Delete => {
                let keys = self.keys(batch, 0)?;
                self.changes.get()?.delete(keys).map_err(table_error)?;
            }
            // The query returns no rows; the rows to delete are found at the end.
            Change::DeleteWhere(_) => return Ok(()),
            Change::Update { moves_keys } => {
                let old = if moves_keys { Some(self.keys(batch, self.columns.fields().len())?) } else { None };
                self.update(self.rows(batch, 0)?, old)?;
            }
            Change::Merge { actions, moves_keys } => self.merge(batch, &actions, moves_keys)?,
        }
        self.count += row_count;
        Ok(())
    }

    /// Puts rows that replace others with the same keys, or with `old_keys`.
    fn update(&mut self, rows: RecordBatch, old_keys: Option<RecordBatch>) -> Result<()> {
        match old_keys {
            Some(old_keys) => {
                self.changes.get()?.delete(old_keys).map_err(table_error)?;
                self.stage(rows, |writer| &mut writer.inserts)
            }
            None if self.staging.updates => self.stage(rows, |writer| &mut writer.updates),
            None => self.changes.get()?.upsert(&rows).map_err(table_error),
        }
    }

    fn stage(&mut self, rows: RecordBatch, staged: impl FnOnce(&mut Self) -> &mut Vec<RecordBatch>) -> Result<()> {
        self.memory.try_grow(rows.get_array_memory_size())?;
        staged(self).push(rows);
        Ok(())
    }

    /// Puts the rows that had to wait, each kind at once, so that only the final rows have to be unique.
    fn put_staged(&mut self) -> Result<()> {
        let (inserts, updates) = (std::mem::take(&mut self.inserts), std::mem::take(&mut self.updates));
        for (batches, are_new) in [(updates, false), (inserts, true)] {
            let Some(first) = batches.first() else { continue };
            let rows = concat_batches(first.schema_ref(), &batches)?;
            let put = if are_new { self.changes.get()?.insert(&rows) } else { self.changes.get()?.upsert(&rows) };
            put.map_err(table_error)?;
        }
        Ok(())
    }

    /// Inserts the first row of each key that the table does not have. Returns the number of inserted rows.
    fn insert_new(&mut self, rows: &RecordBatch) -> Result<u64> {
        let places = self.keys.fields().iter().map(|field| self.columns.index_of(field.name()));
        let keys = rows.project(&places.collect::<Result<Vec<_>, _>>()?)?;
        let are_first = KeySet::new(&self.keys)?.add(&keys, &self.memory.new_empty())?;
        let rows = filter_record_batch(rows, &BooleanArray::from(are_first))?;
        let when = MergeWhen::new().matched(WhenMatched::Keep);
        Ok(self.changes.get()?.merge(&rows, &when).map_err(table_error)?.inserted)
    }

    /// Applies rows by the number of their clause.
    fn merge(&mut self, batch: &RecordBatch, actions: &[MergeAction], moves_keys: bool) -> Result<()> {
        let Some(clauses) = batch.column(0).as_primitive_opt::<Int32Type>() else {
            return internal_err!("the clauses of a merge are not numbers");
        };
        let of_action = |action: MergeAction| {
            let is_of = |clause: &i32| usize::try_from(*clause - 1).is_ok_and(|at| actions.get(at) == Some(&action));
            let chosen: BooleanArray = clauses.values().iter().map(|clause| Some(is_of(clause))).collect();
            filter_record_batch(batch, &chosen)
        };
        let behind = 1 + self.columns.fields().len();
        let deleted = of_action(MergeAction::Delete)?;
        if deleted.num_rows() > 0 {
            let keys = self.keys(&deleted, behind)?;
            self.touched.add_once(&keys, &self.memory)?;
            self.changes.get()?.delete(keys).map_err(table_error)?;
        }
        let updated = of_action(MergeAction::Update)?;
        if updated.num_rows() > 0 {
            let keys = self.keys(&updated, behind)?;
            self.touched.add_once(&keys, &self.memory)?;
            self.update(self.rows(&updated, 1)?, moves_keys.then_some(keys))?;
        }
        let inserted = of_action(MergeAction::Insert)?;
        if inserted.num_rows() > 0 {
            let rows = self.rows(&inserted, 1)?;
            let rows = self.numbered(rows)?;
            match self.staging.inserts {
                true => self.stage(rows, |writer| &mut writer.inserts)?,
                false => self.changes.get()?.insert(&rows).map_err(table_error)?,
            }
        }
        Ok(())
    }

    /// Rows to insert, with their numbers if the table has no primary key.
    fn numbered(&mut self, rows: RecordBatch) -> Result<RecordBatch> {
        match &mut self.row_numbers {
            Some(numbers) => numbers.add(&rows),
            None => Ok(rows),
        }
    }

    /// The table's columns, which begin at column `from` of a batch.
    fn rows(&self, batch: &RecordBatch, from: usize) -> Result<RecordBatch> {
        columns_at(batch, from, &self.columns)
    }

    /// The key's columns, which begin at column `from` of a batch.
    fn keys(&self, batch: &RecordBatch, from: usize) -> Result<RecordBatch> {
        columns_at(batch, from, &self.keys)
    }
}

fn columns_at(batch: &RecordBatch, from: usize, schema: &SchemaRef) -> Result<RecordBatch> {
    let Some(columns) = batch.columns().get(from..from + schema.fields().len()) else {
        return internal_err!("a change lacks columns");
    };
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns.to_vec(), &options)?)
}

/// Makes all fields nullable; the table itself refuses nulls where it has to. Dictionaries are unordered: a query may give them in any order.
fn nullable<'f>(fields: impl Iterator<Item = &'f FieldRef>) -> SchemaRef {
    let field = |field: &FieldRef| FieldRef::new(Field::clone(field).with_nullable(true).with_dict_is_ordered(false));
    Arc::new(Schema::new(fields.map(field).collect::<Vec<_>>()))
}

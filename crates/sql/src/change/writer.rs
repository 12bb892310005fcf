//! The writer of a change, which runs on the transaction's thread.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, FieldRef, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::execution::memory_pool::MemoryReservation;
use lath_table::{IndexInfo, Key, KeyValue, MergeWhen, Transaction, WhenMatched};
use tokio::sync::mpsc::Receiver;
use tokio::sync::mpsc::error::TryRecvError;

use super::returning::{ChangeAnswer, ReturnedRows};
use super::touched::KeySet;
use super::without_key::RowNumbers;
use super::{Change, Conflicts, MergeAction};
use crate::error::table_error;
use crate::keyed::KeyedTable;
use crate::stop::{CommitPoint, stopped};
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
    /// Whether rows whose key exists are ignored.
    ignores_keys: bool,
    /// The unique indexes whose values rows are ignored for.
    ignored: Vec<IndexInfo>,
    inserts: Vec<RecordBatch>,
    updates: Vec<RecordBatch>,
    memory: MemoryReservation,
    count: u64,
    /// The rows that the statement returns, if it does.
    returned: Option<ReturnedRows>,
    /// The columns of these rows.
    returned_schema: SchemaRef,
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
        returns_rows: bool,
    ) -> Result<Self> {
        let (mut changes, snapshot) = match open {
            Some(open) => {
                let changes = open.change()?;
                let snapshot = changes.snapshot().table(table.name());
                (Changes::Open { changes, table: table.name().to_owned() }, snapshot)
            }
            None => {
                let transaction = match table.table().begin() {
                    Err(lath_table::Error::NoTable { .. }) => {
                        return plan_err!(
                            "table {:?} was dropped or replaced since the statement was planned; run it again",
                            table.name()
                        );
                    }
                    begun => begun.map_err(table_error)?,
                };
                // While the transaction is open, this stays the newest commit.
                (Changes::Own(Box::new(transaction)), table.table().snapshot())
            }
        };
        changes.get()?.computes_generated_columns();
        let snapshot = snapshot.map_err(table_error)?;
        table.check_columns(&snapshot)?;
        let is_unique = snapshot.indexes().iter().any(|index| index.is_unique);
        let staging = match &change {
            Change::Merge { actions, moves_keys, .. } => Staging {
                inserts: *moves_keys || is_unique || actions.contains(&MergeAction::Delete),
                updates: is_unique,
            },
            _ => Staging { inserts: false, updates: is_unique },
        };
        let ignores = |index: &IndexInfo| match &change {
            Change::InsertNew(Conflicts::All) => index.is_unique,
            Change::InsertNew(Conflicts::Index(name)) => index.name == *name,
            _ => false,
        };
        let ignored = snapshot.indexes().into_iter().filter(ignores).collect();
        let ignores_keys =
            !table.has_row_numbers() && matches!(&change, Change::InsertNew(Conflicts::All | Conflicts::Key));
        let inserted = nullable(table.schema().fields().iter());
        let shown = table.clone().with_row_column();
        let columns = nullable(shown.stored_schema().fields().iter());
        let row_numbers = match table.has_row_numbers() {
            true => Some(RowNumbers {
                next: changes.get()?.next_number().map_err(table_error)?,
                schema: Arc::clone(&columns),
            }),
            false => None,
        };
        let table = shown;
        let hidden = usize::from(row_numbers.is_some());
        let visible: Vec<usize> = (hidden..table.schema().fields().len()).collect();
        let returned_schema = Arc::new(table.schema().project(&visible)?);
        let returned = returns_rows.then(|| ReturnedRows::new(memory.new_empty()));
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
            ignores_keys,
            ignored,
            inserts,
            updates,
            memory,
            count: 0,
            returned,
            returned_schema,
        })
    }

    /// Applies the received rows, and commits. `answer` makes the answer of the rows that the statement returns.
    pub(super) fn write(
        mut self,
        mut rows: Receiver<Message>,
        point: &CommitPoint,
        answer: impl FnOnce(Vec<RecordBatch>) -> Result<Vec<RecordBatch>>,
    ) -> Result<ChangeAnswer> {
        loop {
            match rows.blocking_recv() {
                Some(Message::Rows(batch)) if batch.num_rows() == 0 => {}
                Some(Message::Rows(batch)) => self.apply(&batch)?,
                Some(Message::End) => break,
                None => return stopped(),
            }
        }
        if let Change::DeleteWhere(predicate) = &self.change {
            self.count = self.changes.get()?.delete_where(predicate).map_err(table_error)?;
        }
        self.put_staged()?;
        if let Some(returned) = &mut self.returned {
            returned.replace(answer)?;
        }
        // Before the last look whether the statement was stopped, because it may take long.
        self.changes.get()?.write_buffered().map_err(table_error)?;
        if matches!(rows.try_recv(), Err(TryRecvError::Disconnected)) || !point.pass() {
            return stopped();
        }
        self.changes.finish()?;
        Ok(ChangeAnswer { count: self.count, rows: self.returned })
    }

    fn apply(&mut self, batch: &RecordBatch) -> Result<()> {
        let row_count = batch.num_rows() as u64;
        match self.change.clone() {
            Change::Insert => {
                let rows = columns_at(batch, 0, &self.inserted)?;
                let rows = self.numbered(rows)?;
                self.changes.get()?.insert(&rows).map_err(table_error)?;
                self.return_rows(&rows)?;
            }
            Change::Replace => self.update(self.rows(batch, 0)?, None)?,
            Change::InsertNew(_) => {
                self.count += self.insert_new(&columns_at(batch, 0, &self.inserted)?)?;
                return Ok(());
            }
            Change::Delete => {
                let keys = self.keys(batch, 0)?;
                self.changes.get()?.delete(keys).map_err(table_error)?;
                if self.returned.is_some() {
                    let rows = self.rows(batch, self.keys.fields().len())?;
                    self.return_rows(&rows)?;
                }
            }
            // The query returns no rows; the rows to delete are found at the end.
            Change::DeleteWhere(_) => return Ok(()),
            Change::Update { moves_keys } => {
                let old = if moves_keys { Some(self.keys(batch, self.columns.fields().len())?) } else { None };
                self.update(self.rows(batch, 0)?, old)?;
            }
            Change::Merge { actions, moves_keys, checks_proposed } => {
                if checks_proposed {
                    self.check_conflicting(batch, &actions)?;
                }
                self.count += self.merge(batch, &actions, moves_keys)?;
                return Ok(());
            }
        }
        self.count += row_count;
        Ok(())
    }

    /// Puts rows that replace others with the same keys, or with `old_keys`.
    fn update(&mut self, rows: RecordBatch, old_keys: Option<RecordBatch>) -> Result<()> {
        self.return_rows(&rows)?;
        match old_keys {
            Some(old_keys) => {
                let transaction = self.changes.get()?;
                transaction.move_rows(&old_keys, &rows).map_err(table_error)?;
                transaction.delete(old_keys).map_err(table_error)?;
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

    /// Inserts the rows without conflicts. Returns their number.
    fn insert_new(&mut self, rows: &RecordBatch) -> Result<u64> {
        self.check_proposed(rows)?;
        if self.row_numbers.is_some() {
            let rows = filter_record_batch(rows, &self.without_conflicts(rows, None)?)?;
            let rows = self.numbered(rows)?;
            self.changes.get()?.insert(&rows).map_err(table_error)?;
            self.return_rows(&rows)?;
            return Ok(rows.num_rows() as u64);
        }
        let places = self.keys.fields().iter().map(|field| self.columns.index_of(field.name()));
        let keys = rows.project(&places.collect::<Result<Vec<_>, _>>()?)?;
        if self.returned.is_none() && self.ignored.is_empty() {
            let are_first = KeySet::new(&self.keys)?.add(&keys, &self.memory.new_empty())?;
            let rows = filter_record_batch(rows, &BooleanArray::from(are_first))?;
            let when = MergeWhen::new().matched(WhenMatched::Keep);
            return Ok(self.changes.get()?.merge(&rows, &when).map_err(table_error)?.inserted);
        }
        let rows = filter_record_batch(rows, &self.without_conflicts(rows, Some(&keys))?)?;
        self.changes.get()?.insert(&rows).map_err(table_error)?;
        self.return_rows(&rows)?;
        Ok(rows.num_rows() as u64)
    }

    /// Checks rows to insert, also rows that conflict, as PostgreSQL does.
    fn check_proposed(&mut self, rows: &RecordBatch) -> Result<()> {
        let rows = match &self.row_numbers {
            Some(numbers) => numbers.clone().add(rows)?,
            None => rows.clone(),
        };
        self.changes.get()?.check_batch(&rows).map_err(table_error)
    }

    /// Whether each row conflicts neither with a row of the table nor with one before it that is inserted.
    fn without_conflicts(&mut self, rows: &RecordBatch, keys: Option<&RecordBatch>) -> Result<BooleanArray> {
        let mut taken = Vec::new();
        if let Some(keys) = keys.filter(|_| self.ignores_keys) {
            let found = self.changes.get()?.get_many(keys.clone()).map_err(table_error)?;
            let is_there = found.places().iter().map(Option::is_some).collect();
            taken.push(TakenValues::new(keys, is_there)?);
        }
        for index in self.ignored.clone() {
            let places = index.columns.iter().map(|name| rows.schema_ref().index_of(name));
            let values = rows.project(&places.collect::<Result<Vec<_>, _>>()?)?;
            let mut is_there = Vec::with_capacity(values.num_rows());
            for row in 0..values.num_rows() {
                if values.columns().iter().any(|column| column.is_null(row)) {
                    is_there.push(false);
                    continue;
                }
                let value = values.columns().iter().map(|column| KeyValue::Array(column.slice(row, 1)));
                let found = self.changes.get()?.get_by_index(&index.name, Key::new(value)).map_err(table_error)?;
                is_there.push(found.num_rows() > 0);
            }
            taken.push(TakenValues::new(&values, is_there)?);
        }
        let is_new = |row| {
            let is_new = taken.iter().all(|taken| !taken.has(row));
            if is_new {
                taken.iter_mut().for_each(|taken| taken.add(row));
            }
            Some(is_new)
        };
        Ok((0..rows.num_rows()).map(is_new).collect())
    }

    /// Keeps rows of the table for the statement's answer.
    fn return_rows(&mut self, rows: &RecordBatch) -> Result<()> {
        let Some(returned) = &mut self.returned else { return Ok(()) };
        let stored = self.changes.get()?.stored_rows(rows).map_err(table_error)?;
        // The number of a row, which statements do not see, is first.
        let hidden = stored.num_columns() - self.returned_schema.fields().len();
        returned.push(columns_at(&stored, hidden, &self.returned_schema)?)
    }

    /// Checks the rows that were to be inserted and are not, because they conflict.
    fn check_conflicting(&mut self, batch: &RecordBatch, actions: &[MergeAction]) -> Result<()> {
        let is_inserted = rows_of_action(batch, actions, MergeAction::Insert)?;
        let conflicting = filter_record_batch(batch, &BooleanArray::new(!is_inserted.values(), None))?;
        let proposed = 1 + self.columns.fields().len() + self.keys.fields().len();
        self.check_proposed(&self.rows(&conflicting, proposed)?)
    }

    /// Applies rows by the number of their clause. Returns how many have one.
    fn merge(&mut self, batch: &RecordBatch, actions: &[MergeAction], moves_keys: bool) -> Result<u64> {
        let rows_of = |action| -> Result<RecordBatch> {
            Ok(filter_record_batch(batch, &rows_of_action(batch, actions, action)?)?)
        };
        let behind = 1 + self.columns.fields().len();
        let deleted = rows_of(MergeAction::Delete)?;
        if deleted.num_rows() > 0 {
            let keys = self.keys(&deleted, behind)?;
            self.touched.add_once(&keys, &self.memory)?;
            self.changes.get()?.delete(keys).map_err(table_error)?;
            if self.returned.is_some() {
                self.return_rows(&self.rows(&deleted, 1)?)?;
            }
        }
        let updated = rows_of(MergeAction::Update)?;
        if updated.num_rows() > 0 {
            let keys = self.keys(&updated, behind)?;
            self.touched.add_once(&keys, &self.memory)?;
            self.update(self.rows(&updated, 1)?, moves_keys.then_some(keys))?;
        }
        let inserted = rows_of(MergeAction::Insert)?;
        if inserted.num_rows() > 0 {
            let rows = self.rows(&inserted, 1)?;
            let rows = self.numbered(rows)?;
            self.return_rows(&rows)?;
            match self.staging.inserts {
                true => self.stage(rows, |writer| &mut writer.inserts)?,
                false => self.changes.get()?.insert(&rows).map_err(table_error)?,
            }
        }
        Ok((deleted.num_rows() + updated.num_rows() + inserted.num_rows()) as u64)
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

/// Whether the clause that applies to a row has this action.
fn rows_of_action(batch: &RecordBatch, actions: &[MergeAction], action: MergeAction) -> Result<BooleanArray> {
    let Some(clauses) = batch.column(0).as_primitive_opt::<Int32Type>() else {
        return internal_err!("the clauses of a merge are not numbers");
    };
    let has_action = |clause: &i32| usize::try_from(*clause - 1).is_ok_and(|at| actions.get(at) == Some(&action));
    Ok(clauses.values().iter().map(|clause| Some(has_action(clause))).collect())
}

fn columns_at(batch: &RecordBatch, from: usize, schema: &SchemaRef) -> Result<RecordBatch> {
    let Some(columns) = batch.columns().get(from..from + schema.fields().len()) else {
        return internal_err!("a change lacks columns");
    };
    // Lists and structs of UUIDs may have another mark than the column.
    let marked = |(column, field): (&ArrayRef, &FieldRef)| match column.data_type().is_nested() {
        true if column.data_type() != field.data_type() => Ok(arrow_cast::cast(column, field.data_type())?),
        _ => Ok(Arc::clone(column)),
    };
    let columns = columns.iter().zip(schema.fields()).map(marked).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Makes all fields nullable; the table itself refuses nulls where it has to. Dictionaries are unordered: a query may give them in any order.
fn nullable<'f>(fields: impl Iterator<Item = &'f FieldRef>) -> SchemaRef {
    let field = |field: &FieldRef| FieldRef::new(Field::clone(field).with_nullable(true).with_dict_is_ordered(false));
    Arc::new(Schema::new(fields.map(field).collect::<Vec<_>>()))
}

/// The values of a batch in the columns of the key or of a unique index.
struct TakenValues {
    /// The encoded values of each row; none if one is null.
    values: Vec<Option<Box<[u8]>>>,
    /// Whether the table has a row with these values.
    is_there: Vec<bool>,
    inserted: HashSet<Box<[u8]>>,
}

impl TakenValues {
    fn new(values: &RecordBatch, is_there: Vec<bool>) -> Result<Self> {
        let values = KeySet::new(values.schema_ref())?.encode(values)?;
        Ok(Self { values, is_there, inserted: HashSet::new() })
    }

    fn has(&self, row: usize) -> bool {
        self.is_there[row] || self.values[row].as_ref().is_some_and(|value| self.inserted.contains(value))
    }

    fn add(&mut self, row: usize) {
        self.inserted.extend(self.values[row].clone());
    }
}

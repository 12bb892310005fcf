//! Merges the rows of a batch into a table.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use arrow_select::concat::concat;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;
use lath_predicate::Predicate;

use super::transaction::Transaction;
use crate::error::{Error, Result};
use crate::read::{FoundRows, SortedKeys, get_many};
use crate::row::{ByteList, ConformedRows, TableSchema};

/// Action for a row of the table whose key the source has.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum WhenMatched {
    /// The row of the source replaces it.
    #[default]
    UpdateAll,
    /// These columns get the values of the source. They must not be key columns.
    Update(Vec<String>),
    /// It is deleted.
    Delete,
    /// It stays as it is.
    Keep,
}

/// Action for a row of the source whose key the table does not have.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenNotMatched {
    /// It is inserted.
    #[default]
    Insert,
    /// It is ignored.
    Ignore,
}

/// Actions of [`Transaction::merge`]. The default updates all columns of existing rows and inserts the others.
///
/// ```
/// use lath_table::{MergeWhen, Predicate, WhenMatched, WhenNotMatched};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let newer_prices = MergeWhen::new()
///     .matched(WhenMatched::Update(vec!["price".to_owned()]))
///     .not_matched(WhenNotMatched::Ignore)
///     .if_source(Predicate::parse("price > 0")?)
///     .if_table(Predicate::parse("discontinued IS NULL")?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct MergeWhen {
    matched: WhenMatched,
    not_matched: WhenNotMatched,
    source: Option<Predicate>,
    table: Option<Predicate>,
}

impl MergeWhen {
    /// Updates all columns of existing rows, and inserts the others.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the action for rows of the table whose key the source has.
    #[must_use]
    pub fn matched(mut self, action: WhenMatched) -> Self {
        self.matched = action;
        self
    }

    /// Sets the action for rows of the source whose key the table does not have.
    #[must_use]
    pub fn not_matched(mut self, action: WhenNotMatched) -> Self {
        self.not_matched = action;
        self
    }

    /// Uses only rows of the source for which a condition on the columns of the source is true.
    #[must_use]
    pub fn if_source(mut self, predicate: Predicate) -> Self {
        self.source = Some(predicate);
        self
    }

    /// Updates or deletes only rows of the table for which a condition on the columns of the table is true.
    #[must_use]
    pub fn if_table(mut self, predicate: Predicate) -> Self {
        self.table = Some(predicate);
        self
    }
}

/// Counts of [`Transaction::merge`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergeCounts {
    /// Number of rows that were inserted.
    pub inserted: u64,
    /// Number of rows of the table that were updated.
    pub updated: u64,
    /// Number of rows of the table that were deleted.
    pub deleted: u64,
}

impl Transaction {
    /// Merges rows into the table, as `when` says: rows of the table whose key the source has are updated or deleted, and rows of the
    /// source whose key the table does not have are inserted.
    ///
    /// The source must have all columns of the table if rows may be inserted or all columns updated, and otherwise the key columns and the
    /// updated columns. Other columns are ignored, but [`MergeWhen::if_source`] can use them. If several rows of the source with the same
    /// key satisfy that condition, the last one wins.
    ///
    /// # Errors
    /// [`Error::Batch`] for a source without the columns that are needed, [`Error::Null`], [`Error::KeyTooLong`], and [`Error::Predicate`]
    /// for a condition that does not fit its columns, and [`Error::NotUnique`]. Then nothing was changed.
    pub fn merge(&mut self, source: &RecordBatch, when: &MergeWhen) -> Result<MergeCounts> {
        let schema = Arc::clone(self.changing.schema());
        let wanted = SourceColumns::of(&schema, when)?;
        let source = match &when.source {
            Some(predicate) => only_where(source, predicate)?,
            None => source.clone(),
        };
        let ConformedRows { columns, categories } = wanted.conform(&schema, &source)?;
        let key_columns = schema.conform_key(&source)?;
        let keys = SortedKeys::new(&schema, &key_columns)?;
        self.check_lengths(keys.keys().iter().map(<[u8]>::len))?;
        let there = self.read_matched(&schema, &keys, when)?;
        let rows = Rows::split(&keys, &there, when, schema.arrow())?;

        let mut merged = MergeCounts::default();
        let mut put = Vec::new();
        if when.not_matched == WhenNotMatched::Insert {
            merged.inserted = rows.new.len() as u64;
            put.push(take_rows(&columns, &rows.new)?);
        }
        let mut deleted = ByteList::default();
        match &when.matched {
            WhenMatched::Keep => {}
            WhenMatched::Delete => {
                deleted = rows.matched.iter().map(|matched| keys.keys().get(matched.key)).collect();
                merged.deleted = deleted.len() as u64;
            }
            WhenMatched::UpdateAll | WhenMatched::Update(_) => {
                merged.updated = rows.matched.len() as u64;
                put.push(updated_rows(&rows.matched, &columns, &there, &wanted, when)?);
            }
        }
        let columns = concat_columns(&put)?;
        let row_count = merged.inserted + merged.updated;
        self.all_or_nothing(|transaction| {
            if deleted.len() > 0 {
                transaction.changing.delete_keys(&deleted)?;
            }
            if row_count > 0 {
                transaction.put_rows(ConformedRows { columns, categories })?;
            }
            Ok(merged)
        })
    }

    /// The rows of the table with these keys: all columns if they are needed, else only the key.
    fn read_matched(&mut self, schema: &TableSchema, keys: &SortedKeys, when: &MergeWhen) -> Result<FoundRows> {
        let needs_rows = when.table.is_some() || matches!(when.matched, WhenMatched::Update(_));
        let columns: Vec<usize> =
            if needs_rows { (0..schema.arrow().fields().len()).collect() } else { schema.key().columns().to_vec() };
        get_many(&Arc::clone(self.changing.engine()), &mut self.changing.view()?, keys, &columns)
    }
}

/// The columns of the source that are used.
struct SourceColumns {
    /// The columns that an update of some columns changes, by their places in the table's schema.
    updated: Vec<usize>,
    needs_all: bool,
}

impl SourceColumns {
    fn of(schema: &TableSchema, when: &MergeWhen) -> Result<Self> {
        let mut updated = Vec::new();
        if let WhenMatched::Update(names) = &when.matched {
            for name in names {
                let column = schema.column(name)?;
                if schema.key().columns().contains(&column) {
                    return Err(Error::batch(format!("column {name:?} is part of the key, which no update changes")));
                }
                updated.push(column);
            }
        }
        let needs_all = when.not_matched == WhenNotMatched::Insert || when.matched == WhenMatched::UpdateAll;
        Ok(Self { updated, needs_all })
    }

    /// The columns of the source by their places in the table's schema; null for unused columns.
    fn conform(&self, schema: &TableSchema, source: &RecordBatch) -> Result<ConformedRows> {
        let fields = schema.arrow().fields();
        let is_used = |at: usize| self.needs_all || self.updated.contains(&at) || schema.key().columns().contains(&at);
        let (mut columns, mut categories) = (Vec::with_capacity(fields.len()), None);
        for (at, field) in fields.iter().enumerate() {
            columns.push(match is_used(at) {
                true => schema.conform_column(source, at, &mut categories)?,
                false => arrow_array::new_null_array(field.data_type(), source.num_rows()),
            });
        }
        Ok(ConformedRows { columns: schema.with_key_form(columns)?, categories })
    }
}

/// The rows of a source.
struct Rows {
    /// Rows of the source whose keys the table does not have.
    new: Vec<u64>,
    matched: Vec<MatchedRow>,
}

/// A row of the table whose key the source has.
struct MatchedRow {
    /// The place of its key among the keys of the source.
    key: usize,
    /// Its row in the source.
    source: u64,
    /// Its row among the rows that were read from the table.
    there: u64,
}

impl Rows {
    fn split(keys: &SortedKeys, there: &FoundRows, when: &MergeWhen, schema: &arrow_schema::SchemaRef) -> Result<Self> {
        let passes = match &when.table {
            Some(predicate) => Some(predicate.filter(schema)?.evaluate(&there.rows)?),
            None => None,
        };
        let does_pass = |row: usize| passes.as_ref().is_none_or(|passes| passes.is_valid(row) && passes.value(row));
        let mut rows = Self { new: Vec::new(), matched: Vec::new() };
        for (key, source) in keys.last_rows().into_iter().enumerate() {
            match there.places[source] {
                None => rows.new.push(source as u64),
                Some(there) if does_pass(there) => {
                    rows.matched.push(MatchedRow { key, source: source as u64, there: there as u64 });
                }
                Some(_) => {}
            }
        }
        Ok(rows)
    }
}

/// The rows of the table as the source updates them.
fn updated_rows(
    matched: &[MatchedRow],
    columns: &[ArrayRef],
    there: &FoundRows,
    wanted: &SourceColumns,
    when: &MergeWhen,
) -> Result<Vec<ArrayRef>> {
    let new: Vec<u64> = matched.iter().map(|matched| matched.source).collect();
    let mut updated = take_rows(columns, &new)?;
    if let WhenMatched::Update(_) = when.matched {
        let old = UInt64Array::from_iter_values(matched.iter().map(|matched| matched.there));
        for (at, old_column) in there.rows.columns().iter().enumerate() {
            if !wanted.updated.contains(&at) {
                updated[at] = take(old_column, &old, None)?;
            }
        }
    }
    Ok(updated)
}

/// The columns of several lists of rows, one after the other.
fn concat_columns(lists: &[Vec<ArrayRef>]) -> Result<Vec<ArrayRef>> {
    let width = lists.first().map_or(0, Vec::len);
    let column = |at: usize| concat(&lists.iter().map(|columns| &*columns[at]).collect::<Vec<_>>());
    Ok((0..width).map(column).collect::<Result<_, _>>()?)
}

fn take_rows(columns: &[ArrayRef], rows: &[u64]) -> Result<Vec<ArrayRef>> {
    let rows = UInt64Array::from(rows.to_vec());
    columns.iter().map(|column| Ok(take(column, &rows, None)?)).collect()
}

/// The rows of a batch for which a condition is true.
fn only_where(batch: &RecordBatch, predicate: &Predicate) -> Result<RecordBatch> {
    let passes: BooleanArray = predicate.filter(batch.schema_ref())?.evaluate(batch)?;
    Ok(filter_record_batch(batch, &passes)?)
}

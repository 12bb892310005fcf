//! Plans what the actions of foreign keys do to rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, FieldRef};

use super::{Side, WriteTables, violation};
use crate::error::{Error, Result};
use crate::read::{encode_values, with_codec};
use crate::records::{ForeignKey, ForeignKeyAction, ForeignKeyActions, row_key};
use crate::row::interleave_rows;
use crate::view::View;
use crate::write::open_write::OpenWrite;

/// The rows that the actions of a statement delete or change. Each column of a row is given a value once.
#[derive(Debug, Default)]
pub(super) struct ActionPlan {
    /// The values that columns are given.
    pub(super) values: Vec<ArrayRef>,
    /// The foreign keys that have given values.
    pub(super) givers: Vec<ForeignKey>,
    /// Planned rows by the numbers of their tables, and by their keys after the statement.
    pub(super) rows: BTreeMap<u64, PlannedRows>,
    /// The rows that were planned since the last round.
    pub(super) recent: BTreeMap<u64, BTreeSet<Vec<u8>>>,
}

pub(super) type PlannedRows = BTreeMap<Vec<u8>, PlannedRow>;

#[derive(Debug)]
pub(super) enum PlannedRow {
    Deleted,
    /// These columns are given values by foreign keys, which are [`givers`](ActionPlan::givers).
    Changed(BTreeMap<usize, (NewValue, usize)>),
}

/// The value that a foreign key gives to a column of a row.
#[derive(Debug, Clone)]
pub(super) enum NewValue {
    /// A row of one of the plan's [`values`](ActionPlan::values).
    Value(usize, usize),
    Null,
    /// An error, unless the row is deleted or the column becomes null: a value that the type of the column does not have.
    Unfit(String),
    /// An error likewise: another value of this foreign key.
    Contradiction(usize),
}

/// Changed values of a key or unique index to which foreign keys refer.
#[derive(Debug, Default)]
pub(super) struct ValueChanges {
    /// The values from before the statement.
    pub(super) old: Vec<Vec<u8>>,
    /// The values to which rows refer that the statement itself has changed, if the row that has them now is the one that is meant.
    pub(super) recent: Vec<Option<Vec<u8>>>,
    /// The columns with the values in their places, and where they differ. None if the rows are deleted.
    pub(super) new: Option<Vec<(ArrayRef, Vec<bool>)>>,
}

impl ActionPlan {
    /// The tables with planned rows.
    pub(super) fn tables(&self) -> impl Iterator<Item = u64> {
        self.rows.keys().copied()
    }

    /// Plans the action of a foreign key for rows that refer to changed values.
    pub(super) fn act(&mut self, tables: &mut dyn WriteTables, key: &ForeignKey, changes: &ValueChanges) -> Result<()> {
        let ForeignKeyActions { on_delete, on_update } = key.actions;
        let action = if changes.new.is_some() { on_update } else { on_delete };
        if action == ForeignKeyAction::NoAction || changes.old.is_empty() {
            return Ok(());
        }
        let (rows, fields) = referring_rows(tables, key, changes)?;
        if rows.is_empty() {
            return Ok(());
        }
        let giver = self.giver(key);
        match (action, &changes.new) {
            (ForeignKeyAction::Restrict, _) => {
                let old = decode(tables, key.referred, key.target, changes.old.iter().map(Vec::as_slice))?;
                return Err(violation(tables, key, Side::Referred, &old, rows[0].1)?);
            }
            (ForeignKeyAction::Cascade, None) => {
                for (row, _) in rows {
                    let planned = self.rows.entry(key.table).or_default().insert(row.clone(), PlannedRow::Deleted);
                    if !matches!(planned, Some(PlannedRow::Deleted)) {
                        self.recent.entry(key.table).or_default().insert(row);
                    }
                }
            }
            (ForeignKeyAction::Cascade, Some(new)) => {
                for ((values, are_changed), (place, field)) in new.iter().zip(&fields) {
                    // A value that the type does not have becomes null.
                    let typed = cast(values, field.data_type())?;
                    self.values.push(Arc::clone(&typed));
                    for (row, at) in rows.iter().filter(|(_, at)| are_changed[*at]) {
                        let given = match (values.is_null(*at), typed.is_null(*at)) {
                            (true, _) => NewValue::Null,
                            (false, true) => NewValue::Unfit(unfit(field.data_type(), values, *at)),
                            (false, false) => NewValue::Value(self.values.len() - 1, *at),
                        };
                        self.give(key.table, row, *place, given, giver);
                    }
                }
            }
            (ForeignKeyAction::SetNull, _) => {
                for (row, _) in &rows {
                    fields.iter().for_each(|(place, _)| self.give(key.table, row, *place, NewValue::Null, giver));
                }
            }
            (ForeignKeyAction::NoAction, _) => {}
        }
        Ok(())
    }

    fn giver(&mut self, key: &ForeignKey) -> usize {
        let known = self.givers.iter().position(|other| other == key);
        known.unwrap_or_else(|| {
            self.givers.push(key.clone());
            self.givers.len() - 1
        })
    }

    /// Gives a column a value, unless it has one already. A null has precedence over a value, and a deletion over both.
    fn give(&mut self, table: u64, row: &[u8], place: usize, given: NewValue, giver: usize) {
        let rows = self.rows.entry(table).or_default();
        let planned = rows.entry(row.to_vec()).or_insert_with(|| PlannedRow::Changed(BTreeMap::new()));
        let PlannedRow::Changed(columns) = planned else { return };
        let value = |pool: usize, at: usize| self.values[pool].slice(at, 1).to_data();
        let given = match (columns.get(&place), given) {
            (None, given) => (given, giver),
            (Some((NewValue::Null, _)), _) => return,
            (Some(_), NewValue::Null) => (NewValue::Null, giver),
            (Some(&(NewValue::Value(pool, at), _)), NewValue::Value(other, other_at))
                if value(pool, at) == value(other, other_at) =>
            {
                return;
            }
            (Some(&(NewValue::Value(..), first)), NewValue::Value(..)) => (NewValue::Contradiction(giver), first),
            (Some((NewValue::Value(..), _)), given) => (given, giver),
            (Some(_), _) => return,
        };
        columns.insert(place, given);
        self.recent.entry(table).or_default().insert(row.to_vec());
    }

    /// A column of planned rows, of which some are given values.
    pub(super) fn given_column<'g>(
        &'g self,
        current: &ArrayRef,
        given: impl Iterator<Item = Option<&'g NewValue>>,
    ) -> Result<ArrayRef> {
        let null = new_null_array(current.data_type(), 1);
        let mut sources: Vec<&dyn Array> = vec![current, &null];
        let mut pools = BTreeMap::new();
        let mut rows = Vec::with_capacity(current.len());
        for (row, given) in given.enumerate() {
            rows.push(match given {
                Some(NewValue::Null) => (1, 0),
                Some(&NewValue::Value(pool, at)) => {
                    let source = *pools.entry(pool).or_insert_with(|| {
                        sources.push(&self.values[pool]);
                        sources.len() - 1
                    });
                    (source, at)
                }
                None | Some(NewValue::Unfit(_) | NewValue::Contradiction(_)) => (0, row),
            });
        }
        interleave_rows(&sources, &rows)
    }
}

fn unfit(wanted: &DataType, values: &ArrayRef, row: usize) -> String {
    let value = array_value_to_string(values, row).unwrap_or_else(|error| error.to_string());
    format!("has the type {wanted}, which does not have the value {value}")
}

/// The keys of rows, each with the place of the value that it refers to.
type ReferringRows = Vec<(Vec<u8>, usize)>;

/// The rows that refer to changed values, and the columns that refer.
fn referring_rows(
    tables: &mut dyn WriteTables,
    key: &ForeignKey,
    changes: &ValueChanges,
) -> Result<(ReferringRows, Vec<(usize, FieldRef)>)> {
    let old = decode(tables, key.referred, key.target, changes.old.iter().map(Vec::as_slice))?;
    let (places, recent): (Vec<usize>, Vec<&[u8]>) =
        changes.recent.iter().enumerate().filter_map(|(place, value)| Some((place, value.as_deref()?))).unzip();
    let recent = decode(tables, key.referred, key.target, recent.into_iter())?;
    with(tables, key.table, |table| {
        let statement = Arc::clone(&table.touched().statement);
        let schema = Arc::clone(table.schema());
        let mut view = table.view()?;
        let (old, recent, columns) = with_codec(&view, key.index, |codec, _| {
            Ok((encode_values(codec, &old)?, encode_values(codec, &recent)?, codec.columns().to_vec()))
        })?;
        let fields = columns.into_iter().map(|place| (place, Arc::clone(&schema.arrow().fields()[place]))).collect();
        let mut rows = Vec::new();
        let Some(tree) = view.index_tree(key.index)? else { return Ok((rows, fields)) };
        let old = old.into_iter().enumerate().map(|(place, value)| (place, value, false));
        let recent = places.into_iter().zip(recent).map(|(place, value)| (place, value, true));
        for (place, value, is_recent) in old.chain(recent) {
            let Some(value) = value else { continue };
            for entry in tree.prefix(&value) {
                let (entry, len) = entry?;
                let row = row_key(&entry, len)?;
                if statement.is_put(key.index, &entry, row) == is_recent {
                    rows.push((row.to_vec(), place));
                }
            }
        }
        Ok((rows, fields))
    })
}

/// The values of a key or index.
pub(super) fn decode<'v>(
    tables: &mut dyn WriteTables,
    table: u64,
    target: u64,
    values: impl Iterator<Item = &'v [u8]> + Clone,
) -> Result<Vec<ArrayRef>> {
    with(tables, table, |table| with_codec(&table.view()?, target, |codec, _| codec.decode(values)))
}

/// The result of `work` for a table.
pub(super) fn with<T>(
    tables: &mut dyn WriteTables,
    number: u64,
    work: impl FnOnce(&mut OpenWrite) -> Result<T>,
) -> Result<T> {
    let (mut work, mut done) = (Some(work), None);
    tables.with_table(number, &mut |table| {
        done = work.take().map(|work| work(table)).transpose()?;
        Ok(())
    })?;
    done.ok_or_else(|| Error::internal("a table of a foreign key was not used"))
}

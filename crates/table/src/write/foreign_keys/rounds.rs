//! Finds the values whose change has actions, in rounds: first the values that the statement has changed, then the values in planned rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_row::{RowConverter, SortField};
use arrow_select::take::take;

use super::WriteTables;
use super::plan::{ActionPlan, NewValue, PlannedRow, ValueChanges, decode, with};
use crate::error::{Error, Result};
use crate::read::{SortedKeys, encode_values, get_many, has_values, with_codec};
use crate::records::{ForeignKey, ForeignKeys};
use crate::row::ByteList;
use crate::write::touched_values::StatementValues;

impl ActionPlan {
    /// Plans the actions for the values of a table that the statement itself has changed.
    pub(super) fn add_statement(&mut self, tables: &mut dyn WriteTables, number: u64) -> Result<()> {
        let (keys, statement) = state(tables, number)?;
        for (&target, removed) in &statement.removed {
            let acting = acting_keys(&keys, target);
            if acting.is_empty() {
                continue;
            }
            let looks_at_put = has_put(tables, &acting)?;
            for is_deletion in [false, true] {
                let is_change = |(old, new): &(&Vec<u8>, &Option<Vec<u8>>)| {
                    new.is_none() == is_deletion && new.as_ref() != Some(*old)
                };
                let all: Vec<(&[u8], &[u8])> = removed
                    .iter()
                    .filter(is_change)
                    .map(|(old, new)| (&old[..], new.as_deref().unwrap_or_default()))
                    .collect();
                let arrays = decode(tables, number, target, all.iter().map(|(old, _)| *old))?;
                // No row refers to a null.
                let is_bound = |row: &usize| arrays.iter().all(|array| array.is_valid(*row));
                let bound: Vec<usize> = (0..all.len()).filter(is_bound).collect();
                let old: Vec<Vec<u8>> = bound.iter().map(|&row| all[row].0.to_vec()).collect();
                let arrays = decode(tables, number, target, old.iter().map(Vec::as_slice))?;
                let recent = match looks_at_put {
                    true => {
                        let are_there = with(tables, number, |table| {
                            let engine = Arc::clone(table.engine());
                            has_values(&engine, &mut table.view()?, target, &arrays)
                        })?;
                        old.iter().zip(are_there).map(|(old, is_there)| (!is_there).then(|| old.clone())).collect()
                    }
                    false => Vec::new(),
                };
                let new = match is_deletion {
                    true => None,
                    false => {
                        let new = decode(tables, number, target, bound.iter().map(|&row| all[row].1))?;
                        Some(with_differences(&arrays, new)?)
                    }
                };
                let changes = ValueChanges { old, recent, new };
                acting.iter().try_for_each(|key| self.act(tables, key, &changes))?;
            }
        }
        Ok(())
    }

    /// Plans the actions for the values of rows that were planned in the last round. Returns whether there were any.
    pub(super) fn add_round(&mut self, tables: &mut dyn WriteTables) -> Result<bool> {
        let recent = std::mem::take(&mut self.recent);
        let has_any = !recent.is_empty();
        for (number, rows) in recent {
            let (keys, statement) = state(tables, number)?;
            let targets: BTreeSet<u64> = keys.referring.iter().map(|key| key.target).collect();
            for target in targets {
                let acting = acting_keys(&keys, target);
                if acting.is_empty() {
                    continue;
                }
                let looks_at_put = has_put(tables, &acting)?;
                for mut changes in self.planned_changes(tables, number, target, &rows, &statement)? {
                    if !looks_at_put {
                        changes.recent.clear();
                    }
                    acting.iter().try_for_each(|key| self.act(tables, key, &changes))?;
                }
            }
        }
        Ok(has_any)
    }

    /// The values of a key or unique index that planned rows change, and the values that they remove.
    fn planned_changes(
        &self,
        tables: &mut dyn WriteTables,
        number: u64,
        target: u64,
        rows: &BTreeSet<Vec<u8>>,
        statement: &StatementValues,
    ) -> Result<[ValueChanges; 2]> {
        let planned = self.rows.get(&number).ok_or_else(|| Error::internal("a planned row is missing"))?;
        with(tables, number, |table| {
            let engine = Arc::clone(table.engine());
            let mut view = table.view()?;
            let places = with_codec(&view, target, |codec, _| Ok(codec.columns().to_vec()))?;
            let concerns = |row: &PlannedRow| match row {
                PlannedRow::Deleted => true,
                PlannedRow::Changed(columns) => places.iter().any(|place| columns.contains_key(place)),
            };
            let rows: Vec<(&Vec<u8>, &PlannedRow)> =
                rows.iter().filter_map(|row| planned.get_key_value(row)).filter(|(_, row)| concerns(row)).collect();
            let keys: ByteList = rows.iter().map(|(key, _)| key).collect();
            let read: Vec<usize> = places.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
            let found = get_many(&engine, &mut view, &SortedKeys::from_sorted(keys), &read)?;
            let there = found.places.iter().zip(&rows).filter_map(|(at, (_, row))| Some(((*at)? as u64, *row)));
            let (at, rows): (Vec<u64>, Vec<&PlannedRow>) = there.unzip();
            let at = UInt64Array::from(at);
            let array = |place: &usize| -> Result<ArrayRef> {
                let column = read.iter().position(|other| other == place);
                let column = column.ok_or_else(|| Error::internal("a column that is referred to was not read"))?;
                Ok(take(found.rows.column(column), &at, None)?)
            };
            let current = places.iter().map(array).collect::<Result<Vec<_>>>()?;
            let given = |row: &&'_ PlannedRow, place: usize| match row {
                PlannedRow::Changed(columns) => columns.get(&place).map(|(given, _)| given.clone()),
                PlannedRow::Deleted => None,
            };
            let mut new = Vec::new();
            for (current, &place) in current.iter().zip(&places) {
                let given: Vec<Option<NewValue>> = rows.iter().map(|row| given(row, place)).collect();
                new.push(self.given_column(current, given.iter().map(Option::as_ref))?);
            }
            let (encoded, new_encoded) = with_codec(&view, target, |codec, _| {
                Ok((encode_values(codec, &current)?, encode_values(codec, &new)?))
            })?;
            let is_deleted = |row: usize| matches!(rows[row], PlannedRow::Deleted);
            let taken: BTreeSet<&Vec<u8>> =
                (0..rows.len()).filter(|&row| !is_deleted(row)).filter_map(|row| new_encoded[row].as_ref()).collect();
            // The values of rows before the statement, by their values after it.
            let before: BTreeMap<&[u8], &[u8]> = statement
                .removed
                .get(&target)
                .into_iter()
                .flatten()
                .filter_map(|(old, new)| Some((new.as_deref()?, &old[..])))
                .collect();
            let differences = with_differences(&current, new)?;
            let changes = |wants_deleted: bool| -> Result<ValueChanges> {
                let is_concerned = |&row: &usize| {
                    encoded[row].is_some()
                        && is_deleted(row) == wants_deleted
                        && (wants_deleted || differences.iter().any(|(_, differ)| differ[row]))
                };
                let concerned: Vec<usize> = (0..rows.len()).filter(is_concerned).collect();
                let values = concerned.iter().filter_map(|&row| encoded[row].as_ref());
                let old = values.clone().map(|value| before.get(&value[..]).map_or(&value[..], |old| *old).to_vec());
                let recent = values.map(|value| (!taken.contains(value)).then(|| value.clone()));
                let new = match wants_deleted {
                    true => None,
                    false => Some(at_rows(&differences, &concerned)?),
                };
                Ok(ValueChanges { old: old.collect(), recent: recent.collect(), new })
            };
            Ok([changes(false)?, changes(true)?])
        })
    }
}

/// Columns with the places where they differ from others.
type Differences = Vec<(ArrayRef, Vec<bool>)>;

fn with_differences(old: &[ArrayRef], new: Vec<ArrayRef>) -> Result<Differences> {
    let pair = |(old, new): (&ArrayRef, ArrayRef)| -> Result<(ArrayRef, Vec<bool>)> {
        let converter = RowConverter::new(vec![SortField::new(new.data_type().clone())])?;
        let old_rows = converter.convert_columns(&[Arc::clone(old)])?;
        let new_rows = converter.convert_columns(&[Arc::clone(&new)])?;
        let differ = old_rows.iter().zip(&new_rows).map(|(old, new)| old != new).collect();
        Ok((new, differ))
    };
    old.iter().zip(new).map(pair).collect()
}

fn at_rows(columns: &Differences, rows: &[usize]) -> Result<Differences> {
    let places = UInt64Array::from_iter_values(rows.iter().map(|&row| row as u64));
    let column = |(array, differ): &(ArrayRef, Vec<bool>)| -> Result<(ArrayRef, Vec<bool>)> {
        Ok((take(array, &places, None)?, rows.iter().map(|&row| differ[row]).collect()))
    };
    columns.iter().map(column).collect()
}

fn state(tables: &mut dyn WriteTables, number: u64) -> Result<(Arc<ForeignKeys>, Arc<StatementValues>)> {
    with(tables, number, |table| Ok((Arc::clone(table.foreign_keys()), Arc::clone(&table.touched().statement))))
}

/// The foreign keys that refer to a key or unique index and have actions.
fn acting_keys(keys: &ForeignKeys, target: u64) -> Vec<&ForeignKey> {
    keys.referring.iter().filter(|key| key.target == target && !key.actions.are_plain()).collect()
}

/// Whether the statement itself has put values into the columns of one of these foreign keys.
fn has_put(tables: &mut dyn WriteTables, keys: &[&ForeignKey]) -> Result<bool> {
    for key in keys {
        if with(tables, key.table, |table| Ok(table.touched().statement.has_put(key.index)))? {
            return Ok(true);
        }
    }
    Ok(false)
}

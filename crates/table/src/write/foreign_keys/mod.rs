//! Checks foreign keys when a transaction commits.
//!
//! While rows change, the values are remembered that foreign keys may forbid: values that were put in columns of a foreign key, and values
//! that were removed from a key or unique index to which others refer. At the commit, a value that was put and is still there has to be in the
//! table that is referred to, and a value that was removed and is still absent must not be in a column that refers to it. So tables may be
//! changed in any order within a transaction.

mod actions;
mod moved_rows;
mod plan;
mod planned_rows;
mod rounds;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::ArrayRef;

pub(crate) use self::actions::apply_actions;

use super::open_write::OpenWrite;
use super::touched_values::TouchedValues;
use crate::error::{Error, Result};
use crate::read::{all_values, has_values, with_codec};
use crate::records::{ForeignKey, ForeignKeys, IndexEntry, PRIMARY_KEY};

/// Number of values that are looked up at once.
const VALUES: usize = 1 << 16;

/// The tables that a transaction of the store can change.
pub(crate) trait WriteTables {
    /// Uses the table with this number. The changes of `work` become part of the transaction.
    fn with_table(&mut self, number: u64, work: &mut dyn FnMut(&mut OpenWrite) -> Result<()>) -> Result<()>;

    /// The name of the table with this number.
    fn table_name(&mut self, number: u64) -> Result<String>;
}

impl WriteTables for OpenWrite {
    fn with_table(&mut self, number: u64, work: &mut dyn FnMut(&mut OpenWrite) -> Result<()>) -> Result<()> {
        if self.engine().trees.number() == Some(number) {
            return work(self);
        }
        let siblings = self.engine().siblings.clone();
        let siblings = siblings.ok_or_else(|| Error::corrupt("a table outside a database has a foreign key"))?;
        let mut other = match self.others_mut().remove(&number) {
            Some(other) => other,
            None => OpenWrite::part(&siblings.engine(number)?, self.clock())?,
        };
        other.lend(self.take_own()?);
        let done = work(&mut other);
        if let Some(transaction) = other.give_back() {
            self.put_back_own(transaction);
        }
        self.others_mut().insert(number, other);
        done
    }

    fn table_name(&mut self, number: u64) -> Result<String> {
        let siblings = self.engine().siblings.as_ref();
        siblings.map(|siblings| siblings.name(number)).transpose().map(Option::unwrap_or_default)
    }
}

impl OpenWrite {
    /// Remembers the primary keys of rows that are about to be deleted.
    pub(crate) fn touch_keys<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>) {
        if !self.foreign_keys().refer_to_key() {
            return;
        }
        let acts = self.foreign_keys().act_on(PRIMARY_KEY);
        for key in keys {
            if acts {
                self.touched_mut().remove(PRIMARY_KEY, key.to_vec(), None);
            }
            self.touched_mut().removed.entry(PRIMARY_KEY).or_default().insert(key.to_vec());
        }
    }

    /// Remembers changes to the entries of an index.
    pub(crate) fn touch_entries<'e>(
        &mut self,
        index: u64,
        removed: impl Iterator<Item = &'e IndexEntry> + Clone,
        added: impl Iterator<Item = &'e IndexEntry> + Clone,
    ) {
        let keys = Arc::clone(self.foreign_keys());
        if keys.own.iter().any(|key| key.index == index) {
            let values = added.clone().map(|entry| entry.values().to_vec());
            self.touched_mut().put.entry(index).or_default().extend(values);
            if keys.have_actions() {
                self.touched_mut().put_entries(index, added.clone().map(IndexEntry::bytes));
            }
        }
        if keys.act_on(index) {
            let new: BTreeMap<&[u8], &[u8]> = added.map(|entry| (entry.row_key(), entry.values())).collect();
            for entry in removed.clone() {
                let new = new.get(entry.row_key()).map(|values| values.to_vec());
                self.touched_mut().remove(index, entry.values().to_vec(), new);
            }
        }
        if keys.referring.iter().any(|key| key.target == index) {
            let values = removed.map(|entry| entry.values().to_vec());
            self.touched_mut().removed.entry(index).or_default().extend(values);
        }
    }

    /// Remembers the values that all rows have in an index.
    pub(crate) fn touch_index(&mut self, index: u64) -> Result<()> {
        let all = all_values(&mut self.view()?, index)?;
        self.touched_mut().put.entry(index).or_default().extend(all);
        Ok(())
    }
}

/// Checks the foreign keys of a table that a transaction has changed, and all that refer to it.
pub(crate) fn check_table(tables: &mut dyn WriteTables, number: u64) -> Result<()> {
    let (mut keys, mut touched): (Arc<ForeignKeys>, _) = (Arc::default(), TouchedValues::default());
    tables.with_table(number, &mut |table| {
        keys = Arc::clone(table.foreign_keys());
        touched = std::mem::take(table.touched_mut());
        Ok(())
    })?;
    for key in &keys.own {
        if let Some(values) = touched.put.get(&key.index) {
            check_values(tables, key, Side::Own, values)?;
        }
    }
    for key in &keys.referring {
        if let Some(values) = touched.removed.get(&key.target) {
            check_values(tables, key, Side::Referred, values)?;
        }
    }
    Ok(())
}

/// The table of a foreign key in which values have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Own,
    Referred,
}

fn check_values(tables: &mut dyn WriteTables, key: &ForeignKey, side: Side, values: &BTreeSet<Vec<u8>>) -> Result<()> {
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    values.chunks(VALUES).try_for_each(|values| check_some(tables, key, side, values))
}

fn check_some(tables: &mut dyn WriteTables, key: &ForeignKey, side: Side, values: &[&[u8]]) -> Result<()> {
    let (own, referred) = ((key.table, key.index), (key.referred, key.target));
    let ((table, target), (other, other_target)) = match side {
        Side::Own => (own, referred),
        Side::Referred => (referred, own),
    };
    let (mut arrays, mut matters) = (Vec::new(), Vec::new());
    tables.with_table(table, &mut |table| {
        let engine = Arc::clone(table.engine());
        let mut view = table.view()?;
        arrays = with_codec(&view, target, |codec, _| codec.decode(values.iter().copied()))?;
        matters = has_values(&engine, &mut view, target, &arrays)?;
        Ok(())
    })?;
    if side == Side::Referred {
        matters.iter_mut().for_each(|is_there| *is_there = !*is_there);
    }
    if !matters.contains(&true) {
        return Ok(());
    }
    let mut found = Vec::new();
    tables.with_table(other, &mut |other| {
        let engine = Arc::clone(other.engine());
        found = has_values(&engine, &mut other.view()?, other_target, &arrays)?;
        Ok(())
    })?;
    let is_violation = |(matters, found): (&bool, &bool)| *matters && (*found == (side == Side::Referred));
    match matters.iter().zip(&found).position(is_violation) {
        None => Ok(()),
        Some(row) => Err(violation(tables, key, side, &arrays, row)?),
    }
}

/// The error for values of a table, which is the one on this side of a foreign key.
fn violation(
    tables: &mut dyn WriteTables,
    key: &ForeignKey,
    side: Side,
    arrays: &[ArrayRef],
    row: usize,
) -> Result<Error> {
    let (table, target, other) = match side {
        Side::Own => (key.table, key.index, key.referred),
        Side::Referred => (key.referred, key.target, key.table),
    };
    let mut values = String::new();
    tables.with_table(table, &mut |table| {
        values = with_codec(&table.view()?, target, |codec, _| Ok(codec.describe(arrays, row)))?;
        Ok(())
    })?;
    let (foreign_key, table) = (key.name.clone(), tables.table_name(other)?);
    Ok(match side {
        Side::Own => Error::NoReferredRow { foreign_key, values, table },
        Side::Referred => Error::ReferredRow { foreign_key, values, table },
    })
}

//! Does the actions of foreign keys: deletes or changes rows that refer to values which a transaction has removed.
//!
//! Each removed value is looked up in the index of the columns that refer to it. Rows that are deleted or changed in this way may remove values
//! to which others refer, so tables are visited until no value is left. The tables are changed in the transaction that has removed the values.
//! A value counts as removed although another row has it by now, as after two rows have exchanged theirs.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt64Array, new_null_array};
use arrow_cast::cast;
use arrow_select::take::take;

use super::foreign_keys::{Side, VALUES, WriteTables, check_table, violation};
use super::open_write::OpenWrite;
use super::touched_values::RemovedValues;
use super::transaction::Transaction;
use crate::error::{Error, Result};
use crate::read::{SortedKeys, contains_many, encode_values, get_many, with_codec};
use crate::records::{ForeignKey, ForeignKeyAction, row_key};
use crate::row::{ByteList, GENERATED_KEY, KeyCodec, MAX_KEY_LEN};
use crate::view::View;

/// Number of rows that are changed at once.
const ROWS: usize = 1 << 14;

impl OpenWrite {
    /// Checks the foreign keys of a transaction that changes this table alone.
    pub(crate) fn check_foreign_keys(&mut self) -> Result<()> {
        match self.engine().trees.number() {
            Some(number) if !self.touched().is_empty() => {
                apply_actions(self, vec![number])?;
                check_table(self, number)?;
                let others: Vec<u64> = self.others_mut().keys().copied().collect();
                others.into_iter().try_for_each(|number| check_table(self, number))
            }
            _ => Ok(()),
        }
    }
}

/// Does what foreign keys that refer to these tables do about removed values, and whatever follows from that.
pub(crate) fn apply_actions(tables: &mut dyn WriteTables, numbers: Vec<u64>) -> Result<()> {
    let mut numbers = VecDeque::from(numbers);
    while let Some(number) = numbers.pop_front() {
        let (mut keys, mut due) = (Arc::default(), Arc::default());
        tables.with_table(number, &mut |table| {
            keys = Arc::clone(table.foreign_keys());
            due = std::mem::take(&mut table.touched_mut().due);
            Ok(())
        })?;
        for key in keys.referring.iter().filter(|key| !key.actions.are_plain()) {
            let Some(removed) = due.get(&key.target) else { continue };
            apply_one(tables, key, removed)?;
            numbers.push_back(key.table);
        }
    }
    Ok(())
}

/// Removed values with the values in their places, if there are any.
type ValueChanges<'v> = Vec<(&'v [u8], Option<&'v [u8]>)>;

fn apply_one(tables: &mut dyn WriteTables, key: &ForeignKey, removed: &RemovedValues) -> Result<()> {
    let is_change = |(old, new): &(&Vec<u8>, &Option<Vec<u8>>)| new.as_ref() != Some(old);
    let changes = removed.iter().filter(is_change).map(|(old, new)| (old.as_slice(), new.as_deref()));
    let (moved, deleted): (ValueChanges<'_>, ValueChanges<'_>) = changes.partition(|(_, new)| new.is_some());
    for (action, values) in [(key.actions.on_delete, deleted), (key.actions.on_update, moved)] {
        if action == ForeignKeyAction::NoAction || values.is_empty() {
            continue;
        }
        // All rows are found before one is changed: values may exchange their places.
        let mut rows: Vec<(Vec<u8>, u64)> = Vec::new();
        for (chunk, values) in values.chunks(VALUES).enumerate() {
            let arrays = decode(tables, key, values.iter().map(|(old, _)| *old))?;
            let mut found = Vec::new();
            tables.with_table(key.table, &mut |table| {
                found = referring_rows(table, key, &arrays)?;
                Ok(())
            })?;
            if action == ForeignKeyAction::Restrict
                && let Some((_, row)) = found.first()
            {
                return Err(violation(tables, key, Side::Referred, &arrays, *row as usize)?);
            }
            rows.extend(found.into_iter().map(|(row, place)| (row, (chunk * VALUES) as u64 + place)));
        }
        // Keys are distinct, as a row refers to one value.
        rows.sort_unstable();
        for rows in rows.chunks(ROWS) {
            change_rows(tables, key, action, rows, &values)?;
        }
    }
    Ok(())
}

/// Deletes rows that refer to removed values, or gives them others; each row has the place of its value.
fn change_rows(
    tables: &mut dyn WriteTables,
    key: &ForeignKey,
    action: ForeignKeyAction,
    rows: &[(Vec<u8>, u64)],
    values: &ValueChanges<'_>,
) -> Result<()> {
    let new: Vec<&[u8]> = rows.iter().filter_map(|(_, place)| values[*place as usize].1).collect();
    let new = decode(tables, key, new.into_iter())?;
    let is_deletion = rows.first().is_some_and(|(_, place)| values[*place as usize].1.is_none());
    tables.with_table(key.table, &mut |table| match action {
        ForeignKeyAction::Cascade if is_deletion => table.delete_keys(&rows.iter().map(|(row, _)| row).collect()),
        ForeignKeyAction::Cascade => set_values(table, key, rows, Some(&new)),
        ForeignKeyAction::SetNull => set_values(table, key, rows, None),
        ForeignKeyAction::NoAction | ForeignKeyAction::Restrict => Ok(()),
    })
}

/// The values of a key or index to which a foreign key refers.
fn decode<'v>(
    tables: &mut dyn WriteTables,
    key: &ForeignKey,
    values: impl Iterator<Item = &'v [u8]> + Clone,
) -> Result<Vec<ArrayRef>> {
    let mut arrays = Vec::new();
    tables.with_table(key.referred, &mut |table| {
        arrays = with_codec(&table.view()?, key.target, |codec, _| codec.decode(values.clone()))?;
        Ok(())
    })?;
    Ok(arrays)
}

/// The keys of the rows that refer to values, each with the place of the value.
fn referring_rows(table: &mut OpenWrite, key: &ForeignKey, values: &[ArrayRef]) -> Result<Vec<(Vec<u8>, u64)>> {
    let mut view = table.view()?;
    let encoded = with_codec(&view, key.index, |codec, _| encode_values(codec, values))?;
    let mut rows = Vec::new();
    let Some(tree) = view.index_tree(key.index)? else { return Ok(rows) };
    for (place, value) in encoded.iter().enumerate() {
        let Some(value) = value else { continue };
        for entry in tree.prefix(value) {
            let (entry, len) = entry?;
            rows.push((row_key(&entry, len)?.to_vec(), place as u64));
        }
    }
    Ok(rows)
}

/// Gives the columns of a foreign key other values in some rows, one for each, or null.
fn set_values(
    table: &mut OpenWrite,
    key: &ForeignKey,
    rows: &[(Vec<u8>, u64)],
    values: Option<&Vec<ArrayRef>>,
) -> Result<()> {
    let schema = Arc::clone(table.schema());
    let places = with_codec(&table.view()?, key.index, |codec: &KeyCodec, _| Ok(codec.columns().to_vec()))?;
    check_is_settable(table, key, &places)?;
    let keys: ByteList = rows.iter().map(|(row, _)| row).collect();
    let all: Vec<usize> = (0..schema.arrow().fields().len()).collect();
    let found =
        get_many(&Arc::clone(table.engine()), &mut table.view()?, &SortedKeys::from_sorted(keys.clone()), &all)?;
    let there: UInt64Array = (0_u64..).zip(&found.places).filter_map(|(row, place)| place.map(|_| row)).collect();
    let mut columns = found.rows.columns().to_vec();
    for (at, &place) in places.iter().enumerate() {
        let field = schema.arrow().field(place);
        columns[place] = match values {
            Some(values) => take(&cast(&values[at], field.data_type())?, &there, None)?,
            None if field.is_nullable() => new_null_array(field.data_type(), there.len()),
            None => return Err(Error::Null { column: field.name().clone(), row: 0 }),
        };
    }
    schema.check_constraints(&columns)?;
    let new_keys = schema.key().encode(&schema.key().select(&columns))?;
    if let Some((row, key)) = new_keys.iter().enumerate().find(|(_, key)| key.data().len() > MAX_KEY_LEN) {
        return Err(Error::KeyTooLong { row, len: key.data().len(), limit: MAX_KEY_LEN });
    }
    if schema.key().columns().iter().any(|column| places.contains(column)) {
        table.record_moves(&SortedKeys::from_sorted(keys.clone()), &columns)?;
        table.delete_keys(&keys)?;
        let sorted = SortedKeys::from_rows(&new_keys);
        let taken = contains_many(&Arc::clone(table.engine()), &mut table.view()?, &sorted)?;
        let duplicate = taken.iter().position(|&is_taken| is_taken).or_else(|| sorted.first_duplicate());
        if let Some(row) = duplicate {
            return Err(Error::DuplicateKey { key: schema.key().describe(&schema.key().select(&columns), row), row });
        }
    }
    table.put(new_keys, columns)
}

/// Returns an error if generated columns, which only SQL computes, depend on the columns.
fn check_is_settable(table: &OpenWrite, key: &ForeignKey, places: &[usize]) -> Result<()> {
    let fields = table.schema().arrow().fields();
    for field in fields {
        let Some(text) = field.metadata().get(GENERATED_KEY) else { continue };
        if places.iter().any(|&place| text.contains(fields[place].name().as_str())) {
            return Err(Error::schema(format!(
                "the foreign key {:?} would change a column from which column {:?} is generated: change the rows that refer to the row first",
                key.name,
                field.name()
            )));
        }
    }
    Ok(())
}

impl Transaction {
    /// Tells the transaction that rows get other keys: the rows with these keys, which are then deleted, become these new rows, in the same
    /// order. Foreign keys with a [`ForeignKeyAction`] on changes follow them.
    ///
    /// # Errors
    /// As [`delete`](Self::delete) and [`upsert`](Self::upsert).
    pub fn move_rows(&mut self, old_keys: &RecordBatch, rows: &RecordBatch) -> Result<()> {
        if !self.changing.foreign_keys().referring.iter().any(|key| !key.actions.are_plain()) {
            return Ok(());
        }
        let schema = Arc::clone(self.changing.schema());
        let keys = SortedKeys::new(&schema, &schema.conform_key(old_keys)?)?;
        self.changing.record_moves(&keys, &schema.conform(rows)?.columns)
    }
}

impl OpenWrite {
    /// Remembers the values that others refer to of rows with these keys, and the new values of the same rows.
    fn record_moves(&mut self, keys: &SortedKeys, new: &[ArrayRef]) -> Result<()> {
        let referring = Arc::clone(self.foreign_keys());
        let targets: BTreeSet<u64> = referring.referring.iter().map(|key| key.target).collect();
        let schema = Arc::clone(self.schema());
        let all: Vec<usize> = (0..schema.arrow().fields().len()).collect();
        let found = get_many(&Arc::clone(self.engine()), &mut self.view()?, keys, &all)?;
        let there = found.places.iter().enumerate().filter_map(|(row, place)| Some((row as u64, (*place)? as u64)));
        let (new_rows, old_rows): (Vec<u64>, Vec<u64>) = there.unzip();
        let (new_rows, old_rows) = (UInt64Array::from(new_rows), UInt64Array::from(old_rows));
        for target in targets.into_iter().filter(|&target| referring.act_on(target)) {
            let (old, new) = with_codec(&self.view()?, target, |codec, _| {
                Ok((values_at(codec, found.rows.columns(), &old_rows)?, values_at(codec, new, &new_rows)?))
            })?;
            for (old, new) in old.into_iter().zip(new) {
                // Also an equal value, which the row has again after it was deleted.
                if let (Some(old), Some(new)) = (old, new) {
                    self.touched_mut().remove(target, old, Some(new));
                }
            }
        }
        Ok(())
    }
}

/// The encoded values of some rows in the columns of a key or index; `None` for one with a null.
fn values_at(codec: &KeyCodec, columns: &[ArrayRef], rows: &UInt64Array) -> Result<Vec<Option<Vec<u8>>>> {
    let columns = codec.select(columns);
    let taken = columns.iter().map(|column| take(column, rows, None)).collect::<Result<Vec<_>, _>>()?;
    encode_values(codec, &taken)
}

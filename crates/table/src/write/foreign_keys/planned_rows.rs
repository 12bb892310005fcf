//! Writes planned rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::ArrayRef;

use super::WriteTables;
use super::plan::{ActionPlan, NewValue, PlannedRow, PlannedRows, with};
use crate::error::{Error, Result};
use crate::read::{SortedKeys, contains_many, get_many};
use crate::records::ForeignKey;
use crate::row::{ByteList, GENERATED_KEY, MAX_KEY_LEN, TableSchema};
use crate::write::open_write::OpenWrite;

impl ActionPlan {
    /// Deletes and changes the planned rows.
    pub(super) fn write(&self, tables: &mut dyn WriteTables) -> Result<()> {
        for (&number, rows) in &self.rows {
            with(tables, number, |table| self.write_rows(table, rows))?;
        }
        Ok(())
    }

    fn write_rows(&self, table: &mut OpenWrite, rows: &PlannedRows) -> Result<()> {
        let schema = Arc::clone(table.schema());
        let engine = Arc::clone(table.engine());
        let mut changed = Vec::new();
        let mut gone: BTreeSet<&[u8]> = BTreeSet::new();
        for (key, row) in rows {
            match row {
                PlannedRow::Deleted => drop(gone.insert(key)),
                PlannedRow::Changed(columns) => changed.push((&key[..], columns)),
            }
        }
        let keys: ByteList = changed.iter().map(|(key, _)| key).collect();
        let all: Vec<usize> = (0..schema.arrow().fields().len()).collect();
        let found = get_many(&engine, &mut table.view()?, &SortedKeys::from_sorted(keys), &all)?;
        if found.rows.num_rows() != changed.len() {
            return Err(Error::internal("a row that an index has is missing"));
        }
        let before = found.rows.columns();
        let mut columns = before.to_vec();
        let given_places: BTreeSet<usize> = changed.iter().flat_map(|(_, given)| given.keys().copied()).collect();
        for &place in &given_places {
            let given = || changed.iter().map(|(_, columns)| columns.get(&place));
            let mut givers = BTreeSet::new();
            for (row, (given, giver)) in given().enumerate().filter_map(|(row, given)| Some((row, given?))) {
                self.check_given(&schema, before, row, place, given, *giver)?;
                givers.insert(*giver);
            }
            givers.into_iter().try_for_each(|giver| check_is_settable(&schema, &self.givers[giver], place))?;
            columns[place] = self.given_column(&before[place], given().map(|given| given.map(|(given, _)| given)))?;
        }
        schema.check_constraints(&columns)?;
        let new_keys = schema.key().encode(&schema.key().select(&columns))?;
        if let Some((row, key)) = new_keys.iter().enumerate().find(|(_, key)| key.data().len() > MAX_KEY_LEN) {
            return Err(Error::KeyTooLong { row, len: key.data().len(), limit: MAX_KEY_LEN });
        }
        // Rows may exchange their keys: all old ones are removed before one is looked for.
        let moved: Vec<usize> = (0..changed.len()).filter(|&row| new_keys.row(row).data() != changed[row].0).collect();
        gone.extend(moved.iter().map(|&row| changed[row].0));
        if !gone.is_empty() {
            table.delete_keys(&gone.into_iter().collect())?;
        }
        let describe = |row: usize| schema.key().describe(&schema.key().select(&columns), row);
        let wanted: ByteList = moved.iter().map(|&row| new_keys.row(row).data()).collect();
        let sorted = SortedKeys::from_list(&wanted);
        let taken = contains_many(&engine, &mut table.view()?, &sorted)?;
        if let Some(at) = taken.iter().position(|&is_taken| is_taken).or_else(|| sorted.first_duplicate()) {
            return Err(Error::DuplicateKey { key: describe(moved[at]), row: moved[at] });
        }
        table.put(new_keys, columns)
    }

    /// Returns an error if a row cannot have what a column is given.
    fn check_given(
        &self,
        schema: &TableSchema,
        rows: &[ArrayRef],
        row: usize,
        place: usize,
        given: &NewValue,
        giver: usize,
    ) -> Result<()> {
        let field = schema.arrow().field(place);
        let column = field.name();
        let what = match given {
            NewValue::Null if !field.is_nullable() => {
                format!("column {column:?} would be null and does not allow nulls")
            }
            NewValue::Unfit(what) => format!("column {column:?} {what}"),
            NewValue::Contradiction(other) => {
                format!("column {column:?} would have another value by the foreign key {:?}", self.givers[*other].name)
            }
            NewValue::Value(..) | NewValue::Null => return Ok(()),
        };
        let foreign_key = self.givers[giver].name.clone();
        let key = schema.key().describe(&schema.key().select(rows), row);
        Err(Error::ImpossibleAction { foreign_key, key, what })
    }
}

/// Returns an error if generated columns, which only SQL computes, depend on a column.
fn check_is_settable(schema: &TableSchema, key: &ForeignKey, place: usize) -> Result<()> {
    let fields = schema.arrow().fields();
    for field in fields {
        let Some(text) = field.metadata().get(GENERATED_KEY) else { continue };
        if text.contains(fields[place].name().as_str()) {
            return Err(Error::schema(format!(
                "the foreign key {:?} would change a column from which column {:?} is generated: change the rows that refer to the row first",
                key.name,
                field.name()
            )));
        }
    }
    Ok(())
}

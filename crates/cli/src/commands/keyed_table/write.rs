//! `table create`, `upsert` and `delete`.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use lath_parquet::Predicate;
use lath_table::{Database, Durability, Error, ROW_NUMBERS_KEY, Table, TableOptions, Transaction};

#[cfg(feature = "sql")]
use super::declared;
use super::keys::KeyFields;
use super::load::Load;
use super::open::{open, options};
use crate::args::{CreateArgs, TableDeleteArgs, UpsertArgs};
use crate::commands::print;
use crate::console::progress::Progress;
use crate::console::quantity::plural;
use crate::failure::{Failure, Outcome, Result};
use crate::input::input_rows::InputRows;
use crate::input::inputs::Inputs;
use crate::input::table_failure::table_failure;

pub(super) fn create(args: &CreateArgs) -> Result<Outcome> {
    #[cfg(feature = "sql")]
    if let Some(columns) = &args.columns {
        return declared::create(args, columns, |load| load_rows(&open(&args.table)?, load, false));
    }
    let mut load = Load::new(&args.rows)?;
    let schema = load.columns()?;
    let folder = &args.table.folder;
    let was_there = fs::symlink_metadata(folder).is_ok();
    let was_empty = was_there && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    let remove_folder = || {
        // It has nothing but the table.
        if args.table.table.is_none() {
            drop(match (was_there, was_empty) {
                (false, _) => fs::remove_dir_all(folder),
                (true, true) => empty_folder(folder),
                (true, false) => Ok(()),
            });
        }
    };
    let options = args.cold.iter().fold(options(&args.table)?, TableOptions::cold_files);
    let table = match &args.table.table {
        None => Table::create_clustered(folder, &schema, &args.key, &args.cluster_by, options.clone()),
        Some(name) => Database::open_or_create(folder, options.clone())
            .and_then(|database| database.create_clustered_table(name, &schema, &args.key, &args.cluster_by)),
    };
    let table = table.map_err(|error| {
        // Its objects belong to another table, or cannot be written: the folder has no table, and is of no use.
        if matches!(error, Error::ForeignFiles { .. } | Error::Place { .. } | Error::Io { .. }) {
            remove_folder();
        }
        table_failure(error)
    })?;
    if args.no_rows {
        return Ok(Outcome::Done);
    }
    let loaded = load_rows(&table, load, false);
    if loaded.is_err() && args.table.table.is_none() {
        drop(table.remove_objects());
    }
    drop(table);
    if loaded.is_err() {
        match &args.table.table {
            Some(name) => {
                drop(Database::open_or_create(folder, options).and_then(|database| database.drop_table(name)));
            }
            None => remove_folder(),
        }
    }
    loaded
}

/// Removes what is in a folder.
fn empty_folder(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

pub(super) fn upsert(args: &UpsertArgs) -> Result<Outcome> {
    let table = open(&args.table)?;
    load_rows(&table, Load::new(&args.rows)?, args.insert)
}

/// Puts or inserts all rows, and prints their number.
fn load_rows(table: &Table, load: Load, insert: bool) -> Result<Outcome> {
    let stored = table.schema().map_err(table_failure)?;
    let schema = without_row_numbers(&stored);
    let name = table.folder().display().to_string();
    let put = |batch: &RecordBatch| -> lath_table::Result<()> {
        let mut transaction = table.begin()?;
        if schema.fields().len() < stored.fields().len() {
            let first = transaction.next_number()?;
            transaction.insert(&with_row_numbers(batch, &stored, first)?)?;
        } else if insert {
            transaction.insert(batch)?;
        } else {
            transaction.upsert(batch)?;
        }
        // One sync at the end makes all of them durable.
        transaction.commit_with(Durability::Deferred)
    };
    let count = load.each((&name, &schema), |batch| put(batch).map_err(table_failure));
    // Also after an error: those committed before stay.
    table.sync().map_err(table_failure)?;
    eprintln!("{} {}", plural(count?, "row"), if insert { "inserted" } else { "put" });
    Ok(Outcome::Done)
}

/// The columns of the rows that are put: a table without a primary key gives its rows numbers, which are its first column.
fn without_row_numbers(schema: &SchemaRef) -> SchemaRef {
    let is_given = |field: &&FieldRef| !field.metadata().contains_key(ROW_NUMBERS_KEY);
    if schema.fields().iter().all(|field| is_given(&field)) {
        return Arc::clone(schema);
    }
    let fields = schema.fields().iter().filter(is_given).cloned().collect::<Vec<_>>();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The rows with numbers, beginning with `first`, as their first column.
fn with_row_numbers(rows: &RecordBatch, stored: &SchemaRef, first: i64) -> lath_table::Result<RecordBatch> {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((first..).take(rows.num_rows())));
    let columns = std::iter::once(numbers).chain(rows.columns().iter().cloned()).collect();
    let fields = std::iter::once(&stored.fields()[0]).chain(rows.schema_ref().fields()).cloned().collect::<Vec<_>>();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

pub(super) fn delete(args: &TableDeleteArgs) -> Result<Outcome> {
    let table = open(&args.table)?;
    let mut transaction = table.begin().map_err(table_failure)?;
    let count = if let Some(text) = &args.predicate {
        let predicate = Predicate::parse(text).map_err(Failure::filtering)?;
        transaction.delete_where(&predicate).map_err(table_failure)?
    } else {
        let before = transaction.count().map_err(table_failure)?;
        delete_keys(&table, &mut transaction, args)?;
        before - transaction.count().map_err(table_failure)?
    };
    transaction.commit().map_err(table_failure)?;
    print(&format!("{count}\n"))?;
    Ok(if count > 0 { Outcome::Done } else { Outcome::Nothing })
}

fn delete_keys(table: &Table, transaction: &mut Transaction, args: &TableDeleteArgs) -> Result<()> {
    let snapshot = table.snapshot().map_err(table_failure)?;
    let Some(file) = &args.key_file else {
        let fields = KeyFields::of(&snapshot);
        let keys = args.keys.iter().map(|key| fields.parse(key)).collect::<Result<Vec<_>>>()?;
        return transaction.delete(keys).map_err(table_failure);
    };
    let inputs = Inputs::find_in(std::slice::from_ref(file), &args.open)?;
    let name = table.folder().display().to_string();
    let mut rows = InputRows::for_table(inputs, &args.files, true)?;
    rows.text = rows.text.with_types_from(&name, snapshot.schema());
    let mut progress = Progress::new_bytes(rows.byte_len().unwrap_or(0), false);
    for index in 0..rows.inputs.len() {
        // Whatever other columns the file has.
        rows.open(index)?.each_batch(&mut progress, |batch| transaction.delete(batch).map_err(table_failure))?;
    }
    Ok(())
}

//! Tables of numbers with foreign keys, of which a model knows the rows.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use lath_table::{Database, DatabaseTransaction, Error, ForeignKeyAction, ForeignKeyActions, TableOptions};

pub(super) type Row = Vec<Option<i64>>;

/// The rows of all tables, by numbers that no table has.
pub(super) type Rows = Vec<BTreeMap<u32, Row>>;

/// A table whose first columns are its key.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) columns: Vec<(&'static str, DataType, bool)>,
    pub(super) key_len: usize,
    /// A column that is unique.
    pub(super) unique: Option<usize>,
}

/// Columns of one table that refer to columns of another.
pub(super) struct Reference {
    pub(super) table: usize,
    pub(super) columns: Vec<usize>,
    pub(super) referred: usize,
    pub(super) referred_columns: Vec<usize>,
    pub(super) on_delete: ForeignKeyAction,
    pub(super) on_update: ForeignKeyAction,
}

impl Shape {
    pub(super) fn schema(&self) -> Arc<Schema> {
        let field = |(name, data_type, is_nullable): &(&str, DataType, bool)| {
            Field::new(*name, data_type.clone(), *is_nullable)
        };
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    pub(super) fn batch(&self, rows: &[Row]) -> RecordBatch {
        let column = |(at, (_, data_type, _)): (usize, &(&str, DataType, bool))| -> ArrayRef {
            let numbers: ArrayRef = Arc::new(rows.iter().map(|row| row[at]).collect::<Int64Array>());
            cast(&numbers, data_type).unwrap()
        };
        RecordBatch::try_new(self.schema(), self.columns.iter().enumerate().map(column).collect()).unwrap()
    }

    fn rows(&self, batch: &RecordBatch) -> Vec<Row> {
        let columns: Vec<ArrayRef> =
            batch.columns().iter().map(|column| cast(column, &DataType::Int64).unwrap()).collect();
        let value =
            |column: &ArrayRef, row: usize| column.is_valid(row).then(|| column.as_primitive::<Int64Type>().value(row));
        (0..batch.num_rows()).map(|row| columns.iter().map(|column| value(column, row)).collect()).collect()
    }

    fn names(&self, columns: &[usize]) -> Vec<&str> {
        columns.iter().map(|&column| self.columns[column].0).collect()
    }

    /// The values that a row cannot have, or no two rows.
    pub(super) fn holds(&self, rows: &BTreeMap<u32, Row>) -> bool {
        let fits = |row: &Row| {
            row.iter().zip(&self.columns).all(|(value, (_, data_type, is_nullable))| match (value, data_type) {
                (None, _) => *is_nullable,
                (Some(value), DataType::Int8) => i8::try_from(*value).is_ok(),
                (Some(value), DataType::Int16) => i16::try_from(*value).is_ok(),
                (Some(value), DataType::UInt8) => u8::try_from(*value).is_ok(),
                (Some(value), DataType::UInt64) => u64::try_from(*value).is_ok(),
                (Some(value), DataType::Int32) => i32::try_from(*value).is_ok(),
                (Some(_), _) => true,
            })
        };
        let all = rows.values().collect::<Vec<_>>();
        let are_distinct = |values: Vec<&[Option<i64>]>| {
            let bound: Vec<_> = values.iter().filter(|values| values.iter().all(Option::is_some)).collect();
            bound.iter().enumerate().all(|(at, one)| !bound[..at].contains(one))
        };
        all.iter().all(|row| fits(row))
            && are_distinct(all.iter().map(|row| &row[..self.key_len]).collect())
            && self.unique.is_none_or(|column| are_distinct(all.iter().map(|row| &row[column..=column]).collect()))
    }
}

/// A database with these tables.
pub(super) fn create(folder: &Path, shapes: &[Shape], references: &[Reference]) -> Database {
    let database = Database::create(folder, TableOptions::new().background(false)).unwrap();
    for shape in shapes {
        let keys = shape.names(&(0..shape.key_len).collect::<Vec<_>>());
        let table = database.create_table(shape.name, &shape.schema(), &keys).unwrap();
        if let Some(column) = shape.unique {
            table.create_index("unique", &shape.names(&[column]), true).unwrap();
        }
    }
    let mut transaction = database.begin().unwrap();
    for (at, reference) in references.iter().enumerate() {
        let (own, other) = (&shapes[reference.table], &shapes[reference.referred]);
        let actions = ForeignKeyActions::new(reference.on_delete, reference.on_update);
        let (columns, referred) = (own.names(&reference.columns), other.names(&reference.referred_columns));
        transaction.add_foreign_key(own.name, &format!("f{at}"), &columns, other.name, &referred, actions).unwrap();
    }
    transaction.commit().unwrap();
    database
}

/// Changes rows of a table as an UPDATE does, or deletes those without new values.
pub(super) fn change(
    transaction: &mut DatabaseTransaction,
    shape: &Shape,
    changes: &[(Row, Option<Row>)],
) -> Result<(), Error> {
    let moved: Vec<&(Row, Option<Row>)> = changes
        .iter()
        .filter(|(old, new)| new.as_ref().is_some_and(|new| new[..shape.key_len] != old[..shape.key_len]))
        .collect();
    let keys = |rows: Vec<Row>| shape.batch(&rows).project(&(0..shape.key_len).collect::<Vec<_>>()).unwrap();
    let table = transaction.table(shape.name)?;
    let deleted: Vec<Row> = changes.iter().filter(|(_, new)| new.is_none()).map(|(old, _)| old.clone()).collect();
    if !deleted.is_empty() {
        table.delete(keys(deleted))?;
    }
    if moved.is_empty() {
        let rows: Vec<Row> = changes.iter().filter_map(|(_, new)| new.clone()).collect();
        return table.upsert(&shape.batch(&rows));
    }
    // As SQL does, all rows of a statement that may change a key are moved.
    let all: Vec<&(Row, Option<Row>)> = changes.iter().filter(|(_, new)| new.is_some()).collect();
    let new = shape.batch(&all.iter().filter_map(|(_, new)| new.clone()).collect::<Vec<_>>());
    let old = keys(all.iter().map(|(old, _)| old.clone()).collect());
    table.move_rows(&old, &new)?;
    table.delete(old)?;
    table.insert(&new)
}

/// The rows of a table.
pub(super) fn read(database: &Database, shape: &Shape) -> Vec<Row> {
    let table = database.table(shape.name).unwrap();
    let batches = table.snapshot().unwrap().scan().build().unwrap();
    let mut rows: Vec<Row> = batches.flat_map(|batch| shape.rows(&batch.unwrap())).collect();
    rows.sort();
    rows
}

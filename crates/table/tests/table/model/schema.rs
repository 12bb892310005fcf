//! Random changes of the schema, and the columns that a table has after them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema};
use lath_predicate::{Predicate, column};
use lath_table::KeyValue;
use lath_testkit::Seeded;

use super::{History, Test};
use crate::rows::{RowKey, Shape, Values};

/// Names for columns; few, so that they repeat.
const NAMES: [&str; 6] = ["a", "b", "c", "id", "n", "tags"];

/// The maximum number of columns that were added and not dropped.
const MAX_ADDED: usize = 4;

/// The columns of a table.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    shape: Shape,
    /// In table order.
    columns: Vec<Column>,
    added: u32,
}

#[derive(Debug, Clone)]
struct Column {
    origin: Origin,
    name: String,
    data_type: DataType,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    /// A column of the original table, with its original name.
    Shape(String),
    /// A column added later, with its number.
    Added { number: u32, is_nullable: bool },
}

impl Columns {
    pub(super) fn new(shape: Shape) -> Self {
        let column = |field: &Arc<Field>| Column {
            origin: Origin::Shape(field.name().clone()),
            name: field.name().clone(),
            data_type: field.data_type().clone(),
        };
        Self { shape, columns: shape.schema().fields().iter().map(column).collect(), added: 0 }
    }

    /// The current name of the column that the shape calls `original`.
    pub(super) fn name(&self, original: &str) -> &str {
        let is_it = |column: &&Column| matches!(&column.origin, Origin::Shape(name) if name == original);
        &self.columns.iter().find(is_it).unwrap().name
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn name_at(&self, place: usize) -> &str {
        &self.columns[place].name
    }

    pub(super) fn origin(&self, place: usize) -> &Origin {
        &self.columns[place].origin
    }

    pub(super) fn data_type(&self, place: usize) -> &DataType {
        &self.columns[place].data_type
    }

    fn is_free(&self, name: &str) -> bool {
        self.columns.iter().all(|column| column.name != name)
    }

    /// The positions of columns that were added.
    fn added(&self) -> Vec<usize> {
        let is_added = |at: &usize| matches!(self.columns[*at].origin, Origin::Added { .. });
        (0..self.columns.len()).filter(is_added).collect()
    }

    /// The key columns alone.
    pub(super) fn key_batch(&self, keys: &[&RowKey]) -> RecordBatch {
        let batch = self.shape.key_batch(keys);
        let columns = batch.schema().fields().iter().map(|f| self.name(f.name()).to_owned()).collect::<Vec<_>>();
        RecordBatch::try_from_iter(columns.into_iter().zip(batch.columns().iter().cloned())).unwrap()
    }

    pub(super) fn batch(&self, rows: &[(RowKey, Values)]) -> RecordBatch {
        let plain = self.shape.batch(rows);
        let array = |column: &Column| -> ArrayRef {
            match &column.origin {
                Origin::Shape(name) => cast(plain.column_by_name(name).unwrap(), &column.data_type).unwrap(),
                Origin::Added { number, .. } => {
                    let values: Int64Array = rows.iter().map(|(_, row)| row.added[number]).collect();
                    cast(&values, &column.data_type).unwrap()
                }
            }
        };
        let named = self.columns.iter().map(|column| (column.name.clone(), array(column), true));
        RecordBatch::try_from_iter_with_nullable(named).unwrap()
    }

    /// The rows of a batch that has all columns, possibly after others.
    pub(super) fn rows(&self, batch: &RecordBatch) -> Vec<(RowKey, Values)> {
        let first = batch.num_columns() - self.columns.len();
        let (mut fields, mut plain) = (Vec::new(), Vec::new());
        let mut added = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let (schema, array) = (batch.schema(), batch.column(first + at));
            assert_eq!(schema.field(first + at).name(), &column.name);
            // Files have numbers for the fields within columns.
            assert!(array.data_type().equals_datatype(&column.data_type), "{} is {}", column.name, array.data_type());
            match &column.origin {
                Origin::Shape(name) => {
                    let field = self.shape.schema().field_with_name(name).unwrap().clone();
                    plain.push(cast(array, field.data_type()).unwrap());
                    fields.push(field.with_nullable(true));
                }
                Origin::Added { number, .. } => added.push((*number, cast(array, &DataType::Int64).unwrap())),
            }
        }
        let plain = RecordBatch::try_new(Arc::new(Schema::new(fields)), plain).unwrap();
        let mut rows = self.shape.rows(&plain);
        for (number, array) in added {
            let values = array.as_primitive::<Int64Type>();
            for (at, (_, row)) in rows.iter_mut().enumerate() {
                row.added.insert(number, values.is_valid(at).then(|| values.value(at)));
            }
        }
        rows
    }

    /// Fills the columns that were added with random values.
    pub(super) fn fill(&self, row: &mut Values, random: &mut Seeded) {
        for column in &self.columns {
            if let Origin::Added { number, is_nullable } = column.origin {
                let is_null = is_nullable && random.u8(..4) == 0;
                row.added.insert(number, (!is_null).then(|| random.i64(-100..100)));
            }
        }
    }

    /// A condition on a column that was added; `None` if there is none.
    pub(super) fn random_condition(&self, random: &mut Seeded) -> Option<(Predicate, Test)> {
        let added = self.added();
        let column_at = &self.columns[*added.get(random.usize(..added.len().max(1)))?];
        let Origin::Added { number, .. } = column_at.origin else { unreachable!() };
        let (value, is_null) = (random.i64(-100..100), random.u8(..4) == 0);
        let of = move |row: &Values| row.added[&number];
        let named = column(&column_at.name);
        Some(match (&column_at.data_type, is_null) {
            (_, true) => (named.is_null(), Box::new(move |_, row| of(row).is_none())),
            (DataType::Utf8, _) => (named.eq(value.to_string()), Box::new(move |_, row| of(row) == Some(value))),
            _ => {
                let condition = named.lt(value) & column(self.name("n")).is_not_null();
                (condition, Box::new(move |_, row| of(row).is_some_and(|of| of < value) && row.n.is_some()))
            }
        })
    }
}

/// The types to which columns of a type can be widened.
fn wider(data_type: &DataType) -> Vec<DataType> {
    match data_type {
        DataType::Int8 => vec![DataType::Int16, DataType::Int64],
        DataType::Int16 => vec![DataType::Int32, DataType::Int64],
        DataType::Int32 => vec![DataType::Int64],
        DataType::Float32 => vec![DataType::Float64],
        DataType::Decimal128(5, 2) => vec![DataType::Decimal128(9, 2), DataType::Decimal128(30, 2)],
        DataType::Decimal128(9, 2) => vec![DataType::Decimal128(30, 2)],
        _ => Vec::new(),
    }
}

fn random_type(random: &mut Seeded) -> DataType {
    let types = [DataType::Int8, DataType::Int32, DataType::Float32, DataType::Decimal128(5, 2), DataType::Utf8];
    types[random.usize(..types.len())].clone()
}

impl History {
    pub(super) fn change_schema(&mut self) -> String {
        match self.random.u8(..6) {
            0 | 1 => self.add_column(),
            2 => self.drop_column(),
            3 | 4 => self.rename_column(),
            _ => self.widen_column(),
        }
    }

    fn add_column(&mut self) -> String {
        let name = NAMES[self.random.usize(..NAMES.len())];
        if !self.columns.is_free(name) || self.columns.added().len() == MAX_ADDED {
            return format!("no column {name} added");
        }
        let data_type = random_type(&mut self.random);
        let default = self.random.bool().then(|| self.random.i64(-100..100));
        let is_nullable = default.is_none() || self.random.bool();
        let value = default.map(|default| match data_type {
            DataType::Utf8 => KeyValue::from(default.to_string()),
            DataType::Float32 => KeyValue::from(default as f64),
            _ => KeyValue::from(default),
        });
        self.table().add_column(&Field::new(name, data_type.clone(), is_nullable), value).unwrap();
        self.columns.added += 1;
        let number = self.columns.added;
        let (origin, what) = (Origin::Added { number, is_nullable }, format!("add {name} {data_type} {default:?}"));
        self.columns.columns.push(Column { origin, name: name.to_owned(), data_type });
        self.each_row(|row| {
            row.added.insert(number, default);
        });
        what
    }

    fn drop_column(&mut self) -> String {
        let added = self.columns.added();
        let Some(&at) = added.get(self.random.usize(..added.len().max(1))) else {
            let key = self.columns.name(self.shape.key_columns()[0]);
            assert!(matches!(self.table().drop_column(key), Err(lath_table::Error::Schema { .. })));
            return "no column dropped".to_owned();
        };
        if self.is_clustered_by(at) {
            let dropped = self.table().drop_column(self.columns.name_at(at));
            assert!(matches!(dropped, Err(lath_table::Error::Schema { .. })));
            return "column of the order not dropped".to_owned();
        }
        let Column { origin: Origin::Added { number, .. }, name, .. } = self.columns.columns.remove(at) else {
            unreachable!()
        };
        self.table().drop_column(&name).unwrap();
        self.each_row(|row| {
            row.added.remove(&number);
        });
        format!("drop {name}")
    }

    fn rename_column(&mut self) -> String {
        let at = self.random.usize(..self.columns.columns.len());
        let (old, new) = (self.columns.columns[at].name.clone(), NAMES[self.random.usize(..NAMES.len())]);
        let renamed = self.table().rename_column(&old, new);
        if old == new || self.columns.is_free(new) {
            renamed.unwrap();
            self.columns.columns[at].name = new.to_owned();
        } else {
            assert!(matches!(renamed, Err(lath_table::Error::Schema { .. })));
        }
        format!("rename {old} to {new}")
    }

    fn widen_column(&mut self) -> String {
        let at = self.random.usize(..self.columns.columns.len());
        let Column { origin, name, data_type } = self.columns.columns[at].clone();
        let is_bound = match &origin {
            Origin::Shape(original) => {
                self.shape.key_columns().contains(&&original[..]) || (original == "n" && !self.indexes.is_empty())
            }
            Origin::Added { .. } => false,
        };
        let wider = wider(&data_type);
        let to = wider.get(self.random.usize(..wider.len().max(1))).cloned().unwrap_or(DataType::Date64);
        let widened = self.table().widen_column(&name, &to);
        if is_bound || wider.is_empty() {
            assert!(matches!(widened, Err(lath_table::Error::Schema { .. })));
        } else {
            widened.unwrap();
            self.columns.columns[at].data_type = to.clone();
        }
        format!("widen {name} to {to}")
    }

    /// Changes all rows of the table and of its copy: a change of the schema is not a change of rows.
    fn each_row(&mut self, mut change: impl FnMut(&mut Values)) {
        self.model.values_mut().for_each(&mut change);
        if let Some(replica) = &mut self.replica {
            replica.each_row(change);
        }
    }
}

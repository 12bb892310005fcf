//! A table of every kind of column that ALP stores, in Arrow's form and in Parquet's: levels and values.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{ArrayRef, Float32Array, Float64Array, ListArray, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use lath_interop_alp::columns::{self, Value};

/// The Parquet schema.
pub const SCHEMA: &str = "message schema {
    required float f;
    required double d;
    optional float optional_f;
    optional double optional_d;
    optional double nulls;
    required group l (LIST) { repeated group list { optional double element; } }
}";

/// Rows.
#[derive(Debug, Default)]
pub struct Table {
    pub floats: Vec<f32>,
    pub doubles: Vec<f64>,
    pub optional_floats: Vec<Option<f32>>,
    pub optional_doubles: Vec<Option<f64>>,
    pub nulls: Vec<Option<f64>>,
    pub lists: Vec<Vec<Option<f64>>>,
}

/// The values of a leaf and its levels, if it has any.
#[derive(Debug)]
pub struct Leaf<T> {
    pub values: Vec<T>,
    pub def_levels: Option<Vec<i16>>,
    pub rep_levels: Option<Vec<i16>>,
}

/// Leaves, each with its number in the schema.
type Leaves<T> = Vec<(usize, Leaf<T>)>;

impl Table {
    pub fn random(random: &mut fastrand::Rng, rows: usize) -> Self {
        Self {
            floats: columns::values(random, rows),
            doubles: columns::values(random, rows),
            optional_floats: with_nulls(random, rows),
            optional_doubles: with_nulls(random, rows),
            nulls: vec![None; rows],
            lists: (0..rows)
                .map(|_| {
                    let len = random.usize(..3);
                    with_nulls(random, len)
                })
                .collect(),
        }
    }

    pub fn row_count(&self) -> usize {
        self.floats.len()
    }

    pub fn append(&mut self, other: Self) {
        self.floats.extend(other.floats);
        self.doubles.extend(other.doubles);
        self.optional_floats.extend(other.optional_floats);
        self.optional_doubles.extend(other.optional_doubles);
        self.nulls.extend(other.nulls);
        self.lists.extend(other.lists);
    }

    /// The leaves of FLOAT, and the leaves of DOUBLE.
    pub fn leaves(&self) -> (Leaves<f32>, Leaves<f64>) {
        let floats = vec![(0, required(&self.floats)), (2, optional(&self.optional_floats))];
        let doubles = vec![
            (1, required(&self.doubles)),
            (3, optional(&self.optional_doubles)),
            (4, optional(&self.nulls)),
            (5, repeated(&self.lists)),
        ];
        (floats, doubles)
    }

    pub fn to_batch(&self) -> RecordBatch {
        let item = Arc::new(Field::new("element", DataType::Float64, true));
        let items: Float64Array = self.lists.iter().flatten().copied().collect();
        let offsets = OffsetBuffer::from_lengths(self.lists.iter().map(Vec::len));
        let columns: [(&str, ArrayRef, bool); 6] = [
            ("f", Arc::new(Float32Array::from(self.floats.clone())), false),
            ("d", Arc::new(Float64Array::from(self.doubles.clone())), false),
            ("optional_f", Arc::new(Float32Array::from(self.optional_floats.clone())), true),
            ("optional_d", Arc::new(Float64Array::from(self.optional_doubles.clone())), true),
            ("nulls", Arc::new(Float64Array::from(self.nulls.clone())), true),
            ("l", Arc::new(ListArray::new(item, offsets, Arc::new(items), None)), false),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
    }

    pub fn from_batch(batch: &RecordBatch) -> Self {
        let floats = |at: usize| batch.column(at).as_primitive::<Float32Type>();
        let doubles = |at: usize| batch.column(at).as_primitive::<Float64Type>();
        let lists = batch.column(5).as_list::<i32>().iter();
        Self {
            floats: floats(0).iter().flatten().collect(),
            doubles: doubles(1).iter().flatten().collect(),
            optional_floats: floats(2).iter().collect(),
            optional_doubles: doubles(3).iter().collect(),
            nulls: doubles(4).iter().collect(),
            lists: lists.map(|list| list.expect("a list").as_primitive::<Float64Type>().iter().collect()).collect(),
        }
    }
}

fn with_nulls<T: Value>(random: &mut fastrand::Rng, len: usize) -> Vec<Option<T>> {
    columns::values(random, len).into_iter().map(|value| (random.u8(..4) > 0).then_some(value)).collect()
}

fn required<T: Copy>(values: &[T]) -> Leaf<T> {
    Leaf { values: values.to_vec(), def_levels: None, rep_levels: None }
}

fn optional<T: Copy>(values: &[Option<T>]) -> Leaf<T> {
    let def_levels = values.iter().map(|value| value.is_some().into()).collect();
    Leaf { values: values.iter().flatten().copied().collect(), def_levels: Some(def_levels), rep_levels: None }
}

/// Definition level 0 is an empty list, 1 a null in a list, 2 a value.
fn repeated<T: Copy>(lists: &[Vec<Option<T>>]) -> Leaf<T> {
    let (mut def_levels, mut rep_levels) = (Vec::new(), Vec::new());
    for list in lists {
        if list.is_empty() {
            def_levels.push(0);
            rep_levels.push(0);
        }
        for (at, item) in list.iter().enumerate() {
            def_levels.push(1 + i16::from(item.is_some()));
            rep_levels.push(i16::from(at > 0));
        }
    }
    let values = lists.iter().flatten().flatten().copied().collect();
    Leaf { values, def_levels: Some(def_levels), rep_levels: Some(rep_levels) }
}

impl<T: Value + Debug> Leaf<T> {
    /// Panics if a bit of a value or a level differs.
    pub fn assert_same(&self, expected: &Self, what: &str) {
        assert_eq!(self.def_levels, expected.def_levels, "definition levels of {what}");
        assert_eq!(self.rep_levels, expected.rep_levels, "repetition levels of {what}");
        assert_eq!(self.values.len(), expected.values.len(), "values of {what}");
        for (index, (value, expected)) in self.values.iter().zip(&expected.values).enumerate() {
            assert!(value.bits() == expected.bits(), "value {index} of {what}: {value:?}, not {expected:?}");
        }
    }
}

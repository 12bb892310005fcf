//! Rows as Rust values, converted to record batches and back: the oracle's form of a table.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use fastrand::Rng;

/// The type of the key columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Integer,
    Text,
    Composite,
}

pub(crate) const SHAPES: [Shape; 3] = [Shape::Integer, Shape::Text, Shape::Composite];

/// One key column's value, ordered like in the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Integer(i64),
    Text(String),
    /// The bits of a float, mapped to integers in the total order of floats.
    Float(i64),
}

pub(crate) type RowKey = Vec<Part>;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Values {
    pub(crate) n: Option<i32>,
    pub(crate) s: Option<String>,
    pub(crate) tags: Option<Vec<Option<i32>>>,
    pub(crate) place: Option<(i64, Option<String>)>,
    /// Values of columns that were added later, by column number.
    pub(crate) added: BTreeMap<u32, Option<i64>>,
}

fn decode_float(bits: i64) -> f64 {
    f64::from_bits((bits ^ (((bits >> 63) as u64) >> 1) as i64) as u64)
}

fn encode_float(float: f64) -> i64 {
    let bits = float.to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

impl Shape {
    pub(crate) fn key_columns(self) -> Vec<&'static str> {
        match self {
            Self::Integer | Self::Text => vec!["id"],
            Self::Composite => vec!["town", "number", "weight"],
        }
    }

    /// The key with this number in the key space.
    pub(crate) fn key(self, number: u64) -> RowKey {
        match self {
            Self::Integer => vec![Part::Integer(number as i64 * 3 - 100)],
            Self::Text => {
                let text =
                    format!("{}{}", "k".repeat(number as usize % 40), number.wrapping_mul(0x9e37_79b9) % 100_000);
                vec![Part::Text(format!("{text}#{number}"))]
            }
            Self::Composite => {
                let floats = [-0.5, 0.0, 1.5, -7.25, f64::NAN, f64::INFINITY];
                let weight = Part::Float(encode_float(floats[number as usize % 6]));
                let town = ["", "Oslo", "Oslo\0", "Bergen", "Å"][(number / 6) as usize % 5];
                vec![Part::Text(town.to_owned()), Part::Integer((number / 30) as i64 - 3), weight]
            }
        }
    }

    fn key_fields(self) -> Vec<Field> {
        match self {
            Self::Integer => vec![Field::new("id", DataType::Int64, false)],
            Self::Text => vec![Field::new("id", DataType::Utf8, false)],
            Self::Composite => vec![
                Field::new("town", DataType::Utf8, false),
                Field::new("number", DataType::Int32, false),
                Field::new("weight", DataType::Float64, false),
            ],
        }
    }

    pub(crate) fn schema(self) -> SchemaRef {
        // A value column comes first, so that positions in the table and in the key differ.
        let mut fields = vec![Field::new("n", DataType::Int32, true)];
        fields.extend(self.key_fields());
        fields.push(Field::new("s", DataType::Utf8, true));
        fields.push(Field::new("tags", DataType::List(Arc::new(Field::new("item", DataType::Int32, true))), true));
        fields.push(Field::new("place", DataType::Struct(place_fields()), true));
        Arc::new(Schema::new(fields))
    }

    fn key_arrays(self, keys: &[&RowKey]) -> Vec<ArrayRef> {
        let text = |at: usize| -> ArrayRef {
            let part = |key: &&RowKey| if let Part::Text(text) = &key[at] { text.clone() } else { panic!("{key:?}") };
            Arc::new(StringArray::from_iter_values(keys.iter().map(part)))
        };
        let integer = |at: usize| keys.iter().map(move |key| if let Part::Integer(n) = key[at] { n } else { panic!() });
        match self {
            Self::Integer => vec![Arc::new(Int64Array::from_iter_values(integer(0)))],
            Self::Text => vec![text(0)],
            Self::Composite => {
                // Both zeros, and all NaNs, are the same key.
                let weight = |(at, key): (usize, &&RowKey)| match key[2] {
                    Part::Float(bits) if at % 2 == 1 && decode_float(bits) == 0.0 => -0.0,
                    Part::Float(bits) if at % 2 == 1 && decode_float(bits).is_nan() => {
                        f64::from_bits(0xfff0_0000_0000_0123)
                    }
                    Part::Float(bits) => decode_float(bits),
                    _ => panic!(),
                };
                vec![
                    text(0),
                    Arc::new(Int32Array::from_iter_values(integer(1).map(|n| n as i32))),
                    Arc::new(Float64Array::from_iter_values(keys.iter().enumerate().map(weight))),
                ]
            }
        }
    }

    /// The key columns alone.
    pub(crate) fn key_batch(self, keys: &[&RowKey]) -> RecordBatch {
        RecordBatch::try_new(Arc::new(Schema::new(self.key_fields())), self.key_arrays(keys)).unwrap()
    }

    pub(crate) fn batch(self, rows: &[(RowKey, Values)]) -> RecordBatch {
        let keys: Vec<&RowKey> = rows.iter().map(|(key, _)| key).collect();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(rows.iter().map(|(_, row)| row.n).collect::<Int32Array>())];
        columns.extend(self.key_arrays(&keys));
        columns.push(Arc::new(rows.iter().map(|(_, row)| row.s.clone()).collect::<StringArray>()));
        let mut tags = ListBuilder::new(Int32Builder::new());
        for (_, row) in rows {
            match &row.tags {
                Some(items) => tags.append_value(items.iter().copied()),
                None => tags.append_null(),
            }
        }
        columns.push(Arc::new(tags.finish()));
        let a = Int64Array::from_iter_values(rows.iter().map(|(_, row)| row.place.as_ref().map_or(0, |place| place.0)));
        let b: StringArray = rows.iter().map(|(_, row)| row.place.as_ref().and_then(|place| place.1.clone())).collect();
        let nulls: NullBuffer = rows.iter().map(|(_, row)| row.place.is_some()).collect();
        columns.push(Arc::new(StructArray::new(place_fields(), vec![Arc::new(a), Arc::new(b)], Some(nulls))));
        RecordBatch::try_new(self.schema(), columns).unwrap()
    }

    /// The rows of a batch with all columns.
    pub(crate) fn rows(self, batch: &RecordBatch) -> Vec<(RowKey, Values)> {
        let column = |name: &str| batch.column_by_name(name).unwrap();
        let text = |name: &str, row: usize| Part::Text(column(name).as_string::<i32>().value(row).to_owned());
        let key = |row: usize| match self {
            Self::Integer => vec![Part::Integer(column("id").as_primitive::<Int64Type>().value(row))],
            Self::Text => vec![text("id", row)],
            Self::Composite => vec![
                text("town", row),
                Part::Integer(column("number").as_primitive::<Int32Type>().value(row).into()),
                Part::Float(encode_float(column("weight").as_primitive::<Float64Type>().value(row))),
            ],
        };
        let (n, s) = (column("n").as_primitive::<Int32Type>(), column("s").as_string::<i32>());
        let (tags, place) = (column("tags").as_list::<i32>(), column("place").as_struct());
        let (a, b) = (place.column(0).as_primitive::<Int64Type>(), place.column(1).as_string::<i32>());
        let values = |row: usize| Values {
            n: n.is_valid(row).then(|| n.value(row)),
            s: s.is_valid(row).then(|| s.value(row).to_owned()),
            tags: tags.is_valid(row).then(|| tags.value(row).as_primitive::<Int32Type>().iter().collect()),
            place: place.is_valid(row).then(|| (a.value(row), b.is_valid(row).then(|| b.value(row).to_owned()))),
            added: BTreeMap::new(),
        };
        (0..batch.num_rows()).map(|row| (key(row), values(row))).collect()
    }
}

fn place_fields() -> Fields {
    Fields::from(vec![Field::new("a", DataType::Int64, false), Field::new("b", DataType::Utf8, true)])
}

pub(crate) fn random_values(random: &mut Rng) -> Values {
    let text = |random: &mut Rng| (0..random.usize(..12)).map(|_| random.alphabetic()).collect::<String>();
    Values {
        n: (random.u8(..5) > 0).then(|| random.i32(-50..50)),
        s: (random.u8(..5) > 0).then(|| text(random)),
        tags: (random.u8(..4) > 0)
            .then(|| (0..random.usize(..4)).map(|_| (random.u8(..4) > 0).then(|| random.i32(..))).collect()),
        place: (random.u8(..4) > 0).then(|| (random.i64(..), (random.bool()).then(|| text(random)))),
        added: BTreeMap::new(),
    }
}

/// Rows of an id and a value.
pub(crate) fn id_values(rows: impl IntoIterator<Item = (i64, i64)>) -> RecordBatch {
    let (ids, values): (Vec<i64>, Vec<i64>) = rows.into_iter().unzip();
    let columns: [(&str, ArrayRef); 2] =
        [("id", Arc::new(Int64Array::from(ids))), ("value", Arc::new(Int64Array::from(values)))];
    RecordBatch::try_from_iter(columns).unwrap()
}

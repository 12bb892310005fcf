//! Tables whose row groups and pages can be distinguished by statistics, filters and dictionaries, and some that
//! cannot.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int8Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray, TimestampMillisecondArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};

use super::scalar::{Kind, Scalar};

/// A column: its name in SQL, and its rows.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) values: Vec<Scalar>,
}

/// Rows of several columns.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) batch: RecordBatch,
}

impl Table {
    /// A column `n` with the row numbers, some of any kind, and one within a nullable struct.
    pub(crate) fn random(random: &mut fastrand::Rng, row_count: usize) -> Self {
        let mut columns = Vec::new();
        let mut arrays: Vec<(Field, ArrayRef)> = Vec::new();
        let numbers = (0..row_count as i64).collect::<Vec<_>>();
        arrays.push((Field::new("n", DataType::Int64, false), Arc::new(Int64Array::from(numbers))));
        for index in 0..random.usize(2..6) {
            let kind = Kind::ALL[random.usize(..Kind::ALL.len())];
            let values = values(random, kind, row_count);
            let array = array(kind, &values);
            let name = format!("c{index}");
            arrays.push((Field::new(&name, array.data_type().clone(), true), array));
            columns.push(Column { name, kind, values });
        }
        let kind = Kind::ALL[random.usize(..Kind::ALL.len())];
        let mut inner = values(random, kind, row_count);
        let child = array(kind, &inner);
        let present: Vec<bool> = (0..row_count).map(|_| random.u8(..6) > 0).collect();
        for (value, present) in inner.iter_mut().zip(&present) {
            if !present {
                *value = Scalar::Null;
            }
        }
        let fields = Fields::from(vec![Field::new("x", child.data_type().clone(), true)]);
        let outer = StructArray::new(fields.clone(), vec![child], Some(NullBuffer::from(present)));
        arrays.push((Field::new("s", DataType::Struct(fields), true), Arc::new(outer)));
        columns.push(Column { name: "s.x".to_owned(), kind, values: inner });
        let (fields, arrays): (Vec<_>, Vec<_>) = arrays.into_iter().unzip();
        let schema = Arc::new(arrow_schema::Schema::new(fields));
        Self { columns, batch: RecordBatch::try_new(schema, arrays).expect("columns of one length") }
    }
}

/// Values in one of the typical distributions: sorted, in runs, few distinct values, any.
fn values(random: &mut fastrand::Rng, kind: Kind, row_count: usize) -> Vec<Scalar> {
    let pool: Vec<Scalar> = (0..[3, 20, 200][random.usize(..3)]).map(|_| any(random, kind)).collect();
    let mut values: Vec<Scalar> = match random.u8(..4) {
        0 => (0..row_count).map(|_| any(random, kind)).collect(),
        1 => (0..row_count).map(|_| pool[random.usize(..pool.len())].clone()).collect(),
        // A part of the pool for each run of rows.
        2 => (0..row_count)
            .map(|row| {
                let first = row / 50 * 3;
                pool[(first + random.usize(..3)) % pool.len()].clone()
            })
            .collect(),
        _ => {
            let mut sorted: Vec<Scalar> = (0..row_count).map(|_| any(random, kind)).collect();
            sorted.sort_by(|left, right| left.compare(right).expect("values of one kind"));
            if random.bool() {
                sorted.reverse();
            }
            sorted
        }
    };
    let density = [0, 0, 1, 5][random.usize(..4)];
    let (hole, hole_len) = (random.usize(..=row_count), [0, row_count / 3, row_count][random.usize(..3)]);
    let has_hole = random.u8(..4) == 0;
    for (row, value) in values.iter_mut().enumerate() {
        let is_in_hole = has_hole && (hole..hole + hole_len).contains(&row);
        if random.u8(..10) < density || is_in_hole {
            *value = Scalar::Null;
        }
    }
    values
}

/// A value of `kind`; special values are frequent.
pub(crate) fn any(random: &mut fastrand::Rng, kind: Kind) -> Scalar {
    if let Some((least, most)) = kind.range() {
        return Scalar::Int(match random.u8(..8) {
            0 => [least, most, least + 1, most - 1, 0.max(least)][random.usize(..5)],
            1..6 => i128::from(random.i32(-200..200)).clamp(least, most),
            _ => random.i128(least..=most),
        });
    }
    match kind {
        Kind::Boolean => Scalar::Boolean(random.bool()),
        Kind::Float32 | Kind::Float64 => {
            let value = match random.u8(..12) {
                0 => f64::NAN,
                1 => 0.0,
                2 => -0.0,
                3 => [f64::INFINITY, f64::NEG_INFINITY][random.usize(..2)],
                4..10 => f64::from(random.i32(-100..100)) / 4.0,
                _ => f64::from(f32::from_bits(random.u32(..))),
            };
            Scalar::Float(if kind == Kind::Float32 { f64::from(value as f32) } else { value })
        }
        Kind::String => Scalar::Bytes(text(random).into_bytes()),
        Kind::Binary => {
            let len = if random.u8(..8) == 0 { random.usize(60..80) } else { random.usize(..4) };
            Scalar::Bytes((0..len).map(|_| [0, 1, 0x7f, 0x80, 0xff][random.usize(..5)]).collect())
        }
        _ => Scalar::Bytes((0..16).map(|at| if at < 14 { 7 } else { random.u8(..) }).collect()),
    }
}

/// Text, sometimes longer than statistics, and with characters of several bytes where it may be truncated.
fn text(random: &mut fastrand::Rng) -> String {
    let stem = if random.u8(..6) == 0 { "é".repeat(random.usize(20..50)) } else { String::new() };
    let len = random.usize(..5);
    stem + &(0..len).map(|_| ['a', 'b', 'ß', '\u{10ffff}', '\''][random.usize(..5)]).collect::<String>()
}

fn array(kind: Kind, values: &[Scalar]) -> ArrayRef {
    let ints = || values.iter().map(|value| if let Scalar::Int(value) = value { Some(*value) } else { None });
    let floats = || values.iter().map(|value| if let Scalar::Float(value) = value { Some(*value) } else { None });
    let bytes = || values.iter().map(|value| if let Scalar::Bytes(value) = value { Some(&value[..]) } else { None });
    let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text was made of characters");
    match kind {
        Kind::Boolean => Arc::new(
            values
                .iter()
                .map(|value| if let Scalar::Boolean(value) = value { Some(*value) } else { None })
                .collect::<BooleanArray>(),
        ),
        Kind::Int8 => Arc::new(ints().map(|value| value.map(|value| value as i8)).collect::<Int8Array>()),
        Kind::Int32 => Arc::new(ints().map(|value| value.map(|value| value as i32)).collect::<Int32Array>()),
        Kind::Int64 => Arc::new(ints().map(|value| value.map(|value| value as i64)).collect::<Int64Array>()),
        Kind::UInt32 => Arc::new(ints().map(|value| value.map(|value| value as u32)).collect::<UInt32Array>()),
        Kind::UInt64 => Arc::new(ints().map(|value| value.map(|value| value as u64)).collect::<UInt64Array>()),
        Kind::Float32 => Arc::new(floats().map(|value| value.map(|value| value as f32)).collect::<Float32Array>()),
        Kind::Float64 => Arc::new(floats().collect::<Float64Array>()),
        Kind::String => Arc::new(bytes().map(|value| value.map(string)).collect::<StringArray>()),
        Kind::Binary => Arc::new(bytes().collect::<BinaryArray>()),
        Kind::Fixed => {
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes(), 16).expect("16 bytes each"))
        }
        Kind::SmallDecimal | Kind::LargeDecimal => {
            let (precision, scale) = if kind == Kind::SmallDecimal { (9, 2) } else { (30, 4) };
            let array = ints().collect::<Decimal128Array>();
            Arc::new(array.with_precision_and_scale(precision, scale).expect("digits within the precision"))
        }
        Kind::Date => Arc::new(ints().map(|value| value.map(|value| value as i32)).collect::<Date32Array>()),
        Kind::Timestamp => {
            let millis = ints().map(|value| value.map(|value| value as i64)).collect::<TimestampMillisecondArray>();
            Arc::new(millis.with_timezone("UTC"))
        }
    }
}

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, Schema, SchemaRef, TimeUnit};

use super::pick;

/// Bounds on a random schema.
#[derive(Debug, Clone, Copy)]
pub struct SchemaShape {
    /// The maximum number of fields at the root, at least one.
    pub fields: usize,
    /// The maximum nesting depth: the number of structs, lists and maps above a leaf.
    pub depth: usize,
}

/// A schema of up to `shape.fields` fields, each a leaf or nested up to `shape.depth` deep.
pub fn schema(random: &mut fastrand::Rng, shape: SchemaShape) -> SchemaRef {
    let count = random.usize(1..=shape.fields);
    let fields: Vec<FieldRef> = (0..count)
        .map(|i| {
            let depth = random.usize(..=shape.depth);
            field(random, format!("c{i}"), depth)
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// A field that is nested exactly `depth` deep along at least one path.
fn field(random: &mut fastrand::Rng, name: String, depth: usize) -> FieldRef {
    let data_type = if depth == 0 { leaf_type(random) } else { nested_type(random, depth) };
    let nullable = data_type == DataType::Null || random.u8(..4) > 0;
    Arc::new(Field::new(name, data_type, nullable))
}

fn nested_type(random: &mut fastrand::Rng, depth: usize) -> DataType {
    match random.u8(..10) {
        0..3 => {
            let count = random.usize(1..=3);
            let deep = random.usize(..count);
            let fields = (0..count).map(|i| {
                let depth = if i == deep { depth - 1 } else { random.usize(..depth) };
                field(random, format!("f{i}"), depth)
            });
            DataType::Struct(fields.collect())
        }
        3..6 => DataType::List(item(random, depth - 1)),
        6 => DataType::LargeList(item(random, depth - 1)),
        7 => {
            let len = random.i32(1..=4);
            DataType::FixedSizeList(item(random, depth - 1), len)
        }
        _ => map_type(random, depth - 1),
    }
}

fn item(random: &mut fastrand::Rng, depth: usize) -> FieldRef {
    let name = pick(random, &["item", "element", "array"]);
    field(random, name.to_owned(), depth)
}

fn map_type(random: &mut fastrand::Rng, depth: usize) -> DataType {
    let key_type = loop {
        let data_type = leaf_type(random);
        // A key is never null, and the writers of maps do not support encoded keys.
        if !matches!(data_type, DataType::Null | DataType::Dictionary(..)) {
            break data_type;
        }
    };
    let (entries, key, value) = pick(random, &[("entries", "keys", "values"), ("key_value", "key", "value")]);
    let fields = Fields::from(vec![Arc::new(Field::new(key, key_type, false)), field(random, value.to_owned(), depth)]);
    DataType::Map(Arc::new(Field::new(entries, DataType::Struct(fields), false)), false)
}

/// Any type without children that the `parquet` crate writes.
pub fn leaf_type(random: &mut fastrand::Rng) -> DataType {
    match random.u8(..40) {
        0 => DataType::Null,
        1..3 => DataType::Boolean,
        3 => DataType::Int8,
        4 => DataType::Int16,
        5..8 => DataType::Int32,
        8..11 => DataType::Int64,
        11 => DataType::UInt8,
        12 => DataType::UInt16,
        13 => DataType::UInt32,
        14 => DataType::UInt64,
        15 => DataType::Float16,
        16 => DataType::Float32,
        17 => DataType::Float64,
        18 => {
            let zone = pick(random, &[None, Some("UTC"), Some("+05:30"), Some("Europe/Paris")]);
            DataType::Timestamp(time_unit(random), zone.map(Arc::from))
        }
        19 => DataType::Date32,
        20 => DataType::Date64,
        21 => DataType::Time32(pick(random, &[TimeUnit::Second, TimeUnit::Millisecond])),
        22 => DataType::Time64(pick(random, &[TimeUnit::Microsecond, TimeUnit::Nanosecond])),
        23 => DataType::Duration(time_unit(random)),
        24 => DataType::Interval(pick(random, &[IntervalUnit::YearMonth, IntervalUnit::DayTime])),
        25 => DataType::FixedSizeBinary(pick(random, &[1, 2, 3, 4, 5, 8, 12, 16, 17, 33])),
        26..29 => decimal_type(random),
        29..37 => byte_array_type(random),
        _ => {
            let key = pick(random, &[&DataType::Int8, &DataType::Int32, &DataType::UInt16, &DataType::Int64]).clone();
            let value = match random.u8(..4) {
                0 => pick(random, &[&DataType::Int32, &DataType::Int64]).clone(),
                // The writer does not support dictionaries of views.
                _ => pick(random, &[&DataType::Utf8, &DataType::LargeUtf8, &DataType::Binary, &DataType::LargeBinary])
                    .clone(),
            };
            DataType::Dictionary(Box::new(key), Box::new(value))
        }
    }
}

fn time_unit(random: &mut fastrand::Rng) -> TimeUnit {
    pick(random, &[TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond])
}

fn byte_array_type(random: &mut fastrand::Rng) -> DataType {
    match random.u8(..6) {
        0 => DataType::Binary,
        1 => DataType::LargeBinary,
        2 => DataType::BinaryView,
        3 => DataType::LargeUtf8,
        4 => DataType::Utf8View,
        _ => DataType::Utf8,
    }
}

fn decimal_type(random: &mut fastrand::Rng) -> DataType {
    let width = pick(random, &[9_u8, 18, 38, 76]);
    // The writer stores a precision of 1 as INT64, and then cannot write 32-bit decimals to it.
    let precision = random.u8(if width == 9 { 2 } else { 1 }..=width);
    let scale = random.i8(0..=precision.cast_signed());
    match width {
        9 => DataType::Decimal32(precision, scale),
        18 => DataType::Decimal64(precision, scale),
        38 => DataType::Decimal128(precision, scale),
        _ => DataType::Decimal256(precision, scale),
    }
}

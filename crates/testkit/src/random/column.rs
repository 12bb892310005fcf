use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{BooleanBuffer, IntervalDayTime, NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, SchemaRef, TimeUnit};
use half::f16;

use super::keys::keys;
use super::pick;
use super::text::TextStyle;

/// The maximum number of elements in all lists of one array: keeps deeply nested arrays small.
const MAX_ELEMENTS: usize = 4_000;

/// A batch of `row_count` rows.
pub fn record_batch(random: &mut fastrand::Rng, schema: &SchemaRef, row_count: usize) -> RecordBatch {
    let columns = schema.fields().iter().map(|field| array(random, field, row_count)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).expect("arrays are made for the schema")
}

/// An array of `len` values, with nulls if the field allows them.
pub fn array(random: &mut fastrand::Rng, field: &Field, len: usize) -> ArrayRef {
    let nulls = if field.is_nullable() { null_buffer(random, len) } else { None };
    match field.data_type() {
        DataType::Struct(fields) => {
            let children = fields.iter().map(|field| array(random, field, len)).collect();
            Arc::new(StructArray::new(fields.clone(), children, nulls))
        }
        DataType::List(item) => {
            let (lengths, elements) = list(random, item, len);
            Arc::new(ListArray::new(item.clone(), OffsetBuffer::from_lengths(lengths), elements, nulls))
        }
        DataType::LargeList(item) => {
            let (lengths, elements) = list(random, item, len);
            Arc::new(LargeListArray::new(item.clone(), OffsetBuffer::from_lengths(lengths), elements, nulls))
        }
        DataType::FixedSizeList(item, width) => {
            let elements = array(random, item, len * width.unsigned_abs() as usize);
            Arc::new(FixedSizeListArray::new(item.clone(), *width, elements, nulls))
        }
        DataType::Map(entries, sorted) => {
            let (lengths, elements) = list(random, entries, len);
            let elements = elements.as_any().downcast_ref::<StructArray>().expect("entries are a struct").clone();
            Arc::new(MapArray::new(entries.clone(), OffsetBuffer::from_lengths(lengths), elements, nulls, *sorted))
        }
        leaf => {
            let keys = keys(random, len);
            leaf_array(leaf, &keys, TextStyle::any(random), nulls)
        }
    }
}

/// Lengths of `len` lists, and their elements.
fn list(random: &mut fastrand::Rng, item: &FieldRef, len: usize) -> (Vec<usize>, ArrayRef) {
    let longest = pick(random, &[0, 1, 2, 3, 5, 40]);
    let mut room = MAX_ELEMENTS;
    let lengths: Vec<usize> = (0..len)
        .map(|_| {
            let length = random.usize(..=longest.min(room));
            room -= length;
            length
        })
        .collect();
    let elements = array(random, item, lengths.iter().sum());
    (lengths, elements)
}

/// The null mask of `len` values: from none to all, scattered or in runs.
fn null_buffer(random: &mut fastrand::Rng, len: usize) -> Option<NullBuffer> {
    let valid: BooleanBuffer = match random.u8(..8) {
        0 => return None,
        1 => BooleanBuffer::new_unset(len),
        2 | 3 => {
            let longest = pick(random, &[3, 40, 500]);
            let mut valid = Vec::with_capacity(len);
            while valid.len() < len {
                let run = random.usize(1..=longest).min(len - valid.len());
                let is_valid = random.bool();
                valid.resize(valid.len() + run, is_valid);
            }
            valid.into()
        }
        _ => {
            let density = pick(random, &[0.01, 0.1, 0.5, 0.9, 0.99]);
            (0..len).map(|_| random.f64() >= density).collect()
        }
    };
    Some(NullBuffer::new(valid))
}

/// The values for `keys`.
fn leaf_array(data_type: &DataType, keys: &[u64], style: TextStyle, nulls: Option<NullBuffer>) -> ArrayRef {
    /// The keys truncated to the width of a number type.
    macro_rules! cut {
        ($arrow:ty) => {
            primitive::<$arrow>(keys, nulls, |key| key as <$arrow as ArrowPrimitiveType>::Native)
        };
    }
    match data_type {
        DataType::Null => Arc::new(NullArray::new(keys.len())),
        DataType::Boolean => Arc::new(BooleanArray::new(keys.iter().map(|key| key % 2 == 1).collect(), nulls)),
        DataType::Int8 => cut!(Int8Type),
        DataType::Int16 => cut!(Int16Type),
        DataType::Int32 => cut!(Int32Type),
        DataType::Int64 => cut!(Int64Type),
        DataType::UInt8 => cut!(UInt8Type),
        DataType::UInt16 => cut!(UInt16Type),
        DataType::UInt32 => cut!(UInt32Type),
        DataType::UInt64 => cut!(UInt64Type),
        DataType::Float16 => primitive::<Float16Type>(keys, nulls, |key| f16::from_bits(key as u16)),
        DataType::Float32 => primitive::<Float32Type>(keys, nulls, |key| f32::from_bits(key as u32)),
        DataType::Float64 => primitive::<Float64Type>(keys, nulls, f64::from_bits),
        DataType::Timestamp(TimeUnit::Second, _) => retyped(cut!(TimestampSecondType), data_type),
        DataType::Timestamp(TimeUnit::Millisecond, _) => retyped(cut!(TimestampMillisecondType), data_type),
        DataType::Timestamp(TimeUnit::Microsecond, _) => retyped(cut!(TimestampMicrosecondType), data_type),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => retyped(cut!(TimestampNanosecondType), data_type),
        DataType::Date32 => cut!(Date32Type),
        // Whole days, as the type requires, and few enough for 32 bits.
        DataType::Date64 => primitive::<Date64Type>(keys, nulls, |key| i64::from(key as i32) * 86_400_000),
        DataType::Time32(TimeUnit::Second) => cut!(Time32SecondType),
        DataType::Time32(_) => cut!(Time32MillisecondType),
        DataType::Time64(TimeUnit::Microsecond) => cut!(Time64MicrosecondType),
        DataType::Time64(_) => cut!(Time64NanosecondType),
        DataType::Duration(TimeUnit::Second) => cut!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => cut!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => cut!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => cut!(DurationNanosecondType),
        // Parquet's intervals have no negative parts.
        DataType::Interval(IntervalUnit::YearMonth) => {
            primitive::<IntervalYearMonthType>(keys, nulls, |key| key as i32 & i32::MAX)
        }
        DataType::Interval(_) => primitive::<IntervalDayTimeType>(keys, nulls, |key| {
            IntervalDayTime::new((key >> 32) as i32 & i32::MAX, key as i32 & i32::MAX)
        }),
        DataType::Decimal32(precision, _) => {
            let digits = 10_i32.pow(u32::from(*precision));
            retyped(primitive::<Decimal32Type>(keys, nulls, |key| key as i32 % digits), data_type)
        }
        DataType::Decimal64(precision, _) => {
            let digits = 10_i64.pow(u32::from(*precision));
            retyped(primitive::<Decimal64Type>(keys, nulls, |key| key as i64 % digits), data_type)
        }
        DataType::Decimal128(precision, _) => {
            let digits = 10_i128.pow(u32::from(*precision));
            retyped(primitive::<Decimal128Type>(keys, nulls, |key| wide(key) % digits), data_type)
        }
        DataType::Decimal256(precision, _) => {
            let digits = i256::from_i128(10).wrapping_pow(u32::from(*precision));
            let value = |key| i256::from_i128(wide(key)).wrapping_mul(i256::from_i128(wide(!key))).wrapping_rem(digits);
            retyped(primitive::<Decimal256Type>(keys, nulls, value), data_type)
        }
        DataType::FixedSizeBinary(width) => fixed_size_binary(keys, *width, nulls.as_ref()),
        DataType::Utf8 => Arc::new(StringArray::from_iter(strings(keys, style, nulls.as_ref()))),
        DataType::LargeUtf8 => Arc::new(LargeStringArray::from_iter(strings(keys, style, nulls.as_ref()))),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter(strings(keys, style, nulls.as_ref()))),
        DataType::Binary => Arc::new(BinaryArray::from_iter(byte_strings(keys, style, nulls.as_ref()))),
        DataType::LargeBinary => Arc::new(LargeBinaryArray::from_iter(byte_strings(keys, style, nulls.as_ref()))),
        DataType::BinaryView => Arc::new(BinaryViewArray::from_iter(byte_strings(keys, style, nulls.as_ref()))),
        DataType::Dictionary(key_type, value_type) => {
            // Few enough values for 8-bit keys over all batches of a file, whatever the style of each.
            let values = leaf_array(value_type, &Vec::from_iter(0..20), style, None);
            dictionary(keys, key_type, values, nulls)
        }
        other => unreachable!("schemas are made of no {other}"),
    }
}

fn primitive<T: ArrowPrimitiveType>(
    keys: &[u64],
    nulls: Option<NullBuffer>,
    value: impl Fn(u64) -> T::Native,
) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(keys.iter().map(|&key| value(key)).collect(), nulls))
}

/// Changes only the precision, scale or time zone of an array's type.
fn retyped(array: ArrayRef, data_type: &DataType) -> ArrayRef {
    let data = array.to_data().into_builder().data_type(data_type.clone());
    make_array(data.build().expect("the types are stored alike"))
}

/// A number whose size in bits differs from key to key.
fn wide(key: u64) -> i128 {
    (i128::from(key.cast_signed()) << 63 | i128::from(key.rotate_left(17))) >> (key % 120)
}

fn fixed_size_binary(keys: &[u64], width: i32, nulls: Option<&NullBuffer>) -> ArrayRef {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(keys.len(), width);
    for (i, key) in keys.iter().enumerate() {
        if nulls.is_some_and(|nulls| nulls.is_null(i)) {
            builder.append_null();
        } else {
            let value: Vec<u8> = key.to_be_bytes().into_iter().cycle().take(width.unsigned_abs() as usize).collect();
            builder.append_value(value).expect("the value has the width");
        }
    }
    Arc::new(builder.finish())
}

fn strings(keys: &[u64], style: TextStyle, nulls: Option<&NullBuffer>) -> impl Iterator<Item = Option<String>> {
    let valid = move |i| nulls.is_none_or(|nulls: &NullBuffer| nulls.is_valid(i));
    keys.iter().enumerate().map(move |(i, &key)| valid(i).then(|| style.string(key)))
}

fn byte_strings(keys: &[u64], style: TextStyle, nulls: Option<&NullBuffer>) -> impl Iterator<Item = Option<Vec<u8>>> {
    let valid = move |i| nulls.is_none_or(|nulls: &NullBuffer| nulls.is_valid(i));
    keys.iter().enumerate().map(move |(i, &key)| valid(i).then(|| style.bytes(key)))
}

/// An array of `keys`, each modulo the number of values.
fn dictionary(keys: &[u64], key_type: &DataType, values: ArrayRef, nulls: Option<NullBuffer>) -> ArrayRef {
    let count = values.len() as u64;
    macro_rules! with_keys {
        ($arrow:ty) => {{
            let keys = keys.iter().map(|&key| (key % count) as <$arrow as ArrowPrimitiveType>::Native).collect();
            let keys = PrimitiveArray::<$arrow>::new(keys, nulls);
            Arc::new(DictionaryArray::new(keys, values))
        }};
    }
    match key_type {
        DataType::Int8 => with_keys!(Int8Type),
        DataType::UInt16 => with_keys!(UInt16Type),
        DataType::Int32 => with_keys!(Int32Type),
        DataType::Int64 => with_keys!(Int64Type),
        other => unreachable!("schemas have no dictionaries with {other} keys"),
    }
}

//! Decodes one row in Arrow's row format, without the preparation that pays off only for batches.
//!
//! ```text
//! fixed width   │ 0 null, 1 not │ value, big-endian, ordered as bytes │
//! text, bytes   │ 0 null │
//!               │ 1 empty │
//!               │ 2 │ block of 8 │ FF │ … up to 4 of them │ block of 32 │ FF │ … │ last block │ bytes used of it │
//! ```
//!
//! Arrow's row format is stored unchanged, see `docs/formats/table.md`.
//!
//! Measured with one row of five columns (Int64, Float64, Int32, a text of 8 and one of 50 bytes), arrow-row 59.3, release build:
//!
//! | decoder | time |
//! | --- | --- |
//! | this one | 1.2 to 1.7 µs |
//! | `RowConverter::convert_rows` | 2.7 µs |

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, LargeStringArray, PrimitiveArray, StringArray, new_null_array};
use arrow_schema::{DataType, FieldRef, TimeUnit};

const NULL: u8 = 0;
const VALID: u8 = 1;
const EMPTY: u8 = 1;
const NOT_EMPTY: u8 = 2;
/// Behind a block after which there is another one.
const CONTINUES: u8 = 0xff;

/// Number of short blocks at the start.
const SHORT_BLOCKS: usize = 4;

/// The columns of a row, of one value each; `None` if a column has a type that is left to Arrow, or if the row is malformed.
pub(crate) fn decode(fields: &[FieldRef], mut row: &[u8]) -> Option<Vec<ArrayRef>> {
    let columns = fields.iter().map(|field| column(field.data_type(), &mut row)).collect::<Option<Vec<_>>>()?;
    row.is_empty().then_some(columns)
}

fn column(data_type: &DataType, row: &mut &[u8]) -> Option<ArrayRef> {
    macro_rules! number {
        ($type:ty, $native:ty, $decode:expr) => {{
            let decode = |bytes: [u8; size_of::<$native>()]| $decode(<$native>::from_be_bytes(bytes));
            fixed::<$type, { size_of::<$native>() }>(data_type, row, decode)
        }};
    }
    let float32 = |bits: i32| {
        let bits = bits ^ i32::MIN;
        f32::from_bits((bits ^ (((bits >> 31) as u32) >> 1) as i32) as u32)
    };
    let float64 = |bits: i64| {
        let bits = bits ^ i64::MIN;
        f64::from_bits((bits ^ (((bits >> 63) as u64) >> 1) as i64) as u64)
    };
    match data_type {
        DataType::Boolean => {
            let (sentinel, value) = (take(row, 1)?[0], take(row, 1)?[0]);
            is_valid(sentinel).map(|is_valid| Arc::new(BooleanArray::from(vec![is_valid.then_some(value > 0)])) as _)
        }
        DataType::Int8 => number!(Int8Type, i8, |value| value ^ i8::MIN),
        DataType::Int16 => number!(Int16Type, i16, |value| value ^ i16::MIN),
        DataType::Int32 => number!(Int32Type, i32, |value| value ^ i32::MIN),
        DataType::Int64 => number!(Int64Type, i64, |value| value ^ i64::MIN),
        DataType::UInt8 => number!(UInt8Type, u8, |value| value),
        DataType::UInt16 => number!(UInt16Type, u16, |value| value),
        DataType::UInt32 => number!(UInt32Type, u32, |value| value),
        DataType::UInt64 => number!(UInt64Type, u64, |value| value),
        DataType::Float32 => number!(Float32Type, i32, float32),
        DataType::Float64 => number!(Float64Type, i64, float64),
        DataType::Date32 => number!(Date32Type, i32, |value| value ^ i32::MIN),
        DataType::Date64 => number!(Date64Type, i64, |value| value ^ i64::MIN),
        DataType::Timestamp(TimeUnit::Second, _) => number!(TimestampSecondType, i64, |value| value ^ i64::MIN),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            number!(TimestampMillisecondType, i64, |value| value ^ i64::MIN)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            number!(TimestampMicrosecondType, i64, |value| value ^ i64::MIN)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => number!(TimestampNanosecondType, i64, |value| value ^ i64::MIN),
        DataType::Utf8 => text(data_type, row, |text| Arc::new(StringArray::from(vec![text]))),
        DataType::LargeUtf8 => text(data_type, row, |text| Arc::new(LargeStringArray::from(vec![text]))),
        DataType::Binary => match bytes(row)? {
            Some(bytes) => Some(Arc::new(BinaryArray::from(vec![&bytes[..]]))),
            None => Some(new_null_array(data_type, 1)),
        },
        _ => None,
    }
}

fn fixed<T: ArrowPrimitiveType, const LEN: usize>(
    data_type: &DataType,
    row: &mut &[u8],
    decode: impl Fn([u8; LEN]) -> T::Native,
) -> Option<ArrayRef> {
    let is_valid = is_valid(take(row, 1)?[0])?;
    let value: [u8; LEN] = take(row, LEN)?.try_into().ok()?;
    if !is_valid {
        return Some(new_null_array(data_type, 1));
    }
    let array = PrimitiveArray::<T>::new(vec![decode(value)].into(), None);
    // Timestamps have zones.
    Some(Arc::new(if *data_type == T::DATA_TYPE { array } else { array.with_data_type(data_type.clone()) }))
}

fn text(data_type: &DataType, row: &mut &[u8], array: impl Fn(&str) -> ArrayRef) -> Option<ArrayRef> {
    match bytes(row)? {
        Some(bytes) => std::str::from_utf8(&bytes).ok().map(array),
        None => Some(new_null_array(data_type, 1)),
    }
}

/// The bytes of a column of variable length; none if it is null.
fn bytes(row: &mut &[u8]) -> Option<Option<Vec<u8>>> {
    match take(row, 1)?[0] {
        NULL => return Some(None),
        EMPTY => return Some(Some(Vec::new())),
        NOT_EMPTY => {}
        _ => return None,
    }
    let mut bytes = Vec::with_capacity(row.len());
    for number in 0.. {
        let block = take(row, if number < SHORT_BLOCKS { 8 } else { 32 })?;
        match take(row, 1)?[0] {
            CONTINUES => bytes.extend_from_slice(block),
            used => {
                bytes.extend_from_slice(block.get(..used.into())?);
                break;
            }
        }
    }
    Some(Some(bytes))
}

/// The rest of a row behind a column of variable length; `None` if the row is malformed.
pub(crate) fn skip_bytes(mut row: &[u8]) -> Option<&[u8]> {
    match take(&mut row, 1)?[0] {
        NULL | EMPTY => return Some(row),
        NOT_EMPTY => {}
        _ => return None,
    }
    let mut number = 0;
    loop {
        take(&mut row, if number < SHORT_BLOCKS { 8 } else { 32 })?;
        if take(&mut row, 1)?[0] != CONTINUES {
            return Some(row);
        }
        number += 1;
    }
}

fn is_valid(sentinel: u8) -> Option<bool> {
    match sentinel {
        NULL => Some(false),
        VALID => Some(true),
        _ => None,
    }
}

fn take<'r>(row: &mut &'r [u8], len: usize) -> Option<&'r [u8]> {
    let (taken, rest) = row.split_at_checked(len)?;
    *row = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use arrow_array::{
        Array, Date32Array, Date64Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array,
        Int32Array, Int64Array, TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
        TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
    };
    use arrow_row::{RowConverter, SortField};
    use arrow_schema::Field;

    use super::*;

    const ROWS: usize = 8;

    fn arrays() -> Vec<ArrayRef> {
        macro_rules! integers {
            ($($array:ty, $native:ty;)*) => {
                vec![$(Arc::new(<$array>::from(vec![
                    Some(<$native>::MIN), Some(<$native>::MAX), None, Some(0), Some(1), Some(100), None, Some(42),
                ])) as ArrayRef),*]
            };
        }
        let mut arrays = integers! {
            Int8Array, i8; Int16Array, i16; Int32Array, i32; Int64Array, i64;
            UInt8Array, u8; UInt16Array, u16; UInt32Array, u32; UInt64Array, u64;
            Date32Array, i32; Date64Array, i64; TimestampSecondArray, i64; TimestampMillisecondArray, i64;
            TimestampMicrosecondArray, i64; TimestampNanosecondArray, i64;
        };
        let floats = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5, -1e-300];
        let narrow = floats.map(|float| float as f32);
        let lens = [0, 1, 7, 8, 9, 32, 33, 500];
        let text =
            |len: &usize| (*len != 9).then(|| "aé\u{0}z".repeat(200)[..len / 5 * 5].to_owned() + &"x".repeat(len % 5));
        let texts: Vec<Option<String>> = lens.iter().map(text).collect();
        let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        let binary: Vec<Option<&[u8]>> = texts.iter().map(|text| text.map(str::as_bytes)).collect();
        let zoned = TimestampMicrosecondArray::from(vec![5; ROWS]).with_timezone("Europe/Oslo");
        let truths = [Some(true), Some(false), None, None, Some(true), None, Some(false), Some(false)];
        arrays.extend([
            Arc::new(Float64Array::from(floats.to_vec())) as ArrayRef,
            Arc::new(Float32Array::from(narrow.to_vec())),
            Arc::new(StringArray::from(texts.clone())),
            Arc::new(LargeStringArray::from(texts)),
            Arc::new(BinaryArray::from(binary)),
            Arc::new(zoned),
            Arc::new(BooleanArray::from(truths.to_vec())),
        ]);
        arrays
    }

    #[test]
    fn a_row_is_what_arrow_has_encoded() {
        let arrays = arrays();
        let field = |array: &ArrayRef| Arc::new(Field::new("c", array.data_type().clone(), true));
        let fields: Vec<FieldRef> = arrays.iter().map(field).collect();
        let sort = arrays.iter().map(|array| SortField::new(array.data_type().clone())).collect();
        let encoded = RowConverter::new(sort).unwrap().convert_columns(&arrays).unwrap();
        for row in 0..ROWS {
            let bytes = encoded.row(row).data();
            let decoded = decode(&fields, bytes).unwrap();
            for (decoded, array) in decoded.iter().zip(&arrays) {
                // Bits, not values, of floats.
                assert_eq!(decoded.to_data(), array.slice(row, 1).to_data(), "{row}");
            }
            assert!((0..bytes.len()).all(|len| decode(&fields, &bytes[..len]).is_none()));
            assert!(decode(&fields, &[bytes, &[0]].concat()).is_none());
        }
    }

    #[test]
    fn other_types_are_left_to_arrow() {
        let decimal = Arc::new(Decimal128Array::from(vec![1])) as ArrayRef;
        let field: FieldRef = Arc::new(Field::new("c", decimal.data_type().clone(), true));
        let converter = RowConverter::new(vec![SortField::new(decimal.data_type().clone())]).unwrap();
        let encoded = converter.convert_columns(&[decimal]).unwrap();
        assert!(decode(&[field], encoded.row(0).data()).is_none());
    }
}

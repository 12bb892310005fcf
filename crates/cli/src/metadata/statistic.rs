//! Values of statistics, decoded from the bytes in the footer.

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Decimal128Type, Decimal256Type, Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float16Array, Float32Array,
    Float64Array, Int32Array, Int64Array, PrimitiveArray, StringArray, UInt32Array, UInt64Array,
};
use arrow_buffer::i256;
use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, FieldRef, TimeUnit as ArrowTimeUnit};
use half::f16;
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::{ConvertedType, LogicalType, PhysicalType, TimeUnit};
use lath_text::{CellFormatter, UTC, encoder_options};
use serde_json::Value;

use crate::output::layout::printable;

/// A value of a column, as one row of the Arrow type that shows it best.
#[derive(Debug, Clone)]
pub(crate) struct Statistic {
    field: FieldRef,
    array: ArrayRef,
}

impl Statistic {
    /// Reads a value from the plain encoding of one value of `column`; `None` if the bytes are not one.
    pub(crate) fn decode(bytes: &[u8], column: &ColumnDescriptor) -> Option<Self> {
        let array = decode(bytes, column)?;
        let field = Field::new("value", array.data_type().clone(), true);
        let field = if matches!(column.logical_type_ref(), Some(LogicalType::Uuid)) && bytes.len() == 16 {
            field.with_extension_type(Uuid)
        } else {
            field
        };
        Some(Self { field: Arc::new(field), array })
    }

    /// The value as text.
    pub(crate) fn text(&self) -> String {
        let options = encoder_options();
        let mut text = String::new();
        match CellFormatter::new(&self.field, &self.array, &options).and_then(|mut cell| cell.write(0, &mut text)) {
            Ok(_) => printable(text),
            Err(error) => format!("<{error}>"),
        }
    }

    /// Whether the value comes before `other` in the order of their type.
    pub(crate) fn is_less_than(&self, other: &Self) -> bool {
        let less = arrow_ord::cmp::lt(&self.array, &other.array);
        less.is_ok_and(|less| less.true_count() > 0)
    }

    /// The value as JSON: a number or boolean where no digit is lost, else a string.
    pub(crate) fn json(&self) -> Value {
        use arrow_array::cast::AsArray;
        use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
        let finite = |value: f64| if value.is_finite() { Value::from(value) } else { Value::from(value.to_string()) };
        match self.array.data_type() {
            DataType::Boolean => self.array.as_boolean().value(0).into(),
            DataType::Int32 => self.array.as_primitive::<Int32Type>().value(0).into(),
            DataType::Int64 => self.array.as_primitive::<Int64Type>().value(0).into(),
            DataType::UInt32 => self.array.as_primitive::<UInt32Type>().value(0).into(),
            DataType::UInt64 => self.array.as_primitive::<UInt64Type>().value(0).into(),
            DataType::Float32 => finite(self.array.as_primitive::<Float32Type>().value(0).into()),
            DataType::Float64 => finite(self.array.as_primitive::<Float64Type>().value(0)),
            DataType::Utf8 => self.array.as_string::<i32>().value(0).into(),
            _ => self.text().into(),
        }
    }
}

fn primitive<T: ArrowPrimitiveType>(value: T::Native, data_type: DataType) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_value(value, 1).with_data_type(data_type))
}

fn decode(bytes: &[u8], column: &ColumnDescriptor) -> Option<ArrayRef> {
    let logical = column.logical_type_ref();
    let converted = column.converted_type();
    Some(match column.physical_type() {
        PhysicalType::BOOLEAN => Arc::new(BooleanArray::from(vec![*bytes.first()? != 0])),
        PhysicalType::INT32 => {
            let value = i32::from_le_bytes(bytes.try_into().ok()?);
            match (logical, converted) {
                (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => {
                    primitive::<Date32Type>(value, DataType::Date32)
                }
                (Some(LogicalType::Time(_)), _) | (None, ConvertedType::TIME_MILLIS) => {
                    primitive::<Time32MillisecondType>(value, DataType::Time32(ArrowTimeUnit::Millisecond))
                }
                _ if is_decimal(column) => decimal(i256::from_i128(value.into()), column)?,
                _ if is_unsigned(column) => Arc::new(UInt32Array::from(vec![value as u32])),
                _ => Arc::new(Int32Array::from(vec![value])),
            }
        }
        PhysicalType::INT64 => {
            let value = i64::from_le_bytes(bytes.try_into().ok()?);
            match (logical, converted) {
                (Some(LogicalType::Timestamp(time)), _) => timestamp(value, time.unit, time.is_adjusted_to_u_t_c),
                (None, ConvertedType::TIMESTAMP_MILLIS) => timestamp(value, TimeUnit::MILLIS, true),
                (None, ConvertedType::TIMESTAMP_MICROS) => timestamp(value, TimeUnit::MICROS, true),
                (Some(LogicalType::Time(time)), _) if time.unit == TimeUnit::NANOS => {
                    primitive::<Time64NanosecondType>(value, DataType::Time64(ArrowTimeUnit::Nanosecond))
                }
                (Some(LogicalType::Time(_)), _) | (None, ConvertedType::TIME_MICROS) => {
                    primitive::<Time64MicrosecondType>(value, DataType::Time64(ArrowTimeUnit::Microsecond))
                }
                _ if is_decimal(column) => decimal(i256::from_i128(value.into()), column)?,
                _ if is_unsigned(column) => Arc::new(UInt64Array::from(vec![value as u64])),
                _ => Arc::new(Int64Array::from(vec![value])),
            }
        }
        PhysicalType::INT96 => Arc::new(BinaryArray::from(vec![bytes])),
        PhysicalType::FLOAT => Arc::new(Float32Array::from(vec![f32::from_le_bytes(bytes.try_into().ok()?)])),
        PhysicalType::DOUBLE => Arc::new(Float64Array::from(vec![f64::from_le_bytes(bytes.try_into().ok()?)])),
        PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => match logical {
            _ if is_decimal(column) => decimal(big_endian(bytes)?, column)?,
            Some(LogicalType::Float16) => {
                Arc::new(Float16Array::from(vec![f16::from_le_bytes(bytes.try_into().ok()?)]))
            }
            Some(LogicalType::Uuid) => Arc::new(FixedSizeBinaryArray::try_from_iter([bytes].into_iter()).ok()?),
            _ => match std::str::from_utf8(bytes) {
                Ok(text) if is_text(column) => Arc::new(StringArray::from(vec![text])),
                _ => Arc::new(BinaryArray::from(vec![bytes])),
            },
        },
    })
}

fn timestamp(value: i64, unit: TimeUnit, utc: bool) -> ArrayRef {
    let zone = utc.then(|| UTC.into());
    match unit {
        TimeUnit::MILLIS => {
            primitive::<TimestampMillisecondType>(value, DataType::Timestamp(ArrowTimeUnit::Millisecond, zone))
        }
        TimeUnit::MICROS => {
            primitive::<TimestampMicrosecondType>(value, DataType::Timestamp(ArrowTimeUnit::Microsecond, zone))
        }
        TimeUnit::NANOS => {
            primitive::<TimestampNanosecondType>(value, DataType::Timestamp(ArrowTimeUnit::Nanosecond, zone))
        }
    }
}

fn decimal(value: i256, column: &ColumnDescriptor) -> Option<ArrayRef> {
    let scale = i8::try_from(column.type_scale()).ok()?;
    match value.to_i128() {
        Some(value) if column.type_precision() <= 38 => {
            Some(primitive::<Decimal128Type>(value, DataType::Decimal128(38, scale)))
        }
        _ => Some(primitive::<Decimal256Type>(value, DataType::Decimal256(76, scale))),
    }
}

/// A two's complement number of any length, most significant byte first; `None` if it does not fit 256 bits.
pub(crate) fn big_endian(bytes: &[u8]) -> Option<i256> {
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let (surplus, low) = bytes.split_at(bytes.len().saturating_sub(32));
    if surplus.iter().any(|&byte| byte != sign) || (!surplus.is_empty() && (low[0] ^ sign) & 0x80 != 0) {
        return None;
    }
    let mut wide = [sign; 32];
    wide[32 - low.len()..].copy_from_slice(low);
    Some(i256::from_be_bytes(wide))
}

/// Whether `column` holds decimals.
pub(crate) fn is_decimal(column: &ColumnDescriptor) -> bool {
    match column.logical_type_ref() {
        Some(logical) => matches!(logical, LogicalType::Decimal(_)),
        None => column.converted_type() == ConvertedType::DECIMAL,
    }
}

/// Whether `column` holds unsigned integers.
pub(crate) fn is_unsigned(column: &ColumnDescriptor) -> bool {
    match column.logical_type_ref() {
        Some(LogicalType::Integer(int)) => !int.is_signed,
        Some(_) => false,
        None => matches!(
            column.converted_type(),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        ),
    }
}

fn is_text(column: &ColumnDescriptor) -> bool {
    match column.logical_type_ref() {
        Some(logical) => matches!(logical, LogicalType::String | LogicalType::Enum | LogicalType::Json),
        None => matches!(
            column.converted_type(),
            ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON | ConvertedType::NONE
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_endian_numbers_of_any_length_are_read() {
        let number = |bytes: &[u8]| big_endian(bytes).and_then(i256::to_i128);
        assert_eq!(number(&[0x7f]), Some(127));
        assert_eq!(number(&[0xff]), Some(-1));
        assert_eq!(number(&[0xff, 0x00]), Some(-256));
        assert_eq!(number(&[0; 40]), Some(0));
        assert_eq!(number(&[0xff; 40]), Some(-1));
        assert_eq!(number(&[]), None);
        let mut too_large = [0; 33];
        too_large[1] = 0x80;
        assert_eq!(number(&too_large), None);
    }
}

//! Minimum and maximum values, in the order that the specification defines for a column.

use std::cmp::Ordering;
use std::fmt;

use arrow_arith::aggregate::{
    max, max_binary, max_binary_view, max_boolean, max_fixed_size_binary, max_string, max_string_view, min, min_binary,
    min_binary_view, min_boolean, min_fixed_size_binary, min_string, min_string_view,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float16Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, downcast_integer_array, make_array};
use arrow_array::{ArrowNumericType, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::DataType;
use half::f16;
use lath_format::schema::ColumnDescriptor;
use lath_format::schema::{LogicalType, PhysicalType};
use lath_parquet::{ExactType, ExactUnit};

use crate::metadata::statistic::{Statistic, big_endian, is_decimal, is_unsigned};

/// A value that can be compared.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Bound {
    /// Integers, decimals, dates, times and booleans.
    Integer(i256),
    /// Never NaN.
    Float(f64),
    /// Compared as unsigned bytes.
    Bytes(Vec<u8>),
}

impl Bound {
    /// Decodes a statistic of `column`; `None` if its bytes are not a value, or if it is NaN.
    pub(super) fn decode(bytes: &[u8], column: &ColumnDescriptor) -> Option<Self> {
        let float = |value: f64| (!value.is_nan()).then_some(Self::Float(value));
        match column.physical_type() {
            PhysicalType::BOOLEAN => Some(Self::Integer(i256::from_i128((*bytes.first()? != 0).into()))),
            PhysicalType::INT32 => {
                let value = i32::from_le_bytes(bytes.try_into().ok()?);
                Some(Self::Integer(i256::from_i128(if is_unsigned(column) {
                    (value as u32).into()
                } else {
                    value.into()
                })))
            }
            PhysicalType::INT64 => {
                let value = i64::from_le_bytes(bytes.try_into().ok()?);
                Some(Self::Integer(i256::from_i128(if is_unsigned(column) {
                    (value as u64).into()
                } else {
                    value.into()
                })))
            }
            PhysicalType::INT96 => None,
            PhysicalType::FLOAT => float(f32::from_le_bytes(bytes.try_into().ok()?).into()),
            PhysicalType::DOUBLE => float(f64::from_le_bytes(bytes.try_into().ok()?)),
            PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => match column.logical_type_ref() {
                _ if is_decimal(column) => big_endian(bytes).map(Self::Integer),
                Some(LogicalType::Float16) => float(f16::from_le_bytes(bytes.try_into().ok()?).into()),
                _ => Some(Self::Bytes(bytes.to_vec())),
            },
        }
    }

    /// The minimum and maximum of `array`; `None` if it has no value, or if its type has no order.
    pub(super) fn value_range(array: &dyn Array) -> Option<(Self, Self)> {
        fn integers<T: ArrowNumericType>(
            array: &PrimitiveArray<T>,
            wide: fn(T::Native) -> i256,
        ) -> Option<(Bound, Bound)> {
            Some((Bound::Integer(wide(min(array)?)), Bound::Integer(wide(max(array)?))))
        }
        fn floats(values: impl Iterator<Item = f64>) -> Option<(Bound, Bound)> {
            let mut numbers = values.filter(|value| !value.is_nan());
            let first = numbers.next()?;
            let (min_value, max_value) = numbers
                .fold((first, first), |(min_value, max_value), value| (min_value.min(value), max_value.max(value)));
            Some((Bound::Float(min_value), Bound::Float(max_value)))
        }
        let bytes = |min_value: Option<&[u8]>, max_value: Option<&[u8]>| {
            Some((Bound::Bytes(min_value?.to_vec()), Bound::Bytes(max_value?.to_vec())))
        };
        let text = |min_value: Option<&str>, max_value: Option<&str>| {
            bytes(min_value.map(str::as_bytes), max_value.map(str::as_bytes))
        };
        macro_rules! integer {
            ($array:ident) => {
                integers($array, |value| i256::from_i128(value.into()))
            };
        }
        downcast_integer_array!(
            array => integer!(array),
            DataType::Boolean => {
                let array = array.as_boolean();
                let wide = |value: bool| Bound::Integer(i256::from_i128(value.into()));
                Some((wide(min_boolean(array)?), wide(max_boolean(array)?)))
            }
            DataType::Float16 => floats(array.as_primitive::<Float16Type>().iter().flatten().map(f64::from)),
            DataType::Float32 => floats(array.as_primitive::<Float32Type>().iter().flatten().map(f64::from)),
            DataType::Float64 => floats(array.as_primitive::<Float64Type>().iter().flatten()),
            DataType::Decimal256(..) => {
                integers(array.as_primitive::<arrow_array::types::Decimal256Type>(), |value| value)
            }
            DataType::Utf8 => text(min_string(array.as_string::<i32>()), max_string(array.as_string::<i32>())),
            DataType::LargeUtf8 => text(min_string(array.as_string::<i64>()), max_string(array.as_string::<i64>())),
            DataType::Utf8View => text(min_string_view(array.as_string_view()), max_string_view(array.as_string_view())),
            DataType::Binary => bytes(min_binary(array.as_binary::<i32>()), max_binary(array.as_binary::<i32>())),
            DataType::LargeBinary => bytes(min_binary(array.as_binary::<i64>()), max_binary(array.as_binary::<i64>())),
            DataType::BinaryView => bytes(min_binary_view(array.as_binary_view()), max_binary_view(array.as_binary_view())),
            DataType::FixedSizeBinary(_) => {
                let array = array.as_fixed_size_binary();
                bytes(min_fixed_size_binary(array), max_fixed_size_binary(array))
            }
            other => stored_range(other, array),
        )
    }

    /// The order between two values of one column.
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => Some(left.cmp(right)),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right),
            (Self::Bytes(left), Self::Bytes(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }

    /// Whether this is less than `other`; false if they cannot be compared.
    pub(super) fn is_less(&self, other: &Self) -> bool {
        self.order(other) == Some(Ordering::Less)
    }

    /// The value as text, by the type of `column`.
    pub(super) fn text(&self, column: &ColumnDescriptor) -> String {
        let plain = match (self, column.physical_type()) {
            (Self::Integer(value), PhysicalType::BOOLEAN) => vec![u8::from(*value != i256::ZERO)],
            (Self::Integer(value), PhysicalType::INT32) => value.to_le_bytes()[..4].to_vec(),
            (Self::Integer(value), PhysicalType::INT64) => value.to_le_bytes()[..8].to_vec(),
            (Self::Integer(value), _) => value.to_be_bytes().to_vec(),
            (Self::Bytes(bytes), _) => bytes.clone(),
            (Self::Float(value), _) => return value.to_string(),
        };
        let text = Statistic::decode(&plain, column).map_or_else(|| format!("{self}"), |value| value.text());
        match text.char_indices().nth(60) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// The range of dates, times, timestamps and decimals, by the integers that they are stored as.
fn stored_range(data_type: &DataType, array: &dyn Array) -> Option<(Bound, Bound)> {
    fn range<T: ArrowNumericType>(array: &dyn Array, data_type: DataType) -> Option<(Bound, Bound)>
    where
        T::Native: Into<i128>,
    {
        let integers = make_array(array.to_data().into_builder().data_type(data_type).build().ok()?);
        let integers = integers.as_primitive::<T>();
        let wide = |value: T::Native| Bound::Integer(i256::from_i128(value.into()));
        Some((wide(min(integers)?), wide(max(integers)?)))
    }
    let exact = ExactType::new(data_type)?;
    match (exact.unit, exact.width) {
        (ExactUnit::One, _) => None,
        _ if matches!(data_type, DataType::Duration(_)) => None,
        (_, 4) => range::<Int32Type>(array, DataType::Int32),
        (_, 8) => range::<Int64Type>(array, DataType::Int64),
        (_, 16) => range::<Decimal128Type>(array, DataType::Decimal128(38, 0)),
        _ => None,
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Bytes(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}

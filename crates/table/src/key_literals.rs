//! Keys as literals of a condition, so that Bloom filters and statistics of files can rule them out.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, FieldRef, TimeUnit};
use lath_predicate::{Literal, Predicate, column_named};

const MICROS_PER_DAY: i64 = 24 * 60 * 60 * 1_000_000;

/// A condition that is true for all rows with one of these keys, and perhaps for others; `None` if no column has literals.
///
/// Floats have none here: conditions take both zeros for one value, and keys do not.
pub(crate) fn predicate_for(arrays: &[ArrayRef], fields: &[FieldRef]) -> Option<Predicate> {
    let conditions = arrays.iter().zip(fields).filter_map(|(array, field)| {
        let literals = literals(array)?;
        Some(column_named(field.name()).is_in(literals))
    });
    conditions.reduce(Predicate::and)
}

fn literals(array: &ArrayRef) -> Option<Vec<Literal>> {
    Some(match array.data_type() {
        DataType::Int8 => numbers::<Int8Type>(array),
        DataType::Int16 => numbers::<Int16Type>(array),
        DataType::Int32 => numbers::<Int32Type>(array),
        DataType::Int64 => numbers::<Int64Type>(array),
        DataType::UInt8 => numbers::<UInt8Type>(array),
        DataType::UInt16 => numbers::<UInt16Type>(array),
        DataType::UInt32 => numbers::<UInt32Type>(array),
        DataType::UInt64 => numbers::<UInt64Type>(array),
        DataType::Utf8 => array.as_string::<i32>().iter().map(Literal::from).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(Literal::from).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(Literal::from).collect(),
        DataType::Binary => array.as_binary::<i32>().iter().map(Literal::from).collect(),
        DataType::LargeBinary => array.as_binary::<i64>().iter().map(Literal::from).collect(),
        DataType::BinaryView => array.as_binary_view().iter().map(Literal::from).collect(),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().map(Literal::from).collect(),
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>().values();
            days.iter().map(|&days| Literal::timestamp_micros(i64::from(days) * MICROS_PER_DAY)).collect()
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = array.as_primitive::<TimestampNanosecondType>().values();
            nanos.iter().map(|&nanos| Literal::timestamp_nanos(nanos)).collect()
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().values();
            micros.iter().map(|&micros| Literal::timestamp_micros(micros)).collect()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            let millis = array.as_primitive::<TimestampMillisecondType>().values().iter();
            return millis.map(|&millis| millis.checked_mul(1000).map(Literal::timestamp_micros)).collect();
        }
        _ => return None,
    })
}

fn numbers<T: ArrowPrimitiveType<Native: Into<Literal>>>(array: &ArrayRef) -> Vec<Literal> {
    array.as_primitive::<T>().values().iter().map(|&value| value.into()).collect()
}

//! Converts single values of Arrow arrays to Python values.

use lath::arrow::array::cast::AsArray;
use lath::arrow::array::types::DecimalType;
use lath::arrow::array::types::{
    Date32Type, Date64Type, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use lath::arrow::array::{Array, PrimitiveArray};
use lath::arrow::schema::{DataType, TimeUnit};
use lath::with_decimal_type;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::moment;

/// The value at `index`, or `None` if Python has no class for it: lists, structs and times after the year 9999. Nanoseconds are cut
/// to Python's microseconds.
pub(crate) fn value<'py>(py: Python<'py>, array: &dyn Array, index: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    if array.is_null(index) {
        return Ok(None);
    }
    macro_rules! number {
        ($type:ty) => {
            array.as_primitive::<$type>().value(index).into_pyobject(py)?.into_any()
        };
    }
    let value = match array.data_type() {
        DataType::Boolean => array.as_boolean().value(index).into_pyobject(py)?.to_owned().into_any(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float16 => array.as_primitive::<Float16Type>().value(index).to_f64().into_pyobject(py)?.into_any(),
        DataType::Float32 => number!(Float32Type),
        DataType::Float64 => number!(Float64Type),
        DataType::Utf8 => PyString::new(py, array.as_string::<i32>().value(index)).into_any(),
        DataType::LargeUtf8 => PyString::new(py, array.as_string::<i64>().value(index)).into_any(),
        DataType::Utf8View => PyString::new(py, array.as_string_view().value(index)).into_any(),
        DataType::Binary => PyBytes::new(py, array.as_binary::<i32>().value(index)).into_any(),
        DataType::LargeBinary => PyBytes::new(py, array.as_binary::<i64>().value(index)).into_any(),
        DataType::BinaryView => PyBytes::new(py, array.as_binary_view().value(index)).into_any(),
        DataType::FixedSizeBinary(_) => PyBytes::new(py, array.as_fixed_size_binary().value(index)).into_any(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = dictionary.normalized_keys()[index];
            return value(py, dictionary.values(), key);
        }
        DataType::Date32 => return date(py, i64::from(array.as_primitive::<Date32Type>().value(index))),
        DataType::Date64 => return date(py, array.as_primitive::<Date64Type>().value(index).div_euclid(86_400_000)),
        DataType::Time32(TimeUnit::Second) => {
            time(py, i64::from(array.as_primitive::<Time32SecondType>().value(index)) * 1_000_000)?
        }
        DataType::Time32(_) => time(py, i64::from(array.as_primitive::<Time32MillisecondType>().value(index)) * 1000)?,
        DataType::Time64(TimeUnit::Microsecond) => {
            time(py, array.as_primitive::<Time64MicrosecondType>().value(index))?
        }
        DataType::Time64(_) => time(py, array.as_primitive::<Time64NanosecondType>().value(index) / 1000)?,
        DataType::Timestamp(unit, zone) => {
            let micros = match unit {
                TimeUnit::Second => array.as_primitive::<TimestampSecondType>().value(index).checked_mul(1_000_000),
                TimeUnit::Millisecond => {
                    array.as_primitive::<TimestampMillisecondType>().value(index).checked_mul(1000)
                }
                TimeUnit::Microsecond => Some(array.as_primitive::<TimestampMicrosecondType>().value(index)),
                TimeUnit::Nanosecond => {
                    Some(array.as_primitive::<TimestampNanosecondType>().value(index).div_euclid(1000))
                }
            };
            return micros.map_or(Ok(None), |micros| timestamp(py, micros, zone.is_some()));
        }
        DataType::Duration(unit) => {
            let micros = match unit {
                TimeUnit::Second => array.as_primitive::<DurationSecondType>().value(index).checked_mul(1_000_000),
                TimeUnit::Millisecond => array.as_primitive::<DurationMillisecondType>().value(index).checked_mul(1000),
                TimeUnit::Microsecond => Some(array.as_primitive::<DurationMicrosecondType>().value(index)),
                TimeUnit::Nanosecond => {
                    Some(array.as_primitive::<DurationNanosecondType>().value(index).div_euclid(1000))
                }
            };
            return Ok(micros.and_then(|micros| moment::delta(py, micros)).map(Bound::into_any));
        }
        other => match with_decimal_type!(other, T, _precision, _scale => decimal::<T>(py, array, index)?) {
            Some(value) => value,
            None => return Ok(None),
        },
    };
    Ok(Some(value))
}

fn decimal<'py, T: DecimalType>(py: Python<'py>, array: &dyn Array, index: usize) -> PyResult<Bound<'py, PyAny>> {
    let decimals: &PrimitiveArray<T> = array.as_primitive();
    py.import("decimal")?.call_method1("Decimal", (decimals.value_as_string(index),))
}

fn date(py: Python<'_>, days: i64) -> PyResult<Option<Bound<'_, PyAny>>> {
    // The ordinal of 1970-01-01, and the last valid ordinal.
    match days.checked_add(719_163) {
        Some(ordinal @ 1..=3_652_059) => {
            py.import("datetime")?.getattr("date")?.call_method1("fromordinal", (ordinal,)).map(Some)
        }
        _ => Ok(None),
    }
}

fn time(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    Ok(moment::time(py, micros)?.into_any())
}

/// A timestamp in UTC, or one without a time zone.
fn timestamp(py: Python<'_>, micros: i64, has_zone: bool) -> PyResult<Option<Bound<'_, PyAny>>> {
    let Some(day) = date(py, micros.div_euclid(moment::DAY_MICROS))? else { return Ok(None) };
    let time = moment::time(py, micros.rem_euclid(moment::DAY_MICROS))?;
    let module = py.import("datetime")?;
    let zone = if has_zone { Some(module.getattr("timezone")?.getattr("utc")?) } else { None };
    module.getattr("datetime")?.call_method1("combine", (day, time, zone)).map(Some)
}

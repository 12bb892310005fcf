//! Converts Python values to keys of tables, in the types of the key columns.

use lath::ExactType;
use lath::arrow::array::{Array, Decimal128Array, Int32Array, Int64Array, make_array};
use lath::arrow::schema::{DataType, Field, Schema, TimeUnit};
use lath::table::{Key, KeyValue};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDate, PyDateTime, PyDelta, PyFloat, PyInt, PyList, PyString, PyTime, PyTuple};

use super::moment::{DAY_MICROS, days_since_1970, micros_of_day, micros_of_delta};

/// Nanoseconds of a day.
const DAY_NANOS: i128 = DAY_MICROS as i128 * 1000;

/// The key columns of a table.
pub(crate) struct KeyFields<'s>(Vec<&'s Field>);

/// A date, time or duration of any library, in nanoseconds: since the epoch, since midnight, or of length.
enum Moment {
    Date(i128),
    Timestamp(i128),
    Time(i128),
    Duration(i128),
}

impl<'s> KeyFields<'s> {
    pub(crate) fn new(schema: &'s Schema, key_columns: &[usize]) -> Self {
        Self(key_columns.iter().map(|&column| schema.field(column)).collect())
    }

    /// A key: a value, or a tuple of the values of its columns.
    pub(crate) fn key(&self, key: &Bound<'_, PyAny>) -> PyResult<Key> {
        let values: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
            Ok(values) => values.iter().collect(),
            Err(_) => vec![key.clone()],
        };
        let value = |(at, value): (usize, &Bound<'_, PyAny>)| {
            // Values beyond the columns are an error of the table.
            key_value(value, self.0.get(at).map(|field| field.data_type()))
        };
        Ok(Key::new(values.iter().enumerate().map(value).collect::<PyResult<Vec<_>>>()?))
    }

    /// The keys of a list, an array or a series.
    pub(crate) fn keys(&self, keys: &Bound<'_, PyAny>) -> PyResult<Vec<Key>> {
        if keys.cast::<PyList>().is_err() {
            // A polars series returns nanoseconds only as numbers.
            if let (Some(to_physical), Some(unit)) = (keys.getattr_opt("to_physical")?, polars_unit(keys)?) {
                let counts = to_physical.call0()?.call_method0("to_list")?;
                let key = |count: Bound<'_, PyAny>| {
                    let nanos = count.extract::<Option<i64>>()?.ok_or_else(no_null)?;
                    let data_type = self.0.first().map(|field| field.data_type());
                    Ok(Key::new([unit(i128::from(nanos)).in_type(&count, data_type)?]))
                };
                return counts.try_iter()?.map(|count| key(count?)).collect();
            }
            let has_moments = keys.getattr_opt("type")?.is_some_and(|of| is_temporal(&of));
            let is_numpy = keys.getattr_opt("dtype")?.is_some_and(|of| is_temporal(&of));
            for method in ["to_pylist", "tolist", "to_list"] {
                if let Some(method) = keys.getattr_opt(method)?.filter(|_| !has_moments && !is_numpy) {
                    return self.keys(&method.call0()?);
                }
            }
        }
        keys.try_iter()?.map(|key| self.key(&key?)).collect()
    }
}

/// Whether a type of pyarrow or numpy is one of dates, times or durations.
fn is_temporal(data_type: &Bound<'_, PyAny>) -> bool {
    let is_arrow = |name: &str| ["time", "date", "duration"].iter().any(|start| name.starts_with(start));
    data_type.str().is_ok_and(|name| name.to_cow().is_ok_and(|name| is_arrow(&name)))
}

/// Makes a moment of a number of units.
type MakeMoment = fn(i128) -> Moment;

/// The kind of value that a polars series counts in nanoseconds.
fn polars_unit(series: &Bound<'_, PyAny>) -> PyResult<Option<MakeMoment>> {
    let Some(data_type) = series.getattr_opt("dtype")? else { return Ok(None) };
    let name = data_type.str()?;
    let name = name.to_cow()?;
    Ok(match &*name {
        "Time" => Some(Moment::Time),
        name if name.starts_with("Datetime(time_unit='ns'") => Some(Moment::Timestamp),
        name if name.starts_with("Duration(time_unit='ns'") => Some(Moment::Duration),
        _ => None,
    })
}

fn key_value(value: &Bound<'_, PyAny>, data_type: Option<&DataType>) -> PyResult<KeyValue> {
    let data_type = match data_type {
        Some(DataType::Dictionary(_, values)) => Some(&**values),
        other => other,
    };
    if value.is_none() {
        return Err(no_null());
    }
    if let Some(moment) = to_moment(value)? {
        return moment.in_type(value, data_type);
    }
    if let Some((_, scale)) = data_type.and_then(precision_and_scale)
        && let Some(number) = unscaled(value, scale)?
    {
        return exact(value, data_type, number);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(KeyValue::Boolean(value.is_true()));
    }
    if value.cast::<PyInt>().is_ok() {
        return Ok(KeyValue::Integer(value.extract()?));
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(KeyValue::Float(value.value()));
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(KeyValue::Text(value.to_cow()?.into_owned()));
    }
    if let Ok(value) = value.cast::<PyBytes>() {
        return Ok(KeyValue::Bytes(value.as_bytes().to_vec()));
    }
    let py = value.py();
    if value.is_instance(&py.import("uuid")?.getattr("UUID")?)? {
        return Ok(KeyValue::Bytes(value.getattr("bytes")?.extract()?));
    }
    if value.is_instance(&py.import("decimal")?.getattr("Decimal")?)? {
        let integer = value.call_method0("__int__")?;
        if integer.eq(value)? {
            return key_value(&integer, data_type);
        }
        return Ok(KeyValue::Text(value.str()?.extract()?));
    }
    for method in ["as_py", "item"] {
        if let Some(method) = value.getattr_opt(method)? {
            return key_value(&method.call0()?, data_type);
        }
    }
    let name = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("no key has a value of the class {name}")))
}

/// A decimal as its digits without the point; `None` if it is not a number, or has more digits than the scale holds.
fn unscaled(value: &Bound<'_, PyAny>, scale: i8) -> PyResult<Option<i128>> {
    let value = match value.getattr_opt("as_py")? {
        Some(method) => method.call0()?,
        None => match value.getattr_opt("dtype")?.is_some() {
            true => value.call_method0("item")?,
            false => value.clone(),
        },
    };
    let decimal = value.py().import("decimal")?.getattr("Decimal")?;
    let is_number = value.cast::<PyInt>().is_ok() || value.cast::<PyFloat>().is_ok() || value.is_instance(&decimal)?;
    if !is_number || value.cast::<PyBool>().is_ok() {
        return Ok(None);
    }
    let number = decimal.call1((&value,))?;
    if !number.call_method0("is_finite")?.is_truthy()? {
        return Ok(None);
    }
    let (sign, digits, exponent): (u8, Vec<u8>, i64) = number.call_method0("as_tuple")?.extract()?;
    let digits = digits.iter().try_fold(0_i128, |all, &digit| all.checked_mul(10)?.checked_add(digit.into()));
    let power = exponent + i64::from(scale);
    let scaled = digits.and_then(|digits| {
        let factor = 10_i128.checked_pow(u32::try_from(power.unsigned_abs()).ok()?)?;
        if digits == 0 {
            return Some(0);
        }
        if power < 0 { (digits % factor == 0).then_some(digits / factor) } else { digits.checked_mul(factor) }
    });
    let scaled = scaled.ok_or_else(|| unfit(&value, &format!("a decimal with {scale} digits behind the point")))?;
    Ok(Some(if sign == 0 { scaled } else { -scaled }))
}

/// The date, time or duration that a value is in its library.
fn to_moment(value: &Bound<'_, PyAny>) -> PyResult<Option<Moment>> {
    if value.cast::<PyInt>().is_ok() || value.cast::<PyString>().is_ok() || value.cast::<PyBytes>().is_ok() {
        return Ok(None);
    }
    // Scalars of pyarrow.
    if value.getattr_opt("as_py")?.is_some() {
        let Some(data_type) = value.getattr_opt("type")?.filter(is_temporal) else { return Ok(None) };
        let name = data_type.str()?;
        let name = name.to_cow()?;
        let (kind, unit) = name.split_once('[').unwrap_or((&name, ""));
        let Some(count) = value.getattr("value")?.extract::<Option<i64>>()? else { return Err(no_null()) };
        let nanos = i128::from(count) * nanos_per(unit.split([',', ']']).next().unwrap_or_default());
        return Ok(Some(match kind {
            "timestamp" => Moment::Timestamp(nanos),
            "date32" => Moment::Date(i128::from(count) * DAY_NANOS),
            "date64" => Moment::Date(nanos),
            "duration" => Moment::Duration(nanos),
            _ => Moment::Time(nanos),
        }));
    }
    // A value of numpy, which counts days too.
    if let Some(data_type) = value.getattr_opt("dtype")? {
        let kind: String = data_type.getattr("kind")?.extract()?;
        if kind != "M" && kind != "m" {
            return Ok(None);
        }
        if value.ne(value)? {
            return Err(no_null());
        }
        let name = if kind == "M" { "datetime64" } else { "timedelta64" };
        let count = |unit: &str| -> PyResult<i128> {
            let moment =
                value.call_method1("astype", (format!("{name}[{unit}]"),))?.call_method1("astype", ("int64",))?;
            moment.call_method0("item")?.extract()
        };
        // numpy wraps around where a unit is too fine.
        let micros = count("us")?;
        let nanos = if micros.abs() < i128::from(i64::MAX / 1000) { count("ns")? } else { micros * 1000 };
        return Ok(Some(if kind == "M" { Moment::Timestamp(nanos) } else { Moment::Duration(nanos) }));
    }
    // A value of pandas, which is also of a class of Python.
    let is_pandas = value.getattr_opt("as_unit")?.is_some() || value.getattr_opt("nanosecond")?.is_some();
    if is_pandas && value.ne(value)? {
        return Err(no_null());
    }
    let pandas_nanos = || -> Option<i128> {
        let nanos = value.call_method1("as_unit", ("ns",)).ok()?;
        nanos.getattr("value").ok()?.extract().ok()
    };
    if let Ok(delta) = value.cast::<PyDelta>() {
        let nanos = is_pandas.then(pandas_nanos).flatten();
        return Ok(Some(Moment::Duration(nanos.unwrap_or_else(|| i128::from(micros_of_delta(delta)) * 1000))));
    }
    if let Ok(moment) = value.cast::<PyDateTime>() {
        if let Some(nanos) = is_pandas.then(pandas_nanos).flatten() {
            return Ok(Some(Moment::Timestamp(nanos)));
        }
        let mut micros = days_since_1970(moment.as_any().cast::<PyDate>()?) * DAY_MICROS + micros_of_day(moment);
        let offset = moment.call_method0("utcoffset")?;
        if !offset.is_none() {
            micros -= micros_of_delta(offset.cast::<PyDelta>()?);
        }
        return Ok(Some(Moment::Timestamp(i128::from(micros) * 1000)));
    }
    if let Ok(date) = value.cast::<PyDate>() {
        return Ok(Some(Moment::Date(i128::from(days_since_1970(date)) * DAY_NANOS)));
    }
    if let Ok(time) = value.cast::<PyTime>() {
        return Ok(Some(Moment::Time(i128::from(micros_of_day(time)) * 1000)));
    }
    Ok(None)
}

/// Nanoseconds of a unit as pyarrow calls it.
fn nanos_per(unit: &str) -> i128 {
    match unit {
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1000,
        "day" => DAY_NANOS,
        _ => 1,
    }
}

impl Moment {
    /// The value in the type of a column, which has to hold it exactly.
    fn in_type(&self, value: &Bound<'_, PyAny>, data_type: Option<&DataType>) -> PyResult<KeyValue> {
        let (nanos, unit) = match (self, data_type) {
            (Self::Timestamp(nanos) | Self::Date(nanos), Some(DataType::Timestamp(unit, _)))
            | (Self::Time(nanos), Some(DataType::Time32(unit) | DataType::Time64(unit)))
            | (Self::Duration(nanos), Some(DataType::Duration(unit))) => (*nanos, nanos_per_unit(*unit)),
            (Self::Timestamp(nanos) | Self::Date(nanos), Some(DataType::Date32)) => (*nanos, DAY_NANOS),
            // Date64 counts milliseconds of whole days.
            (Self::Timestamp(nanos) | Self::Date(nanos), Some(DataType::Date64)) if nanos % DAY_NANOS == 0 => {
                (*nanos, 1_000_000)
            }
            // Arrow reads other types from the text.
            _ => {
                let text = match value.getattr_opt("isoformat")? {
                    Some(method) => method.call0()?.extract()?,
                    None => value.str()?.extract()?,
                };
                return Ok(KeyValue::Text(text));
            }
        };
        if nanos % unit != 0 {
            return Err(unfit(value, &data_type.map_or_else(String::new, ToString::to_string)));
        }
        exact(value, data_type, nanos / unit)
    }
}

fn nanos_per_unit(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Precision and scale of a decimal of at most 38 digits.
fn precision_and_scale(data_type: &DataType) -> Option<(u8, i8)> {
    ExactType::new(data_type).filter(|exact| exact.width <= 16)?.precision_and_scale()
}

/// A number as a value of the type that stores it so.
fn exact(value: &Bound<'_, PyAny>, data_type: Option<&DataType>, number: i128) -> PyResult<KeyValue> {
    let Some(data_type) = data_type else { return Ok(KeyValue::Integer(number)) };
    let no_such = || unfit(value, &data_type.to_string());
    if let Some((precision, _)) = precision_and_scale(data_type)
        && 10_i128.checked_pow(precision.into()).is_some_and(|end| number.abs() >= end)
    {
        return Err(no_such());
    }
    let stored = match data_type.primitive_width() {
        Some(4) => Int32Array::from(vec![i32::try_from(number).map_err(|_| no_such())?]).to_data(),
        Some(8) => Int64Array::from(vec![i64::try_from(number).map_err(|_| no_such())?]).to_data(),
        _ => Decimal128Array::from(vec![number]).to_data(),
    };
    let data = stored.into_builder().data_type(data_type.clone()).build();
    let data = data.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(KeyValue::Array(make_array(data)))
}

fn no_null() -> PyErr {
    PyTypeError::new_err("a key has no nulls")
}

fn unfit(value: &Bound<'_, PyAny>, data_type: &str) -> PyErr {
    let shown = value.str().map_or_else(|_| String::new(), |text| text.to_string());
    PyValueError::new_err(format!("{shown} is no key: the column is {data_type}, which has no such value"))
}

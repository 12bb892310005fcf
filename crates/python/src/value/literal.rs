//! Converts Python values to literals of conditions.

use lath::Literal;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDict, PyFloat, PyInt, PyString, PyTime,
    PyTzInfoAccess,
};

use super::moment::{DAY_MICROS, days_since_1970, micros_of_day, micros_of_delta};
use lath_pyo3::error::Failure;

/// The value as a literal. Naive times are in UTC, as columns without a time zone are.
pub(crate) fn literal(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    if value.is_none() {
        return Ok(Literal::NULL);
    }
    // Booleans are integers to Python, and datetimes are dates.
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(value.is_true().into());
    }
    if value.cast::<PyInt>().is_ok() {
        return match value.extract::<i64>() {
            Ok(value) => Ok(value.into()),
            Err(_) => number(&value.str()?),
        };
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(value.to_cow()?.into_owned().into());
    }
    if let Ok(value) = value.cast_exact::<PyFloat>() {
        return Ok(value.value().into());
    }
    if let Ok(value) = value.cast::<PyBytes>() {
        return Ok(value.as_bytes().into());
    }
    if let Ok(value) = value.cast::<PyByteArray>() {
        return Ok(value.to_vec().into());
    }
    if let Ok(value) = value.cast::<PyDateTime>() {
        return timestamp(value);
    }
    if let Ok(value) = value.cast::<PyDate>() {
        return Ok(Literal::date(value.get_year(), value.get_month(), value.get_day()).map_err(Failure::from)?);
    }
    if let Ok(value) = value.cast::<PyTime>() {
        if value.get_tzinfo().is_some() {
            return Err(PyTypeError::new_err("a time of day with a time zone is no point in time: give a datetime"));
        }
        return Ok(Literal::time(micros_of_day(value) as u64 * 1000).map_err(Failure::from)?);
    }
    if value.cast::<PyDelta>().is_ok() {
        return Err(PyTypeError::new_err("a condition cannot compare durations"));
    }
    other(value)
}

/// Values of an iterable, of an array, or of a series.
pub(crate) fn literals(values: &Bound<'_, PyAny>) -> PyResult<Vec<Literal>> {
    if values.cast::<PyString>().is_ok() || values.cast::<PyBytes>().is_ok() {
        return Err(PyTypeError::new_err("one string is not a list of values: write [value]"));
    }
    if values.cast::<PyDict>().is_ok() || values.hasattr("columns")? || values.hasattr("column_names")? {
        let kind = values.get_type().name()?;
        return Err(PyTypeError::new_err(format!("a {kind} is not a list of values: give one column of it")));
    }
    if let Some(nanos) = polars_nanos(values)? {
        return Ok(nanos);
    }
    for method in ["to_pylist", "tolist", "to_list"] {
        if let Some(method) = values.getattr_opt(method)? {
            // numpy would convert nanoseconds to integers, and pyarrow would cut them to microseconds, so such elements are
            // converted one by one.
            if numpy_kind(values)?.is_none_or(|kind| kind != "M") && !has_fine_times(values)? {
                return method.call0()?.try_iter()?.map(|value| literal(&value?)).collect();
            }
        }
    }
    values.try_iter()?.map(|value| literal(&value?)).collect()
}

/// Whether an array of pyarrow has points in time or times of day.
fn has_fine_times(values: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(data_type) = values.getattr_opt("type")? else { return Ok(false) };
    let name = data_type.str()?;
    let name = name.to_cow()?;
    Ok(name.starts_with("time"))
}

/// The values of a polars series in nanoseconds, which polars would cut to microseconds.
fn polars_nanos(values: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Literal>>> {
    let (Some(data_type), Some(to_physical)) = (values.getattr_opt("dtype")?, values.getattr_opt("to_physical")?)
    else {
        return Ok(None);
    };
    let name = data_type.str()?;
    let is_time = match &*name.to_cow()? {
        "Time" => true,
        name if name.starts_with("Datetime(time_unit='ns'") => false,
        _ => return Ok(None),
    };
    let nanos = to_physical.call0()?.call_method0("to_list")?;
    let nanos = nanos.try_iter()?.map(|nanos| {
        Ok(match nanos?.extract::<Option<i64>>()? {
            None => Literal::NULL,
            Some(nanos) if is_time => Literal::time(nanos.unsigned_abs()).map_err(Failure::from)?,
            Some(nanos) => Literal::timestamp_nanos(nanos),
        })
    });
    nanos.collect::<PyResult<_>>().map(Some)
}

fn number(text: &Bound<'_, PyString>) -> PyResult<Literal> {
    Ok(text.to_cow()?.parse::<Literal>().map_err(Failure::from)?)
}

fn timestamp(value: &Bound<'_, PyDateTime>) -> PyResult<Literal> {
    // A `pandas.Timestamp` has nanoseconds, as `value`, except in years that they do not reach.
    if value.getattr_opt("nanosecond")?.is_some() {
        // `NaT` is one too, and equals nothing.
        if value.ne(value)? {
            return Ok(Literal::NULL);
        }
        if let Ok(nanos) = value.call_method1("as_unit", ("ns",)) {
            return Ok(Literal::timestamp_nanos(nanos.getattr("value")?.extract()?));
        }
    }
    let date = value.as_any().cast::<PyDate>()?;
    let mut micros = days_since_1970(date) * DAY_MICROS + micros_of_day(value);
    let offset = value.call_method0("utcoffset")?;
    if !offset.is_none() {
        micros -= micros_of_delta(offset.cast::<PyDelta>()?);
    }
    Ok(Literal::timestamp_micros(micros))
}

/// Values of other classes: decimals, UUIDs, and scalars of numpy, pyarrow and others.
fn other(value: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let py = value.py();
    if value.is_instance(&py.import("decimal")?.getattr("Decimal")?)? {
        if value.call_method0("is_finite")?.is_truthy()? {
            return number(&value.str()?);
        }
        return Ok(value.extract::<f64>()?.into());
    }
    if value.is_instance(&py.import("uuid")?.getattr("UUID")?)? {
        return Ok(Literal::uuid(value.getattr("bytes")?.extract()?));
    }
    if let Some(convert) = value.getattr_opt("as_py")? {
        return match arrow_moment(value)? {
            Some(moment) => Ok(moment),
            None => literal(&convert.call0()?),
        };
    }
    if value.get_type().name()? == "NAType" {
        return Ok(Literal::NULL);
    }
    if let Some(kind) = numpy_kind(value)? {
        let plain = value.call_method0("item")?;
        if kind == "m" {
            return Err(PyTypeError::new_err("a condition cannot compare durations"));
        }
        if kind == "M" && plain.cast::<PyInt>().is_ok() {
            let count = |unit: &str| -> PyResult<i64> {
                let moment = value.call_method1("astype", (unit,))?.call_method1("astype", ("int64",))?;
                moment.call_method0("item")?.extract()
            };
            // numpy wraps around where a unit is too fine.
            let micros = count("datetime64[us]")?;
            return match micros.checked_mul(1000) {
                Some(_) => Ok(Literal::timestamp_nanos(count("datetime64[ns]")?)),
                None => Ok(Literal::timestamp_micros(micros)),
            };
        }
        if !plain.is(value) {
            return literal(&plain);
        }
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(value.value().into());
    }
    let name = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("a condition cannot compare with a value of the class {name}")))
}

/// A pyarrow scalar that is a point in time or a time of day. Python would keep only its microseconds.
fn arrow_moment(scalar: &Bound<'_, PyAny>) -> PyResult<Option<Literal>> {
    let Some(data_type) = scalar.getattr_opt("type")? else { return Ok(None) };
    let name = data_type.str()?;
    let name = name.to_cow()?;
    let Some((kind, unit)) = name.split_once('[') else { return Ok(None) };
    if !matches!(kind, "timestamp" | "time32" | "time64") {
        return Ok(None);
    }
    let nanos_per_unit: i64 = match unit.split([',', ']']).next() {
        Some("s") => 1_000_000_000,
        Some("ms") => 1_000_000,
        Some("us") => 1000,
        _ => 1,
    };
    let Some(count) = scalar.getattr("value")?.extract::<Option<i64>>()? else { return Ok(Some(Literal::NULL)) };
    if kind != "timestamp" {
        let nanos = count.unsigned_abs().saturating_mul(nanos_per_unit.unsigned_abs());
        return Ok(Some(Literal::time(nanos).map_err(Failure::from)?));
    }
    if let Some(nanos) = count.checked_mul(nanos_per_unit) {
        return Ok(Some(Literal::timestamp_nanos(nanos)));
    }
    let micros = count.checked_mul(nanos_per_unit / 1000);
    let micros =
        micros.ok_or_else(|| PyTypeError::new_err(format!("{name}: a condition has no such point in time")))?;
    Ok(Some(Literal::timestamp_micros(micros)))
}

/// The kind of a scalar or array of numpy: `M` for points in time, `m` for durations.
fn numpy_kind(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let Some(data_type) = value.getattr_opt("dtype")? else { return Ok(None) };
    data_type.getattr_opt("kind")?.map(|kind| kind.extract()).transpose()
}

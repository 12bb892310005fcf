//! Values of Python as literals of conditions.

use lath::Literal;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyFloat, PyInt, PyString, PyTime,
    PyTzInfoAccess,
};

use crate::moment::{DAY_MICROS, days_of, micros_of_day, micros_of_delta};
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
    for method in ["to_pylist", "tolist", "to_list"] {
        if let Some(method) = values.getattr_opt(method)? {
            // Where numpy would cut nanoseconds to integers, its elements are converted one by one.
            if kind_of(values)?.is_none_or(|kind| kind != "M") {
                return method.call0()?.try_iter()?.map(|value| literal(&value?)).collect();
            }
        }
    }
    values.try_iter()?.map(|value| literal(&value?)).collect()
}

fn number(text: &Bound<'_, PyString>) -> PyResult<Literal> {
    Ok(text.to_cow()?.parse::<Literal>().map_err(Failure::from)?)
}

fn timestamp(value: &Bound<'_, PyDateTime>) -> PyResult<Literal> {
    // A `pandas.Timestamp` has nanoseconds, as `value`.
    if value.getattr_opt("nanosecond")?.is_some() {
        return Ok(Literal::timestamp_nanos(value.call_method1("as_unit", ("ns",))?.getattr("value")?.extract()?));
    }
    let date = value.as_any().cast::<PyDate>()?;
    let mut micros = days_of(date) * DAY_MICROS + micros_of_day(value);
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
        return literal(&convert.call0()?);
    }
    if let Some(kind) = kind_of(value)? {
        let plain = value.call_method0("item")?;
        if kind == "m" {
            return Err(PyTypeError::new_err("a condition cannot compare durations"));
        }
        if kind == "M" && plain.cast::<PyInt>().is_ok() {
            let nanos = value.call_method1("astype", ("datetime64[ns]",))?.call_method1("astype", ("int64",))?;
            return Ok(Literal::timestamp_nanos(nanos.call_method0("item")?.extract()?));
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

/// The kind of a scalar or array of numpy: `M` for points in time, `m` for durations.
fn kind_of(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let Some(data_type) = value.getattr_opt("dtype")? else { return Ok(None) };
    data_type.getattr_opt("kind")?.map(|kind| kind.extract()).transpose()
}

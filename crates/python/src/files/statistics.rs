//! Statistics, as objects of `lath._statistics`.

use lath::arrow::array::ArrayRef;
use lath::{Precision, Statistics};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

use crate::value::value;

/// Statistics of rows and columns as a Python object.
pub(crate) fn statistics(py: Python<'_>, statistics: Statistics) -> PyResult<Bound<'_, PyAny>> {
    let module = py.import("lath._statistics")?;
    let columns = PyDict::new(py);
    for column in statistics.columns {
        let values = PyDict::new(py);
        values.set_item("name", column.field.name())?;
        values.set_item("type", column.field.data_type().to_string())?;
        values.set_item("null_count", known(&module, column.null_count)?)?;
        values.set_item("nan_count", known(&module, column.nan_count)?)?;
        values.set_item("distinct_count", known(&module, column.distinct_count)?)?;
        values.set_item("min", known_value(&module, column.min)?)?;
        values.set_item("max", known_value(&module, column.max)?)?;
        values.set_item("byte_count", known(&module, column.byte_count)?)?;
        values.set_item("uncompressed_byte_count", known(&module, column.uncompressed_byte_count)?)?;
        columns.set_item(column.field.name(), module.getattr("ColumnStatistics")?.call((), Some(&values))?)?;
    }
    let (rows, bytes) = (known(&module, statistics.row_count)?, known(&module, statistics.byte_count)?);
    module.call_method1("Statistics", (rows, bytes, columns))
}

fn known<'py>(module: &Bound<'py, PyModule>, figure: Precision<u64>) -> PyResult<Option<Bound<'py, PyAny>>> {
    figure.value().map(|value| module.call_method1("Known", (*value, figure.is_exact()))).transpose()
}

/// A bound of a column; `None` if Python has no such value.
fn known_value<'py>(module: &Bound<'py, PyModule>, bound: Precision<ArrayRef>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(array) = bound.value() else { return Ok(None) };
    let value = value(module.py(), array, 0)?;
    value.map(|value| module.call_method1("Known", (value, bound.is_exact()))).transpose()
}

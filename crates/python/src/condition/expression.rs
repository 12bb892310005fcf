//! Conditions: `lath.col("price") > 3`.

use lath::{Column, Predicate, column, column_named};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::value::{literal, literals};
use lath_pyo3::error::{Failure, Kind};

/// Conditions may nest as deep as in SQL text.
const MAX_DEPTH: usize = 200;

/// A column, or a field or map value in one.
#[pyclass(name = "Column", module = "lath", frozen)]
#[derive(Debug)]
pub(crate) struct PyColumn {
    column: Column,
    text: String,
}

/// A condition on rows.
#[pyclass(name = "Predicate", module = "lath", frozen)]
#[derive(Debug, Clone)]
pub(crate) struct PyPredicate {
    predicate: Predicate,
    shape: Shape,
    depth: usize,
}

/// The operator at the top of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Test,
    And,
    Or,
    Not,
}

/// The column called `name`. Dots separate fields of structs, unless `exact` is true.
#[pyfunction]
#[pyo3(signature = (name, *, exact = false))]
pub(crate) fn col(name: &str, exact: bool) -> PyColumn {
    let column = if exact { column_named(name) } else { column(name) };
    PyColumn { column, text: format!("col({name:?})") }
}

/// The condition of an SQL text.
#[pyfunction]
#[pyo3(name = "where", signature = (condition, /))]
pub(crate) fn where_(condition: &Bound<'_, PyAny>) -> PyResult<PyPredicate> {
    PyPredicate::of(condition)
}

#[pymethods]
impl PyColumn {
    /// A field of a struct. Its name may have any characters.
    fn field(&self, name: &str) -> Self {
        Self { column: self.column.clone().field(name), text: format!("{}.field({name:?})", self.text) }
    }

    /// The value of `key` in a map.
    fn at(&self, key: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = format!("{}.at({})", self.text, key.repr()?);
        Ok(Self { column: self.column.clone().at(literal(key)?), text })
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> PyResult<PyPredicate> {
        let this = self.column.clone();
        if let Ok(other) = other.cast::<Self>() {
            let other = other.get().column.clone();
            return Ok(PyPredicate::test(match op {
                CompareOp::Eq => this.eq_column(other),
                CompareOp::Ne => !this.eq_column(other),
                CompareOp::Lt => this.lt_column(other),
                CompareOp::Le => this.le_column(other),
                CompareOp::Gt => other.lt_column(this),
                CompareOp::Ge => other.le_column(this),
            }));
        }
        if other.is_none() {
            return Err(PyTypeError::new_err("nothing compares with None: use is_null() or is_not_null()"));
        }
        let value = literal(other)?;
        Ok(PyPredicate::test(match op {
            CompareOp::Eq => this.eq(value),
            CompareOp::Ne => this.not_eq(value),
            CompareOp::Lt => this.lt(value),
            CompareOp::Le => this.le(value),
            CompareOp::Gt => this.gt(value),
            CompareOp::Ge => this.ge(value),
        }))
    }

    /// `BETWEEN`, which includes both ends.
    fn between(&self, low: &Bound<'_, PyAny>, high: &Bound<'_, PyAny>) -> PyResult<PyPredicate> {
        Ok(PyPredicate::test(self.column.clone().between(literal(low)?, literal(high)?)))
    }

    /// `IN`, with any number of values.
    fn isin(&self, values: &Bound<'_, PyAny>) -> PyResult<PyPredicate> {
        Ok(PyPredicate::test(self.column.clone().is_in(literals(values)?)))
    }

    /// `IS NULL`
    fn is_null(&self) -> PyPredicate {
        PyPredicate::test(self.column.clone().is_null())
    }

    /// `IS NOT NULL`
    fn is_not_null(&self) -> PyPredicate {
        PyPredicate::test(self.column.clone().is_not_null())
    }

    /// `IS DISTINCT FROM`
    fn is_distinct_from(&self, value: &Bound<'_, PyAny>) -> PyResult<PyPredicate> {
        Ok(PyPredicate::test(self.column.clone().is_distinct_from(literal(value)?)))
    }

    /// `LIKE`
    fn like(&self, pattern: &str) -> PyPredicate {
        PyPredicate::test(self.column.clone().like(pattern))
    }

    /// `ILIKE`
    fn ilike(&self, pattern: &str) -> PyPredicate {
        PyPredicate::test(self.column.clone().ilike(pattern))
    }

    /// Whether a string starts with `prefix`.
    fn starts_with(&self, prefix: &str) -> PyPredicate {
        PyPredicate::test(self.column.clone().starts_with(prefix))
    }

    /// Whether a list has `element`.
    fn list_contains(&self, element: &Bound<'_, PyAny>) -> PyResult<PyPredicate> {
        Ok(PyPredicate::test(self.column.clone().contains(literal(element)?)))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyPredicate> {
        self.truth().__and__(other)
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<PyPredicate> {
        self.truth().__or__(other)
    }

    fn __invert__(&self) -> PyResult<PyPredicate> {
        self.truth().__invert__()
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(no_truth())
    }

    fn __repr__(&self) -> &str {
        &self.text
    }
}

impl PyColumn {
    /// A column of booleans as a condition.
    fn truth(&self) -> PyPredicate {
        PyPredicate::test(self.column.clone().eq(true))
    }
}

#[pymethods]
impl PyPredicate {
    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.join(operand(other)?, Shape::And)
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.join(operand(other)?, Shape::Or)
    }

    fn __invert__(&self) -> PyResult<Self> {
        Self { predicate: !self.predicate.clone(), shape: Shape::Not, depth: self.depth + 1 }.check()
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(no_truth())
    }

    fn __str__(&self) -> String {
        self.predicate.to_string()
    }

    /// Pickles the SQL text.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.import("lath._lath")?.getattr("where")?, (self.predicate.to_string(),)))
    }

    fn __repr__(&self) -> String {
        format!("where({:?})", self.predicate.to_string())
    }
}

impl PyPredicate {
    /// Whether this is SQL text or made of columns of Lath.
    pub(crate) fn is_of_lath(condition: &Bound<'_, PyAny>) -> bool {
        condition.is_instance_of::<PyString>()
            || condition.is_instance_of::<Self>()
            || condition.is_instance_of::<PyColumn>()
    }

    pub(crate) fn predicate(&self) -> Predicate {
        self.predicate.clone()
    }

    /// A condition of the caller: SQL text, or built from columns.
    pub(crate) fn of(condition: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = condition.cast::<PyString>() {
            return Ok(Self::test(Predicate::parse(&text.to_cow()?).map_err(Failure::predicate)?));
        }
        operand(condition)
    }

    fn test(predicate: Predicate) -> Self {
        Self { predicate, shape: Shape::Test, depth: 1 }
    }

    fn join(&self, other: Self, shape: Shape) -> PyResult<Self> {
        // Conditions of the same kind become one list.
        let below = |part: &Self| if part.shape == shape { part.depth } else { part.depth + 1 };
        let depth = below(self).max(below(&other));
        let (left, right) = (self.predicate.clone(), other.predicate);
        let predicate = if shape == Shape::And { left & right } else { left | right };
        Self { predicate, shape, depth }.check()
    }

    fn check(self) -> PyResult<Self> {
        if self.depth > MAX_DEPTH {
            let message = format!("where: conditions nest at most {MAX_DEPTH} levels deep");
            return Err(Failure::new(Kind::Limit, message).into());
        }
        Ok(self)
    }
}

fn operand(value: &Bound<'_, PyAny>) -> PyResult<PyPredicate> {
    if let Ok(predicate) = value.cast::<PyPredicate>() {
        return Ok(predicate.get().clone());
    }
    if let Ok(column) = value.cast::<PyColumn>() {
        return Ok(column.get().truth());
    }
    // An expression of pyarrow or polars.
    let translated = value.py().import("lath._translate")?.call_method1("predicate", (value,))?;
    if let Ok(predicate) = translated.cast::<PyPredicate>() {
        return Ok(predicate.get().clone());
    }
    let name = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a value of the class {name} is no condition: give SQL text, or a condition such as lath.col(\"price\") > 3"
    )))
}

fn no_truth() -> PyErr {
    PyTypeError::new_err(
        "a condition is neither true nor false by itself: join conditions with &, | and ~, in parentheses",
    )
}

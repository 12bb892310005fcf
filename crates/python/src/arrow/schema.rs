//! Schemas.

use lath::arrow::schema::SchemaRef;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use lath_pyo3::capsule;

/// The names and types of columns.
#[pyclass(name = "Schema", module = "lath", frozen)]
#[derive(Debug)]
pub(crate) struct PySchema {
    schema: SchemaRef,
}

impl PySchema {
    pub(crate) fn new(schema: SchemaRef) -> Self {
        Self { schema }
    }
}

/// The schema in the capsule that `__arrow_c_schema__` of another module returns.
#[pyfunction]
#[pyo3(signature = (capsule, /))]
pub(crate) fn schema(capsule: &Bound<'_, PyCapsule>) -> PyResult<PySchema> {
    Ok(PySchema::new(capsule::schema_from_capsule(capsule)?.into()))
}

#[pymethods]
impl PySchema {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// The Arrow types of the columns, as text.
    #[getter]
    fn types(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    /// The schema as a pyarrow schema.
    fn to_arrow<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("pyarrow")?.call_method1("schema", (this,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::schema_out(py, &self.schema)
    }

    fn __len__(&self) -> usize {
        self.schema.fields().len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.schema.field_with_name(name).is_ok()
    }

    /// The type of the column called `name`, as text.
    fn __getitem__(&self, name: &str) -> PyResult<String> {
        match self.schema.field_with_name(name) {
            Ok(field) => Ok(field.data_type().to_string()),
            Err(_) => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, op: CompareOp) -> Option<bool> {
        let equal = self.schema == other.cast::<Self>().ok()?.get().schema;
        match op {
            CompareOp::Eq => Some(equal),
            CompareOp::Ne => Some(!equal),
            _ => None,
        }
    }

    fn __repr__(&self) -> String {
        let null = |nullable| if nullable { "" } else { " not null" };
        let field = |field: &lath::arrow::schema::Field| {
            format!("{}: {}{}", field.name(), field.data_type(), null(field.is_nullable()))
        };
        self.schema.fields().iter().map(|it| field(it)).collect::<Vec<_>>().join("\n")
    }
}

#![expect(unsafe_code, reason = "the Arrow C data interface passes structures by pointer")]
//! Arrow data in and out by the `PyCapsule` interface: <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

use std::ffi::CStr;
use std::slice;

use lath::arrow::array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use lath::arrow::array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use lath::arrow::array::{Array, RecordBatch, RecordBatchReader, StructArray};
use lath::arrow::schema::{DataType, Schema};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyCapsuleMethods, PyTuple};

use crate::error::Failure;
use crate::work::guard;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// What gives batches: a stream of another library, or batches that are there.
pub type Reader = Box<dyn RecordBatchReader + Send>;

/// The schema as a capsule.
///
/// # Errors
/// If Arrow has no such type in its interface.
pub fn schema_out<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(Failure::from)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// The batch as capsules of its schema and of a struct array.
///
/// # Errors
/// If Arrow has no such type in its interface.
pub fn batch_out<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let rows = StructArray::from(batch.clone()).into_data();
    let (array, _) = to_ffi(&rows).map_err(Failure::from)?;
    Ok((schema_out(py, &batch.schema())?, PyCapsule::new_with_value(py, array, ARRAY)?))
}

/// The batches as a capsule. They are asked for by whoever takes it, on any thread.
///
/// # Errors
/// If Arrow has no such type in its interface.
pub fn stream_out(py: Python<'_>, reader: Reader) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// The type that an object has, by `__arrow_c_schema__`.
///
/// # Errors
/// If the object has no such data, or malformed ones.
pub fn data_type_in(object: &Bound<'_, PyAny>) -> PyResult<DataType> {
    Ok(schema_of(object)?.0)
}

/// The columns that an object has, by `__arrow_c_schema__`.
///
/// # Errors
/// If the object has no such data, or malformed ones.
pub fn schema_in(object: &Bound<'_, PyAny>) -> PyResult<Schema> {
    schema_of(object)?.1.ok_or_else(|| PyTypeError::new_err("this is the type of a column, not a schema"))
}

fn schema_of(object: &Bound<'_, PyAny>) -> PyResult<(DataType, Option<Schema>)> {
    let capsule = call(object, "__arrow_c_schema__")?
        .ok_or_else(|| PyTypeError::new_err(format!("{} has no __arrow_c_schema__", name_of(object))))?;
    types_of(capsule.cast::<PyCapsule>()?)
}

/// The columns of a capsule with a schema.
///
/// # Errors
/// If they are malformed, or the capsule has the type of a column.
pub fn columns_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<Schema> {
    types_of(capsule)?.1.ok_or_else(|| PyTypeError::new_err("this is the type of a column, not a schema"))
}

fn types_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<(DataType, Option<Schema>)> {
    let pointer = capsule.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the capsule has this name, so that it holds such a structure, which lives as long as the capsule.
    let schema = unsafe { pointer.as_ref() };
    // Arrow panics where a structure was released.
    Ok(guard(|| {
        let data_type = DataType::try_from(schema)?;
        let is_table = matches!(data_type, DataType::Struct(_));
        let whole = is_table.then(|| Schema::try_from(schema)).transpose()?;
        Ok((data_type, whole))
    })?)
}

/// The metadata of a schema, in order and with keys that occur several times, which maps of other libraries lose.
///
/// # Errors
/// If the object has no schema.
#[pyfunction]
#[pyo3(signature = (schema, /))]
pub fn schema_metadata<'py>(schema: &Bound<'py, PyAny>) -> PyResult<Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
    let py = schema.py();
    let capsule = call(schema, "__arrow_c_schema__")?
        .ok_or_else(|| PyTypeError::new_err(format!("{} has no __arrow_c_schema__", name_of(schema))))?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(SCHEMA))?.cast::<RawSchema>();
    // SAFETY: the capsule has this name, so that it holds such a structure, which lives as long as the capsule.
    let mut next = unsafe { pointer.as_ref() }.metadata;
    if next.is_null() {
        return Ok(Vec::new());
    }
    let mut take = |len: usize| {
        // SAFETY: the interface says that so many bytes are there: the number of pairs, and for each key and value a length and bytes.
        let bytes = unsafe { slice::from_raw_parts(next, len) };
        // SAFETY: as above, so that this is within the metadata or at its end.
        next = unsafe { next.add(len) };
        bytes
    };
    let take_count = |bytes: &[u8]| bytes.try_into().map(i32::from_ne_bytes).map_or(0, |count| count.max(0) as usize);
    let pair_count = take_count(take(4));
    let mut text = || {
        let len = take_count(take(4));
        PyBytes::new(py, take(len))
    };
    Ok((0..pair_count).map(|_| (text(), text())).collect())
}

/// The first fields of `ArrowSchema`.
#[repr(C)]
struct RawSchema {
    _format: *const u8,
    _name: *const u8,
    metadata: *const u8,
}

/// The batches of an object that has `__arrow_c_stream__` or `__arrow_c_array__`.
///
/// # Errors
/// If the object has no such data, or malformed ones.
pub fn reader_in(object: &Bound<'_, PyAny>) -> PyResult<Reader> {
    if let Some(capsule) = call(object, "__arrow_c_stream__")? {
        let capsule = capsule.cast::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: the capsule has this name, so that it holds such a structure. It is moved out of it, and what is left is marked as
        // released, as the interface wants it.
        let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) };
        return Ok(Box::new(reader.map_err(Failure::from)?));
    }
    if let Some(capsules) = call(object, "__arrow_c_array__")? {
        let batch = batch_of(capsules.cast::<PyTuple>()?)?;
        let schema = batch.schema();
        return Ok(Box::new(lath::arrow::array::RecordBatchIterator::new([Ok(batch)], schema)));
    }
    Err(PyTypeError::new_err(format!(
        "{} has no Arrow data: give a table, a data frame or anything else with __arrow_c_stream__ or __arrow_c_array__",
        name_of(object)
    )))
}

/// The batch of the capsules that `__arrow_c_array__` gives.
///
/// # Errors
/// If they are malformed, or have rows that are null as a whole.
pub fn batch_of(capsules: &Bound<'_, PyTuple>) -> PyResult<RecordBatch> {
    let (schema, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: the capsule has this name, so that it holds such a structure, which lives as long as the tuple.
    let schema = unsafe { schema.as_ref() };
    let fields = guard(|| Ok(Schema::try_from(schema)?))?;
    // SAFETY: as above; the structure is moved out of the capsule, and what is left is marked as released.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    // SAFETY: array and schema come from one call of `__arrow_c_array__`, which promises that they belong together.
    let data = unsafe { from_ffi(array, schema) }.map_err(Failure::from)?;
    let rows = StructArray::from(data);
    if rows.null_count() > 0 {
        return Err(Failure::invalid("rows of a table cannot be null as a whole").into());
    }
    let batch = RecordBatch::from(rows).with_schema(fields.into()).map_err(Failure::from)?;
    Ok(batch)
}

/// Calls a method that makes capsules, if there is one.
fn call<'py>(object: &Bound<'py, PyAny>, method: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    match object.getattr_opt(method)? {
        Some(method) => method.call0().map(Some),
        None => Ok(None),
    }
}

fn name_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "the object".to_owned(), |name| name.to_string())
}

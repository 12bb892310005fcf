#![expect(unsafe_code, reason = "the Arrow C data interface passes structures by pointer")]
//! Imports and exports Arrow data by the `PyCapsule` interface:
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

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

/// A source of batches: a stream of another library, or batches in memory.
pub type Reader = Box<dyn RecordBatchReader + Send>;

/// Exports the schema as a capsule.
///
/// # Errors
/// If Arrow's C interface lacks one of the types.
pub fn schema_out<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(Failure::from)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Exports the batch as capsules with its schema and a struct array.
///
/// # Errors
/// If Arrow's C interface lacks one of the types.
pub fn batch_out<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    let rows = StructArray::from(batch.clone()).into_data();
    let (array, _) = to_ffi(&rows).map_err(Failure::from)?;
    Ok((schema_out(py, &batch.schema())?, PyCapsule::new_with_value(py, array, ARRAY)?))
}

/// Exports the batches as a capsule. Its consumer may request them on any thread.
///
/// # Errors
/// If Arrow's C interface lacks one of the types.
pub fn stream_out(py: Python<'_>, reader: Reader) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// Imports the type of an object with `__arrow_c_schema__`.
///
/// # Errors
/// If the object has no such data, or it is malformed.
pub fn data_type_in(object: &Bound<'_, PyAny>) -> PyResult<DataType> {
    Ok(import_schema(object)?.0)
}

/// Imports the columns of an object with `__arrow_c_schema__`.
///
/// # Errors
/// If the object has no such data, or it is malformed.
pub fn schema_in(object: &Bound<'_, PyAny>) -> PyResult<Schema> {
    import_schema(object)?.1.ok_or_else(|| PyTypeError::new_err("this is the type of a column, not a schema"))
}

fn import_schema(object: &Bound<'_, PyAny>) -> PyResult<(DataType, Option<Schema>)> {
    let capsule = call(object, "__arrow_c_schema__")?
        .ok_or_else(|| PyTypeError::new_err(format!("{} has no __arrow_c_schema__", type_name(object))))?;
    types_from_capsule(capsule.cast::<PyCapsule>()?)
}

/// Imports the columns of a capsule with a schema.
///
/// # Errors
/// If they are malformed, or the capsule has the type of a single column.
pub fn schema_from_capsule(capsule: &Bound<'_, PyCapsule>) -> PyResult<Schema> {
    types_from_capsule(capsule)?.1.ok_or_else(|| PyTypeError::new_err("this is the type of a column, not a schema"))
}

fn types_from_capsule(capsule: &Bound<'_, PyCapsule>) -> PyResult<(DataType, Option<Schema>)> {
    let pointer = capsule.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    // SAFETY: the capsule has this name, so it holds such a structure, which lives as long as the capsule.
    let schema = unsafe { pointer.as_ref() };
    // Arrow panics if a structure was released.
    Ok(guard(|| {
        let data_type = DataType::try_from(schema)?;
        let is_table = matches!(data_type, DataType::Struct(_));
        let whole = is_table.then(|| Schema::try_from(schema)).transpose()?;
        Ok((data_type, whole))
    })?)
}

/// The metadata of a schema, in order and with repeated keys, which the dictionaries of other libraries lose.
///
/// # Errors
/// If the object has no schema.
#[pyfunction]
#[pyo3(signature = (schema, /))]
pub fn schema_metadata<'py>(schema: &Bound<'py, PyAny>) -> PyResult<Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)>> {
    let py = schema.py();
    let capsule = call(schema, "__arrow_c_schema__")?
        .ok_or_else(|| PyTypeError::new_err(format!("{} has no __arrow_c_schema__", type_name(schema))))?;
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(SCHEMA))?.cast::<RawSchema>();
    // SAFETY: the capsule has this name, so it holds such a structure, which lives as long as the capsule.
    let mut next = unsafe { pointer.as_ref() }.metadata;
    if next.is_null() {
        return Ok(Vec::new());
    }
    let mut take = |len: usize| {
        // SAFETY: the interface guarantees that this many bytes are there: the number of pairs, and for each key and
        // value a length and bytes.
        let bytes = unsafe { slice::from_raw_parts(next, len) };
        // SAFETY: as above, so this is within the metadata or at its end.
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

/// Imports the batches of an object with `__arrow_c_stream__` or `__arrow_c_array__`.
///
/// # Errors
/// If the object has no such data, or it is malformed.
pub fn reader_in(object: &Bound<'_, PyAny>) -> PyResult<Reader> {
    if let Some(capsule) = call(object, "__arrow_c_stream__")? {
        let capsule = capsule.cast::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: the capsule has this name, so it holds such a structure. The structure is moved out of it, and the
        // rest is marked as released, as the interface requires.
        let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.as_ptr()) };
        return Ok(Box::new(reader.map_err(Failure::from)?));
    }
    if let Some(capsules) = call(object, "__arrow_c_array__")? {
        let batch = batch_from_capsules(capsules.cast::<PyTuple>()?)?;
        let schema = batch.schema();
        return Ok(Box::new(lath::arrow::array::RecordBatchIterator::new([Ok(batch)], schema)));
    }
    Err(PyTypeError::new_err(format!(
        "{} has no Arrow data: give a table, a data frame or anything else with __arrow_c_stream__ or __arrow_c_array__",
        type_name(object)
    )))
}

/// Imports the batch in the capsules that `__arrow_c_array__` returns.
///
/// # Errors
/// If they are malformed, or have rows that are null as a whole.
pub fn batch_from_capsules(capsules: &Bound<'_, PyTuple>) -> PyResult<RecordBatch> {
    let (schema, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: the capsule has this name, so it holds such a structure, which lives as long as the tuple.
    let schema = unsafe { schema.as_ref() };
    let fields = guard(|| Ok(Schema::try_from(schema)?))?;
    // SAFETY: as above; the structure is moved out of the capsule, and the rest is marked as released.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    // SAFETY: array and schema come from one call of `__arrow_c_array__`, which guarantees that they belong together.
    let data = unsafe { from_ffi(array, schema) }.map_err(Failure::from)?;
    let rows = StructArray::from(data);
    if rows.null_count() > 0 {
        return Err(Failure::invalid("rows of a table cannot be null as a whole").into());
    }
    let batch = RecordBatch::from(rows).with_schema(fields.into()).map_err(Failure::from)?;
    Ok(batch)
}

/// Calls a method that returns capsules, if it exists.
fn call<'py>(object: &Bound<'py, PyAny>, method: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    match object.getattr_opt(method)? {
        Some(method) => method.call0().map(Some),
        None => Ok(None),
    }
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "the object".to_owned(), |name| name.to_string())
}

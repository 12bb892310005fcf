//! Locations of files: paths, URLs, bytes in memory, and file objects of Python.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use lath::{ByteRanges, Bytes};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

use crate::error::Failure;
use crate::python_error::PythonError;
use crate::work;

/// The location of a file, or of several.
#[derive(Debug, Clone)]
pub enum Location {
    /// A path or a URL, which may stand for several files.
    Path(PathBuf),
    /// One file, in memory or behind an object of Python.
    Object(FileObject),
}

/// A file in memory or behind an object of Python, which `lath._files` makes.
#[derive(Clone)]
pub struct FileObject {
    object: Arc<Py<PyAny>>,
    name: Arc<str>,
    source: Arc<dyn ByteRanges>,
    is_in_memory: bool,
}

impl FileObject {
    /// The name of the file in errors and in lists of files.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The bytes of the file.
    pub fn source(&self) -> &Arc<dyn ByteRanges> {
        &self.source
    }
}

impl fmt::Debug for FileObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileObject").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Location {
    /// Whether reading it calls Python, so that a thread that reads it may have to wait for the GIL.
    pub fn calls_python(&self) -> bool {
        matches!(self, Self::Object(object) if !object.is_in_memory)
    }

    /// The location, whose bytes are read now if reading them calls Python.
    ///
    /// # Errors
    /// An exception of the file object.
    pub fn into_memory(self) -> PyResult<Self> {
        match self {
            Self::Object(object) if !object.is_in_memory => {
                let all = 0..object.source.len();
                let bytes = object.source.read(all).map_err(|error| Failure::io(&object.name, "read", &error))?;
                Ok(Self::Object(FileObject { source: Arc::new(bytes), is_in_memory: true, ..object }))
            }
            other => Ok(other),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Location {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = value.cast::<PyBytes>() {
            let bytes = PyBackedBytes::from(bytes.to_owned());
            return Ok(Self::Object(FileObject {
                object: Arc::new(value.to_owned().unbind()),
                name: format!("<{} bytes in memory>", bytes.len()).into(),
                source: Arc::new(Bytes::from_owner(bytes)),
                is_in_memory: true,
            }));
        }
        if value.hasattr("read_at")? {
            let object = Arc::new(value.to_owned().unbind());
            let name: String = value.getattr("name")?.extract()?;
            let source = Arc::new(PythonFile { object: object.clone(), len: value.getattr("size")?.extract()? });
            return Ok(Self::Object(FileObject { object, name: name.into(), source, is_in_memory: false }));
        }
        if value.is_instance_of::<PyString>() || value.hasattr("__fspath__")? {
            return Ok(Self::Path(value.extract()?));
        }
        let name = value.get_type().name()?;
        Err(PyTypeError::new_err(format!("paths: give paths, URLs, bytes or file objects, not {name}")))
    }
}

impl<'py> IntoPyObject<'py> for &Location {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Location::Path(path) => match path.to_str() {
                // `pathlib` would join the slashes of a URL.
                Some(text) => Ok(PyString::new(py, text).into_any()),
                None => Ok(path.into_pyobject(py)?.into_any()),
            },
            Location::Object(object) => Ok(object.object.bind(py).clone()),
        }
    }
}

/// One location, or several.
#[derive(Debug)]
pub struct Locations(Vec<Location>);

impl Locations {
    /// The locations in order.
    pub fn into_vec(self) -> Vec<Location> {
        self.0
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Locations {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let is_one = value.is_instance_of::<PyString>()
            || value.is_instance_of::<PyBytes>()
            || value.hasattr("__fspath__")?
            || value.hasattr("read_at")?;
        match value.try_iter() {
            Ok(each) if !is_one => each.map(|value| value?.extract()).collect::<PyResult<_>>().map(Self),
            _ => Ok(Self(vec![value.extract()?])),
        }
    }
}

/// A file object of Python, whose method `read_at` any thread may call.
struct PythonFile {
    object: Arc<Py<PyAny>>,
    len: u64,
}

impl PythonFile {
    fn call(&self, start: u64, len: u64) -> Result<PyBackedBytes, PyErr> {
        Python::attach(|py| {
            let bytes = self.object.bind(py).call_method1("read_at", (start, len))?;
            Ok(PyBackedBytes::from(bytes.cast_into::<PyBytes>()?))
        })
    }
}

impl ByteRanges for PythonFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        if range.start > range.end || range.end > self.len {
            let what = format!("bytes {}..{} requested from a file of {} bytes", range.start, range.end, self.len);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        let len = range.end - range.start;
        let bytes = work::attach(|_| Ok(self.call(range.start, len)));
        let bytes = match bytes {
            Ok(bytes) => bytes.map_err(|raised| io::Error::other(PythonError(raised)))?,
            Err(interrupted) => return Err(io::Error::other(interrupted.message().to_owned())),
        };
        if bytes.len() as u64 != len {
            let what = format!("the file object returned {} bytes of {len}", bytes.len());
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        Ok(Bytes::from_owner(bytes))
    }

    /// The object may be remote: reads that are near each other are worth joining.
    fn request_cost_bytes(&self) -> u64 {
        REQUEST_COST_BYTES
    }
}

impl fmt::Debug for PythonFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonFile").field("len", &self.len).finish_non_exhaustive()
    }
}

/// The cost of a call of a file object, in bytes that could be read instead.
const REQUEST_COST_BYTES: u64 = 64 << 10;

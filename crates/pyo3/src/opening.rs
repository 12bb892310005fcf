//! The keyword arguments of `lath.open`, which opens files as one table.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use lath::arrow::schema::SchemaRef;
use lath::lake::{self, LakeOptions, LakeVersion};
use lath::{Dataset, DatasetFile, DatasetOptions, DecryptionKeys, Int96Unit, OpenOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::capsule;
use crate::error::Failure;
use crate::location::Location;
use crate::storage;

/// The argument `wait`: how many seconds to wait for other processes.
///
/// # Errors
/// `ValueError` for a number that is negative, not finite or too large.
pub fn wait_duration(seconds: f64) -> PyResult<Duration> {
    duration("wait", seconds)
}

/// The time of a keyword argument.
///
/// # Errors
/// As [`wait_duration`].
pub fn duration(argument: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("{argument}={seconds}: {error}")))
}

/// The keyword arguments of `lath.open`. In Python it is a `dict` of them, so that another module can open the same
/// files.
#[derive(Debug, FromPyObject, IntoPyObjectRef)]
#[pyo3(from_item_all)]
#[expect(missing_docs, reason = "the arguments are documented at lath.open")]
pub struct Opening {
    pub union_schemas: bool,
    pub partitions: bool,
    pub partition_types: Option<HashMap<String, Py<PyAny>>>,
    pub footer_key: Option<Vec<u8>>,
    pub column_keys: Option<HashMap<String, Vec<u8>>>,
    pub aad_prefix: Option<Vec<u8>>,
    pub int96_unit: Option<String>,
    pub plain_files: bool,
    pub at: Option<String>,
    pub revalidate: bool,
    pub requests_in_flight: Option<usize>,
    pub retries: Option<usize>,
    pub request_timeout: Option<f64>,
    pub storage_options: Option<BTreeMap<String, String>>,
}

/// Files, or a version of a table of Delta Lake or Iceberg, whose files alone do not determine the rows.
#[derive(Debug)]
#[expect(missing_docs, reason = "they are the types of their values")]
pub enum OpenSource {
    Files(Dataset),
    Lake(Box<LakeVersion>),
}

impl OpenSource {
    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        match self {
            Self::Files(dataset) => dataset.schema(),
            Self::Lake(version) => version.schema(),
        }
    }

    /// The files. The files of a lake are listed now. Blocks on I/O.
    ///
    /// # Errors
    /// As [`LakeVersion::open`].
    pub fn into_dataset(self) -> Result<Dataset, Failure> {
        match self {
            Self::Files(dataset) => Ok(dataset),
            Self::Lake(version) => Ok(version.open(None)?.into_dataset()),
        }
    }

    /// Whether it is a table of Delta Lake or Iceberg.
    pub fn is_lake(&self) -> bool {
        matches!(self, Self::Lake(_))
    }
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            union_schemas: false,
            partitions: true,
            partition_types: None,
            footer_key: None,
            column_keys: None,
            aad_prefix: None,
            int96_unit: None,
            plain_files: false,
            at: None,
            revalidate: true,
            requests_in_flight: None,
            retries: None,
            request_timeout: None,
            storage_options: None,
        }
    }
}

impl Opening {
    /// The options of a dataset.
    ///
    /// # Errors
    /// `ValueError` for an invalid argument.
    pub fn options(&self, py: Python<'_>) -> PyResult<DatasetOptions> {
        let mut options = DatasetOptions::new()
            .open_options(self.open_options()?)
            .union_schemas(self.union_schemas)
            .partitions(self.partitions)
            .plain_files(self.plain_files)
            .revalidate(self.revalidate);
        for (column, data_type) in self.partition_types.iter().flatten() {
            options = options.partition_type(column, capsule::data_type_in(data_type.bind(py))?);
        }
        if let Some(requests) = self.requests_in_flight {
            options = options.requests_in_flight(requests);
        }
        if let Some(retries) = self.retries {
            options = options.retries(retries);
        }
        if let Some(seconds) = self.request_timeout {
            let timeout = Duration::try_from_secs_f64(seconds)
                .map_err(|error| PyValueError::new_err(format!("request_timeout={seconds}: {error}")))?;
            options = options.request_timeout(timeout);
        }
        if let Some(given) = &self.storage_options {
            options = options.granted_access(storage::access(given)?);
        }
        Ok(options)
    }

    /// Opens `locations` with `options`: the table of Delta Lake or Iceberg that the only one is, or files. Blocks on I/O.
    ///
    /// # Errors
    /// As [`Dataset::open`] and [`lath::lake::find_version`].
    pub fn open(at: Option<&str>, locations: &[Location], options: DatasetOptions) -> Result<OpenSource, Failure> {
        if let [Location::Path(location)] = locations
            && let Some(location) = location.to_str().filter(|_| !options.reads_plain_files())
        {
            let at = at.map(str::parse).transpose()?;
            let lake = at.into_iter().fold(LakeOptions::new().dataset(options.clone()), LakeOptions::at);
            if let Some(version) = lake::find_version(location, &lake)? {
                return Ok(OpenSource::Lake(Box::new(version)));
            }
        }
        match at {
            Some(_) => Err(Failure::invalid(
                "at chooses a version of a table of Delta Lake or Iceberg; name the folder of one table",
            )),
            None => Ok(OpenSource::Files(open_files(locations, options)?)),
        }
    }

    fn open_options(&self) -> PyResult<OpenOptions> {
        let unit = match self.int96_unit.as_deref() {
            None => None,
            Some("ns") => Some(Int96Unit::Nanoseconds),
            Some("us") => Some(Int96Unit::Microseconds),
            Some("ms") => Some(Int96Unit::Milliseconds),
            Some(unit) => {
                return Err(PyValueError::new_err(format!("int96_unit={unit:?}: give \"ns\", \"us\" or \"ms\"")));
            }
        };
        let options = self.keys()?.into_iter().fold(OpenOptions::new(), OpenOptions::decryption);
        Ok(unit.into_iter().fold(options, OpenOptions::int96_unit))
    }

    fn keys(&self) -> PyResult<Option<DecryptionKeys>> {
        let Some(footer_key) = &self.footer_key else {
            if self.column_keys.is_some() || self.aad_prefix.is_some() {
                return Err(PyValueError::new_err("column_keys and aad_prefix need footer_key as well"));
            }
            return Ok(None);
        };
        let mut keys = DecryptionKeys::new(key("footer_key", footer_key)?);
        for (path, bytes) in self.column_keys.iter().flatten() {
            keys = keys.column_key(path, key("column_keys", bytes)?);
        }
        Ok(Some(self.aad_prefix.iter().cloned().fold(keys, DecryptionKeys::aad_prefix)))
    }
}

/// Opens paths as [`Dataset::open`] does, and file objects.
fn open_files(locations: &[Location], options: DatasetOptions) -> Result<Dataset, Failure> {
    let paths = locations.iter().map(|location| match location {
        Location::Path(path) => Some(path),
        Location::Object(_) => None,
    });
    if let Some(paths) = paths.collect::<Option<Vec<_>>>() {
        return Ok(Dataset::open(paths, options)?);
    }
    let mut files = Vec::new();
    for location in locations {
        match location {
            Location::Path(path) => files.extend(DatasetFile::find(path, &options)?),
            Location::Object(object) => {
                let open = options.file_options().clone().name(Arc::clone(object.name()));
                files.push(open.from_source(Arc::clone(object.source()))?.into());
            }
        }
    }
    Ok(Dataset::from_files(files, options)?)
}

fn key(argument: &str, bytes: &[u8]) -> PyResult<Vec<u8>> {
    if matches!(bytes.len(), 16 | 24 | 32) {
        return Ok(bytes.to_vec());
    }
    Err(PyValueError::new_err(format!("{argument}: an AES key has 16, 24 or 32 bytes")))
}

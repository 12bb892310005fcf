//! Opening files as a dataset.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use lath::FolderFormat;
use lath_pyo3::fork::forked_runtime;
use lath_pyo3::location::Locations;
use lath_pyo3::opening::Opening;
use lath_pyo3::work;
use pyo3::prelude::*;

use super::dataset::PyDataset;

/// Opens files as one table: paths, directories, globs, `@` lists and URLs.
#[pyfunction]
#[pyo3(signature = (
    paths, *, union_schemas = false, partitions = true, partition_types = None, footer_key = None, column_keys = None,
    aad_prefix = None, int96_unit = None, plain_files = false, at = None, revalidate = true, requests_in_flight = None, retries = None,
    request_timeout = None, storage_options = None
))]
#[expect(clippy::too_many_arguments, reason = "they are keyword arguments")]
pub(crate) fn open(
    py: Python<'_>,
    paths: Locations,
    union_schemas: bool,
    partitions: bool,
    partition_types: Option<HashMap<String, Py<PyAny>>>,
    footer_key: Option<Vec<u8>>,
    column_keys: Option<HashMap<String, Vec<u8>>>,
    aad_prefix: Option<Vec<u8>>,
    int96_unit: Option<String>,
    plain_files: bool,
    at: Option<Bound<'_, PyAny>>,
    revalidate: bool,
    requests_in_flight: Option<usize>,
    retries: Option<usize>,
    request_timeout: Option<f64>,
    storage_options: Option<BTreeMap<String, String>>,
) -> PyResult<PyDataset> {
    // A number, a text, or a time, whose text is in the form of ISO 8601.
    let at = at.map(|at| at.str()?.extract::<String>()).transpose()?;
    let opening = Opening {
        union_schemas,
        partitions,
        partition_types,
        footer_key,
        column_keys,
        aad_prefix,
        int96_unit,
        plain_files,
        at,
        revalidate,
        requests_in_flight,
        retries,
        request_timeout,
        storage_options,
    };
    open_as(py, paths, opening)
}

/// Opens what a dataset was opened from.
#[pyfunction]
#[pyo3(name = "_reopen")]
pub(crate) fn reopen(py: Python<'_>, locations: Locations, opening: Opening) -> PyResult<PyDataset> {
    open_as(py, locations, opening)
}

fn open_as(py: Python<'_>, paths: Locations, opening: Opening) -> PyResult<PyDataset> {
    let options = opening.options(py)?;
    let locations = paths.into_vec();
    let options = match forked_runtime()? {
        Some(runtime) => options.runtime(&runtime),
        None => options,
    };
    let (named, chosen) = (locations.clone(), options.clone());
    let at = opening.at.clone();
    let opened = work::run_to_end(py, move || Opening::open(at.as_deref(), &named, chosen))?;
    Ok(PyDataset::new(opened, locations, opening, options))
}

/// Whether a path is the folder of a table with a primary key.
#[pyfunction]
#[pyo3(name = "_is_keyed_table")]
pub(crate) fn is_keyed_table(path: PathBuf) -> bool {
    FolderFormat::at(path) == Some(FolderFormat::KeyedTable)
}

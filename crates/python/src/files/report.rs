//! Reports of scans, as `lath._report.Report`.

use lath::{PrunedCounts, ScanReport};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The report as a Python object.
pub(crate) fn report<'py>(py: Python<'py>, report: &ScanReport) -> PyResult<Bound<'py, PyAny>> {
    let module = py.import("lath._report")?;
    let stage = |pruned: &PrunedCounts| module.call_method1("Pruned", (pruned.row_groups, pruned.pages, pruned.rows));
    let values = PyDict::new(py);
    values.set_item("files", report.files)?;
    values.set_item("files_pruned", report.files_pruned)?;
    values.set_item("files_opened", report.files_opened)?;
    values.set_item("row_groups", report.pruned.row_groups)?;
    values.set_item("row_groups_left", report.row_groups)?;
    values.set_item("rows", report.pruned.rows)?;
    values.set_item("rows_left", report.rows)?;
    values.set_item("rows_tested", report.rows_tested)?;
    values.set_item("rows_found", report.rows_found)?;
    values.set_item("by_statistics", stage(&report.pruned.statistics)?)?;
    values.set_item("by_bloom_filters", stage(&report.pruned.bloom)?)?;
    values.set_item("by_dictionaries", stage(&report.pruned.dictionary)?)?;
    values.set_item("by_page_index", stage(&report.pruned.page_index)?)?;
    values.set_item("bytes_read", report.bytes_read)?;
    values.set_item("requests", report.requests)?;
    let times = &report.times;
    for (name, time) in [
        ("seconds", times.elapsed),
        ("seconds_opening", times.open),
        ("seconds_pruning", times.prune),
        ("seconds_testing", times.test),
        ("seconds_fetching", times.fetch),
    ] {
        values.set_item(name, time.as_secs_f64())?;
    }
    module.getattr("Report")?.call((), Some(&values))
}

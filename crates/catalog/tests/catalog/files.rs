//! Files for tests, and scans of them.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray};
use lath_catalog::Catalog;
use lath_parquet::{Dataset, DatasetOptions, FooterCache, Predicate, Runtime, Scan};
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions};

/// Options with new caches, which other tests have not filled.
pub(crate) fn options() -> DatasetOptions {
    DatasetOptions::new().runtime(&Runtime::builder().computed_filters(false).build()).footer_cache(FooterCache::new(0))
}

/// Rows with these ids: a number, the id as text, and a float that is null for every seventh id.
pub(crate) fn rows(ids: &[i64]) -> RecordBatch {
    let id: ArrayRef = Arc::new(Int64Array::from(ids.to_vec()));
    let name: ArrayRef = Arc::new(StringViewArray::from_iter(
        ids.iter().map(|id| (id % 5 != 0).then(|| format!("customer number {id}"))),
    ));
    let price: ArrayRef =
        Arc::new(Float64Array::from_iter(ids.iter().map(|id| (id % 7 != 0).then_some(*id as f64 / 4.0))));
    RecordBatch::try_from_iter_with_nullable([("id", id, false), ("name", name, true), ("price", price, true)]).unwrap()
}

/// Writes a file of these rows, which replaces an existing one.
pub(crate) fn write(path: &Path, batch: &RecordBatch, with_filters: bool, row_group_rows: usize) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let column = if with_filters {
        ColumnOptions::new().bloom_filter(BloomFilter::FalsePositiveRate(0.01))
    } else {
        ColumnOptions::new()
    };
    let options = WriteOptions::default().all_columns(column).row_group_rows(row_group_rows);
    if path.exists() {
        std::fs::remove_file(path).unwrap();
    }
    let mut writer = ParquetWriter::create(path, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// The rows of a dataset for which a predicate is true: see [`lines`].
pub(crate) fn found(dataset: &Dataset, predicate: &str) -> Result<Vec<String>, String> {
    lines(dataset.scan().filter(predicate).unwrap())
}

/// The rows of a scan as text, with the file and number of each; or the error.
pub(crate) fn lines(scan: Scan) -> Result<Vec<String>, String> {
    let scan = scan.file_name_column("file").row_number_column("row");
    let mut lines = Vec::new();
    for batch in scan.build().map_err(|error| error.to_string())? {
        let batch = batch.map_err(|error| error.to_string())?;
        let columns: Vec<Vec<String>> =
            batch.columns().iter().map(|column| (0..batch.num_rows()).map(|row| text(column, row)).collect()).collect();
        lines.extend(
            (0..batch.num_rows())
                .map(|row| columns.iter().map(|column| column[row].as_str()).collect::<Vec<_>>().join("|")),
        );
    }
    Ok(lines)
}

fn text(column: &ArrayRef, row: usize) -> String {
    lath_predicate::value_at(column, row).map_or_else(|| "null".to_owned(), |value| format!("{value:?}"))
}

/// The rows that a scan without a catalog finds.
pub(crate) fn listed(folder: &Path, predicate: &str) -> Result<Vec<String>, String> {
    found(&Dataset::open([folder], options()).map_err(|error| error.to_string())?, predicate)
}

/// The rows that a scan by the catalog finds.
pub(crate) fn selected(catalog: &Catalog, predicate: &str) -> Result<Vec<String>, String> {
    let files = catalog.select(&Predicate::parse(predicate).unwrap(), &options()).map_err(|error| error.to_string())?;
    lines(files.scan())
}

/// The number of files that a scan by the catalog opens.
pub(crate) fn selected_files(catalog: &Catalog, predicate: &str) -> usize {
    catalog.select(&Predicate::parse(predicate).unwrap(), &options()).unwrap().files().len()
}

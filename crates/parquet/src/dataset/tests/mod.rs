//! Datasets of files written by the `parquet` crate.

mod cache;
mod folder_format;
mod listing;
mod partitions;
mod schemas;
mod single_key;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::ArrowWriter;
use tempfile::TempDir;

use super::{Dataset, DatasetOptions};
use crate::Strings;
use crate::error::Result;
use crate::footer_cache::FooterCache;
use crate::schema::ArrowLayout;

/// A directory for a test, and its path.
fn directory() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_owned();
    (directory, path)
}

/// Writes a Parquet file of one row group, with the directories above it.
fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
            .expect("columns of one length");
    fs::create_dir_all(path.parent().expect("a file's path")).expect("a directory");
    let file = fs::File::create(path).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a schema that can be written");
    writer.write(&batch).expect("a batch");
    writer.close().expect("a footer");
}

fn int64(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(arrow_array::Int64Array::from_iter_values(values))
}

/// Options that share nothing with other tests.
fn options() -> DatasetOptions {
    DatasetOptions::new().footer_cache(FooterCache::new(1 << 20))
}

/// The batches of all files, read and aligned.
fn read(dataset: &Dataset, paths: Option<&[&str]>, strings: Strings) -> Result<Vec<RecordBatch>> {
    let paths: Option<Vec<String>> = paths.map(|paths| paths.iter().map(|&path| path.to_owned()).collect());
    let layout = ArrowLayout { strings, ..ArrowLayout::default() };
    let target = dataset.project(paths.as_deref(), &layout)?;
    let mut batches = Vec::new();
    for file in dataset.files() {
        let open = file.open()?;
        let alignment = dataset.align(&target, paths.as_deref(), file, &open)?;
        let mut builder = open.scan().strings(strings);
        if let Some(names) = alignment.names() {
            builder = builder.select(names.iter().map(|names| names.join(".")));
        }
        for batch in builder.build()? {
            let aligned = alignment.apply(&batch?)?;
            assert_eq!(aligned.schema(), target);
            batches.push(aligned);
        }
    }
    Ok(batches)
}

/// The names of the columns, then the rows, with a bar between columns.
fn table(batches: &[RecordBatch]) -> Vec<String> {
    let schema = batches[0].schema();
    let mut lines = vec![schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join("|")];
    for batch in batches {
        let options = FormatOptions::new();
        let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options));
        let columns = columns.collect::<Result<Vec<_>, _>>().expect("arrays that can be shown");
        lines.extend(
            (0..batch.num_rows())
                .map(|row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|")),
        );
    }
    lines
}

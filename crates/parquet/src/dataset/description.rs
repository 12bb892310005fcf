//! Datasets that are described without opening a file.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::schema::DatasetSchema;
use super::{Dataset, DatasetFile, DatasetParts};
use crate::dataset::location::PartitionColumn;
use crate::file::ParquetFile;

/// Metadata of a dataset that is known beforehand, so that no file has to be found or opened: a catalog keeps it.
#[derive(Debug, Clone)]
pub struct DatasetDescription {
    schema: SchemaRef,
    first: Option<ParquetFile>,
    partitions: Vec<PartitionColumn>,
    file_count: usize,
}

impl DatasetDescription {
    /// A dataset of `file_count` files with the schema of `first`. Needs only the footer of `first`.
    pub fn from_first(first: &ParquetFile, partitions: Vec<PartitionColumn>, file_count: usize) -> Self {
        Self { schema: Arc::clone(first.schema()), first: Some(first.clone()), partitions, file_count }
    }

    /// A dataset of `file_count` files whose united schema is `schema`
    /// ([`DatasetOptions::union_schemas`](super::DatasetOptions::union_schemas)).
    pub fn united(schema: SchemaRef, partitions: Vec<PartitionColumn>, file_count: usize) -> Self {
        Self { schema, first: None, partitions, file_count }
    }

    /// The dataset with some of the files, or all ([`DatasetFile::known`]).
    pub fn dataset(self, files: Vec<DatasetFile>) -> Dataset {
        let Self { schema, first, partitions, file_count } = self;
        let concurrency = files.iter().map(DatasetFile::concurrency).max().unwrap_or(1);
        if let Some(first) = files.first() {
            first.options().files.make_room(files.iter().filter(|file| file.path().is_some()).count());
        }
        let schema = DatasetSchema::new(&schema, first, &partitions, file_count > 1);
        Dataset { shared: Arc::new(DatasetParts { files, partitions, schema, concurrency }) }
    }
}

//! Datasets of which everything is known before any file is opened.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use super::partition::PartitionColumn;
use super::schema::DatasetSchema;
use super::{Dataset, DatasetFile, Shared};
use crate::file::ParquetFile;

/// What is known of a dataset from before, so that no file has to be found or opened to make it: what a catalog keeps.
#[derive(Debug, Clone)]
pub struct DatasetDescription {
    schema: SchemaRef,
    first: Option<ParquetFile>,
    partitions: Vec<PartitionColumn>,
    file_count: usize,
}

impl DatasetDescription {
    /// A dataset of `file_count` files whose schema is that of `first`. Nothing but the footer of `first` is needed.
    pub fn of_first(first: &ParquetFile, partitions: Vec<PartitionColumn>, file_count: usize) -> Self {
        Self { schema: Arc::clone(first.schema()), first: Some(first.clone()), partitions, file_count }
    }

    /// A dataset of `file_count` files whose schema is `schema`: that of all together
    /// ([`DatasetOptions::union_schemas`](super::DatasetOptions::union_schemas)).
    pub fn united(schema: SchemaRef, partitions: Vec<PartitionColumn>, file_count: usize) -> Self {
        Self { schema, first: None, partitions, file_count }
    }

    /// The dataset with some of the files, or with all ([`DatasetFile::known`]).
    pub fn dataset(self, files: Vec<DatasetFile>) -> Dataset {
        let Self { schema, first, partitions, file_count } = self;
        let concurrency = files.iter().map(DatasetFile::concurrency).max().unwrap_or(1);
        if let Some(first) = files.first() {
            first.options().files.make_room(files.iter().filter(|file| file.path().is_some()).count());
        }
        let schema = DatasetSchema::new(&schema, first, &partitions, file_count > 1);
        Dataset { shared: Arc::new(Shared { files, partitions, schema, concurrency }) }
    }
}

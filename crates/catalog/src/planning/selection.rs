use arrow_schema::SchemaRef;
use lath_parquet::{Dataset, DatasetFile, Predicate, Scan};

/// The files of a catalog that can have rows for which a predicate is true, together with that predicate.
///
/// The files also have other rows, and a file that the catalog ruled out also has rows that match other predicates. A scan of these
/// files is therefore always by the predicate that selected them.
#[derive(Debug, Clone)]
#[must_use = "files are selected, but not scanned"]
pub struct Selection {
    dataset: Dataset,
    predicate: Predicate,
}

impl Selection {
    pub(crate) fn new(dataset: Dataset, predicate: Predicate) -> Self {
        Self { dataset, predicate }
    }

    /// A scan of the rows for which the predicate is true. Further conditions may be added to it.
    pub fn scan(&self) -> Scan {
        self.dataset.scan().predicate(self.predicate.clone())
    }

    /// The files that are not ruled out, in the order of [`Catalog::dataset`](crate::Catalog::dataset).
    pub fn files(&self) -> &[DatasetFile] {
        self.dataset.files()
    }

    /// The columns of the files, then the partition columns.
    pub fn schema(&self) -> &SchemaRef {
        self.dataset.schema()
    }

    /// The number of threads that keeps the storage busy: see [`Dataset::concurrency`].
    pub fn concurrency(&self) -> usize {
        self.dataset.concurrency()
    }

    /// The files as a dataset, and the predicate by which its scans have to filter.
    pub fn into_parts(self) -> (Dataset, Predicate) {
        (self.dataset, self.predicate)
    }
}

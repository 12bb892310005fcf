//! Reads many files as one table: lists them, unites their schemas, and opens them at low cost.

mod description;
mod file;
mod footers_read;
mod known_footers;
mod known_parts;
mod location;
mod open_all;
mod options;
mod schema;
#[cfg(test)]
mod tests;
mod unread_file;

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{Fields, Schema, SchemaRef};

use self::schema::DatasetSchema;
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::schema::ArrowLayout;

pub use description::DatasetDescription;
pub use file::{DatasetFile, FileSource};
pub use known_footers::KnownFooters;
pub use location::{FolderFormat, PartitionColumn, Partitions, partition_directory, text_partition_directory};
pub use options::DatasetOptions;
pub use schema::{Alignment, unite_schemas};

/// Files that are read as one table, in order. Clones are handles of the same dataset.
///
/// ```no_run
/// # fn main() -> lath_parquet::Result<()> {
/// use lath_parquet::{Dataset, DatasetOptions};
///
/// let orders = Dataset::open(["orders/", "late/*.parquet", "@more.txt"], DatasetOptions::new())?;
/// println!("{} files with the columns {}", orders.files().len(), orders.schema());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Dataset {
    shared: Arc<DatasetParts>,
}

struct DatasetParts {
    files: Vec<DatasetFile>,
    partitions: Vec<PartitionColumn>,
    schema: DatasetSchema,
    concurrency: usize,
}

impl Dataset {
    /// Lists the files of `locations`, and reads the footer of the first file, or of all files if schemas are united.
    ///
    /// A location is one of
    /// - the path of a file, with any name;
    /// - a directory, which stands for the files below it whose names end in `.parquet`, in the order of their names; names that
    ///   start with `.` or `_` are skipped, and links to directories are not followed;
    /// - a glob with `*`, `?`, `[…]` or `**`, unless a file has exactly that name;
    /// - `@` and the path of a text file with a location on each line; empty lines and lines that start with `#` are ignored;
    /// - a URL: `file://`, and with the feature `object-store` `s3://`, `gs://`, `az://`, `http://` and `https://`.
    ///
    /// A folder of a keyed table, of Delta Lake, Iceberg or Hudi is an error wherever it is found, and so are several files of
    /// one, because its files alone do not determine the rows; see [`DatasetOptions::plain_files`].
    ///
    /// Directories called `key=value` in a file's path are partition columns: [`PartitionColumn`] has the rules.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) for locations that cannot be reached and for locations without files,
    /// [`Error::Invalid`](crate::Error::Invalid) for malformed locations and for schemas that cannot be united; else as
    /// [`OpenOptions::open`](crate::OpenOptions::open).
    pub fn open<L: AsRef<OsStr>>(locations: impl IntoIterator<Item = L>, options: DatasetOptions) -> Result<Self> {
        let mut found = Vec::new();
        let mut named = Vec::new();
        for location in locations {
            let before = found.len();
            location::expand(location.as_ref(), &options, &mut found)?;
            named.extend((found.len() == before + 1).then(|| PathBuf::from(location.as_ref())));
        }
        if !options.plain_files && named.len() > 1 {
            FolderFormat::check_files(named.iter().map(PathBuf::as_path))?;
        }
        let options = Arc::new(options);
        let files = found.into_iter().map(|found| DatasetFile::new(found, Arc::clone(&options))).collect();
        Self::with_options(files, &options)
    }

    /// Takes files that were found before ([`DatasetFile::find`]) or are open already, and opens the others with `options`.
    /// Partition columns come from their locations.
    ///
    /// # Errors
    /// As [`Dataset::open`], for the schema.
    pub fn from_files(files: impl IntoIterator<Item = DatasetFile>, options: DatasetOptions) -> Result<Self> {
        Self::with_options(files.into_iter().collect(), &Arc::new(options))
    }

    /// Takes open files: in memory, or from any other source. They have no partition columns.
    ///
    /// # Errors
    /// As [`Dataset::open`], for the schema.
    pub fn of(files: impl IntoIterator<Item = ParquetFile>) -> Result<Self> {
        Self::from_files(files.into_iter().map(DatasetFile::from), DatasetOptions::new().partitions(false))
    }

    fn with_options(files: Vec<DatasetFile>, options: &Arc<DatasetOptions>) -> Result<Self> {
        let locations: Vec<&str> = files.iter().map(DatasetFile::location).collect();
        let Partitions { columns, rows } = Partitions::of(&locations, options)?;
        let files = files.into_iter().zip(rows).map(|(file, partition)| file.within(options, partition)).collect();
        Self::new(files, columns, options.unites_schemas)
    }

    fn new(files: Vec<DatasetFile>, partitions: Vec<PartitionColumn>, unites: bool) -> Result<Self> {
        // Usually before there are threads that open them.
        if let Some(first) = files.first() {
            first.options().files.make_room(files.iter().filter(|file| file.path().is_some()).count());
        }
        let concurrency = files.iter().map(DatasetFile::concurrency).max().unwrap_or(1);
        let schema = DatasetSchema::of(&files, &partitions, unites, concurrency)?;
        Ok(Self { shared: Arc::new(DatasetParts { files, partitions, schema, concurrency }) })
    }

    /// Files whose metadata is known, so that none is opened: `schema` has the columns of the files.
    pub(crate) fn described(files: Vec<DatasetFile>, partitions: Vec<PartitionColumn>, schema: &Schema) -> Self {
        let concurrency = files.iter().map(DatasetFile::concurrency).max().unwrap_or(1);
        let file_columns = schema.fields().len();
        let fields = schema.fields().iter().cloned().chain(partitions.iter().map(|column| Arc::clone(column.field())));
        let whole = Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone());
        let schema = DatasetSchema::given(Arc::new(whole), file_columns);
        Self { shared: Arc::new(DatasetParts { files, partitions, schema, concurrency }) }
    }

    /// Some of the files, by their indices in [`Dataset::files`], in the given order. Schema and partition columns stay.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for an index without a file.
    pub fn subset(&self, files: impl IntoIterator<Item = usize>) -> Result<Self> {
        let all = self.files();
        let chosen = files.into_iter().map(|place| {
            all.get(place).cloned().ok_or_else(|| {
                Error::invalid(format!("there is no file {place}; the dataset has {}, counted from 0", all.len()))
            })
        });
        Ok(self.with_files(chosen.collect::<Result<_>>()?))
    }

    /// A dataset of `files` with the schema and partition columns of this one.
    pub(crate) fn with_files(&self, files: Vec<DatasetFile>) -> Self {
        let concurrency = files.iter().map(DatasetFile::concurrency).max().unwrap_or(1);
        let DatasetParts { partitions, schema, .. } = &*self.shared;
        let (partitions, schema) = (partitions.clone(), schema.clone());
        Self { shared: Arc::new(DatasetParts { files, partitions, schema, concurrency }) }
    }

    /// Number of columns of [`Dataset::schema`] that come from the files; partition columns follow.
    pub(crate) fn file_column_count(&self) -> usize {
        self.shared.schema.file_column_count()
    }

    /// The files, in the order of the locations and of their names.
    pub fn files(&self) -> &[DatasetFile] {
        &self.shared.files
    }

    /// The columns of the files, then the partition columns. Strings are views; with several files, every column may have nulls.
    pub fn schema(&self) -> &SchemaRef {
        self.shared.schema.whole()
    }

    /// Whether the schema is the union of all files' schemas, whose types hold the values of each.
    pub(crate) fn is_united(&self) -> bool {
        self.shared.schema.is_united()
    }

    /// The columns that come from names of directories.
    pub fn partitions(&self) -> &[PartitionColumn] {
        &self.shared.partitions
    }

    /// Number of files to process at a time to keep the storage busy: 1 for local files, which hardly wait; for files in stores
    /// the number of requests in flight. Calls block, so that this is a number of threads.
    pub fn concurrency(&self) -> usize {
        self.shared.concurrency
    }

    /// The results of `read` for each file, or errors of opening it; several files are open at a time.
    pub(crate) fn read_each_file<T: Send>(&self, read: impl Fn(&ParquetFile) -> Result<T> + Sync) -> Vec<Result<T>> {
        open_all::read_each(self.files(), self.concurrency(), read)
    }

    /// The schema of `paths` (all columns if `None`) in the order of the paths, to which the batches of every file are aligned.
    pub(crate) fn project(&self, paths: Option<&[String]>, layout: &ArrowLayout) -> Result<SchemaRef> {
        self.shared.schema.project(paths, layout)
    }

    /// The alignment of the columns of `file`, which is open as `open`, to the columns of `target`.
    pub(crate) fn align(&self, target: &SchemaRef, file: &DatasetFile, open: &ParquetFile) -> Result<Alignment> {
        let partitions = self.shared.partitions.iter().zip(file.partition());
        let constants = partitions.map(|(column, &row)| (column, row as usize)).collect::<Vec<_>>();
        let is_united = self.shared.schema.is_united();
        Alignment::new(target, open.schema(), &constants, is_united, self.schema()).map_err(|difference| {
            difference.into_error(file.location(), self.shared.files.first().map_or("", DatasetFile::location))
        })
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dataset")
            .field("files", &self.files().len())
            .field("partitions", &self.partitions().len())
            .field("schema", self.schema())
            .finish_non_exhaustive()
    }
}

//! Reads many files as one table: lists them, unites their schemas, and opens them at low cost.

mod description;
mod file;
mod footers_read;
mod known_footers;
mod known_parts;
mod location;
mod object_cache;
mod open_all;
mod options;
mod schema;
#[cfg(test)]
mod tests;
mod unread_file;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::{Fields, Schema, SchemaRef};

use self::schema::{Choice, DatasetSchema};
use crate::error::{Error, Result};
use crate::file::ParquetFile;
use crate::schema::ArrowLayout;

pub use description::DatasetDescription;
pub use file::{DatasetFile, FileSource};
pub use known_footers::KnownFooters;
pub use location::{FolderFormat, PartitionColumn, Partitions, partition_directory, text_partition_directory};
pub use object_cache::ObjectCache;
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

    /// Files of a table whose schema is known, so that none is opened: `schema` has the table's columns, in its order. The columns
    /// with the names of `partitions` have one value in each file ([`DatasetFile::at`]), and may be anywhere. A file lacks some of
    /// the other columns, or has narrower types; [`DatasetOptions::columns`] maps its columns to the table's.
    ///
    /// ```no_run
    /// # fn main() -> lath_parquet::Result<()> {
    /// use std::sync::Arc;
    ///
    /// use arrow_schema::{DataType, Field, Schema};
    /// use lath_parquet::{ColumnMapping, Dataset, DatasetFile, DatasetOptions, DeleteMask, MappedColumn};
    ///
    /// let mapping = ColumnMapping::new([MappedColumn::new("id").id(1), MappedColumn::new("name").id(2)]);
    /// let options = Arc::new(DatasetOptions::new().columns(Arc::new(mapping)));
    /// let file = DatasetFile::at("orders/a.parquet", None, [], &options)?;
    /// let file = file.with_deleted(DeleteMask::from_iter([4711]).into());
    /// let schema = Schema::new(vec![
    ///     Field::new("id", DataType::Int64, false),
    ///     Field::new("name", DataType::Utf8View, true),
    /// ]);
    /// let orders = Dataset::with_schema(Arc::new(schema), Vec::new(), vec![file])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for two columns of the same name, for a partition column that the schema lacks or
    /// has with another type, and for a file with another number of partition values.
    pub fn with_schema(schema: SchemaRef, partitions: Vec<PartitionColumn>, files: Vec<DatasetFile>) -> Result<Self> {
        let mut names = HashSet::new();
        if let Some(twice) = schema.fields().iter().find(|field| !names.insert(field.name())) {
            return Err(Error::invalid(format!("the table has two columns {:?}", twice.name())));
        }
        for column in &partitions {
            let (field, values) = (column.field(), column.values().data_type());
            let own = schema.field_with_name(field.name()).ok();
            if own.is_none_or(|own| own.data_type() != field.data_type()) || values != field.data_type() {
                let (name, data_type) = (field.name(), field.data_type());
                return Err(Error::invalid(format!("the table has no column {name:?} of type {data_type}")));
            }
        }
        for file in &files {
            let is_known = |(&row, column): (&u32, &PartitionColumn)| {
                row == DatasetFile::NO_CONSTANT || (row as usize) < column.values().len()
            };
            let rows = file.partition();
            if rows.len() != partitions.len() || !rows.iter().zip(&partitions).all(is_known) {
                return Err(Error::invalid(format!("{}: values of other partition columns", file.location())));
            }
        }
        if let Some(first) = files.first() {
            first.options().files.make_room(files.iter().filter(|file| file.path().is_some()).count());
        }
        Ok(Self::described(files, partitions, schema))
    }

    /// Files whose metadata is known, so that none is opened: `schema` has the columns of the files, and partition columns that
    /// some files have themselves. The other partition columns follow.
    pub(crate) fn described(files: Vec<DatasetFile>, partitions: Vec<PartitionColumn>, schema: SchemaRef) -> Self {
        let concurrency = files.iter().map(DatasetFile::concurrency).max().unwrap_or(1);
        let is_missing = |column: &&PartitionColumn| schema.fields().find(column.field().name()).is_none();
        let missing: Vec<&PartitionColumn> = partitions.iter().filter(is_missing).collect();
        let whole = match missing.is_empty() {
            true => schema,
            false => {
                let missing = missing.into_iter().map(|column| Arc::clone(column.field()));
                let fields = schema.fields().iter().cloned().chain(missing).collect::<Fields>();
                Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
            }
        };
        let schema = DatasetSchema::given(whole, &partitions);
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

    /// The index in [`Dataset::partitions`] of the column at `place` in the schema, if it is a partition column.
    pub(crate) fn partition_at(&self, place: usize) -> Option<usize> {
        self.shared.schema.partition_at(place)
    }

    /// The partition columns for which a file has a value, and the rows of these values.
    pub(crate) fn constants<'a>(&'a self, partition: &'a [u32]) -> impl Iterator<Item = (&'a PartitionColumn, usize)> {
        let columns = self.partitions().iter().zip(partition);
        columns.filter(|(_, row)| **row != DatasetFile::NO_CONSTANT).map(|(column, row)| (column, *row as usize))
    }

    /// The files, in the order of the locations and of their names.
    pub fn files(&self) -> &[DatasetFile] {
        &self.shared.files
    }

    /// The columns of the files, then the partition columns, or the table's columns ([`Dataset::with_schema`]). Strings are views;
    /// with several files, every column may have nulls.
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

    /// The results of `read` for some files of the dataset, or errors of opening them; several files are open at a time.
    pub(crate) fn read_each<T: Send>(
        &self,
        files: &[DatasetFile],
        read: impl Fn(&ParquetFile) -> Result<T> + Sync,
    ) -> Vec<Result<T>> {
        open_all::read_each(files, self.concurrency(), read)
    }

    /// The schema of `paths` (all columns if `None`) in the order of the paths, to which the batches of every file are aligned.
    pub(crate) fn project(&self, paths: Option<&[String]>, layout: &ArrowLayout) -> Result<SchemaRef> {
        self.shared.schema.project(paths, layout)
    }

    /// The alignment of the columns of `file`, which is open as `open`, to the columns of `target`, which `paths` name (all if `None`).
    pub(crate) fn align(
        &self,
        target: &SchemaRef,
        paths: Option<&[String]>,
        file: &DatasetFile,
        open: &ParquetFile,
    ) -> Result<Alignment> {
        let constants = self.constants(file.partition()).collect::<Vec<_>>();
        let choice = Choice { whole: self.schema(), paths, is_united: self.is_united() };
        let columns = open.column_mapping().map(|columns| &**columns);
        let first = self.shared.files.first().map_or("", DatasetFile::location);
        Alignment::new(target, open.schema(), &constants, columns, &choice, (file.location(), first))
            .map_err(|difference| difference.into_error(file.location(), first))
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

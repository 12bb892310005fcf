//! Makes a table of files that other programs have written.
//!
//! | file | result |
//! | --- | --- |
//! | a local one with the table's columns, as they are | gets a second name in the table's folder, or is copied; only its key columns are decoded |
//! | any other | its rows are read and written again |
//!
//! All of it is one commit, the first of the table. Names that a process leaves that is killed are files that no commit names.

mod distinct;
mod file_keys;
mod schema;
mod take;
mod watch;

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use lath_parquet::{Dataset, DatasetOptions};
use lath_store::Durability;

use self::distinct::check_distinct;
use self::file_keys::KeysOfRows;
use self::schema::table_schema;
use self::take::{Source, examine};
pub use self::watch::ImportProgress;
pub(crate) use self::watch::Watch;
use crate::error::{Error, Result};
use crate::file::{DATA_FOLDER, sync_folder};
use crate::maintenance::remove_unnamed;
use crate::records::TableOptions;
use crate::row::{TableSchema, as_type, batch};
use crate::table::{Table, open_new_engine};
use crate::view::{Engine, database_path};
use crate::write::{NewFiles, OpenWrite};

/// Options of [`Table::import`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportOptions {
    /// Whether files are copied. By default they become hard links, and copies only if the file system has no links.
    pub copy: bool,
}

impl ImportOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether files are copied.
    #[must_use]
    pub fn copy(mut self, copy: bool) -> Self {
        self.copy = copy;
        self
    }
}

/// Report of [`Table::import`].
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Number of rows.
    pub rows: u64,
    /// Number of files that were taken as they are.
    pub files: usize,
    /// Number of these files that are hard links; the others are copies.
    pub linked: usize,
    /// Files whose rows were read and written again.
    pub rewritten: Vec<RewrittenFile>,
}

/// A file that could not be taken as it is.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenFile {
    /// Its path or URL.
    pub location: String,
    /// The reason for which its rows had to be written again.
    pub reason: String,
    /// Number of rows.
    pub rows: u64,
}

impl Table {
    /// Creates a table with the rows of a dataset: plain files, or a table of Delta Lake or Iceberg. Files become files of the table as they are
    /// where that is possible, so that only their key columns are decoded; rows of other files are written again, and the report says why.
    /// Rows that are deleted in the dataset are masked. All rows appear in one commit.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// use lath_parquet::{Dataset, DatasetOptions};
    /// use lath_table::{ImportOptions, Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let home = tempfile::tempdir()?;
    /// # let file = home.path().join("a.parquet");
    /// # let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// # let rows = RecordBatch::try_from_iter([("id", ids)])?;
    /// # let mut writer = lath_writer::ParquetWriter::new(std::fs::File::create(&file)?, &rows.schema(), Default::default())?;
    /// # writer.write(&rows)?;
    /// # writer.finish()?;
    /// let files = Dataset::open([&file], DatasetOptions::new())?;
    /// let (jobs, report) =
    ///     Table::import(home.path().join("jobs"), &files, &["id"], TableOptions::new(), ImportOptions::new())?;
    /// assert_eq!((jobs.count()?, report.files), (3, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if the folder has files, [`Error::Import`] if two rows have the same key or a key is null, [`Error::Schema`] for a schema or
    /// key that a table cannot have, and whatever goes wrong while reading and writing. Then there is no table.
    pub fn import<S: AsRef<str>>(
        folder: impl AsRef<Path>,
        source: &Dataset,
        key_columns: &[S],
        options: TableOptions,
        import: ImportOptions,
    ) -> Result<(Self, ImportReport)> {
        Self::import_with(folder, source, key_columns, options, import, |_| ControlFlow::Continue(()))
    }

    /// As [`import`](Self::import), and tells `progress` how far it is, between files and now and then within one. If `progress` breaks, no
    /// table and no file stays.
    ///
    /// # Errors
    /// As [`import`](Self::import); [`Error::Parquet`] with [`lath_parquet::Error::Cancelled`] if `progress` breaks.
    pub fn import_with<S: AsRef<str>>(
        folder: impl AsRef<Path>,
        source: &Dataset,
        key_columns: &[S],
        options: TableOptions,
        import: ImportOptions,
        mut progress: impl FnMut(&ImportProgress) -> ControlFlow<()>,
    ) -> Result<(Self, ImportReport)> {
        let schema = table_schema(source.schema(), key_columns)?;
        let folder = folder.as_ref();
        let was_there = folder.exists();
        if was_there && !has_unfinished_import(folder)? {
            return Err(Error::NotEmpty { folder: folder.to_owned() });
        }
        // Refuses a folder with a table before anything there is ours to remove.
        let engine = Arc::new(open_new_engine(folder, options)?);
        let made = import_table(&engine, schema, source, import, &mut Watch::new(&mut progress));
        drop(engine);
        if made.is_err() {
            // The folder has nothing else.
            let _ = fs::remove_dir_all(folder);
            if was_there {
                let _ = fs::create_dir(folder);
            }
        }
        made
    }
}

fn import_table(
    engine: &Arc<Engine>,
    schema: TableSchema,
    source: &Dataset,
    import: ImportOptions,
    watch: &mut Watch<'_>,
) -> Result<(Table, ImportReport)> {
    let mut write = OpenWrite::create(engine, engine.store.begin()?, schema, Vec::new())?;
    let report = import_files(&mut write, source, import, watch)?;
    write.commit(Durability::Sync)?;
    Ok((Table::start(Arc::clone(engine), true)?, report))
}

/// Whether a folder is empty apart from leftovers of a killed import.
fn has_unfinished_import(folder: &Path) -> Result<bool> {
    if database_path(folder).is_file() {
        return Ok(false);
    }
    for entry in fs::read_dir(folder).map_err(Error::io("list", folder))? {
        let name = entry.map_err(Error::io("list", folder))?.file_name();
        if !name.to_str().is_some_and(|name| name == DATA_FOLDER || name.starts_with("_table.lath")) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Puts the rows of a dataset into a table that has none.
pub(crate) fn import_files(
    write: &mut OpenWrite,
    source: &Dataset,
    import: ImportOptions,
    watch: &mut Watch<'_>,
) -> Result<ImportReport> {
    let engine = Arc::clone(write.engine());
    if let Some(url) = engine.files.url() {
        return Err(Error::import(format!(
            "an import links files, which have to be on the local disk, and this table has its files in {url}: create a table with the files' rows"
        )));
    }
    let schema = Arc::clone(write.schema());
    // Leftovers of a killed import. The table has no commit, so that nothing reads its files.
    remove_unnamed(&engine)?;
    let options = DatasetOptions::new().partitions(false).plain_files(true).runtime(&engine.runtime);
    let mut report = ImportReport::default();
    let mut keys: Vec<(Source, KeysOfRows)> = Vec::new();
    watch.begin(source.files().len())?;
    for (at, file) in source.files().iter().enumerate() {
        match examine(&schema, file, &options, engine.store.encryption_key().is_some(), watch)? {
            Ok(Some((taken, found))) => keys.push((Source::Taken(Box::new(taken)), found)),
            Ok(None) => {}
            Err(reason) => {
                let (found, rows) = rewrite(write, &schema, source, at, watch)?;
                report.rewritten.push(RewrittenFile { location: file.location().to_owned(), reason, rows });
                report.rows += rows;
                keys.push((Source::Rewritten(at), found));
            }
        }
        watch.end_file()?;
    }
    check_distinct(&schema, source, &options, &keys, watch)?;
    let mut files = NewFiles::new(&engine);
    for (file, found) in keys {
        let Source::Taken(taken) = file else { continue };
        watch.poll()?;
        report.rows += taken.live_rows();
        report.files += 1;
        report.linked += usize::from(taken.add(write, &mut files, found, import.copy)?);
    }
    if report.files > 0 {
        sync_folder(&engine.files.path(DATA_FOLDER))?;
    }
    write.keep_on_commit(files);
    Ok(report)
}

/// Reads the rows of a file of the dataset, and puts them.
fn rewrite(
    write: &mut OpenWrite,
    schema: &Arc<TableSchema>,
    source: &Dataset,
    at: usize,
    watch: &mut Watch<'_>,
) -> Result<(KeysOfRows, u64)> {
    let (mut found, mut rows) = (KeysOfRows::default(), 0);
    let location = source.files().get(at).map_or("", |file| file.location());
    for found_rows in source.subset([at])?.scan().build()? {
        let rows_of_table = plain_batch(schema, &found_rows?)?;
        let columns = schema.conform(&rows_of_table).map_err(|error| in_file(error, location))?.columns;
        let keys = schema.key().encode(&schema.key().select(&columns))?;
        for key in &keys {
            found.push(key.data(), true)?;
        }
        rows += rows_of_table.num_rows() as u64;
        watch.add_rows(rows_of_table.num_rows() as u64)?;
        write.put(keys, columns)?;
    }
    write.write_pending()?;
    Ok((found, rows))
}

/// A batch of the dataset in the types of the table.
fn plain_batch(schema: &TableSchema, rows: &RecordBatch) -> Result<RecordBatch> {
    let types = schema.arrow().fields().iter().map(|field| field.data_type());
    let arrays = rows.columns().iter().zip(types).map(|(array, data_type)| as_type(Arc::clone(array), data_type));
    let fields: Vec<_> =
        schema.arrow().fields().iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true))).collect();
    batch(&Arc::new(Schema::new(fields)), arrays.collect::<Result<_>>()?, rows.num_rows())
}

/// Says in which file there is a null.
fn in_file(error: Error, location: &str) -> Error {
    match error {
        Error::Null { column, .. } => Error::import(format!(
            "{location} has a null in column {column:?}, which is part of the key or has no nulls: choose other key columns, or delete the row in \
             the source"
        )),
        other => other,
    }
}

/// A table of a database that an import makes: removed with its folder unless it is committed.
pub(crate) fn import_into_database(
    engine: Arc<Engine>,
    transaction: lath_store::Transaction,
    schema: TableSchema,
    source: &Dataset,
    import: ImportOptions,
    watch: &mut Watch<'_>,
) -> Result<(OpenWrite, ImportReport)> {
    let mut write = OpenWrite::create(&engine, transaction, schema, Vec::new())?;
    let imported = import_files(&mut write, source, import, watch);
    match imported {
        Ok(report) => Ok((write, report)),
        Err(error) => {
            drop(write);
            let _ = fs::remove_dir_all(&engine.folder);
            Err(error)
        }
    }
}

/// The schema of a table of a database for the rows of a dataset.
pub(crate) fn imported_schema<S: AsRef<str>>(source: &Dataset, key_columns: &[S]) -> Result<TableSchema> {
    table_schema(source.schema(), key_columns)
}

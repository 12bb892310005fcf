//! Databases: several tables in one store.

mod backup;
mod definitions;
mod dropped_tables;
mod foreign_keys;
mod new_folder;
mod open_tables;
mod rename;
mod sequences;
mod sibling_tables;
mod snapshot;
mod table_folders;
mod table_list;
mod transaction;
mod view_text;
mod views;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_schema::Schema;
use lath_parquet::Dataset;
use lath_store::Store;

use self::open_tables::{OpenTables, open_store};
use self::table_list::{find_number, list_names, list_unfinished, read_state};
use self::view_text::view_text;
use crate::error::{Error, Result};
use crate::file::create_folders;
use crate::follower_marker::check_not_follower;
use crate::import::{ImportOptions, ImportProgress, ImportReport, Watch, import_into_database, imported_schema};
use crate::records::store_file::{self, FileTimes};
use crate::records::{DATABASE, DatabaseState, STATE_KEY, TABLES, TableEntry, TableOptions, named_snapshots};
use crate::row::Constraint;
use crate::table::Table;
use crate::view::{Engine, database_path, store_path};
use crate::write::OpenWrite;

pub(crate) use self::backup::relative_folder;
pub use self::backup::{BackedUp, BackupFile};
pub use self::snapshot::DatabaseSnapshot;
pub use self::transaction::{DatabaseSavepoint, DatabaseTransaction};

/// Maximum length of a table's name in bytes.
const NAME_LEN: usize = 255;

/// Several tables in one folder and one store, so that one transaction can change them together.
///
/// A table of a database supports everything that a standalone [`Table`] does; its files are in a subfolder of the database. Commits of all
/// tables go through one log, one after the other. One process at a time can have a database open for writing, and any number of others can
/// open it [read-only](Self::open_read_only). Each table has its own background thread unless the [options](TableOptions::background)
/// disable it. Handles are cheap to clone.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use lath_table::{Database, TableOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("shop");
/// let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
/// let rows = RecordBatch::try_from_iter([("id", ids)])?;
///
/// let database = Database::create(&folder, TableOptions::new())?;
/// database.create_table("orders", &rows.schema(), &["id"])?;
/// database.create_table("invoices", &rows.schema(), &["id"])?;
///
/// let mut transaction = database.begin()?;
/// transaction.table("orders")?.delete([1])?;
/// transaction.table("invoices")?.insert(&rows)?;
/// transaction.commit()?;
///
/// assert_eq!(database.table_names()?, ["invoices", "orders"]);
/// assert_eq!(database.table("invoices")?.count()?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Database {
    tables: Arc<OpenTables>,
}

impl Database {
    /// Creates a database without tables in a folder, which is created if it does not exist. Its tables have these options.
    ///
    /// # Errors
    /// [`Error::Exists`] if the folder has a database or a table.
    pub fn create(folder: impl AsRef<Path>, options: TableOptions) -> Result<Self> {
        let folder = folder.as_ref();
        create_folders(folder)?;
        let folder = fs::canonicalize(folder).map_err(Error::io("open", folder))?;
        check_not_follower(&folder)?;
        if store_path(&folder).is_file() {
            return Err(Error::Exists { folder });
        }
        let store = open_store(&folder, &options, false, true)?;
        let mut transaction = store.begin()?;
        let mut meta = transaction.tree(DATABASE)?;
        if !meta.is_empty() {
            return Err(Error::Exists { folder });
        }
        meta.put(STATE_KEY, &DatabaseState { next_table: 1 }.to_bytes())?;
        transaction.commit_with(lath_store::Durability::Sync)?;
        Self::start(folder, store, options)
    }

    /// Opens a database for reading and writing. Files that a killed process has left unfinished are removed.
    ///
    /// # Errors
    /// [`Error::NoDatabase`] if there is none, [`Error::Store`] if another process has it open for writing.
    pub fn open(folder: impl AsRef<Path>, options: TableOptions) -> Result<Self> {
        let folder = existing(folder.as_ref())?;
        check_not_follower(&folder)?;
        let store = open_store(&folder, &options, false, false)?;
        let database = Self::start(folder, store, options)?;
        for name in list_unfinished(&database.tables.store.snapshot()?)? {
            database.drop_table(&name)?;
        }
        Ok(database)
    }

    /// Opens a database for reading and writing, or creates one if the folder has none.
    ///
    /// # Errors
    /// As [`open`](Self::open) and [`create`](Self::create).
    pub fn open_or_create(folder: impl AsRef<Path>, options: TableOptions) -> Result<Self> {
        match Self::open(folder.as_ref(), options.clone()) {
            Err(Error::NoDatabase { .. }) => match Self::create(folder.as_ref(), options.clone()) {
                // Another process has created it meanwhile.
                Err(Error::Exists { .. }) => Self::open(folder, options),
                created => created,
            },
            opened => opened,
        }
    }

    /// Opens a database for reading, even while another process writes to it: new snapshots see that process's commits. If no process writes to
    /// it now, the database stays as it is, and [`is_outdated`](Self::is_outdated) tells when to open it again.
    ///
    /// # Errors
    /// [`Error::NoDatabase`] if there is none.
    pub fn open_read_only(folder: impl AsRef<Path>, options: TableOptions) -> Result<Self> {
        let folder = existing(folder.as_ref())?;
        let files = FileTimes::read(&database_path(&folder));
        let store = open_store(&folder, &options, true, false)?;
        Ok(Self { tables: Arc::new(OpenTables::open(folder, store, options, true, files)?) })
    }

    fn start(folder: PathBuf, store: Store, options: TableOptions) -> Result<Self> {
        Ok(Self { tables: Arc::new(OpenTables::open(folder, store, options, false, None)?) })
    }

    pub(crate) fn tables(&self) -> &OpenTables {
        &self.tables
    }

    pub(crate) fn store(&self) -> &Store {
        &self.tables.store
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.tables.folder
    }

    /// Whether it was opened by [`open_read_only`](Self::open_read_only).
    pub fn is_read_only(&self) -> bool {
        self.tables.read_only
    }

    /// Whether a database that was opened for reading may lack later commits, because no process had it open for writing then.
    pub fn is_outdated(&self) -> bool {
        self.tables.is_outdated()
    }

    /// Opens a database that [is outdated](Self::is_outdated) again. Tables and snapshots of the handle before stay as they are.
    ///
    /// # Errors
    /// As [`open_read_only`](Self::open_read_only).
    pub fn reopen_if_outdated(&mut self) -> Result<()> {
        if self.is_outdated() {
            *self = Self::open_read_only(self.folder(), self.tables.options.clone())?;
        }
        Ok(())
    }

    /// Whether the database is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.tables.store.is_encrypted()
    }

    /// Whether another process waits to open the database: for writing, or an encrypted one at all.
    pub fn is_awaited(&self) -> bool {
        store_file::is_awaited(&database_path(self.folder()))
    }

    /// Whether other handles of the database or of its tables are in use in this process, such as snapshots and open transactions.
    pub fn is_shared(&self) -> bool {
        let is_used = |table: &Table| Arc::strong_count(table.engine()) > 1;
        Arc::strong_count(&self.tables) > 1 || self.tables.lock().values().any(is_used)
    }

    /// The names of the tables of the last commit, in ascending order.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Corrupt`].
    pub fn table_names(&self) -> Result<Vec<String>> {
        list_names(&self.tables.store.snapshot()?)
    }

    /// The table with this name.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`].
    pub fn table(&self, name: &str) -> Result<Table> {
        self.tables.open_table(&self.tables.store.snapshot()?, name)
    }

    /// Creates a table without rows. Schema and key are as in [`Table::create`]; the name has 1 to 255 bytes, no control characters, and no
    /// white space at either end.
    ///
    /// # Errors
    /// [`Error::TableName`], [`Error::TableExists`], and [`Error::Schema`] or [`Error::Parquet`] for a schema or key that a table cannot
    /// have.
    pub fn create_table<S: AsRef<str>>(&self, name: &str, schema: &Schema, key_columns: &[S]) -> Result<Table> {
        let by_key: [&str; 0] = [];
        self.create_clustered_table(name, schema, key_columns, &by_key)
    }

    /// Creates a table without rows whose files are sorted by other columns than the key, as after [`Table::cluster_by`].
    ///
    /// # Errors
    /// As [`create_table`](Self::create_table) and [`Table::cluster_by`].
    pub fn create_clustered_table<S: AsRef<str>, C: AsRef<str>>(
        &self,
        name: &str,
        schema: &Schema,
        key_columns: &[S],
        cluster_columns: &[C],
    ) -> Result<Table> {
        let cold = self.tables.options.cold_files.as_deref();
        self.create_table_at(name, schema, key_columns, cluster_columns, cold, &[])
    }

    /// Creates a table without rows whose Parquet files are in a bucket, in a folder below the URL `cold`, as with
    /// [`TableOptions::cold_files`], which it replaces.
    ///
    /// # Errors
    /// As [`create_clustered_table`](Self::create_clustered_table), [`Error::Place`] for another URL, and [`Error::ForeignFiles`] if there are files of
    /// another table.
    pub fn create_table_in_bucket<S: AsRef<str>, C: AsRef<str>>(
        &self,
        name: &str,
        schema: &Schema,
        key_columns: &[S],
        cluster_columns: &[C],
        cold: &str,
    ) -> Result<Table> {
        self.create_table_at(name, schema, key_columns, cluster_columns, Some(cold), &[])
    }

    /// Creates a table without rows that has constraints. Its files are in a bucket if there is a URL `cold`.
    ///
    /// # Errors
    /// As [`create_table_in_bucket`](Self::create_table_in_bucket), and [`Error::Schema`] for constraints that do not fit the columns.
    pub fn create_constrained_table<S: AsRef<str>, C: AsRef<str>>(
        &self,
        name: &str,
        schema: &Schema,
        key_columns: &[S],
        cluster_columns: &[C],
        cold: Option<&str>,
        constraints: &[Constraint],
    ) -> Result<Table> {
        let cold = cold.or(self.tables.options.cold_files.as_deref());
        self.create_table_at(name, schema, key_columns, cluster_columns, cold, constraints)
    }

    fn create_table_at<S: AsRef<str>, C: AsRef<str>>(
        &self,
        name: &str,
        schema: &Schema,
        key_columns: &[S],
        cluster_columns: &[C],
        cold: Option<&str>,
        constraints: &[Constraint],
    ) -> Result<Table> {
        let number = self.define(|transaction| {
            transaction.create_table_at(name, schema, key_columns, cluster_columns, cold, constraints)
        })?;
        let created = self.tables.lock().get(&number).cloned();
        created.ok_or_else(|| Error::NoSuchTable { name: name.to_owned() })
    }

    /// Creates a table with the rows of a dataset, as [`Table::import`] does. Other writers to the database wait meanwhile.
    ///
    /// # Errors
    /// As there and as [`create_table`](Self::create_table). Then there is no table.
    pub fn import_table<S: AsRef<str>>(
        &self,
        name: &str,
        source: &Dataset,
        key_columns: &[S],
        import: ImportOptions,
    ) -> Result<(Table, ImportReport)> {
        self.import_table_with(name, source, key_columns, import, |_| ControlFlow::Continue(()))
    }

    /// As [`import_table`](Self::import_table), and tells `progress` how far it is, as [`Table::import_with`] does.
    ///
    /// # Errors
    /// As there.
    pub fn import_table_with<S: AsRef<str>>(
        &self,
        name: &str,
        source: &Dataset,
        key_columns: &[S],
        import: ImportOptions,
        mut progress: impl FnMut(&ImportProgress) -> ControlFlow<()>,
    ) -> Result<(Table, ImportReport)> {
        let schema = imported_schema(source, key_columns)?;
        let new = self.begin_table(name, self.tables.options.cold_files.as_deref())?;
        let watch = &mut Watch::new(&mut progress);
        let (write, report) = import_into_database(new.engine, new.transaction, schema, source, import, watch)?;
        Ok((self.finish_table(new.number, write)?, report))
    }

    /// Gives a table a name and a number, in a transaction in which its first commit follows. Its files are below the URL `cold`, if there is one.
    fn begin_table(&self, name: &str, cold: Option<&str>) -> Result<NewTable> {
        check_name(name)?;
        let mut transaction = self.tables.store.begin()?;
        let newest = self.tables.store.snapshot()?;
        if find_number(&newest, name)?.is_some() || view_text(&newest, name)?.is_some() {
            return Err(Error::TableExists { name: name.to_owned() });
        }
        let state = read_state(&newest)?.ok_or_else(|| Error::corrupt("the state of the database is missing"))?;
        let number = self.tables.new_number(&state);
        let engine = self.tables.new_engine(number, cold)?;
        create_folder(&self.tables.folder, &engine.folder)?;
        let state = DatabaseState { next_table: number + 1 };
        transaction.tree(DATABASE)?.put(STATE_KEY, &state.to_bytes())?;
        transaction.tree(TABLES)?.put(name.as_bytes(), &TableEntry { number }.to_bytes())?;
        Ok(NewTable { number, engine, transaction })
    }

    /// Makes the first commit of a table.
    fn finish_table(&self, number: u64, write: OpenWrite) -> Result<Table> {
        let engine = Arc::clone(write.engine());
        // Locked while it is committed, so that the table is open once it can be seen.
        let mut open = self.tables.lock();
        write.commit(lath_store::Durability::Sync)?;
        let table = Table::start(engine, true)?;
        open.insert(number, table.clone());
        Ok(table)
    }

    /// Drops a table with all its rows. Its handles return [`Error::NoTable`] afterwards. Snapshots that were taken before stay readable,
    /// and the files are removed when no snapshot is left. A thread with an open transaction must not call this, because it would wait for
    /// itself.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`], and [`Error::Schema`] if a foreign key of another table refers to it.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.define(|transaction| transaction.drop_table(name))
    }

    /// Begins a transaction over several tables. Waits until any other open transaction of the database has ended.
    ///
    /// # Errors
    /// [`Error::Store`], if the database was opened read-only.
    pub fn begin(&self) -> Result<DatabaseTransaction> {
        let transaction = self.tables.store.begin()?;
        Ok(DatabaseTransaction::new(Arc::clone(&self.tables), transaction))
    }

    /// Begins a transaction over several tables, unless another one stays open for this long.
    ///
    /// # Errors
    /// [`Error::Store`], which holds [`lath_store::Error::Busy`] after this time.
    pub fn begin_within(&self, wait: Duration) -> Result<DatabaseTransaction> {
        let transaction = self.tables.store.begin_within(wait)?;
        Ok(DatabaseTransaction::new(Arc::clone(&self.tables), transaction))
    }

    /// All tables as the last commit left them.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn snapshot(&self) -> Result<DatabaseSnapshot> {
        Ok(DatabaseSnapshot::new(Arc::clone(&self.tables), self.tables.store.snapshot()?))
    }

    /// Keeps the last commit of all tables as a snapshot with this name, with the files that it needs, until
    /// [`drop_snapshot`](Self::drop_snapshot).
    ///
    /// # Errors
    /// [`Error::Store`], if there is a snapshot with this name.
    pub fn keep_snapshot(&self, name: &str) -> Result<()> {
        named_snapshots::keep_snapshot(&self.tables.store, name)
    }

    /// Drops the snapshot with this name.
    ///
    /// # Errors
    /// [`Error::NoSuchSnapshot`].
    pub fn drop_snapshot(&self, name: &str) -> Result<()> {
        named_snapshots::drop_snapshot(&self.tables.store, name)
    }

    /// Removes files that are no longer part of a table and that no snapshot needs, in this or another process, with the files of dropped
    /// tables; returns their number.
    ///
    /// # Errors
    /// [`Error::Io`] if one cannot be removed.
    pub fn vacuum(&self) -> Result<usize> {
        let tables: Vec<Table> = self.tables.lock().values().cloned().collect();
        let mut removed = 0;
        for table in tables {
            removed += table.vacuum()?;
        }
        Ok(removed + dropped_tables::remove(&self.tables)?)
    }

    /// Makes all commits so far durable, whatever their durability.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn sync(&self) -> Result<()> {
        Ok(self.tables.store.sync()?)
    }
}

/// A table that has no commit yet.
struct NewTable {
    number: u64,
    engine: Arc<Engine>,
    transaction: lath_store::Transaction,
}

fn existing(folder: &Path) -> Result<PathBuf> {
    let path = database_path(folder);
    if !path.is_file() || store_file::is_half_created(&path)? {
        return Err(Error::NoDatabase { folder: folder.to_owned() });
    }
    fs::canonicalize(folder).map_err(Error::io("open", folder))
}

/// Makes the folder of a table, durably: commits may name files in it that are durable.
fn create_folder(database: &Path, folder: &Path) -> Result<()> {
    create_folders(folder)?;
    #[cfg(unix)]
    fs::File::open(database).and_then(|database| database.sync_all()).map_err(Error::io("sync", database))?;
    Ok(())
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_allowed =
        (1..=NAME_LEN).contains(&name.len()) && name.trim().len() == name.len() && !name.contains(char::is_control);
    if is_allowed { Ok(()) } else { Err(Error::TableName { name: name.to_owned() }) }
}

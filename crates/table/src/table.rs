//! The handle to an open table.

use std::fs;
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use lath_parquet::Predicate;

use crate::error::{Error, Result};
use crate::export::ExportReport;
use crate::file::create_folders;
use crate::follower_marker::check_not_follower;
use crate::maintenance::{
    Activity, Background, CheckReport, CompactReport, FlushReport, check, compact, flush, vacuum,
};
use crate::publish::remove_objects;
use crate::read::scan::TableScan;
use crate::read::{FoundRows, RangeScan, Snapshot};
use crate::records::{TableOptions, TreeNames, file_place, named_snapshots, store_file};
use crate::row::key::{Key, Keys};
use crate::row::{TableSchema, cluster_ids};
use crate::view::{Engine, database_path, store_path};
use crate::write::{MergeCounts, MergeWhen, OpenWrite, Transaction, UpdateCounts};

/// A table with a primary key: a folder with one store and Parquet files.
///
/// Recently written rows are *hot*: they are in the store. [`flush`](Self::flush) moves them to Parquet files. A row in a file that was
/// replaced or deleted is masked, so that every key has at most one row. One process at a time can have a table open for writing, and any
/// number of others can open it [read-only](Self::open_read_only). Handles are cheap to clone.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
/// use lath_table::{Table, TableOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("people");
/// let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
/// let names: ArrayRef = Arc::new(StringArray::from(vec!["Ada", "Grace", "Edsger"]));
/// let people = RecordBatch::try_from_iter([("id", ids), ("name", names)])?;
///
/// let table = Table::create(&folder, &people.schema(), &["id"], TableOptions::new())?;
/// table.upsert(&people)?;
/// table.delete([3])?;
/// table.flush()?;
///
/// assert_eq!(table.count()?, 2);
/// let ada = table.get(1)?.ok_or("no Ada")?;
/// assert_eq!(ada.column(1).as_ref(), &StringArray::from(vec!["Ada"]) as &dyn arrow_array::Array);
/// for batch in table.snapshot()?.scan().filter("name LIKE 'G%'")?.build()? {
///     assert_eq!(batch?.num_rows(), 1);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    // Before the engine, so that the thread ends first.
    background: Option<Arc<Background>>,
    engine: Arc<Engine>,
}

impl Table {
    /// Creates a table in a folder, which is created if it does not exist. Key columns become NOT NULL, and every column gets a field number,
    /// which is in its metadata and in the Parquet files.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is one, [`Error::Schema`] or [`Error::Parquet`] for a schema or key that a table cannot have.
    pub fn create<S: AsRef<str>>(
        folder: impl AsRef<Path>,
        schema: &Schema,
        key_columns: &[S],
        options: TableOptions,
    ) -> Result<Self> {
        let by_key: [&str; 0] = [];
        Self::create_clustered(folder, schema, key_columns, &by_key, options)
    }

    /// Creates a table whose files are sorted by other columns than the key, as after [`cluster_by`](Self::cluster_by).
    ///
    /// ```
    /// # use arrow_schema::{DataType, Field, Schema};
    /// # use lath_table::{Table, TableOptions};
    /// # fn main() -> lath_table::Result<()> {
    /// # let folder = tempfile::tempdir().expect("a folder");
    /// let schema = Schema::new(vec![Field::new("id", DataType::Utf8, false), Field::new("ts", DataType::Int64, false)]);
    /// let events = folder.path().join("events");
    /// let table = Table::create_clustered(events, &schema, &["id"], &["ts"], TableOptions::new())?;
    /// assert_eq!(table.snapshot()?.cluster_columns(), [1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`create`](Self::create) and [`cluster_by`](Self::cluster_by).
    pub fn create_clustered<S: AsRef<str>, C: AsRef<str>>(
        folder: impl AsRef<Path>,
        schema: &Schema,
        key_columns: &[S],
        cluster_columns: &[C],
        options: TableOptions,
    ) -> Result<Self> {
        let schema = TableSchema::create(schema, key_columns)?;
        let cluster = cluster_ids(&schema, cluster_columns)?;
        let engine = Arc::new(open_new_engine(folder.as_ref(), options)?);
        OpenWrite::create(&engine, engine.store.begin()?, schema, cluster)?.commit(lath_store::Durability::Sync)?;
        Self::start(engine, true)
    }

    /// Opens a table for reading and writing. Files that a killed process has left unfinished are removed.
    ///
    /// # Errors
    /// [`Error::NoTable`] if there is none, [`Error::Store`] if another process has it open for writing.
    pub fn open(folder: impl AsRef<Path>, options: TableOptions) -> Result<Self> {
        let folder = existing(folder.as_ref())?;
        check_not_follower(&folder)?;
        let engine = open_engine(folder, options, false, false)?;
        check_is_table(&engine)?;
        vacuum::remove_local_orphans(&engine)?;
        Self::start(engine, true)
    }

    /// Opens a table for reading, even while another process writes to it: new snapshots see that process's commits.
    ///
    /// # Errors
    /// [`Error::NoTable`] if there is none.
    pub fn open_read_only(folder: impl AsRef<Path>, options: TableOptions) -> Result<Self> {
        let engine = open_engine(existing(folder.as_ref())?, options, true, false)?;
        check_is_table(&engine)?;
        Self::start(engine, false)
    }

    pub(crate) fn start(engine: impl Into<Arc<Engine>>, writes: bool) -> Result<Self> {
        let engine = engine.into();
        let background = writes && engine.options.background;
        let background = if background { Some(Arc::new(Background::start(&engine)?)) } else { None };
        Ok(Self { background, engine })
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The folder with its files.
    pub fn folder(&self) -> &Path {
        &self.engine.folder
    }

    /// Whether the table is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.engine.store.is_encrypted()
    }

    /// The folder in which the table's files have their names; the URL if they are [in a bucket](TableOptions::cold_files).
    pub fn location(&self) -> &Path {
        self.engine.files.folder().location()
    }

    /// The columns.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(Arc::clone(self.snapshot()?.schema()))
    }

    /// Begins a transaction, whose changes become visible together. Waits until another open transaction has ended.
    ///
    /// # Errors
    /// [`Error::Store`], if the table was opened read-only.
    pub fn begin(&self) -> Result<Transaction> {
        Transaction::begin(&self.engine)
    }

    /// One commit of [`Transaction::upsert`].
    ///
    /// # Errors
    /// As there, and as [`Transaction::commit`].
    pub fn upsert(&self, batch: &RecordBatch) -> Result<()> {
        self.commit_one(|transaction| transaction.upsert(batch))
    }

    /// One commit of [`Transaction::insert`].
    ///
    /// # Errors
    /// As there, and as [`Transaction::commit`].
    pub fn insert(&self, batch: &RecordBatch) -> Result<()> {
        self.commit_one(|transaction| transaction.insert(batch))
    }

    /// One commit of [`Transaction::update`].
    ///
    /// # Errors
    /// As there, and as [`Transaction::commit`].
    pub fn update(&self, batch: &RecordBatch) -> Result<UpdateCounts> {
        self.commit_one(|transaction| transaction.update(batch))
    }

    /// One commit of [`Transaction::merge`].
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// use lath_table::{MergeWhen, Table, TableOptions, WhenMatched};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let stock = |rows: &[(i64, i64)]| {
    /// #     let column = |at: fn(&(i64, i64)) -> i64| Arc::new(Int64Array::from_iter_values(rows.iter().map(at))) as ArrayRef;
    /// #     RecordBatch::try_from_iter([("item", column(|row| row.0)), ("count", column(|row| row.1))])
    /// # };
    /// # let table = Table::create(folder.path().join("stock"), &stock(&[])?.schema(), &["item"], TableOptions::new())?;
    /// table.upsert(&stock(&[(1, 10), (2, 20)])?)?;
    /// let merged = table.merge(&stock(&[(2, 25), (3, 30)])?, &MergeWhen::new())?;
    /// assert_eq!((merged.inserted, merged.updated), (1, 1));
    /// let merged = table.merge(&stock(&[(1, 0), (9, 0)])?, &MergeWhen::new().matched(WhenMatched::Delete))?;
    /// assert_eq!((merged.inserted, merged.deleted), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As there, and as [`Transaction::commit`].
    pub fn merge(&self, source: &RecordBatch, when: &MergeWhen) -> Result<MergeCounts> {
        self.commit_one(|transaction| transaction.merge(source, when))
    }

    /// One commit of [`Transaction::delete`].
    ///
    /// # Errors
    /// As there, and as [`Transaction::commit`].
    pub fn delete(&self, keys: impl Keys) -> Result<()> {
        self.commit_one(|transaction| transaction.delete(keys))
    }

    /// One commit of [`Transaction::delete_where`].
    ///
    /// # Errors
    /// As there, and as [`Transaction::commit`].
    pub fn delete_where(&self, predicate: &Predicate) -> Result<u64> {
        self.commit_one(|transaction| transaction.delete_where(predicate))
    }

    fn commit_one<T>(&self, change: impl FnOnce(&mut Transaction) -> Result<T>) -> Result<T> {
        let mut transaction = self.begin()?;
        let changed = change(&mut transaction)?;
        transaction.commit()?;
        Ok(changed)
    }

    /// The table as the last commit left it.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Corrupt`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        Snapshot::newest(&self.engine)
    }

    /// Waits until the last commit is later than the version `after`, at most this long, and returns its snapshot if it is. A table that
    /// was opened read-only while another process writes sees its commits; opened without one, it stays as it was.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// # use lath_table::{Table, TableOptions};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1])) as ArrayRef)])?;
    /// # let table = Table::create(folder.path().join("orders"), &rows.schema(), &["id"], TableOptions::new())?;
    /// let version = table.snapshot()?.version();
    /// assert!(table.wait_for_commit(version, Duration::from_millis(1))?.is_none());
    /// table.upsert(&rows)?;
    /// assert!(table.wait_for_commit(version, Duration::from_secs(1))?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub fn wait_for_commit(&self, after: u64, wait: Duration) -> Result<Option<Snapshot>> {
        let start = Instant::now();
        loop {
            // Commits of other tables count too.
            let seen = self.engine.store.snapshot()?.sequence();
            let snapshot = self.snapshot()?;
            if snapshot.version() > after {
                return Ok(Some(snapshot));
            }
            let left = wait.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            self.engine.store.wait_for_commit(seen, left)?;
        }
    }

    /// [`Snapshot::get`] of the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn get(&self, key: impl Into<Key>) -> Result<Option<RecordBatch>> {
        self.snapshot()?.get(key)
    }

    /// [`Snapshot::get_many`] of the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn get_many(&self, keys: impl Keys) -> Result<FoundRows> {
        self.snapshot()?.get_many(keys)
    }

    /// [`Snapshot::scan`] of the last commit.
    ///
    /// # Errors
    /// As [`snapshot`](Self::snapshot).
    pub fn scan(&self) -> Result<TableScan<'static>> {
        Ok(self.snapshot()?.scan())
    }

    /// [`Snapshot::range`] of the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn range<K: Clone + Into<Key>>(&self, bounds: impl RangeBounds<K>) -> Result<RangeScan<'static>> {
        self.snapshot()?.range(bounds)
    }

    /// [`Snapshot::count`] of the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn count(&self) -> Result<u64> {
        self.snapshot()?.count()
    }

    /// Keeps the last commit as a snapshot with this name, with the files that it needs, until [`drop_snapshot`](Self::drop_snapshot).
    /// It keeps all tables of the [`Database`](crate::Database), if this is one of its tables.
    ///
    /// # Errors
    /// [`Error::Store`], if there is a snapshot with this name.
    pub fn keep_snapshot(&self, name: &str) -> Result<()> {
        named_snapshots::keep_snapshot(&self.engine.store, name)
    }

    /// Drops the snapshot with this name.
    ///
    /// # Errors
    /// [`Error::NoSuchSnapshot`].
    pub fn drop_snapshot(&self, name: &str) -> Result<()> {
        named_snapshots::drop_snapshot(&self.engine.store, name)
    }

    /// The snapshot with this name.
    ///
    /// # Errors
    /// [`Error::NoSuchSnapshot`].
    pub fn snapshot_named(&self, name: &str) -> Result<Snapshot> {
        self.snapshot()?.snapshot_named(name)
    }

    /// The names of the kept snapshots.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn snapshot_names(&self) -> Result<Vec<String>> {
        self.snapshot()?.snapshot_names()
    }

    /// Moves the hot rows of the last commit to files. Other threads and processes can read and write at the same time.
    ///
    /// # Errors
    /// Any error of reading or writing; then nothing has changed. [`Error::Publish`] or [`Error::ForeignMetadata`] if the rows are in files, but a
    /// [published](Self::publish) table could not be published.
    pub fn flush(&self) -> Result<FlushReport> {
        flush::flush(&self.engine)
    }

    /// Merges small files of about the same size, and rewrites files in which a twentieth of the rows or more is deleted, until there is
    /// nothing left to merge. This merges more than the background thread, which merges only if the gain is worth the writing
    /// ([`merge_files`](TableOptions::merge_files), [`deleted_percent`](TableOptions::deleted_percent)). Files that are not in the
    /// [order](Self::cluster_by) of new files are sorted first. Other threads and processes can read and write during the merge.
    ///
    /// # Errors
    /// Any error of reading or writing. Completed merges stay.
    pub fn compact(&self) -> Result<CompactReport> {
        compact::compact(&self.engine)
    }

    /// Removes files that are no longer part of the table and that no snapshot in any process needs, and returns their number. Returns the
    /// store's free space to the file system if it is more than 16 MiB and more than an eighth of the table's size. The background thread
    /// returns free space only after ten seconds with almost no commits, or if it is more than a gibibyte, because the next hot rows need the
    /// space again.
    ///
    /// # Errors
    /// [`Error::Io`] if a file cannot be removed, [`Error::Store`].
    pub fn vacuum(&self) -> Result<usize> {
        vacuum::vacuum(&self.engine, Activity::ByHand)
    }

    /// Makes all commits so far durable, whatever their durability.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn sync(&self) -> Result<()> {
        Ok(self.engine.store.sync()?)
    }

    /// Reads the whole table and checks that its parts agree: the store, and the rows, mask and entry of each file. Also checks that no key
    /// has two rows.
    ///
    /// # Errors
    /// Any error that prevents the check. Problems of the table itself are in the report.
    pub fn check(&self) -> Result<CheckReport> {
        check::check(&self.engine)
    }

    /// [`Snapshot::export`] of the last commit.
    ///
    /// # Errors
    /// As there.
    pub fn export(&self, folder: impl AsRef<Path>) -> Result<ExportReport> {
        self.snapshot()?.export(folder)
    }

    /// Removes the objects of a table whose [files are in a bucket](TableOptions::cold_files), and returns the number of files. For a table that is to
    /// be removed with its folder: its rows are lost. [`Database::drop_table`](crate::Database::drop_table) does it for a table of a database.
    ///
    /// # Errors
    /// [`Error::ForeignFiles`] if they belong to another table; failures of requests.
    pub fn remove_objects(&self) -> Result<usize> {
        let _no_maintenance = self.engine.lock_maintenance();
        remove_objects(&self.engine)
    }

    /// The error of the background thread's last run; `None` if it succeeded. The thread tries again.
    pub fn background_error(&self) -> Option<Error> {
        self.background.as_ref().and_then(|background| background.last_error())
    }
}

fn existing(folder: &Path) -> Result<PathBuf> {
    let path = store_path(folder);
    if !path.is_file() || store_file::is_half_created(&path)? {
        return Err(Error::NoTable { folder: folder.to_owned() });
    }
    fs::canonicalize(folder).map_err(Error::io("open", folder))
}

/// Opens the store of a table that is about to be created, in a folder that is created if it does not exist.
pub(crate) fn open_new_engine(folder: &Path, options: TableOptions) -> Result<Engine> {
    create_folders(folder)?;
    let folder = fs::canonicalize(folder).map_err(Error::io("open", folder))?;
    check_not_follower(&folder)?;
    if database_path(&folder).is_file() {
        return Err(Error::Exists { folder });
    }
    let engine = open_engine(folder, options, false, true)?;
    match engine.read_state(&engine.store.snapshot()?)? {
        Some(_) => Err(Error::Exists { folder: engine.folder }),
        None => Ok(engine),
    }
}

fn open_engine(folder: PathBuf, options: TableOptions, read_only: bool, create: bool) -> Result<Engine> {
    let store = store_file::open_store(&store_path(&folder), &options, read_only, create)?;
    let place = match file_place(&store.snapshot()?, None)? {
        None if create => options.cold_files.clone(),
        place => place,
    };
    Engine::new(folder, store, TreeNames::single_table(), options, place.as_deref())
}

fn check_is_table(engine: &Engine) -> Result<()> {
    match engine.read_state(&engine.store.snapshot()?)? {
        Some(_) => Ok(()),
        None => Err(Error::NoTable { folder: engine.folder.clone() }),
    }
}

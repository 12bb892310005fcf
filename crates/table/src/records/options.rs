//! Options for opening a table.

use std::path::Path;
use std::time::Duration;

use lath_parquet::Runtime;
pub use lath_store::{Durability, EncryptionKey};
use lath_writer::{Codec, Profile, UncommittedFiles, WriteOptions};

use super::clock::Clock;
use crate::error::Result;

/// Options for opening a table and for its background thread.
///
/// ```
/// use lath_table::{Durability, TableOptions};
///
/// let options = TableOptions::new().durability(Durability::Deferred).flush_rows(100_000);
/// ```
#[derive(Debug, Clone)]
pub struct TableOptions {
    pub(crate) durability: Durability,
    pub(crate) background: bool,
    pub(crate) flush_rows: u64,
    pub(crate) flush_bytes: u64,
    pub(crate) file_rows: u64,
    pub(crate) merge_files: usize,
    pub(crate) merge_rows: u64,
    pub(crate) deleted_percent: u32,
    pub(crate) bulk_rows: u64,
    pub(crate) cache_bytes: u64,
    pub(crate) disk_cache_bytes: u64,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) write: WriteOptions,
    pub(crate) wait: Duration,
    pub(crate) cold_files: Option<String>,
    pub(crate) uncommitted: UncommittedFiles,
    pub(crate) clock: Clock,
    pub(crate) store: lath_store::Options,
    pub(crate) encryption_key: Option<EncryptionKey>,
    pub(crate) is_key_required: bool,
}

impl TableOptions {
    /// Default for [`flush_rows`](Self::flush_rows): 1,048,576.
    pub const DEFAULT_FLUSH_ROWS: u64 = 1 << 20;
    /// Default for [`flush_bytes`](Self::flush_bytes): 256 MiB.
    pub const DEFAULT_FLUSH_BYTES: u64 = 256 << 20;
    /// Default for [`file_rows`](Self::file_rows): 4,194,304.
    pub const DEFAULT_FILE_ROWS: u64 = 4 << 20;
    /// Rows of a row group in the default of [`write_options`](Self::write_options): 65,536. A get reads the offset index of one row group.
    pub const DEFAULT_ROW_GROUP_ROWS: usize = 1 << 16;
    /// Default for [`merge_files`](Self::merge_files): 4.
    pub const DEFAULT_MERGE_FILES: usize = 4;
    /// Default for [`merge_rows`](Self::merge_rows): 33,554,432.
    pub const DEFAULT_MERGE_ROWS: u64 = 32 << 20;
    /// Default for [`deleted_percent`](Self::deleted_percent): 30.
    pub const DEFAULT_DELETED_PERCENT: u32 = 30;

    /// Default for [`bulk_rows`](Self::bulk_rows): 65,536.
    pub const DEFAULT_BULK_ROWS: u64 = 1 << 16;
    /// Default for [`cache_bytes`](Self::cache_bytes): 256 MiB.
    pub const DEFAULT_CACHE_BYTES: u64 = 256 << 20;
    /// Default for [`disk_cache_bytes`](Self::disk_cache_bytes): 1 GiB.
    pub const DEFAULT_DISK_CACHE_BYTES: u64 = 1 << 30;
    /// The limit of the log in the default of [`store_options`](Self::store_options): 384 MiB. From one flush, which makes a checkpoint, to the
    /// next it seldom becomes so long: then no other checkpoint writes the hot rows once more.
    pub const DEFAULT_LOG_LIMIT_BYTES: u64 = 384 << 20;

    /// Default time for which opening waits for other processes: five seconds.
    pub const DEFAULT_WAIT: Duration = Duration::from_secs(5);

    /// The space that waits for a checkpoint in the default of [`store_options`](Self::store_options): 256 MiB. With the 64 MiB of stores,
    /// upserts of rows anywhere in a hot tree of 150 MB made a checkpoint every 40,000 rows, each of which wrote all of the tree.
    pub const DEFAULT_CHECKPOINT_SPACE_BYTES: u64 = 256 << 20;

    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the durability of commits that do not choose their own. The default is [`Durability::Sync`]. Commits of [`flush`](crate::Table::flush)
    /// and [`compact`](crate::Table::compact) are always synced.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Whether a background thread flushes, compacts and removes files when necessary. The default is `true`.
    #[must_use]
    pub fn background(mut self, enabled: bool) -> Self {
        self.background = enabled;
        self
    }

    /// Sets the number of hot rows and tombstones at which the background thread flushes. With the default, and rows of about 100 bytes, the store
    /// and its logs grow to as much as 1.2 GB during upserts at full speed, and to about 12 times the hot rows where these have fewer than 64 MiB. The
    /// space is freed after ten seconds with almost no commits.
    #[must_use]
    pub fn flush_rows(mut self, rows: u64) -> Self {
        self.flush_rows = rows.max(1);
        self
    }

    /// Sets the number of bytes put into the hot tree at which the background thread flushes. Rows of [clustered](crate::Table::cluster_by) files
    /// are sorted in parts of about this size.
    #[must_use]
    pub fn flush_bytes(mut self, bytes: u64) -> Self {
        self.flush_bytes = bytes.max(1);
        self
    }

    /// Sets the maximum number of rows of a file.
    #[must_use]
    pub fn file_rows(mut self, rows: u64) -> Self {
        self.file_rows = rows.max(1);
        self
    }

    /// Sets the number of files of about the same size at which the background thread merges them. [`compact`](crate::Table::compact) merges two
    /// already.
    #[must_use]
    pub fn merge_files(mut self, files: usize) -> Self {
        self.merge_files = files.max(2);
        self
    }

    /// Sets the maximum number of rows that one merge writes.
    #[must_use]
    pub fn merge_rows(mut self, rows: u64) -> Self {
        self.merge_rows = rows.max(1);
        self
    }

    /// Sets the share of deleted rows, in percent, at which the background thread rewrites a file. [`compact`](crate::Table::compact) rewrites
    /// files from 5 % on.
    #[must_use]
    pub fn deleted_percent(mut self, percent: u32) -> Self {
        self.deleted_percent = percent.clamp(1, 100);
        self
    }

    /// Sets the number of rows put by a transaction, one after another, at which they become files at once instead of hot rows. They are held in
    /// memory until the transaction is read or committed, or until they take [`flush_bytes`](Self::flush_bytes).
    #[must_use]
    pub fn bulk_rows(mut self, rows: u64) -> Self {
        self.bulk_rows = rows.max(1);
        self
    }

    /// Sets the size of the cache for gets. It holds Bloom filters, and the keys and columns of blocks of 1,024 rows, and evicts the ones that were
    /// not used recently. With 0, every get reads them from the files. Offset indexes stay in memory in addition, 16 bytes for each page.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// Sets the size of the cache on the local disk of a table whose [files are in a bucket](Self::cold_files). It holds blocks of 64 KiB in the
    /// table's folder, evicts the ones that were not used recently, and keeps the others for the next process. Processes that have the table open at
    /// the same time have a cache each. With 0, there is none.
    #[must_use]
    pub fn disk_cache_bytes(mut self, bytes: u64) -> Self {
        self.disk_cache_bytes = bytes;
        self
    }

    /// Sets the threads, caches and open files that reading uses. The default is [`Runtime::global`].
    #[must_use]
    pub fn runtime(mut self, runtime: &Runtime) -> Self {
        self.runtime = Some(runtime.clone());
        self
    }

    /// Sets how files are written. The table itself always sets Bloom filters and small pages for key columns, and the order of rows. The default
    /// is [`Profile::Lookup`] with Zstandard and [short row groups](Self::DEFAULT_ROW_GROUP_ROWS). Options of single columns name them: writing a
    /// file fails if the table does not have, or no longer has, a named column.
    #[must_use]
    pub fn write_options(mut self, options: WriteOptions) -> Self {
        self.write = options;
        self
    }

    /// Sets how long opening waits for processes that have the table open in a way that excludes this one: a writer waits for another writer, and
    /// for readers of a table that no process writes to. The default is [five seconds](Self::DEFAULT_WAIT).
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Sets a URL of a bucket, such as `s3://bucket/prefix`, below which tables that are created with these options have their Parquet files. Hot
    /// rows, masks and indexes stay in the table's folder. In a database each table has its own prefix below the URL, called as its folder.
    /// Tables that exist have their files where they were created.
    #[must_use]
    pub fn cold_files(mut self, url: impl Into<String>) -> Self {
        self.cold_files = Some(url.into());
        self
    }

    /// Sets the list of files that are being written, so that a program that is told to end can remove them, and objects that are being sent.
    #[must_use]
    pub fn uncommitted(mut self, files: &UncommittedFiles) -> Self {
        self.uncommitted = files.clone();
        self
    }

    /// Sets the clock by which rows expire, for tables with a [time to live](crate::Table::set_ttl). The default is the clock of the system.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets how the store is opened: its capacity, the length of its log. Durability and access are set by the table. The default is the default of
    /// stores, except for the [limit of the log](Self::DEFAULT_LOG_LIMIT_BYTES) and the
    /// [space that waits for a checkpoint](Self::DEFAULT_CHECKPOINT_SPACE_BYTES).
    #[must_use]
    pub fn store_options(mut self, options: lath_store::Options) -> Self {
        self.store = options;
        self
    }

    /// Whether `rows` hot rows and tombstones, which take `bytes`, are enough to flush.
    pub(crate) fn is_flush_due(&self, rows: u64, bytes: u64) -> bool {
        rows >= self.flush_rows || (rows > 0 && bytes >= self.flush_bytes)
    }

    /// Sets the key of an encrypted table or database, which is made encrypted, or opened with its key.
    ///
    /// The store is encrypted as [`lath_store::Options::encryption_key`] says, so one process at a time writes, and readers open the table while
    /// none does. Parquet files are encrypted by modular encryption, each with another key, which is encrypted with this one. Imported files
    /// are written again. An encrypted table cannot be published, and its scans are not divided among workers. Backups are encrypted with the
    /// same key; [exports](crate::Snapshot::export) are not encrypted.
    #[must_use]
    pub fn encryption_key(mut self, key: EncryptionKey) -> Self {
        (self.encryption_key, self.is_key_required) = (Some(key), true);
        self
    }

    /// Like [`encryption_key`](Self::encryption_key), but opens tables and databases without encryption, too, which stay so. For
    /// programs that have one key and open whatever is there.
    #[must_use]
    pub fn available_key(mut self, key: EncryptionKey) -> Self {
        (self.encryption_key, self.is_key_required) = (Some(key), false);
        self
    }

    /// The key for the store at `path`.
    pub(crate) fn key_for(&self, path: &Path) -> Result<Option<&EncryptionKey>> {
        let is_used = self.is_key_required || lath_store::is_encrypted(path)? != Some(false);
        Ok(self.encryption_key.as_ref().filter(|_| is_used))
    }

    pub(crate) fn runtime_or_default(&self) -> Runtime {
        self.runtime.clone().unwrap_or_else(Runtime::global)
    }
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Sync,
            background: true,
            flush_rows: Self::DEFAULT_FLUSH_ROWS,
            flush_bytes: Self::DEFAULT_FLUSH_BYTES,
            file_rows: Self::DEFAULT_FILE_ROWS,
            merge_files: Self::DEFAULT_MERGE_FILES,
            merge_rows: Self::DEFAULT_MERGE_ROWS,
            deleted_percent: Self::DEFAULT_DELETED_PERCENT,
            bulk_rows: Self::DEFAULT_BULK_ROWS,
            cache_bytes: Self::DEFAULT_CACHE_BYTES,
            disk_cache_bytes: Self::DEFAULT_DISK_CACHE_BYTES,
            runtime: None,
            write: WriteOptions::profile(Profile::Lookup)
                .codec(Codec::Zstd { level: 1 })
                .row_group_rows(Self::DEFAULT_ROW_GROUP_ROWS),
            wait: Self::DEFAULT_WAIT,
            cold_files: None,
            uncommitted: UncommittedFiles::new(),
            clock: Clock::default(),
            store: lath_store::Options::new()
                .log_limit_bytes(Self::DEFAULT_LOG_LIMIT_BYTES)
                .checkpoint_space_bytes(Self::DEFAULT_CHECKPOINT_SPACE_BYTES),
            encryption_key: None,
            is_key_required: true,
        }
    }
}

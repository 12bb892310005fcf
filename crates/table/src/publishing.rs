//! Publishes a table for programs that read tables of Iceberg or Delta Lake.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use lath_store::Durability;

use crate::error::{Error, Result};
use crate::maintenance::flush::flush_and_publish;
use crate::maintenance::make_publishable;
use crate::publish::{DeltaLog, MappedColumn, MetadataFolder, PublishedCommit, mapped_columns, remove_log, setting};
use crate::records::Publishing;
use crate::table::Table;
use crate::write::OpenWrite;

/// Options of [`Table::publish`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishOptions {
    /// Whether the table is published as one of Iceberg, which is the default.
    pub iceberg: bool,
    /// Whether the table is published as one of Delta Lake.
    pub delta: bool,
    /// The files of a snapshot that is no longer the newest stay for this time, so that a reader that has planned with it can finish. The
    /// default is ten minutes.
    pub keep: Duration,
    /// Maximum age of the published snapshot while there are newer commits. The background thread then flushes. Without it, the default, what is
    /// published is as old as the last flush.
    pub max_age: Option<Duration>,
    /// Whether columns of types that Iceberg lacks are published in a wider type: unsigned integers of 8 and 16 bits as `int`,
    /// and half floats as `float`. Without it, the default, they are an error.
    pub map_types: bool,
}

impl PublishOptions {
    /// Default for [`keep`](Self::keep): ten minutes.
    pub const DEFAULT_KEEP: Duration = Duration::from_secs(600);

    /// The defaults.
    pub fn new() -> Self {
        Self { iceberg: true, delta: false, keep: Self::DEFAULT_KEEP, max_age: None, map_types: false }
    }

    /// Sets whether the table is published as one of Iceberg.
    #[must_use]
    pub fn iceberg(mut self, publish: bool) -> Self {
        self.iceberg = publish;
        self
    }

    /// Sets whether the table is published as one of Delta Lake.
    #[must_use]
    pub fn delta(mut self, publish: bool) -> Self {
        self.delta = publish;
        self
    }

    /// Sets for how long the files of older snapshots stay.
    #[must_use]
    pub fn keep(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    /// Sets the maximum age of what is published.
    #[must_use]
    pub fn max_age(mut self, max_age: Duration) -> Self {
        self.max_age = Some(max_age.max(Duration::from_millis(1)));
        self
    }

    /// Sets whether columns of types that Iceberg lacks are published in a wider type.
    #[must_use]
    pub fn map_types(mut self, map_types: bool) -> Self {
        self.map_types = map_types;
        self
    }
}

impl Default for PublishOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The published snapshot of a table.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The number of the commit that it shows, as [`Snapshot::version`](crate::Snapshot::version) gives it.
    pub version: u64,
    /// The time at which it was written.
    pub time: SystemTime,
    /// Number of snapshots of Iceberg whose files stay; of commits in the log of Delta Lake, if the table is published in that format alone.
    pub snapshots: usize,
    /// The metadata file that readers of Iceberg open, or else the commit in the log of Delta Lake.
    pub metadata: PathBuf,
    /// The columns that are published in a wider type, because Iceberg lacks theirs.
    pub mapped: Vec<MappedColumn>,
}

impl Table {
    /// Publishes the last commit as a table of [Iceberg](https://iceberg.apache.org), version 3, and from now on every flush the commit that it
    /// flushes. The metadata is in the folder `metadata` of the table, and its data files are the table's own: deleted rows are listed in deletion
    /// vectors. Readers of Iceberg find the newest snapshot by `version-hint.text`. The setting is stored in the table.
    ///
    /// If the files are [in a bucket](crate::TableOptions::cold_files), so is the metadata.
    ///
    /// With [`delta`](PublishOptions::delta) it is also, or only, published as a table of [Delta Lake](https://delta.io), with deletion vectors, in the folder
    /// `_delta_log`.
    ///
    /// Files that readers would not read as they are (of earlier versions of Lath, imported, of columns that were renamed or widened in a way that a format does
    /// not follow) are written again first.
    ///
    /// Rows that are in the store alone are not published before the next flush. Compaction leaves the rows that are published as they are.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// use lath_table::{PublishOptions, Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// # let rows = RecordBatch::try_from_iter([("id", ids)])?;
    /// # let table = Table::create(folder.path().join("jobs"), &rows.schema(), &["id"], TableOptions::new())?;
    /// table.upsert(&rows)?;
    /// let published = table.publish(PublishOptions::new())?;
    /// assert!(published.metadata.ends_with("metadata/v1.metadata.json"));
    /// table.delete([2])?;
    /// table.flush()?;
    /// assert_eq!(table.publication()?.map(|publication| publication.snapshots), Some(2));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Publish`] if Iceberg has no type for a column, or the table is encrypted, [`Error::ForeignMetadata`] if another program has written to the folder, and
    /// whatever goes wrong while reading and writing.
    pub fn publish(&self, options: PublishOptions) -> Result<PublishedCommit> {
        let engine = self.engine();
        if !options.iceberg && !options.delta {
            return Err(Error::publish("choose a format: Iceberg, Delta Lake, or both"));
        }
        if engine.store.encryption_key().is_some() {
            let what = "the table is encrypted, and other readers have no key: export it instead";
            return Err(Error::publish(what));
        }
        let publishing = Some(Publishing {
            iceberg: options.iceberg,
            delta: options.delta,
            keep: options.keep,
            max_age: options.max_age,
            map_types: options.map_types,
        });
        let before = setting(engine)?;
        let rewritten = publishing.map(|setting| make_publishable(engine, setting)).transpose()?.unwrap_or(0);
        let (had_iceberg, had_delta) = before.map_or((false, false), |before| (before.iceberg, before.delta));
        if before != publishing {
            self.set_publishing(publishing)?;
            // The background thread learns the maximum age.
            engine.signal.notify();
        }
        let published = self.publish_now();
        if let Err(Error::Publish { .. } | Error::ForeignMetadata { .. }) = &published {
            // Every flush would fail, too.
            self.set_publishing(before)?;
            // One of two formats may have been written.
            self.remove_metadata(options.iceberg && !had_iceberg, options.delta && !had_delta)?;
            return published;
        }
        self.remove_metadata(had_iceberg && !options.iceberg, had_delta && !options.delta)?;
        published.map(|published| PublishedCommit { rewritten, ..published })
    }

    /// Flushes, and so publishes the last commit of a table that is [published](Self::publish).
    ///
    /// # Errors
    /// [`Error::Publish`] if the table is not published, and as there.
    pub fn publish_now(&self) -> Result<PublishedCommit> {
        let published = flush_and_publish(self.engine())?;
        published.ok_or_else(|| Error::publish("it is not set to be published: first set it with Table::publish, or with `lath table publish TABLE --as iceberg`"))
    }

    /// Ends publishing, and removes the metadata, unless another program has written metadata into the folder. Data files stay, as files of the
    /// table.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Store`].
    pub fn stop_publishing(&self) -> Result<()> {
        self.set_publishing(None)?;
        self.remove_metadata(true, true)
    }

    /// Removes the metadata of formats, unless another program has written some.
    fn remove_metadata(&self, iceberg: bool, delta: bool) -> Result<()> {
        let engine = self.engine();
        let _one_at_a_time = engine.lock_maintenance();
        if iceberg {
            let folder = MetadataFolder::new(&engine.files)?;
            if !matches!(folder.current(), Err(Error::ForeignMetadata { .. })) {
                engine.files.claim()?;
                folder.remove_all()?;
            }
        }
        if delta {
            remove_log(engine)?;
        }
        Ok(())
    }

    /// The published snapshot; `None` if the table is not published.
    ///
    /// # Errors
    /// [`Error::ForeignMetadata`] if another program has written to the folder, [`Error::Io`], [`Error::Store`].
    pub fn publication(&self) -> Result<Option<Publication>> {
        let engine = self.engine();
        let Some(setting) = setting(engine)? else { return Ok(None) };
        let time = |millis: i64| SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or(0));
        if !setting.iceberg {
            let log = DeltaLog::new(&engine.files);
            let Some(current) = log.current()? else { return Ok(None) };
            return Ok(Some(Publication {
                version: current.table_version,
                time: time(current.time_ms),
                snapshots: current.commits,
                metadata: log.commit_path(current.version),
                mapped: mapped_columns(engine)?,
            }));
        }
        let folder = MetadataFolder::new(&engine.files)?;
        let Some(current) = folder.current()? else { return Ok(None) };
        Ok(Some(Publication {
            version: current.version().unwrap_or(0),
            time: time(current.snapshot.timestamp_ms),
            snapshots: current.metadata.snapshots.len(),
            metadata: folder.file_path(current.number),
            mapped: mapped_columns(engine)?,
        }))
    }

    /// Reads the metadata file of a publication.
    ///
    /// # Errors
    /// Failures of the storage, and the removal of the file since.
    pub fn read_metadata(&self, publication: &Publication) -> Result<Vec<u8>> {
        let (files, path) = (&self.engine().files, &publication.metadata);
        let name = path.strip_prefix(files.folder().location()).ok().and_then(|name| name.to_str());
        match name.filter(|_| files.url().is_some()) {
            Some(name) => files.folder().read(name),
            None => fs::read(path).map_err(Error::io("read", path)),
        }
    }

    fn set_publishing(&self, publishing: Option<Publishing>) -> Result<()> {
        let mut changing = OpenWrite::begin(self.engine())?;
        changing.set_publishing(publishing)?;
        changing.commit(Durability::Sync)
    }
}

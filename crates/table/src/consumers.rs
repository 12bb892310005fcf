//! Consumers of the change feed: their positions are kept with the table, and the changes that they still need.

use std::time::Duration;

use arrow_array::RecordBatch;

use crate::consumer_files::{self, Bootstrap, StoredConsumer};
use crate::error::{Error, Result};
use crate::read::{Changes, Snapshot};
use crate::table::Table;
use crate::view::{Engine, View};

/// Options of a new consumer; see [`Table::add_consumer`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumerOptions {
    /// Whether the consumer gets the rows of the table first.
    pub bootstrap: bool,
    /// Number of changes that are kept for the consumer. If it is further behind, it is cut off. The default is 16,777,216.
    pub max_rows: u64,
}

impl Default for ConsumerOptions {
    fn default() -> Self {
        Self { bootstrap: false, max_rows: 1 << 24 }
    }
}

impl ConsumerOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the consumer gets the rows of the table first.
    #[must_use]
    pub fn bootstrap(mut self, bootstrap: bool) -> Self {
        self.bootstrap = bootstrap;
        self
    }

    /// Sets the number of changes that are kept for the consumer.
    #[must_use]
    pub fn max_rows(mut self, rows: u64) -> Self {
        self.max_rows = rows;
        self
    }
}

/// A consumer of the change feed.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// Its name.
    pub name: String,
    /// The last commit all of whose changes it has acknowledged.
    pub sequence: u64,
    /// Whether it has not acknowledged all rows of the table that it gets first.
    pub is_bootstrapping: bool,
    /// Number of changes that are kept for it.
    pub max_rows: u64,
}

impl Table {
    /// Adds a consumer of the change feed: its position is kept in the table's folder under its name, and moves when it
    /// [acknowledges](Self::acknowledge) changes. It begins after the last commit, or, with [`ConsumerOptions::bootstrap`], with all rows of the
    /// table. The feed keeps what a consumer needs, up to [`ConsumerOptions::max_rows`].
    ///
    /// A table that was opened read-only adds, reads and acknowledges, too, while another process writes to the table. One process at a time may
    /// be a consumer.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// use lath_table::{ChangeRetention, ConsumerOptions, Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let rows = |ids: &[i64]| RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef)]);
    /// # let table = Table::create(folder.path().join("jobs"), &rows(&[])?.schema(), &["id"], TableOptions::new())?;
    /// table.upsert(&rows(&[1, 2])?)?;
    /// table.keep_changes(ChangeRetention::new())?;
    /// table.add_consumer("copy", ConsumerOptions::new().bootstrap(true))?;
    /// table.delete([1])?;
    /// let mut changes = table.consume("copy")?;
    /// let rows: usize = changes.by_ref().map(|batch| batch.map_or(0, |batch| batch.num_rows())).sum();
    /// assert_eq!(rows, 1);
    /// // Once they are stored elsewhere.
    /// table.acknowledge("copy", changes.resume_at())?;
    /// assert_eq!(table.consume("copy")?.count(), 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Consumer`] if there is one with this name, and for a name that is no name; [`Error::NoChanges`] if the table has no change feed;
    /// [`Error::Io`].
    pub fn add_consumer(&self, name: &str, options: ConsumerOptions) -> Result<()> {
        if consumer_files::load(self.folder(), name)?.is_some() {
            return Err(Error::consumer(format!(
                "there is a consumer {name:?} already: choose another name, or drop it"
            )));
        }
        let snapshot = self.snapshot()?;
        snapshot.changes(snapshot.version())?;
        let bootstrap = if options.bootstrap { Bootstrap::Pending } else { Bootstrap::Done };
        let (name, position, max_rows) = (name.to_owned(), snapshot.version(), options.max_rows);
        store_consumer(self.engine(), &StoredConsumer { name, position, bootstrap, max_rows })
    }

    /// The consumers, in the order of their names.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`].
    pub fn consumers(&self) -> Result<Vec<Consumer>> {
        let consumer = |stored: StoredConsumer| Consumer {
            name: stored.name,
            sequence: stored.position,
            is_bootstrapping: stored.bootstrap != Bootstrap::Done,
            max_rows: stored.max_rows,
        };
        Ok(consumer_files::load_all(self.folder())?.into_iter().map(consumer).collect())
    }

    /// Drops a consumer with its position.
    ///
    /// # Errors
    /// [`Error::Consumer`] if there is none with this name; [`Error::Io`].
    pub fn drop_consumer(&self, name: &str) -> Result<()> {
        let was_there = consumer_files::remove(self.folder(), name)?;
        self.engine().forget_consumers();
        if was_there { Ok(()) } else { Err(no_consumer(name)) }
    }

    /// The changes that a consumer has not acknowledged, and before them the rows of the table if it has not acknowledged these. All commits up to
    /// now are read; [`Changes::resume_at`] is what to acknowledge once the changes that were returned are stored elsewhere.
    ///
    /// Changes that were not acknowledged are returned again by the next call. If that was in the middle of the rows of the table, the rows of now
    /// are returned, and then the changes since the first attempt, so that a row is known to be deleted that the first attempt may have
    /// returned.
    ///
    /// # Errors
    /// [`Error::Consumer`] if there is none with this name, or if it was cut off because it was too far behind; as [`Snapshot::changes`].
    pub fn consume(&self, name: &str) -> Result<Changes> {
        self.snapshot()?.consume(name)
    }

    /// Moves the position of a consumer: the changes of all commits up to `sequence` are not returned again. The position itself may be acknowledged
    /// again.
    ///
    /// # Errors
    /// [`Error::Consumer`] if there is no consumer with this name, no such commit yet, or if the consumer has acknowledged a later one: a position
    /// never goes back; [`Error::Io`].
    pub fn acknowledge(&self, name: &str, sequence: u64) -> Result<()> {
        let mut consumer = consumer_files::load(self.folder(), name)?.ok_or_else(|| no_consumer(name))?;
        let is_moved =
            sequence > consumer.position || (sequence == consumer.position && consumer.bootstrap == Bootstrap::Begun);
        if !is_moved {
            // In the middle of the rows of the table, what was read ends before the position.
            return match sequence < consumer.position && consumer.bootstrap == Bootstrap::Done {
                true => Err(Error::consumer(format!(
                    "consumer {name:?} has acknowledged the changes up to {}, and cannot go back to {sequence}: read the changes since {sequence} without \
                     a consumer, or drop it and add it again with a bootstrap",
                    consumer.position
                ))),
                false => Ok(()),
            };
        }
        let newest = self.snapshot()?.version();
        if sequence > newest {
            return Err(Error::consumer(format!(
                "consumer {name:?} cannot acknowledge the commit {sequence}: the last one is {newest}"
            )));
        }
        if consumer.bootstrap == Bootstrap::Pending {
            return Err(Error::consumer(format!(
                "consumer {name:?} has not read the rows of the table: read them first"
            )));
        }
        (consumer.position, consumer.bootstrap) = (sequence, Bootstrap::Done);
        store_consumer(self.engine(), &consumer)
    }

    /// Follows the changes as a consumer, which is added with these options if there is none with this name.
    ///
    /// # Errors
    /// As [`add_consumer`](Self::add_consumer).
    pub fn follow(&self, name: &str, options: ConsumerOptions) -> Result<Follower> {
        if consumer_files::load(self.folder(), name)?.is_none() {
            self.add_consumer(name, options)?;
        }
        Ok(Follower { table: self.clone(), consumer: Some(name.to_owned()), changes: None, sequence: 0 })
    }

    /// Follows the changes of commits after a sequence, without a consumer.
    pub fn follow_since(&self, since: u64) -> Follower {
        Follower { table: self.clone(), consumer: None, changes: None, sequence: since }
    }
}

fn store_consumer(engine: &Engine, consumer: &StoredConsumer) -> Result<()> {
    consumer_files::store(&engine.folder, consumer)?;
    engine.forget_consumers();
    Ok(())
}

fn no_consumer(name: &str) -> Error {
    Error::consumer(format!("there is no consumer {name:?}: add it, or list the consumers"))
}

/// Follows the changes of a table, commit by commit.
///
/// ```
/// # use std::sync::Arc;
/// # use std::time::Duration;
/// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
/// use lath_table::{ChangeRetention, ConsumerOptions, Table, TableOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let rows = |ids: &[i64]| RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(ids.to_vec())) as ArrayRef)]);
/// # let table = Table::create(folder.path().join("jobs"), &rows(&[])?.schema(), &["id"], TableOptions::new())?;
/// table.keep_changes(ChangeRetention::new())?;
/// let mut follower = table.follow("copy", ConsumerOptions::new())?;
/// table.upsert(&rows(&[1, 2])?)?;
/// while let Some(changes) = follower.next(Duration::from_millis(1))? {
///     // Store them elsewhere; the next call acknowledges them.
///     assert_eq!(changes.num_rows(), 2);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Follower {
    table: Table,
    consumer: Option<String>,
    /// The changes up to some commit.
    changes: Option<Changes>,
    /// All changes of commits up to this one were returned.
    sequence: u64,
}

impl Follower {
    /// Acknowledges the changes that were returned before, and returns the next ones; waits for them at most this long.
    ///
    /// # Errors
    /// As [`Table::consume`] and [`Table::acknowledge`].
    pub fn next(&mut self, wait: Duration) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(changes) = &mut self.changes {
                let done = changes.resume_at();
                if let Some(name) = &self.consumer {
                    self.table.acknowledge(name, done)?;
                }
                self.sequence = done;
                if let Some(batch) = changes.next().transpose()? {
                    return Ok(Some(batch));
                }
                // The end of the changes moves the position, too.
                if changes.resume_at() != done {
                    continue;
                }
                self.changes = None;
                if self.table.wait_for_commit(self.sequence, wait)?.is_none() {
                    return Ok(None);
                }
            } else if self.sequence > 0 && self.table.wait_for_commit(self.sequence, wait)?.is_none() {
                return Ok(None);
            }
            self.changes = Some(match &self.consumer {
                Some(name) => self.table.consume(name)?,
                None => self.table.snapshot()?.changes(self.sequence)?,
            });
        }
    }

    /// The sequence up to which all changes were returned.
    pub fn sequence(&self) -> u64 {
        self.changes.as_ref().map_or(self.sequence, Changes::resume_at)
    }
}

impl Snapshot {
    /// The rows of an earlier snapshot of the table as inserts of its commit, and then the changes of later commits up to this snapshot's: all that a
    /// copy of the table needs, without a gap and without a change twice. All rows have the schema of this snapshot.
    ///
    /// [`Changes::resume_at`] is below the commit of `first` until all of its rows were returned.
    ///
    /// # Errors
    /// As [`changes`](Self::changes).
    pub fn changes_from(&self, first: &Self) -> Result<Changes> {
        self.rows_and_changes(first, first.version())
    }
    /// As [`Table::consume`], up to the commit of this snapshot.
    ///
    /// # Errors
    /// As there, and [`Error::Consumer`] for a state within a transaction.
    pub fn consume(&self, name: &str) -> Result<Changes> {
        let (engine, pinned) = self.parts();
        let mut consumer = consumer_files::load(&engine.folder, name)?.ok_or_else(|| no_consumer(name))?;
        if pinned.committed_stamp() != pinned.stamp() {
            return Err(Error::consumer("a consumer gets no changes of an open transaction: commit it first"));
        }
        if consumer.bootstrap == Bootstrap::Pending {
            // Durable before a row is returned.
            (consumer.position, consumer.bootstrap) = (self.version(), Bootstrap::Begun);
            store_consumer(engine, &consumer)?;
        }
        let changes = match consumer.bootstrap {
            Bootstrap::Done => self.changes(consumer.position),
            _ => self.rows_and_changes(self, consumer.position),
        };
        changes.map_err(|error| match error {
            Error::NoChanges { since, kept_since: Some(kept_since) } if since < kept_since => Error::consumer(format!(
                "consumer {name:?} has acknowledged the changes up to {since}, and only the changes since {kept_since} are kept: it was \
                 more than {} changes behind; drop it, and add it again with a bootstrap",
                consumer.max_rows
            )),
            other => other,
        })
    }
}

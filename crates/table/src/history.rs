//! Earlier states of tables, which a database keeps for a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lath_store::Snapshot as StoreSnapshot;

use crate::database::{Database, DatabaseSnapshot};
use crate::error::{Error, Result};
use crate::read::Snapshot;
use crate::records::history::{self, History, HistoryRetention, microseconds};
use crate::records::{Manifest, TreeName, all_trees, snapshot_named, snapshot_names};
use crate::table::Table;
use crate::view::{Commit, Engine, View};

/// A commit whose state can be read.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptCommit {
    /// The number of the commit.
    pub version: u64,
    /// When it was made. Later commits have later times, also if the clock was set back.
    pub time: SystemTime,
}

/// A snapshot that was kept by name.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSnapshot {
    /// The name.
    pub name: String,
    /// The number of its commit.
    pub version: u64,
    /// When it was kept; `None` for one that an earlier version of Lath has kept.
    pub time: Option<SystemTime>,
    /// The bytes of the files that it has and the newest commit does not have.
    pub bytes: u64,
}

/// A choice of a state.
#[derive(Debug, Clone, Copy)]
enum Moment {
    Version(u64),
    Time(u64),
}

impl Database {
    /// Keeps the states of all tables after each commit from now on, so that [`at_time`](DatabaseSnapshot::at_time) and
    /// [`at_version`](DatabaseSnapshot::at_version) can read them. If they are kept already, this sets for how long.
    ///
    /// The files of earlier states stay until no kept state has them, and the store keeps the nodes that each commit has replaced: about 5 KiB
    /// for a row put alone. A commit takes about 15 µs longer where 1,000 states are kept, and 80 µs where 10,000 are.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// use lath_table::{Database, HistoryRetention, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    /// # let rows = RecordBatch::try_from_iter([("id", ids)])?;
    /// let database = Database::create(folder.path().join("shop"), TableOptions::new())?;
    /// database.keep_history(HistoryRetention::new().commits(1_000))?;
    /// let orders = database.create_table("orders", &rows.schema(), &["id"])?;
    /// orders.insert(&rows)?;
    /// let version = orders.snapshot()?.version();
    /// orders.delete([1])?;
    /// assert_eq!(orders.snapshot()?.at_version(version)?.count()?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn keep_history(&self, retention: HistoryRetention) -> Result<()> {
        history::keep(self.store(), retention)
    }

    /// Drops all earlier states, and keeps none from now on. Snapshots that were kept by name stay.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn drop_history(&self) -> Result<()> {
        history::stop(self.store())
    }
}

impl Table {
    /// [`Database::keep_history`] for this table, or for all tables of its database.
    ///
    /// # Errors
    /// As there.
    pub fn keep_history(&self, retention: HistoryRetention) -> Result<()> {
        history::keep(&self.engine().store, retention)
    }

    /// [`Database::drop_history`] for this table, or for all tables of its database.
    ///
    /// # Errors
    /// As there.
    pub fn drop_history(&self) -> Result<()> {
        history::stop(&self.engine().store)
    }
}

impl DatabaseSnapshot {
    /// The retention of earlier states; `None` if they are not kept.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn history_retention(&self) -> Result<Option<HistoryRetention>> {
        History::new(self.store_snapshot())?.retention()
    }

    /// The commits whose states can be read, the oldest first and this one last; none if earlier states are not kept.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn history(&self) -> Result<Vec<KeptCommit>> {
        all_commits(self.store_snapshot())
    }

    /// All tables after the commit with this number.
    ///
    /// # Errors
    /// [`Error::NotKept`].
    pub fn at_version(&self, version: u64) -> Result<Self> {
        self.at(Moment::Version(version))
    }

    /// All tables as they were at this time.
    ///
    /// # Errors
    /// [`Error::NotKept`].
    pub fn at_time(&self, time: SystemTime) -> Result<Self> {
        self.at(Moment::Time(microseconds(time)))
    }

    /// The snapshots that were kept by name when this commit was made.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn kept_snapshots(&self) -> Result<Vec<KeptSnapshot>> {
        kept_snapshots(self.store_snapshot())
    }

    fn at(&self, moment: Moment) -> Result<Self> {
        let newest = self.store_snapshot();
        let history = History::new(newest)?;
        let commits = history.commits()?;
        let at = match moment {
            Moment::Time(time) => at_time(&history, &commits, time)?,
            Moment::Version(version) if version > newest.sequence() => {
                return Err(not_made(version, newest.sequence()));
            }
            // Each kept commit has the state of those before it that are not kept.
            Moment::Version(version) if version == newest.sequence() => None,
            Moment::Version(version) if history.from()?.is_some_and(|from| version >= from) => {
                Some(commits.partition_point(|kept| kept.commit < version)).filter(|&at| at < commits.len())
            }
            Moment::Version(version) => return Err(not_kept(&history, &format!("version {version}"))?),
        };
        match at {
            Some(at) => Ok(self.at_commit(history.open(commits[at])?)),
            None => Ok(self.at_commit(newest.committed())),
        }
    }
}

impl Snapshot {
    /// The commits whose states can be read, the oldest first and this one last; none if earlier states are not kept. The numbers are the numbers of
    /// commits of the database, of which the table's [versions](Self::version) are some.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn history(&self) -> Result<Vec<KeptCommit>> {
        all_commits(self.parts().1.snapshot())
    }

    /// The table after the commit with this number, if [earlier states are kept](Table::keep_history).
    ///
    /// # Errors
    /// [`Error::NotKept`], also if the table was created later.
    pub fn at_version(&self, version: u64) -> Result<Self> {
        self.at(Moment::Version(version))
    }

    /// The table as it was at this time, if [earlier states are kept](Table::keep_history).
    ///
    /// # Errors
    /// [`Error::NotKept`], also if the table was created later.
    pub fn at_time(&self, time: SystemTime) -> Result<Self> {
        self.at(Moment::Time(microseconds(time)))
    }

    /// The snapshots that were kept by name when this commit was made.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn kept_snapshots(&self) -> Result<Vec<KeptSnapshot>> {
        kept_snapshots(self.parts().1.snapshot())
    }

    fn at(&self, moment: Moment) -> Result<Self> {
        let (engine, pinned) = self.parts();
        let history = History::new(pinned.snapshot())?;
        let commits = history.commits()?;
        let at = match moment {
            Moment::Time(time) => at_time(&history, &commits, time)?,
            Moment::Version(version) => self.at_stamp(&history, &commits, version)?,
        };
        let snapshot = match at {
            Some(at) => history.open(commits[at])?,
            // Without the changes of an open transaction.
            None => pinned.snapshot().committed(),
        };
        let kept = Commit::find_at(engine, snapshot, pinned.clock())?;
        let kept = kept.ok_or_else(|| Error::NotKept { what: "the table was created later".to_owned() })?;
        Ok(Self::new(Arc::clone(engine), kept))
    }

    /// The place of the last kept commit whose stamp of the table is not above `version`; `None` for this commit. Stamps, not the store's numbers,
    /// are what a reader of the table knows; they differ in a restored backup.
    fn at_stamp(&self, history: &History<'_>, commits: &[history::KeptCommit], version: u64) -> Result<Option<usize>> {
        let (engine, pinned) = self.parts();
        let newest = pinned.committed_stamp().max(pinned.snapshot().sequence());
        if version > newest {
            return Err(not_made(version, newest));
        }
        if version >= pinned.committed_stamp() {
            return Ok(None);
        }
        let (mut from, mut to) = (0, commits.len());
        while from < to {
            let middle = from.midpoint(to);
            if stamp(engine, &history.open(commits[middle])?)?.is_none_or(|stamp| stamp <= version) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        match from.checked_sub(1) {
            Some(at) => Ok(Some(at)),
            None => Err(not_kept(history, &format!("version {version}"))?),
        }
    }
}

/// The stamp of a table in a commit; `None` if the commit does not have the table.
fn stamp(engine: &Engine, snapshot: &StoreSnapshot) -> Result<Option<u64>> {
    Ok(engine.read_state(snapshot)?.map(|state| state.stamp))
}

fn all_commits(newest: &StoreSnapshot) -> Result<Vec<KeptCommit>> {
    let history = History::new(newest)?;
    let newest = history.newest_time()?.map(|time| history::KeptCommit { commit: newest.sequence(), time });
    let kept = history.commits()?.into_iter().chain(newest);
    Ok(kept.map(|kept| KeptCommit { version: kept.commit, time: to_time(kept.time) }).collect())
}

fn kept_snapshots(newest: &StoreSnapshot) -> Result<Vec<KeptSnapshot>> {
    let history = History::new(newest)?;
    let current = file_bytes(newest)?;
    let mut snapshots = Vec::new();
    for name in snapshot_names(newest)? {
        let named = snapshot_named(newest, &name)?;
        let only = file_bytes(&named)?.into_iter().filter(|(file, _)| !current.contains_key(file));
        let bytes = only.map(|(_, bytes)| bytes).sum();
        let time = history.name_time(&name)?.map(to_time);
        snapshots.push(KeptSnapshot { name, version: named.sequence(), time, bytes });
    }
    Ok(snapshots)
}

/// The length of each file of a commit, by the number of the table and its own.
fn file_bytes(snapshot: &StoreSnapshot) -> Result<BTreeMap<(Option<u64>, u64), u64>> {
    let mut bytes = BTreeMap::new();
    for trees in all_trees(snapshot)? {
        let manifest = Manifest::read(snapshot.tree(trees.get(TreeName::Files))?)?;
        bytes.extend(manifest.files().iter().map(|file| ((trees.number(), file.number), file.bytes)));
    }
    Ok(bytes)
}

fn to_time(microseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(microseconds)
}

/// The place of the last commit at this time; `None` for the newest one.
fn at_time(history: &History<'_>, commits: &[history::KeptCommit], time: u64) -> Result<Option<usize>> {
    let newest = history.newest_time()?;
    if newest.is_some_and(|newest| newest <= time) {
        return Ok(None);
    }
    match commits.partition_point(|kept| kept.time <= time).checked_sub(1) {
        Some(at) => Ok(Some(at)),
        None => Err(not_kept(history, "the state at this time")?),
    }
}

fn not_made(version: u64, newest: u64) -> Error {
    Error::NotKept { what: format!("there is no version {version} yet: {newest} is the newest") }
}

fn not_kept(history: &History<'_>, asked: &str) -> Result<Error> {
    let what = match history.from()? {
        None => format!("{asked} is not kept: earlier states can be read once the history is kept"),
        Some(from) => format!("{asked} is not kept: version {from} is the oldest that can be read"),
    };
    Ok(Error::NotKept { what })
}

//! The commits that a store keeps for reading earlier states, and when they were made.
//!
//! Each commit that changes tables keeps the one before it as a snapshot of the store, and records its time. Commits that change no table,
//! as for moving space, are not counted: the state of any commit is the state of the first kept commit after it, or the current one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lath_store::{RecordReader, RecordWriter, Snapshot, Store, Transaction, Tree, TreeMut};

use super::layout::{DroppedFile, DroppedTable, TABLES_DROPPED, TreeName, all_trees};
use crate::error::{Error, Result};

/// The tree with the [`HistoryRetention`], the times of commits, and the times of named snapshots.
pub(crate) const HISTORY: &str = "history";

const RETENTION_KEY: &[u8] = b"retention";

/// The key of the time of the newest commit.
const NEWEST_KEY: &[u8] = b"newest";

/// The key of the number of the first commit whose state can be read.
pub(crate) const FROM_KEY: &[u8] = b"from";

/// Prefix of the keys of kept commits: number → time.
const COMMIT_PREFIX: &[u8] = b"commit/";

/// The first key after the keys of kept commits.
const COMMIT_END: &[u8] = b"commit0";

/// Prefix of the keys of snapshots that were kept by name: name → time.
const NAME_PREFIX: &[u8] = b"name/";

/// Prefix of the names under which the store keeps commits.
const KEPT_PREFIX: &str = "history/";

/// The maximum number of earlier commits that one commit drops.
const DROPPED_AT_ONCE: usize = 256;

/// The time for which the earlier commits of a database stay readable.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistoryRetention {
    /// The states of the last period of this length stay readable. The default is a day.
    pub age: Duration,
    /// The maximum number of earlier commits. The default is 10,000.
    pub commits: u64,
}

impl Default for HistoryRetention {
    fn default() -> Self {
        Self { age: Duration::from_secs(86_400), commits: 10_000 }
    }
}

impl HistoryRetention {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the length of the period.
    #[must_use]
    pub fn age(mut self, age: Duration) -> Self {
        self.age = age;
        self
    }

    /// Sets the maximum number of earlier commits, at least 1.
    #[must_use]
    pub fn commits(mut self, commits: u64) -> Self {
        self.commits = commits.max(1);
        self
    }

    fn to_bytes(self) -> Vec<u8> {
        let age = u64::try_from(self.age.as_micros()).unwrap_or(u64::MAX);
        RecordWriter::default().u64(age).u64(self.commits).finish()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut record = RecordReader::new("the retention of history", bytes)?;
        Ok(Self { age: Duration::from_micros(record.u64()?), commits: record.u64()? })
    }
}

/// A commit that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptCommit {
    /// Its number in the store.
    pub(crate) commit: u64,
    /// When it was made, in microseconds since 1970. Later commits have later times.
    pub(crate) time: u64,
}

fn commit_key(commit: u64) -> Vec<u8> {
    [COMMIT_PREFIX, &commit.to_be_bytes()].concat()
}

/// The name under which the store keeps a commit.
pub(crate) fn kept_name(commit: u64) -> String {
    format!("{KEPT_PREFIX}{commit}")
}

/// Whether the store uses this name for a commit that it keeps.
pub(crate) fn is_kept_name(name: &str) -> bool {
    name.starts_with(KEPT_PREFIX)
}

pub(crate) fn number_to_bytes(number: u64) -> Vec<u8> {
    RecordWriter::default().u64(number).finish()
}

/// The number of the kept commit that a key of the tree is about.
pub(crate) fn commit_in_key(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.strip_prefix(COMMIT_PREFIX)?.as_array::<8>()?))
}

fn number_from_bytes(bytes: &[u8]) -> Result<u64> {
    Ok(RecordReader::new("a number of the history", bytes)?.u64()?)
}

fn kept_from_entry(entry: lath_store::Result<lath_store::Entry<'_>>) -> Result<KeptCommit> {
    let (key, value) = entry?;
    let number = key.strip_prefix(COMMIT_PREFIX).and_then(|number| number.first_chunk::<8>());
    let number = number.ok_or_else(|| Error::corrupt("the number of a kept commit is too short"))?;
    Ok(KeptCommit { commit: u64::from_be_bytes(*number), time: number_from_bytes(value)? })
}

pub(crate) fn microseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The kept commits of a snapshot.
pub(crate) struct History<'s> {
    snapshot: &'s Snapshot,
    tree: Option<Tree<'s>>,
}

impl<'s> History<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot) -> Result<Self> {
        Ok(Self { snapshot, tree: snapshot.tree(HISTORY)? })
    }

    /// The retention; `None` if commits are not kept.
    pub(crate) fn retention(&self) -> Result<Option<HistoryRetention>> {
        let Some(tree) = &self.tree else { return Ok(None) };
        tree.get(RETENTION_KEY)?.map(HistoryRetention::from_bytes).transpose()
    }

    /// When the newest commit was made, if commits are kept.
    pub(crate) fn newest_time(&self) -> Result<Option<u64>> {
        let Some(tree) = &self.tree else { return Ok(None) };
        tree.get(NEWEST_KEY)?.map(number_from_bytes).transpose()
    }

    /// The number of the first commit whose state can be read; `None` if commits are not kept.
    pub(crate) fn from(&self) -> Result<Option<u64>> {
        let Some(tree) = &self.tree else { return Ok(None) };
        tree.get(FROM_KEY)?.map(number_from_bytes).transpose()
    }

    /// When the snapshot with this name was kept.
    pub(crate) fn name_time(&self, name: &str) -> Result<Option<u64>> {
        let Some(tree) = &self.tree else { return Ok(None) };
        tree.get(&[NAME_PREFIX, name.as_bytes()].concat())?.map(number_from_bytes).transpose()
    }

    /// The kept commits, the oldest first.
    pub(crate) fn commits(&self) -> Result<Vec<KeptCommit>> {
        let Some(tree) = &self.tree else { return Ok(Vec::new()) };
        tree.prefix(COMMIT_PREFIX).map(kept_from_entry).collect()
    }

    /// The kept commit that may need a file or table that was dropped by the commit `dropped`.
    pub(crate) fn last_before(&self, dropped: u64) -> Result<Option<KeptCommit>> {
        let Some(tree) = &self.tree else { return Ok(None) };
        let before = tree.count(..commit_key(dropped))?;
        let last = before.checked_sub(1).map(|rank| tree.nth(rank)).transpose()?.flatten();
        let is_commit = |(key, _): &lath_store::Entry<'_>| key.starts_with(COMMIT_PREFIX);
        last.filter(is_commit).map(|entry| kept_from_entry(Ok(entry))).transpose()
    }

    /// A kept commit.
    pub(crate) fn open(&self, kept: KeptCommit) -> Result<Snapshot> {
        let snapshot = self.snapshot.snapshot(&kept_name(kept.commit))?;
        snapshot.ok_or_else(|| Error::corrupt(format!("commit {} is not kept", kept.commit)))
    }
}

/// Keeps commits from now on.
pub(crate) fn keep(store: &Store, retention: HistoryRetention) -> Result<()> {
    let mut transaction = store.begin()?;
    let base = store.snapshot()?;
    keep_commit_before(&mut transaction, &base)?;
    let mut tree = transaction.tree(HISTORY)?;
    tree.put(RETENTION_KEY, &retention.to_bytes())?;
    let newest = tree.get(NEWEST_KEY)?.map(number_from_bytes).transpose()?;
    if newest.is_none() {
        tree.put(NEWEST_KEY, &number_to_bytes(microseconds(SystemTime::now())))?;
        tree.put(FROM_KEY, &number_to_bytes(base.sequence() + 1))?;
    }
    drop_expired(&mut transaction, &base, 0)?;
    Ok(transaction.commit_with(lath_store::Durability::Sync)?)
}

/// Drops all kept commits and keeps none from now on. Snapshots that were kept by name stay.
pub(crate) fn stop(store: &Store) -> Result<()> {
    let mut transaction = store.begin()?;
    let base = store.snapshot()?;
    let commits = History::new(&base)?.commits()?;
    drop_commits(&mut transaction, &base, &commits)?;
    if let Some(mut tree) = transaction.existing_tree(HISTORY)? {
        tree.remove(RETENTION_KEY)?;
        tree.remove(NEWEST_KEY)?;
        tree.remove(FROM_KEY)?;
    }
    Ok(transaction.commit_with(lath_store::Durability::Sync)?)
}

/// Drops all kept commits of a copied store, whose files are not copied.
pub(crate) fn forget(transaction: &mut Transaction, copied: &Snapshot) -> Result<()> {
    for kept in History::new(copied)?.commits()? {
        transaction.drop_snapshot(&kept_name(kept.commit))?;
    }
    if let Some(mut tree) = transaction.existing_tree(HISTORY)? {
        tree.remove_range(COMMIT_PREFIX, Some(COMMIT_END))?;
        if tree.get(FROM_KEY)?.is_some() {
            tree.put(FROM_KEY, &number_to_bytes(copied.sequence() + 1))?;
        }
    }
    Ok(())
}

/// In a transaction that is about to be committed: keeps the commit before it, `base`, if the store keeps commits, and drops
/// commits that are too old.
pub(crate) fn keep_commit_before(transaction: &mut Transaction, base: &Snapshot) -> Result<()> {
    let Some(mut tree) = transaction.existing_tree(HISTORY)? else { return Ok(()) };
    let Some(time) = tree.get(NEWEST_KEY)?.map(number_from_bytes).transpose()? else { return Ok(()) };
    let commit = base.sequence();
    transaction.keep_snapshot(&kept_name(commit))?;
    let mut tree = transaction.tree(HISTORY)?;
    tree.put(&commit_key(commit), &number_to_bytes(time))?;
    let now = microseconds(SystemTime::now()).max(time + 1);
    tree.put(NEWEST_KEY, &number_to_bytes(now))?;
    drop_expired(transaction, base, 64)
}

/// Drops kept commits that are too old, once there are more than `spare` of them.
fn drop_expired(transaction: &mut Transaction, base: &Snapshot, spare: u64) -> Result<()> {
    let mut tree = transaction.tree(HISTORY)?;
    let Some(retention) = tree.get(RETENTION_KEY)?.map(HistoryRetention::from_bytes).transpose()? else {
        return Ok(());
    };
    let Some(newest) = tree.get(NEWEST_KEY)?.map(number_from_bytes).transpose()? else { return Ok(()) };
    let expired = expired(&mut tree, retention, newest)?;
    let spare = spare.min(retention.commits / 4) as usize;
    if expired.len() <= spare { Ok(()) } else { drop_commits(transaction, base, &expired) }
}

/// The oldest kept commits, up to [`DROPPED_AT_ONCE`], that are neither the state at any time of the period nor among the newest.
fn expired(tree: &mut TreeMut<'_>, retention: HistoryRetention, newest: u64) -> Result<Vec<KeptCommit>> {
    let tree = tree.as_tree()?;
    let start = newest.saturating_sub(u64::try_from(retention.age.as_micros()).unwrap_or(u64::MAX));
    let mut surplus = tree.count(COMMIT_PREFIX..COMMIT_END)?.saturating_sub(retention.commits);
    let mut before: Option<KeptCommit> = None;
    let mut expired = Vec::new();
    for kept in tree.prefix(COMMIT_PREFIX).map(kept_from_entry) {
        let kept = kept?;
        if let Some(before) = before.replace(kept) {
            // The last commit before the period is its state at the start.
            if (surplus == 0 && kept.time > start) || expired.len() == DROPPED_AT_ONCE {
                break;
            }
            surplus = surplus.saturating_sub(1);
            expired.push(before);
        }
    }
    Ok(expired)
}

/// Drops kept commits, which are the oldest. Readers of earlier commits may still use them, so files and tables that only these have count
/// as dropped from now on.
fn drop_commits(transaction: &mut Transaction, base: &Snapshot, commits: &[KeptCommit]) -> Result<()> {
    let (Some(first), Some(last)) = (commits.first(), commits.last()) else { return Ok(()) };
    let mut tree = transaction.tree(HISTORY)?;
    tree.put(FROM_KEY, &number_to_bytes(last.commit + 1))?;
    for kept in commits {
        tree.remove(&commit_key(kept.commit))?;
    }
    // The first commit that stays has what was dropped after it.
    let next = tree.as_tree()?.prefix(COMMIT_PREFIX).next().map(kept_from_entry).transpose()?;
    let until = next.map_or(base.sequence(), |kept| kept.commit);
    for kept in commits {
        transaction.drop_snapshot(&kept_name(kept.commit))?;
    }
    let stamps = first.commit + 1..=until;
    let now = base.sequence() + 1;
    for trees in all_trees(base)? {
        let Some(mut dropped) = transaction.existing_tree(trees.get(TreeName::Dropped))? else { continue };
        for (key, value) in entries(&mut dropped)? {
            let file = DroppedFile::from_bytes(&value)?;
            if stamps.contains(&file.dropped) {
                dropped.put(&key, &DroppedFile { stamp: now, ..file }.to_bytes())?;
            }
        }
    }
    let Some(mut dropped) = transaction.existing_tree(TABLES_DROPPED)? else { return Ok(()) };
    for (key, value) in entries(&mut dropped)? {
        let table = DroppedTable::from_bytes(&value)?;
        if stamps.contains(&table.dropped) {
            dropped.put(&key, &DroppedTable { stamp: now, ..table }.to_bytes())?;
        }
    }
    Ok(())
}

fn entries(tree: &mut TreeMut<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let owned = |entry: lath_store::Result<lath_store::Entry<'_>>| entry.map(|(key, value)| (key, value.to_vec()));
    Ok(tree.as_tree()?.iter().map(owned).collect::<lath_store::Result<_>>()?)
}

/// Records when a snapshot is kept by name.
pub(crate) fn put_name_time(transaction: &mut Transaction, name: &str) -> Result<()> {
    let time = number_to_bytes(microseconds(SystemTime::now()));
    Ok(transaction.tree(HISTORY)?.put(&[NAME_PREFIX, name.as_bytes()].concat(), &time)?)
}

/// Forgets when a snapshot was kept by name.
pub(crate) fn remove_name_time(transaction: &mut Transaction, name: &str) -> Result<()> {
    if let Some(mut tree) = transaction.existing_tree(HISTORY)? {
        tree.remove(&[NAME_PREFIX, name.as_bytes()].concat())?;
    }
    Ok(())
}

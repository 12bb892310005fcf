//! Copies the intact part of a damaged store.

mod log_only;
mod roots;
mod salvage;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use self::roots::StartingPoint;
use self::salvage::{NestedRoot, Salvage, SalvagedItem};
use crate::arena::Arena;
use crate::copy::{CopyCounter, CopyProgress, CopyTarget, share_tree};
use crate::error::{Error, Result};
use crate::inspect::Problem;
use crate::log::Log;
use crate::readers::SHARED_LEN;
use crate::records::{VERSION, record};
use crate::root::{Root, parse_word};
use crate::storage::{EncryptedStorage, EncryptionKey, FileStorage, Storage};
use crate::store::Store;
use crate::transaction::Transaction;
use crate::tree::Item;
use crate::tree_path::TreePath;

/// A transaction of the new store ends once its keys and values have this many bytes.
const BATCH_BYTES: usize = 8 << 20;

/// The result of [`repair`].
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct RepairReport {
    /// The number of keys copied from the last checkpoint, before the log was replayed.
    pub keys: u64,
    /// The number of named snapshots copied from the last checkpoint.
    pub snapshots: u64,
    /// The number of commits of the log that were then replayed.
    pub commits: u64,
    /// The damage found. Everything below a damaged node is lost, unless the log has it.
    pub problems: Vec<Problem>,
}

/// Copies the intact part of the store at `damaged`, which is not changed, into a new store at `target`: the keys of
/// the last checkpoint and of its named snapshots in nodes with correct checksums. Then replays the log.
///
/// If both headers are damaged, searches all nodes of the file for the last checkpoint, and replays the log if one of
/// the headers still has the store's identity. If the data file is missing or empty, only replays the log.
///
/// # Errors
/// [`Error::Exists`] if there is a file at `target` or the log of a store next to it, [`Error::Busy`] if the damaged
/// store is open for writing, [`Error::Corrupt`] if no checkpoint can be found, [`Error::Io`]. After an error nothing
/// remains at `target`.
pub fn repair(damaged: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<RepairReport> {
    repair_with(damaged, target, |_| ControlFlow::Continue(()))
}

/// Like [`repair`], but calls `progress` between transactions, which may stop the repair.
///
/// # Errors
/// The same as [`repair`], and [`Error::Cancelled`] if `progress` stops the repair.
pub fn repair_with(
    damaged: impl AsRef<Path>,
    target: impl AsRef<Path>,
    progress: impl FnMut(&CopyProgress) -> ControlFlow<()>,
) -> Result<RepairReport> {
    repair_with_key(damaged, target, None, progress)
}

/// Like [`repair_with`], of a store that is encrypted with this key, if there is one. So is the new store.
///
/// # Errors
/// The same as [`repair_with`], and [`Error::Key`]. Without its data file, an encrypted store cannot be repaired.
pub fn repair_with_key(
    damaged: impl AsRef<Path>,
    target: impl AsRef<Path>,
    key: Option<&EncryptionKey>,
    mut progress: impl FnMut(&CopyProgress) -> ControlFlow<()>,
) -> Result<RepairReport> {
    let files = FileStorage::new(damaged)?.create(false).read_only(true);
    let storage: Box<dyn Storage> = match key {
        Some(key) => Box::new(EncryptedStorage::new(files, key.clone())?),
        None => Box::new(files),
    };
    let lengths = storage.lengths()?;
    let is_log_only = lengths.data == 0 && lengths.has_log();
    if is_log_only && key.is_some() {
        return Err(Error::corrupt(
            "the data file is missing or empty, and with it the keys with which the log is encrypted",
        ));
    }
    let private = if is_log_only { None } else { Some(storage.private()?) };
    if is_log_only && storage.shared_with_others(SHARED_LEN)?.is_some() {
        return Err(Error::Busy);
    }
    let target = CopyTarget::new(target.as_ref(), key)?;
    let mut counter = CopyCounter::new(&mut progress);
    let report = match private {
        None => log_only::salvage_store(storage.as_ref(), target.store()?, &mut counter)?,
        Some(private) => salvage_store(private.as_ref(), &Arena::new(private.data()?), target.store()?, &mut counter)?,
    };
    target.finish()?;
    Ok(report)
}

fn salvage_store(
    storage: &dyn Storage,
    arena: &Arena,
    target: &Store,
    counter: &mut CopyCounter<'_>,
) -> Result<RepairReport> {
    let start = roots::find(arena)?;
    let root = start.root;
    let mut salvage = Salvage::new(arena, start.sealed);
    salvage.may_share = start.may_share;
    let mut report = RepairReport::default();
    if !start.has_header {
        let what = format!("both headers are damaged: commit {} was found by its record", root.sequence);
        salvage.problems.push(Problem { offset: Some(0), what });
    }
    let mut named: Vec<(String, Root)> = Vec::new();
    salvage.walk(root.snapshots, root.generation, &mut |name, found| {
        named.push((lossy_name(name), Root::from_snapshot(found.value()?)?));
        Ok(())
    })?;
    // In the order of their commits, so that only the differences between consecutive commits are written.
    named.sort_by_key(|(_, root)| root.sequence);
    for (name, root) in &named {
        salvage.begin(Some(name));
        salvage_commit(&mut salvage, root, target, counter)?;
        let mut transaction = target.begin()?;
        transaction.keep_snapshot(name)?;
        transaction.commit()?;
        report.snapshots += 1;
    }
    salvage.begin(None);
    report.keys = salvage_commit(&mut salvage, &root, target, counter)?;
    report.problems = salvage.problems;
    let problem = replay(storage, &start, target, &mut report.commits, counter)?;
    report.problems.extend(problem);
    target.checkpoint()?;
    Ok(report)
}

/// Replays the log's commits after the checkpoint on `target`, and counts them. Returns a problem if the replay ended
/// early, or if later commits may be lost.
fn replay(
    storage: &dyn Storage,
    start: &StartingPoint,
    target: &Store,
    commits: &mut u64,
    counter: &mut CopyCounter<'_>,
) -> Result<Option<Problem>> {
    let after = start.root.sequence;
    for identity in &start.identities {
        // Under another identity the log has no valid records.
        let log = Log::open(storage, *identity, VERSION)?;
        let replayed = log.replay(after, |_, bytes| {
            let mut transaction = target.begin()?;
            record::replay(bytes, |operation| transaction.apply(operation))?;
            transaction.commit()?;
            *commits += 1;
            counter.add(bytes.len())
        });
        match replayed {
            Err(Error::Corrupt { what, .. }) => {
                let what = format!("the log cannot be replayed further: {what}");
                return Ok(Some(Problem { offset: None, what }));
            }
            Ok(last) if last == after => {}
            other => return other.map(|_| None),
        }
    }
    let what = "if the log had commits after that one, they are lost".to_owned();
    Ok((!start.has_header).then_some(Problem { offset: None, what }))
}

/// Makes `target` have the intact keys of a commit and no others, and returns their number.
fn salvage_commit(
    salvage: &mut Salvage<'_>,
    root: &Root,
    target: &Store,
    counter: &mut CopyCounter<'_>,
) -> Result<u64> {
    let mut trees = Vec::new();
    salvage.walk(root.catalog, root.generation, &mut |name, found| {
        trees.push((lossy_name(name), parse_word(found.value()?)?));
        Ok(())
    })?;
    let mut transaction = target.begin()?;
    for name in transaction.tree_names()? {
        if !trees.iter().any(|(other, _)| *other == name) {
            transaction.drop_tree(&name)?;
        }
    }
    transaction.commit()?;
    let mut keys = 0;
    let birth_max = root.generation;
    let mut pending: Vec<(TreePath, NestedRoot)> =
        trees.into_iter().rev().map(|(name, word)| (TreePath::new(name), NestedRoot { word, birth_max })).collect();
    let mut copied: HashMap<u64, TreePath> = HashMap::new();
    while let Some((place, root)) = pending.pop() {
        let first = copied.get(&root.word.reference()).filter(|_| salvage.may_share && !root.word.is_none());
        if let Some(first) = first {
            match share_tree(target, first, &place) {
                Err(Error::Corrupt { what, .. }) => salvage.problems.push(Problem { offset: None, what }),
                shared => shared?,
            }
            continue;
        }
        copied.insert(root.word.reference(), place.clone());
        let open = Some(target.begin()?);
        let (next, nested) = (Vec::new(), Vec::new());
        let mut copy = TreeCopy { target, place: &place, open, bytes: 0, next, keys: 0, nested, counter };
        salvage.enter(&place);
        salvage.walk(root.word, root.birth_max, &mut |key, found| copy.take(key, found))?;
        let (copied, nested) = copy.finish()?;
        keys += copied;
        pending.extend(nested.into_iter().map(|(key, root)| (place.clone().child(key), root)));
    }
    Ok(keys)
}

fn lossy_name(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The keys of nested trees, and their roots.
type NestedRoots = Vec<(Vec<u8>, NestedRoot)>;

/// Makes a tree of the new store have exactly the given keys.
struct TreeCopy<'t, 'p> {
    target: &'t Store,
    place: &'t TreePath,
    counter: &'t mut CopyCounter<'p>,
    open: Option<Transaction>,
    /// The number of bytes that the open transaction has written.
    bytes: usize,
    /// The smallest key that may come next.
    next: Vec<u8>,
    keys: u64,
    /// Nested trees, which are copied later.
    nested: NestedRoots,
}

impl TreeCopy<'_, '_> {
    fn take(&mut self, key: &[u8], found: SalvagedItem<'_>) -> Result<()> {
        let transaction = match &mut self.open {
            Some(transaction) => transaction,
            None => self.open.insert(self.target.begin()?),
        };
        let mut tree = transaction.tree_at(self.place)?;
        let mut there = tree.as_tree()?.cursor();
        there.lower_bound(&self.next)?;
        let is_between = there.key().is_some_and(|there| there < key);
        if is_between {
            tree.remove_range(&self.next, Some(key))?;
        }
        match (tree.item(key)?, found) {
            (Some(Item::Value(there)), SalvagedItem::Value(value)) if there == value => {}
            (_, SalvagedItem::Value(value)) => {
                tree.upsert(key, value)?;
                self.bytes += key.len() + value.len();
            }
            (there, SalvagedItem::Tree(root)) => {
                if matches!(there, Some(Item::Value(_))) {
                    tree.remove(key)?;
                }
                tree.tree_at(key)?;
                self.nested.push((key.to_vec(), root));
                self.bytes += key.len();
            }
        }
        self.next.clear();
        self.next.extend_from_slice(key);
        self.next.push(0);
        self.keys += 1;
        if self.bytes >= BATCH_BYTES
            && let Some(transaction) = self.open.take()
        {
            transaction.commit()?;
            self.counter.add(std::mem::take(&mut self.bytes))?;
        }
        Ok(())
    }

    /// Returns the number of keys, and the nested trees.
    fn finish(mut self) -> Result<(u64, NestedRoots)> {
        let mut transaction = match self.open.take() {
            Some(transaction) => transaction,
            None => self.target.begin()?,
        };
        transaction.tree_at(self.place)?.remove_range(&self.next, None)?;
        transaction.commit()?;
        self.counter.add(self.bytes)?;
        Ok((self.keys, self.nested))
    }
}

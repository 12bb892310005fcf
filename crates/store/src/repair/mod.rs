//! Getting out of a damaged store what is whole.

mod log_only;
mod roots;
mod salvage;

use std::ops::ControlFlow;
use std::path::Path;

use self::roots::Beginning;
use self::salvage::Salvage;
use crate::arena::Arena;
use crate::check::Problem;
use crate::error::{Error, Result};
use crate::log::Log;
use crate::readers::SHARED_LEN;
use crate::record;
use crate::root::{Root, word_of};
use crate::storage::{FileStorage, Storage};
use crate::store::Store;
use crate::transaction::Transaction;
use crate::unfinished::{CopyProgress, Counter, Unfinished};

/// A transaction of the new store ends after so many bytes of keys and values.
const BATCH_BYTES: usize = 8 << 20;

/// What [`repair`] brought over, and what it could not.
#[derive(Debug, Clone, Default)]
pub struct RepairReport {
    /// How many keys were brought over from the last checkpoint, before the log was replayed.
    pub keys: u64,
    /// How many snapshots kept by name were brought over from the last checkpoint.
    pub snapshots: u64,
    /// How many commits of the log were then done again.
    pub commits: u64,
    /// What was damaged: all below such a node is lost, unless the log has it.
    pub problems: Vec<Problem>,
}

/// Brings what is whole of the store at `damaged`, which stays as it is, into a new store at `target`: the keys of the last
/// checkpoint and of its snapshots kept by name, as far as their nodes have the right checksums, and on them what the log has.
///
/// Where neither header is whole the last checkpoint is looked for among all nodes of the file. The log is then replayed if
/// the store's identity is still in one of the headers. Where the data file is missing or empty, what the log has is all that is
/// brought over.
///
/// # Errors
/// [`Error::Exists`] if there is a file at `target`, or the log of a store beside it, [`Error::Busy`] if the damaged store is open for writing,
/// [`Error::Corrupt`] if no checkpoint can be found, [`Error::Io`]. Nothing is left at `target` then.
pub fn repair(damaged: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<RepairReport> {
    repair_with(damaged, target, |_| ControlFlow::Continue(()))
}

/// The same as [`repair`], with a call of `progress` between transactions, which says whether to go on.
///
/// # Errors
/// As [`repair`], and [`Error::Cancelled`] if `progress` said not to go on.
pub fn repair_with(
    damaged: impl AsRef<Path>,
    target: impl AsRef<Path>,
    mut progress: impl FnMut(&CopyProgress) -> ControlFlow<()>,
) -> Result<RepairReport> {
    let storage = FileStorage::new(damaged)?.create(false).read_only(true);
    let lengths = storage.lengths()?;
    let is_log_only = lengths.data == 0 && lengths.has_log();
    let private = if is_log_only { None } else { Some(storage.private()?) };
    if is_log_only && storage.shared_with_others(SHARED_LEN)?.is_some() {
        return Err(Error::Busy);
    }
    let target = Unfinished::new(target.as_ref())?;
    let mut counter = Counter::new(&mut progress);
    let report = match private {
        None => log_only::bring_over(&storage, target.store()?, &mut counter)?,
        Some(private) => bring_over(private.as_ref(), &Arena::new(private.data()?), target.store()?, &mut counter)?,
    };
    target.finish()?;
    Ok(report)
}

fn bring_over(storage: &dyn Storage, arena: &Arena, target: &Store, counter: &mut Counter<'_>) -> Result<RepairReport> {
    let beginning = roots::find(arena)?;
    let root = beginning.root;
    let mut salvage = Salvage::new(arena, beginning.sealed);
    let mut report = RepairReport::default();
    if !beginning.has_header {
        let what = format!("both headers are damaged: commit {} was found by its record", root.sequence);
        salvage.problems.push(Problem { offset: Some(0), what });
    }
    let mut named: Vec<(String, Root)> = Vec::new();
    salvage.walk(root.snapshots, root.generation, &mut |name, value| {
        named.push((name_of(name), Root::of_snapshot(value)?));
        Ok(())
    })?;
    // In the order in which they were, so that each has to be brought over only as far as it differs from the one before.
    named.sort_by_key(|(_, root)| root.sequence);
    for (name, root) in &named {
        salvage.begin(Some(name));
        bring_over_commit(&mut salvage, root, target, counter)?;
        let mut transaction = target.begin()?;
        transaction.keep_snapshot(name)?;
        transaction.commit()?;
        report.snapshots += 1;
    }
    salvage.begin(None);
    report.keys = bring_over_commit(&mut salvage, &root, target, counter)?;
    report.problems = salvage.problems;
    let problem = replay(storage, &beginning, target, &mut report.commits, counter)?;
    report.problems.extend(problem);
    target.checkpoint()?;
    Ok(report)
}

/// Does again on `target` what the log says was done after the checkpoint; what keeps it from going on to the log's end.
fn replay(
    storage: &dyn Storage,
    beginning: &Beginning,
    target: &Store,
    commits: &mut u64,
    counter: &mut Counter<'_>,
) -> Result<Option<Problem>> {
    let after = beginning.root.sequence;
    for identity in &beginning.identities {
        // To a store of another identity the log has no records.
        let log = Log::open(storage, *identity)?;
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
    Ok((!beginning.has_header).then_some(Problem { offset: None, what }))
}

/// Has `target` have what is whole of a commit; how many keys.
fn bring_over_commit(salvage: &mut Salvage<'_>, root: &Root, target: &Store, counter: &mut Counter<'_>) -> Result<u64> {
    let mut trees = Vec::new();
    salvage.walk(root.catalog, root.generation, &mut |name, value| {
        trees.push((name_of(name), word_of(value)?));
        Ok(())
    })?;
    let mut transaction = target.begin()?;
    for name in transaction.trees()? {
        if !trees.iter().any(|(other, _)| *other == name) {
            transaction.drop_tree(&name)?;
        }
    }
    transaction.commit()?;
    let mut keys = 0;
    for (name, tree) in trees {
        let open = Some(target.begin()?);
        let mut copy = Copy { target, name: &name, open, bytes: 0, next: Vec::new(), keys: 0, counter };
        salvage.walk(tree, root.generation, &mut |key, value| copy.take(key, value))?;
        keys += copy.finish()?;
    }
    Ok(keys)
}

fn name_of(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// A tree of the new store that comes to have the keys that it takes, and no others.
struct Copy<'t, 'p> {
    target: &'t Store,
    name: &'t str,
    counter: &'t mut Counter<'p>,
    open: Option<Transaction>,
    /// How many bytes the open transaction has written.
    bytes: usize,
    /// The least key that may come next.
    next: Vec<u8>,
    keys: u64,
}

impl Copy<'_, '_> {
    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let transaction = match &mut self.open {
            Some(transaction) => transaction,
            None => self.open.insert(self.target.begin()?),
        };
        let mut tree = transaction.tree(self.name)?;
        let there = tree.as_tree()?.lower_bound(&self.next)?;
        let is_same = there.as_ref().is_some_and(|there| there.0 == key && there.1 == value);
        let is_between = there.is_some_and(|there| there.0[..] < *key);
        if is_between {
            tree.remove_range(&self.next, Some(key))?;
        }
        if !is_same {
            tree.put(key, value)?;
            self.bytes += key.len() + value.len();
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

    fn finish(mut self) -> Result<u64> {
        let mut transaction = match self.open.take() {
            Some(transaction) => transaction,
            None => self.target.begin()?,
        };
        transaction.tree(self.name)?.remove_range(&self.next, None)?;
        transaction.commit()?;
        self.counter.add(self.bytes)?;
        Ok(self.keys)
    }
}

//! Transactions that run at the same time, and find out when they commit whether they may.
//!
//! An optimistic transaction reads a snapshot, keeps its changes in memory and records what it reads. When it commits, it takes the writer,
//! compares what it has read with the newest commit, and makes its changes by an ordinary transaction. So replaying the log, other processes,
//! durability and poisoning know nothing of it.

mod begin;
mod changes;
mod commit;
mod cursor;
mod key_ranges;
mod merge;
mod reads;
mod retry;
mod tree;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use self::changes::{Changes, Existence};
pub use self::cursor::{OptimisticCursor, OptimisticRange};
use self::reads::Reads;
pub use self::tree::{OptimisticTree, OptimisticTreeMut};
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::transaction::{Savepoint, Transaction, check_name};
use crate::tree::Tree;
use crate::writer::LockedTrees;

/// The changes of other transactions that an [`OptimisticTransaction`] must not miss.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Changes of what the transaction has read: keys, ranges, and whether trees exist. The result is as if transactions had run one after
    /// the other. A transaction that has read nothing has no conflicts.
    #[default]
    Serializable,
    /// Changes of what the transaction has changed, as in snapshot isolation. Two transactions that read what the other one changes may both
    /// commit (write skew).
    Snapshot,
}

/// The bit that keeps the numbers of optimistic transactions from being the generations of others.
const NUMBER_BIT: u64 = 1 << 63;

/// Changes to any number of trees, made while other transactions run. They become visible to others all at once, or not at all.
///
/// It holds nothing that other writers wait for. It reads the last commit before it began, and its own changes. If another transaction has
/// meanwhile changed what it depends on, [`commit`](Self::commit) returns [`Error::Conflict`], and nothing has happened: run it again, or let
/// [`Store::transact`] do so. Putting the same value again, or changing it back, is no conflict.
///
/// Its changes and the ranges that it has read are in memory. Until it ends, it holds space as a [`Snapshot`] does. Dropping it undoes its
/// changes.
///
/// ```
/// # fn main() -> lath_store::Result<()> {
/// use lath_store::Error;
///
/// # let store = lath_store::Options::new().open_in_memory()?;
/// let mut first = store.begin_optimistic()?;
/// let mut second = store.begin_optimistic()?;
/// for transaction in [&mut first, &mut second] {
///     let mut counts = transaction.tree("counts")?;
///     let visits = counts.get(b"visits")?.map_or(0, |bytes| bytes[0]);
///     counts.put(b"visits", &[visits + 1])?;
/// }
/// first.commit()?;
/// // Otherwise the first visit would be lost.
/// assert!(matches!(second.commit(), Err(Error::Conflict { .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct OptimisticTransaction {
    /// The writer, if the transaction has it from the beginning. Dropped before the store, whose background thread may wait for it.
    writer: Option<Transaction>,
    /// The only trees that it uses, if it has them for itself.
    locked: Option<LockedTrees>,
    snapshot: Snapshot,
    isolation: Isolation,
    number: u64,
    changes: Changes,
    reads: RefCell<Reads>,
    store: Store,
}

impl OptimisticTransaction {
    /// A transaction that reads the newest commit. `writer` and `locked` were taken before, so that it is.
    fn new(
        store: &Store,
        isolation: Isolation,
        writer: Option<Transaction>,
        locked: Option<LockedTrees>,
    ) -> Result<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        store.engine.check_writable()?;
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed) | NUMBER_BIT;
        let reads = RefCell::new(Reads::new(isolation == Isolation::Serializable));
        let (store, snapshot, changes) = (store.clone(), store.snapshot()?, Changes::default());
        Ok(Self { writer, locked, snapshot, isolation, number, changes, reads, store })
    }

    /// Returns the tree with this name for reading and writing, and creates it if it does not exist. That is not a read: a tree that exists by
    /// the time of the commit is as good.
    ///
    /// # Errors
    /// [`Error::Limit`] for a name longer than 1,024 bytes, [`Error::Invalid`] for a tree that was not given to [`Store::begin_on`].
    pub fn tree(&mut self, name: &str) -> Result<OptimisticTreeMut<'_>> {
        self.check_tree(name)?;
        let index = self.changes.index(name);
        self.changes.create(index);
        Ok(OptimisticTreeMut { transaction: self, index })
    }

    /// Returns the tree with this name for reading and writing, if it exists. That reads whether it exists.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree), and [`Error::Corrupt`].
    pub fn existing_tree(&mut self, name: &str) -> Result<Option<OptimisticTreeMut<'_>>> {
        if self.read_tree(name)?.is_none() {
            return Ok(None);
        }
        let index = self.changes.index(name);
        Ok(Some(OptimisticTreeMut { transaction: self, index }))
    }

    /// Returns the tree with this name for reading, if it exists. That reads whether it exists. Any number of trees can be read at a time.
    ///
    /// # Errors
    /// The same as [`existing_tree`](Self::existing_tree).
    pub fn read_tree(&self, name: &str) -> Result<Option<OptimisticTree<'_>>> {
        self.check_tree(name)?;
        Ok(if self.tree_exists(name)? { Some(self.open_tree(name)?) } else { None })
    }

    fn tree_exists(&self, name: &str) -> Result<bool> {
        match self.changes.tree(name).map(|tree| tree.existence) {
            Some(Existence::Created) => Ok(true),
            Some(Existence::Dropped) => Ok(false),
            _ => {
                let mut reads = self.reads.borrow_mut();
                let index = reads.tree(name);
                reads.existence(index);
                Ok(self.snapshot.tree(name)?.is_some())
            }
        }
    }

    fn open_tree(&self, name: &str) -> Result<OptimisticTree<'_>> {
        let base = self.snapshot.tree(name)?.unwrap_or_else(|| Tree::empty(&self.store.engine.arena));
        let index = self.reads.borrow_mut().tree(name);
        Ok(OptimisticTree { base, changes: self.changes.tree(name), reads: &self.reads, index })
    }

    /// Removes a tree with all its keys, if it exists when the transaction commits. That is not a read.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn drop_tree(&mut self, name: &str) -> Result<()> {
        self.check_tree(name)?;
        let index = self.changes.index(name);
        self.changes.drop_tree(index);
        Ok(())
    }

    /// Returns the names of all trees, in ascending order, which reads all names: any tree that is created or dropped is a conflict.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Invalid`] for a transaction that was begun on certain trees.
    pub fn tree_names(&self) -> Result<Vec<String>> {
        if self.locked.is_some() {
            return Err(Error::Invalid("a transaction on certain trees cannot read the names of all".to_owned()));
        }
        self.reads.borrow_mut().names = true;
        let mut names: BTreeSet<String> = self.snapshot.tree_names()?.into_iter().collect();
        for (name, tree) in &self.changes.trees {
            match tree.existence {
                Existence::Created => names.insert(name.clone()),
                Existence::Dropped => names.remove(name),
                Existence::Unchanged => false,
            };
        }
        Ok(names.into_iter().collect())
    }

    /// Marks the current state, for [`rollback`](Self::rollback).
    pub fn savepoint(&mut self) -> Savepoint {
        let (index, id) = self.changes.mark();
        Savepoint { transaction: self.number, index, id }
    }

    /// Undoes all changes since the savepoint. The savepoint stays valid; those made after it do not. The keys that were read since stay
    /// read, as the program knows them.
    ///
    /// # Errors
    /// [`Error::NoSuchSnapshot`] if the savepoint is no longer valid, or belongs to another transaction.
    pub fn rollback(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.check_savepoint(savepoint)?;
        self.changes.rollback(savepoint.index);
        Ok(())
    }

    /// Forgets a savepoint and those made after it. Their changes stay part of the transaction.
    ///
    /// # Errors
    /// The same as [`rollback`](Self::rollback).
    pub fn release(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.check_savepoint(savepoint)?;
        self.changes.release(savepoint.index);
        Ok(())
    }

    /// Returns the commit that it reads, without its own changes. Reads of it do not count: others may change them without a conflict.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Undoes all changes. Dropping the transaction does the same.
    pub fn abort(self) {
        drop(self);
    }

    fn check_savepoint(&self, savepoint: &Savepoint) -> Result<()> {
        let is_known = savepoint.transaction == self.number && self.changes.has_mark(savepoint.index, savepoint.id);
        if is_known { Ok(()) } else { Err(Error::NoSuchSnapshot("the savepoint".to_owned())) }
    }

    fn check_tree(&self, name: &str) -> Result<()> {
        check_name(name)?;
        match &self.locked {
            Some(locked) if !locked.names().iter().any(|other| other == name) => {
                let names = locked.names().join(", ");
                Err(Error::Invalid(format!(
                    "tree {name:?} is not one of those that the transaction began on ({names})"
                )))
            }
            _ => Ok(()),
        }
    }
}

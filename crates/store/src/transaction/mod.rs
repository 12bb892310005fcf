//! Write transactions.

mod commit;
mod nested;
mod tree;

use std::collections::HashSet;
use std::sync::Arc;

use self::nested::Chain;
pub use self::tree::TreeMut;
use crate::commits::OpenTree;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::extent::Generation;
use crate::handover::WriterUse;
use crate::node::Word;
use crate::options::Durability;
use crate::pending::{Pending, Place};
use crate::readers::ViewRoots;
use crate::records::{Operation, Operations, OperationsMark};
use crate::root::{NAME_MAX, Root, parse_word};
use crate::snapshot::Snapshot;
use crate::space::reclaim::RetiredNode;
use crate::trie::walk::walk;
use crate::trie::{Mode, Purpose, RetiredLengths, Writer, find};
use crate::writer::{NamedChange, State};

/// A state of a transaction that [`Transaction::rollback`] returns to.
#[derive(Debug)]
pub struct Savepoint {
    /// The generation of the transaction, or the number of an optimistic one.
    pub(crate) transaction: u64,
    pub(crate) index: usize,
    pub(crate) id: u64,
}

#[derive(Debug)]
struct Mark {
    id: u64,
    /// Nodes created later have this generation or a higher one.
    since: Generation,
    trees: Vec<OpenTree>,
    snapshots: Word,
    named: usize,
    retired: RetiredLengths,
    shares: usize,
    operations: OperationsMark,
}

/// Changes to any number of trees that become visible to others all at once, or not at all.
///
/// Only one transaction is open at a time. It sees its own changes, and dropping it without [`commit`](Self::commit)
/// undoes them.
///
/// ```
/// # fn main() -> lath_store::Result<()> {
/// # let store = lath_store::Options::new().open_in_memory()?;
/// let mut transaction = store.begin()?;
/// let mut people = transaction.tree("people")?;
/// people.put(b"ada", b"1815")?;
/// people.put(b"grace", b"1906")?;
/// assert_eq!(people.get(b"ada")?, Some(&b"1815"[..]));
/// transaction.commit()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Transaction {
    pub(crate) engine: Arc<Engine>,
    /// `None` once the transaction has ended.
    state: Option<Box<State>>,
    first: Generation,
    trees: Vec<OpenTree>,
    chain: Chain,
    /// Whether it has nested, moved or copied trees.
    has_nested: bool,
    snapshots: Word,
    named: Vec<NamedChange>,
    operations: Operations,
    pending: Pending,
    durability: Durability,
    marks: Vec<Mark>,
    next_mark: u64,
    /// Whether an operation failed halfway, so that the transaction can only be undone.
    has_failed: bool,
    /// Ends after the transaction.
    writer_use: WriterUse,
}

impl Transaction {
    pub(crate) fn new(engine: Arc<Engine>, mut state: Box<State>, durability: Durability) -> Self {
        if state.reclaim_after_views(&engine.readers).is_err() {
            engine.poison();
        }
        state.writer.generation += 1;
        state.writer.set_purpose(Purpose::Other);
        Self {
            first: state.writer.generation,
            trees: Vec::new(),
            chain: Chain::default(),
            has_nested: false,
            snapshots: state.root.snapshots,
            named: Vec::new(),
            operations: Operations::new(durability != Durability::Off),
            pending: Pending::default(),
            durability,
            marks: Vec::new(),
            next_mark: 0,
            has_failed: false,
            writer_use: WriterUse::PERMANENT,
            engine,
            state: Some(state),
        }
    }

    /// Keeps other processes from writing until the transaction has ended.
    pub(crate) fn with_use(mut self, writer_use: WriterUse) -> Self {
        self.writer_use = writer_use;
        self
    }

    fn state(&self) -> Result<&State> {
        self.state.as_deref().ok_or_else(ended)
    }

    /// The last commit before this transaction.
    pub(crate) fn last_commit(&self) -> Result<Root> {
        self.state().map(|state| state.root)
    }

    /// Returns the tree with this name, and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Limit`] for a name longer than 1,024 bytes.
    pub fn tree(&mut self, name: &str) -> Result<TreeMut<'_>> {
        let index = self.look_up(name)?;
        if !self.trees[index].exists {
            self.trees[index].exists = true;
            self.operations.create(name);
        }
        Ok(TreeMut { transaction: self, place: Place { tree: index, depth: 0 } })
    }

    /// Returns the tree with this name, if it exists.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn existing_tree(&mut self, name: &str) -> Result<Option<TreeMut<'_>>> {
        let index = self.look_up(name)?;
        let place = Place { tree: index, depth: 0 };
        Ok(self.trees[index].exists.then_some(TreeMut { transaction: self, place }))
    }

    /// Removes a tree with all its keys, and returns whether it existed.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn drop_tree(&mut self, name: &str) -> Result<bool> {
        self.flush()?;
        let index = self.look_up(name)?;
        if !self.trees[index].exists {
            return Ok(false);
        }
        let root = self.trees[index].root;
        if !root.is_none() {
            self.change(Purpose::Removal, |state| state.writer.remove_subtree(root.reference()))?;
        }
        self.trees[index].root = Word::NONE;
        self.trees[index].exists = false;
        self.operations.drop_tree(name);
        Ok(true)
    }

    /// Returns the names of all trees, in ascending order.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn tree_names(&self) -> Result<Vec<String>> {
        let state = self.state()?;
        let mut names: std::collections::BTreeSet<String> =
            state.root.trees(state.writer.shared())?.into_iter().map(|(name, _)| name).collect();
        for tree in &self.trees {
            if tree.exists {
                names.insert(tree.name.clone());
            } else {
                names.remove(&tree.name);
            }
        }
        Ok(names.into_iter().collect())
    }

    /// Keeps the last commit before this transaction as a named snapshot, until [`drop_snapshot`](Self::drop_snapshot)
    /// drops it.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is a snapshot with this name.
    pub fn keep_snapshot(&mut self, name: &str) -> Result<()> {
        check_name(name)?;
        let state = self.state()?;
        if find::get(state.writer.shared(), self.snapshots, name.as_bytes())?.is_some() {
            return Err(Error::Exists(name.to_owned()));
        }
        let root = state.root;
        let kept = root.to_snapshot();
        let mut snapshots = self.snapshots;
        self.change(Purpose::Other, |state| {
            let put = |writer: &mut Writer| writer.put(&mut snapshots, name.as_bytes(), &kept, Mode::Replace);
            state.writer.retiring_records(put).map(drop)
        })?;
        self.snapshots = snapshots;
        // As it is read from the tree.
        self.named.push(NamedChange::Kept(Root { snapshots: Word::NONE, ..root }));
        self.operations.keep_snapshot(name);
        Ok(())
    }

    /// Drops the named snapshot, and returns whether it existed.
    ///
    /// # Errors
    /// The same as [`tree`](Self::tree).
    pub fn drop_snapshot(&mut self, name: &str) -> Result<bool> {
        let mut snapshots = self.snapshots;
        let dropped = find::get(self.state()?.writer.shared(), snapshots, name.as_bytes())?;
        let Some(dropped) = dropped.map(Root::from_snapshot).transpose()? else { return Ok(false) };
        self.change(Purpose::Removal, |state| {
            let remove = |writer: &mut Writer| writer.remove(&mut snapshots, name.as_bytes());
            state.writer.retiring_records(remove).map(drop)
        })?;
        self.snapshots = snapshots;
        self.named.push(NamedChange::Dropped(dropped.generation));
        self.operations.drop_snapshot(name);
        Ok(true)
    }

    /// Marks the current state, for [`rollback`](Self::rollback).
    ///
    /// # Errors
    /// [`Error::Invalid`] if an operation failed halfway, so that the transaction can only be undone.
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        self.check()?;
        self.flush()?;
        let (trees, snapshots, operations) = (self.trees.clone(), self.snapshots, self.operations.mark());
        let state = self.state.as_deref_mut().ok_or_else(ended)?;
        state.writer.generation += 1;
        let since = state.writer.generation;
        let retired = state.writer.retired_lengths();
        let shares = state.writer.shares.mark();
        let id = self.next_mark;
        self.next_mark += 1;
        let named = self.named.len();
        self.marks.push(Mark { id, since, trees, snapshots, named, retired, shares, operations });
        Ok(Savepoint { transaction: self.first, index: self.marks.len() - 1, id })
    }

    /// Undoes all changes since the savepoint. The savepoint stays valid; those made after it do not.
    ///
    /// # Errors
    /// [`Error::NoSuchSnapshot`] if the savepoint is no longer valid, or belongs to another transaction.
    pub fn rollback(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.check()?;
        self.flush()?;
        self.check_savepoint(savepoint)?;
        self.marks.truncate(savepoint.index + 1);
        let words = self.roots();
        let mark = &self.marks[savepoint.index];
        let (since, retired, shares) = (mark.since, mark.retired, mark.shares);
        self.trees = mark.trees.clone();
        self.snapshots = mark.snapshots;
        self.named.truncate(mark.named);
        self.operations.truncate(mark.operations);
        self.change(Purpose::Other, |state| undo_since(state, &words, (retired, shares), since))
    }

    /// Forgets a savepoint and those made after it. Their changes stay part of the transaction.
    ///
    /// # Errors
    /// [`Error::NoSuchSnapshot`] if the savepoint is no longer valid, or belongs to another transaction.
    pub fn release(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.check()?;
        self.check_savepoint(savepoint)?;
        let first = self.marks[savepoint.index].retired;
        self.marks.truncate(savepoint.index);
        // Nodes that only the forgotten savepoints reached.
        let since = self.marks.last().map_or(self.first, |mark| mark.since);
        let state = self.state.as_deref_mut().ok_or_else(ended)?;
        let released = take_unreached(&mut state.writer, first, since).and_then(|nodes| state.release_or_hold(nodes));
        self.has_failed |= released.is_err();
        released
    }

    /// A snapshot of the changes so far, which stays as it is while the transaction goes on, and after it has ended. Until it is dropped,
    /// its space is not reused.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let store = lath_store::Options::new().open_in_memory()?;
    /// let mut transaction = store.begin()?;
    /// transaction.tree("people")?.put(b"ada", b"1815")?;
    /// let so_far = transaction.snapshot()?;
    /// transaction.tree("people")?.put(b"grace", b"1906")?;
    /// assert_eq!(so_far.tree("people")?.map(|people| people.len()).transpose()?, Some(1));
    /// transaction.abort();
    /// assert_eq!(so_far.tree("people")?.map(|people| people.len()).transpose()?, Some(1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if an operation failed halfway, so that the transaction can only be undone.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        self.check()?;
        self.flush()?;
        let pin = self.engine.readers.pin()?;
        let (trees, snapshots) = (&self.trees, self.snapshots);
        let trees = trees.iter().map(|tree| (tree.name.clone(), tree.exists.then_some(tree.root))).collect();
        let state = self.state.as_deref_mut().ok_or_else(ended)?;
        let root = Root { generation: state.writer.generation, snapshots, ..state.root };
        // From here on the nodes of the view are copied rather than changed.
        state.writer.generation += 1;
        let view = state.views.open(ViewRoots { root, trees });
        Ok(Snapshot::in_transaction(Arc::clone(&self.engine), Arc::new(pin), view))
    }

    /// Repeats an operation from the log.
    pub(crate) fn apply(&mut self, operation: Operation<'_>) -> Result<()> {
        match operation {
            Operation::Put { tree, key, value } => self.tree_at(tree)?.put(key, value),
            Operation::Remove { tree, key } => self.tree_at(tree)?.remove(key).map(drop),
            Operation::RemoveRange { tree, low, high } => self.tree_at(tree)?.remove_range(low, high).map(drop),
            Operation::CreateNested(tree) => self.tree_at(tree).map(drop),
            Operation::Move { from, to } => self.move_tree(from, to).map(drop),
            Operation::Copy { from, to } => self.copy_tree(from, to).map(drop),
            Operation::Create(name) => self.tree(name).map(drop),
            Operation::Drop(name) => self.drop_tree(name).map(drop),
            Operation::KeepSnapshot(name) => self.keep_snapshot(name),
            Operation::DropSnapshot(name) => self.drop_snapshot(name).map(drop),
        }
    }

    /// Ends a transaction that replayed the commits up to `sequence`.
    pub(crate) fn commit_replayed(mut self, sequence: u64) -> Result<Box<State>> {
        self.flush()?;
        let Some(mut state) = self.state.take() else { return Err(ended()) };
        self.note_nested(&mut state);
        self.engine.commit_replayed(&mut state, &self.trees, self.snapshots, &self.named, sequence)?;
        Ok(state)
    }

    /// Undoes all changes. Dropping the transaction does the same.
    pub fn abort(self) {
        drop(self);
    }

    /// Applies the deferred puts.
    #[inline]
    fn flush(&mut self) -> Result<()> {
        if self.pending.is_empty() { Ok(()) } else { self.flush_pending() }
    }

    fn flush_pending(&mut self) -> Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        let place = pending.place;
        let mut root = self.root_to_change(place)?;
        let applied = self.change(Purpose::Other, |state| pending.apply(&mut state.writer, &mut root));
        self.pending = pending;
        self.pending.clear();
        applied.and_then(|()| self.set_root(place, root, Purpose::Other))
    }

    /// The roots of all trees that it may have changed.
    fn roots(&self) -> Vec<Word> {
        self.trees.iter().map(|tree| tree.root).chain([self.snapshots]).collect()
    }

    fn look_up(&mut self, name: &str) -> Result<usize> {
        if let Some(index) = self.trees.iter().position(|tree| tree.name == name) {
            return Ok(index);
        }
        check_name(name)?;
        let state = self.state()?;
        let committed = find::get(state.writer.shared(), state.root.catalog, name.as_bytes())?;
        let committed = committed.map(parse_word).transpose()?;
        let root = committed.unwrap_or(Word::NONE);
        self.trees.push(OpenTree { name: name.to_owned(), root, exists: committed.is_some(), committed });
        Ok(self.trees.len() - 1)
    }

    fn check_savepoint(&self, savepoint: &Savepoint) -> Result<()> {
        let is_known = savepoint.transaction == self.first
            && self.marks.get(savepoint.index).is_some_and(|mark| mark.id == savepoint.id);
        if is_known { Ok(()) } else { Err(Error::NoSuchSnapshot("the savepoint".to_owned())) }
    }

    fn check(&self) -> Result<()> {
        if self.has_failed {
            let why = "an operation of this transaction failed halfway, so it can only be undone";
            return Err(Error::Invalid(why.to_owned()));
        }
        Ok(())
    }

    /// Runs an operation that changes nodes. If it fails, the transaction can only be undone.
    #[inline]
    fn change<T>(&mut self, purpose: Purpose, operation: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        self.check()?;
        let state = self.state.as_deref_mut().ok_or_else(ended)?;
        state.writer.set_purpose(purpose);
        let result = operation(state);
        self.has_failed = result.is_err();
        result
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(mut state) = self.state.take() else { return };
        let words = self.roots();
        let mut undone = Ok(());
        if !self.has_failed {
            undone = undo_since(&mut state, &words, (RetiredLengths::default(), 0), self.first);
        }
        if self.has_failed || undone.is_err() {
            undone = state.rebuild_space();
        }
        if undone.is_err() {
            self.engine.poison();
        }
        self.engine.unlock_state(state);
    }
}

/// Frees the nodes that were created in generation `since` or later, which only this transaction ever reached: nodes below `words`,
/// and nodes and subtrees on the lists of retired ones, as far as these were added since their lengths were `retired`. The transaction
/// reaches the other nodes of these lists again. Undoes the changes of shares after a mark.
fn undo_since(
    state: &mut State,
    words: &[Word],
    (retired, shares): (RetiredLengths, usize),
    since: Generation,
) -> Result<()> {
    let arena = Arc::clone(state.writer.shared());
    let subtrees = state.writer.removed_subtrees.split_off(retired.subtrees);
    let subtrees = subtrees.into_iter().map(|reference| Word::new(reference, 0));
    // Trees that share nodes reach them several times.
    let mut seen = (!state.writer.shares.is_unused()).then(HashSet::new);
    let mut nodes = Vec::new();
    for word in words.iter().copied().chain(subtrees) {
        walk(&arena, word, since, &mut |reference, _| {
            let birth = arena.birth(reference)?;
            let is_young = birth >= since && seen.as_mut().is_none_or(|seen: &mut HashSet<u64>| seen.insert(reference));
            if is_young {
                nodes.push(RetiredNode { extent: arena.extent(reference)?, birth });
            }
            Ok(is_young)
        })?;
    }
    let writer = &mut state.writer;
    let lists = writer.retired.drain(retired.nodes..).chain(writer.retired_records.drain(retired.records..));
    nodes.extend(lists.filter(|item| item.birth >= since));
    writer.shares.revert(shares);
    state.release_or_hold(nodes)
}

/// Takes the nodes created in generation `since` or later from the lists of retired nodes and of removed subtrees, as far as these were
/// added since their lengths were `first`. The older parts of the subtrees take the places of the subtrees. Nodes that have other
/// references stay.
fn take_unreached(writer: &mut Writer, first: RetiredLengths, since: Generation) -> Result<Vec<RetiredNode>> {
    let arena = Arc::clone(writer.shared());
    let mut unreached = Vec::new();
    let generation = writer.generation;
    for root in writer.removed_subtrees.split_off(first.subtrees) {
        walk(&arena, Word::new(root, 0), since, &mut |reference, is_branch| {
            let node = RetiredNode { extent: arena.extent(reference)?, birth: arena.birth(reference)? };
            let is_young = node.birth >= since;
            if !is_young && is_branch {
                writer.removed_subtrees.push(reference);
            } else if writer.shares.remove(reference, generation).is_some() {
                if is_young { unreached.push(node) } else { writer.retired.push(node) }
            } else {
                return Ok(false);
            }
            Ok(is_young)
        })?;
    }
    for (retired, from) in [(&mut writer.retired, first.nodes), (&mut writer.retired_records, first.records)] {
        unreached.extend(retired.extract_if(from.., |item| item.birth >= since));
    }
    Ok(unreached)
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.len() > NAME_MAX {
        return Err(Error::Limit { what: "the length of a name", limit: NAME_MAX as u64 });
    }
    Ok(())
}

#[cold]
fn ended() -> Error {
    Error::internal("a transaction is used after it has ended")
}

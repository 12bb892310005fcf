//! Turns the changes of a transaction into the newest commit.

use crate::engine::Engine;
use crate::error::Result;
use crate::extent::{Generation, UNIT};
use crate::log::Position;
use crate::node::Word;
use crate::options::Durability;
use crate::records::Operations;
use crate::root::Root;
use crate::trie::Mode;
use crate::writer::{NamedChange, NamedSnapshot, PublishedCommit, State, write_record};

/// A tree that a transaction uses.
#[derive(Debug, Clone)]
pub(crate) struct OpenTree {
    pub(crate) name: String,
    pub(crate) root: Word,
    /// Whether the tree exists now.
    pub(crate) exists: bool,
    /// The tree's root in the last commit, if it existed.
    pub(crate) committed: Option<Word>,
}

impl OpenTree {
    pub(crate) fn has_changed(&self) -> bool {
        self.exists.then_some(self.root) != self.committed
    }
}

/// A published commit that may not be as durable as requested yet.
#[derive(Debug)]
pub(crate) struct UnfinishedCommit {
    sync: Option<Position>,
    /// A commit that is missing from the log, so a checkpoint must include it first.
    gap: Option<u64>,
}

impl Engine {
    /// Makes a transaction's changes the newest commit, with the number `sequence`. One that is not the next is for commits that are not logged.
    #[expect(clippy::too_many_arguments, reason = "the parts of a transaction")]
    pub(crate) fn commit(
        &self,
        state: &mut State,
        trees: &[OpenTree],
        snapshots: Word,
        named: &[NamedChange],
        operations: &Operations,
        durability: Durability,
        sequence: u64,
    ) -> Result<UnfinishedCommit> {
        let (root, record) = new_root(state, trees, snapshots, sequence)?;
        let append = |bytes| match durability {
            Durability::Sync => self.log.append_for_sync(sequence, &[bytes]).map(Some),
            Durability::Deferred => self.log.append(sequence, &[bytes]).map(Some),
            Durability::Off => Ok(None),
        };
        let position = operations.bytes().map_or(Ok(None), append).inspect_err(|_| {
            if self.log.check().is_err() {
                self.poison();
            }
        })?;
        if position.is_none() {
            state.gap = Some(sequence);
        }
        // From here on nothing fails: the commit exists.
        let has_removed = !state.writer.removed_subtrees.is_empty();
        self.make_newest(state, root, record, named);
        self.is_due.raise_file_check();
        if self.is_checkpoint_due(state) {
            self.is_due.raise();
        }
        if has_removed && state.removed_subtrees.first_death().is_some() {
            self.is_due.raise_visits();
        }
        let gap = if durability == Durability::Off { None } else { state.gap };
        Ok(UnfinishedCommit { sync: position.filter(|_| durability == Durability::Sync), gap })
    }

    /// Turns the changes of a replay, up to the commit numbered `sequence`, into the newest commit. Readers do not get it: until the
    /// end of the replay, the commit that was published last is newer.
    pub(crate) fn commit_replayed(
        &self,
        state: &mut State,
        trees: &[OpenTree],
        snapshots: Word,
        named: &[NamedChange],
        sequence: u64,
    ) -> Result<()> {
        let (root, record) = new_root(state, trees, snapshots, sequence)?;
        self.replace_newest(state, root, record, named);
        Ok(())
    }

    /// Makes a commit the newest, and publishes it.
    pub(crate) fn make_newest(&self, state: &mut State, root: Root, record: u64, named: &[NamedChange]) {
        self.publish(root, record, state.writer.space.end());
        self.replace_newest(state, root, record, named);
        self.readers.wake_watchers();
    }

    /// Publishes the newest commit at the end of a replay.
    pub(crate) fn publish_newest(&self, state: &mut State) {
        self.publish(state.root, state.record, state.writer.space.end());
        self.reclaim_or_poison(state);
        self.readers.wake_watchers();
    }

    fn publish(&self, root: Root, record: u64, end: u64) {
        self.readers.publish(PublishedCommit::table_value(record, root.sequence), end * UNIT);
    }

    fn replace_newest(&self, state: &mut State, root: Root, record: u64, named: &[NamedChange]) {
        (state.root, state.record) = (root, record);
        state.published.push(PublishedCommit { value: PublishedCommit::table_value(record, root.sequence), root });
        update_named(&mut state.named, named, root.generation);
        debug_assert!(
            named.is_empty() || state.named.len() > 64 || is_as_named(state),
            "the list of named snapshots differs from their tree"
        );
        self.reclaim_or_poison(state);
    }

    /// Frees what no commit needs any more. The newest commit exists: if damage keeps space from being freed, nothing more is written.
    fn reclaim_or_poison(&self, state: &mut State) {
        if state.reclaim(&self.readers).is_err() {
            self.poison();
        }
    }

    /// Makes all commits so far durable.
    pub(crate) fn sync(&self) -> Result<()> {
        let state = self.lock_state()?;
        let (root, durable, gap) = (state.root, state.durable, state.gap);
        let log = self.log.last_position();
        self.unlock_state(state);
        if root == durable {
            return Ok(());
        }
        self.finish_commit(UnfinishedCommit { sync: log, gap })
    }

    /// Waits until a commit is as durable as requested.
    pub(crate) fn finish_commit(&self, committed: UnfinishedCommit) -> Result<()> {
        let mut result = Ok(());
        if let Some(gap) = committed.gap {
            result = self.checkpoint_from(gap);
        }
        if let Some(position) = committed.sync {
            result = result.and_then(|()| self.log.sync(position));
        }
        if result.is_err() {
            self.poison();
        }
        result
    }
}

/// Writes the trees' roots into the catalog, and the record of the commit.
fn new_root(state: &mut State, trees: &[OpenTree], snapshots: Word, sequence: u64) -> Result<(Root, u64)> {
    let mut catalog = state.root.catalog;
    for tree in trees.iter().filter(|tree| tree.has_changed()) {
        let name = tree.name.as_bytes();
        if tree.exists {
            state.writer.put(&mut catalog, name, &tree.root.bits().to_le_bytes(), Mode::Replace)?;
        } else {
            state.writer.remove(&mut catalog, name)?;
        }
    }
    let root = Root { generation: state.writer.generation, sequence, catalog, snapshots };
    let record = write_record(&mut state.writer, &root)?;
    let old_record = state.record;
    state.writer.retiring_records(|writer| writer.retire(old_record))?;
    Ok((root, record))
}

/// Updates the list of named snapshots by the changes of the newest commit, whose generation is `newest`.
fn update_named(all: &mut Vec<NamedSnapshot>, changes: &[NamedChange], newest: Generation) {
    for change in changes {
        match *change {
            // Most often the newest.
            NamedChange::Kept(root) => match all.iter_mut().rev().find(|old| old.is_kept(root.generation)) {
                Some(known) => known.names += 1,
                None => all.push(NamedSnapshot { root, names: 1, created: newest, dropped: None }),
            },
            NamedChange::Dropped(generation) => {
                if let Some(known) = all.iter_mut().find(|old| old.is_kept(generation)) {
                    known.names -= 1;
                    known.dropped = (known.names == 0).then_some(newest);
                }
            }
        }
    }
}

/// Whether the list of named snapshots is as the newest commit has them.
fn is_as_named(state: &State) -> bool {
    let Ok(named) = state.root.named(state.writer.shared()) else { return true };
    let mut expected: Vec<Generation> = named.iter().map(|(_, root)| root.generation).collect();
    let kept = state.named.iter().filter(|old| old.dropped.is_none());
    let mut kept: Vec<Generation> = kept.flat_map(|old| vec![old.root.generation; old.names]).collect();
    expected.sort_unstable();
    kept.sort_unstable();
    kept == expected
}

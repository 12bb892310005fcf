//! Returns unused space to the file system while the store is in use.
//!
//! All used nodes would fit into the first part of the file. Compaction sets a ceiling at the end of that part: nothing
//! is allocated above it, and write transactions move the nodes above it below it. Each transaction moves a limited
//! number of bytes, so that other writers get in between. These transactions change nothing that can be read: their
//! commits have the number of the commit before, and are not logged. Named snapshots are moved with the trees, so
//! shared nodes stay shared. After a checkpoint, only readers need the old copies. Without readers the space above the
//! ceiling is free: a header with the new end is written, and the file is truncated. The logs are truncated as well,
//! after the commits that no checkpoint has yet.
//!
//! After a crash at any point, recovery finds the last checkpoint and the log as usual.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::PoisonError;
use std::time::Duration;

use super::compact_nested::NestedPosition;
use crate::arena::FIRST_UNIT;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::extent::UNIT;
use crate::inspect::HeldSpace;
use crate::node::Word;
use crate::root::Root;
use crate::store::Store;
use crate::trie::relocate::{Relocation, RelocationResult};
use crate::trie::{Mode, Purpose};
use crate::writer::{State, write_record};

/// A transaction ends after the node with which it has moved this many bytes.
const STEP_BYTES: u64 = 8 << 20;

/// A transaction that has visited this many nodes starts no further tree.
const STEP_NODES: u64 = 1 << 14;

/// A transaction visits this many nodes of removed subtrees, if there are any.
const STEP_VISITS: usize = 1 << 12;

/// Time for other threads to begin a transaction, including the time to wake up.
const PAUSE: Duration = Duration::from_micros(500);

/// The first ceiling leaves one part in this many of the used space free, because holes do not fit nodes exactly.
const SLACK: u64 = 16;

/// Another pass runs if the file can shrink by one part in this many.
const GAIN: u64 = 64;

/// The maximum number of passes over all trees. If nodes do not fit, the next ceiling is higher. Ceilings below the
/// first are not tried: nodes that do not fit below them make the file longer, and with many such nodes the pass gains
/// nothing.
const PASSES: usize = 6;

/// The result of [`Store::compact`].
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// The length of the data file before.
    pub before_bytes: u64,
    /// The length of the data file after.
    pub after_bytes: u64,
    /// The number of nodes moved.
    pub moved_nodes: u64,
    /// The number of bytes moved.
    pub moved_bytes: u64,
    /// The free space in the file after.
    pub free_bytes: u64,
    /// Space that is held and cannot be moved. After its holders release it, another call can shorten the file further.
    pub held: Vec<HeldSpace>,
    /// Whether the compaction ran to completion. `false` if the progress callback stopped it.
    pub is_complete: bool,
}

/// The progress of [`Store::compact_with`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionProgress {
    /// The number of bytes moved so far.
    pub moved_bytes: u64,
    /// The estimated number of bytes that will be moved in all.
    pub expected_bytes: u64,
}

impl Store {
    /// Shortens the data file to about its used space, while others read and write: moves nodes near the end to free
    /// space near the start, and truncates the file. The logs are truncated after the commits that no checkpoint has
    /// yet.
    ///
    /// Nodes that only a [`Snapshot`](crate::Snapshot) reaches stay where they are, and the file cannot become shorter
    /// than their ends. [`Compaction::held`] lists their holders; after they are dropped, another call shortens the
    /// file. Named snapshots are moved with the trees.
    ///
    /// A thread with an open transaction must not call this: it would wait for itself.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::Corrupt`], [`Error::Io`]. Nothing is lost, and nodes that were moved stay moved.
    pub fn compact(&self) -> Result<Compaction> {
        self.compact_with(|_| ControlFlow::Continue(()))
    }

    /// Like [`compact`](Self::compact), but calls `progress` between transactions, which may stop the compaction.
    ///
    /// # Errors
    /// The same as [`compact`](Self::compact).
    pub fn compact_with(&self, mut progress: impl FnMut(&CompactionProgress) -> ControlFlow<()>) -> Result<Compaction> {
        self.engine.check_writable()?;
        let _use = self.engine.use_writer()?;
        let _one_at_a_time = self.engine.compaction.lock().unwrap_or_else(PoisonError::into_inner);
        let before_bytes = self.engine.arena.data().len();
        let mut work =
            Work { progress: &mut progress, moved: RelocationResult::default(), expected: 0, is_stopped: false };
        let done = self.engine.compact(&mut work);
        let lifted = self.engine.lift_ceiling();
        done.and(lifted)?;
        self.engine.log.shorten()?;
        let stats = self.current_stats()?;
        Ok(Compaction {
            before_bytes,
            after_bytes: self.engine.arena.data().len(),
            moved_nodes: work.moved.nodes,
            moved_bytes: work.moved.units * UNIT,
            free_bytes: stats.free_bytes,
            held: stats.held,
            is_complete: !work.is_stopped,
        })
    }
}

/// The state of a compaction as a whole.
struct Work<'p> {
    progress: &'p mut dyn FnMut(&CompactionProgress) -> ControlFlow<()>,
    moved: RelocationResult,
    /// Units that will be moved.
    expected: u64,
    is_stopped: bool,
}

/// A pass over all trees, and its position.
struct Pass {
    ceiling: u64,
    /// Long values come first: later there are fewer long holes.
    only_long: bool,
    targets: Vec<Target>,
    at: usize,
    low: Vec<u8>,
    nested: NestedPosition,
}

/// A unit of work: a kind of tree to move.
enum Target {
    /// The tree with this name, in the newest commit and in named snapshots.
    Tree(String),
    /// The trees nested in the tree with this name.
    Nested(String),
    /// The catalogs of all these commits.
    Catalogs,
    /// The tree of snapshot names.
    Snapshots,
}

struct Step {
    moved: RelocationResult,
    /// Whether some nodes found no room.
    is_full: bool,
}

impl Engine {
    fn compact(&self, work: &mut Work<'_>) -> Result<()> {
        self.readers.release_dead()?;
        self.checkpoint()?;
        self.shorten()?;
        let mut slack = SLACK;
        for _ in 0..PASSES {
            let Some((mut pass, above)) = self.plan(slack)? else { break };
            work.expected = work.moved.units + above;
            let before = work.moved.nodes;
            let is_full = self.run(&mut pass, work)?;
            self.checkpoint()?;
            self.shorten()?;
            if work.is_stopped || (work.moved.nodes == before && !is_full) {
                break;
            }
            // Nodes that did not fit were put above the ceiling, even past the end of the file.
            if is_full {
                slack = (slack / 2).max(1);
            }
        }
        Ok(())
    }

    /// Plans a pass: what to move below which ceiling, and about how many units. `None` if it is not worthwhile.
    fn plan(&self, slack: u64) -> Result<Option<(Pass, u64)>> {
        let mut state = self.lock_state()?;
        let planned = state.reclaim(&self.readers).and_then(|()| plan(&mut state, slack));
        self.unlock_state(state);
        planned
    }

    /// Moves the nodes above the pass's ceiling, and returns whether some found no room.
    fn run(&self, pass: &mut Pass, work: &mut Work<'_>) -> Result<bool> {
        while pass.at < pass.targets.len() {
            let step = self.step(pass)?;
            work.moved.nodes += step.moved.nodes;
            work.moved.units += step.moved.units;
            work.expected = work.expected.max(work.moved.units);
            let progress =
                CompactionProgress { moved_bytes: work.moved.units * UNIT, expected_bytes: work.expected * UNIT };
            if (work.progress)(&progress).is_break() {
                work.is_stopped = true;
                return Ok(false);
            }
            if step.is_full {
                if step.moved.nodes == 0 {
                    if pass.only_long {
                        pass.restart_with_all_nodes();
                        continue;
                    }
                    return Ok(true);
                }
                // Nodes copied only because their children moved left holes, which the last checkpoint still needs.
                self.checkpoint()?;
            }
            std::thread::sleep(PAUSE);
        }
        Ok(false)
    }

    /// Runs one transaction.
    fn step(&self, pass: &mut Pass) -> Result<Step> {
        let mut state = self.lock_state()?;
        if self.is_poisoned() {
            self.unlock_state(state);
            return Err(Error::Poisoned);
        }
        let step = self.move_some(&mut state, pass);
        if step.is_err() && state.rebuild_space().is_err() {
            self.poison();
        }
        let is_due = self.is_checkpoint_due(&state);
        self.unlock_state(state);
        let step = step?;
        if is_due {
            self.checkpoint()?;
        }
        Ok(step)
    }

    fn move_some(&self, state: &mut State, pass: &mut Pass) -> Result<Step> {
        if state.removed_subtrees.first_death().is_some() {
            // Their nodes may be moved for a named snapshot. From then on, only the list of retired nodes has their extents.
            state.visit_removed(STEP_VISITS);
            return Ok(Step { moved: RelocationResult::default(), is_full: false });
        }
        state.writer.generation += 1;
        state.writer.set_purpose(Purpose::Other);
        let before = state.root;
        let named = before.named(&self.arena)?;
        let kept = named.iter().map(|(_, root)| root.generation).max().unwrap_or(0);
        let mut roots: Vec<Root> = named.iter().map(|(_, root)| *root).chain([before]).collect();
        let has_nested = state.has_nested;
        let mut moving = Relocation::new(&mut state.writer, pass.ceiling, kept, STEP_BYTES / UNIT);
        moving.set_only_long(pass.only_long);
        if has_nested {
            moving.leave_kept();
        }
        pass.advance(&self.arena, &mut moving, &mut roots)?;
        let is_full = moving.is_full();
        let moved = moving.finish();

        let Some(newest) = roots.pop() else {
            return Err(Error::internal("the newest commit is not among those to relocate"));
        };
        let mut root = Root { generation: state.writer.generation, ..newest };
        for ((name, old), now) in named.iter().zip(&roots).filter(|((_, old), now)| old != *now) {
            debug_assert_eq!(old.generation, now.generation);
            state.writer.retiring_records(|writer| {
                writer.put(&mut root.snapshots, name.as_bytes(), &now.to_snapshot(), Mode::Replace)
            })?;
        }
        let record = state.record;
        let is_same = (root.catalog, root.snapshots) == (before.catalog, before.snapshots);
        if is_same && state.writer.shared().extent(record)?.end() <= pass.ceiling {
            return Ok(Step { moved, is_full });
        }
        let new_record = write_record(&mut state.writer, &root)?;
        state.writer.retiring_records(|writer| writer.retire(record))?;
        // From here on nothing fails.
        state.reclaimer.relocate(&moved.kept);
        state.has_copies |= !moved.kept.is_empty();
        for known in state.named.iter_mut().filter(|known| known.dropped.is_none()) {
            if let Some(now) = roots.iter().find(|root| root.generation == known.root.generation) {
                known.root = *now;
            }
        }
        self.make_newest(state, root, new_record, &[]);
        Ok(Step { moved, is_full })
    }

    /// Lifts the ceiling, so nodes are allocated anywhere again.
    fn lift_ceiling(&self) -> Result<()> {
        let mut state = self.lock_state()?;
        state.writer.space.set_ceiling(None);
        self.unlock_state(state);
        Ok(())
    }
}

fn plan(state: &mut State, slack: u64) -> Result<Option<(Pass, u64)>> {
    let space = &mut state.writer.space;
    let (used, end) = (space.used_units(), space.end());
    let ceiling = (FIRST_UNIT + used + used / slack).max(crate::commits::MIN_UNITS);
    if ceiling + (end / GAIN).max(crate::commits::PAGE_UNITS) > end {
        return Ok(None);
    }
    let above = space.used_from(ceiling);
    let arena = state.writer.shared();
    let mut names = BTreeSet::new();
    for root in state.root.named(arena)?.into_iter().map(|(_, root)| root).chain([state.root]) {
        names.extend(root.trees(arena)?.into_iter().map(|(name, _)| name));
    }
    let has_nested = state.has_nested;
    let nested = |name: &String| has_nested.then(|| Target::Nested(name.clone()));
    let trees = names.into_iter().flat_map(|name| [nested(&name), Some(Target::Tree(name))]).flatten();
    let targets = trees.chain([Target::Catalogs, Target::Snapshots]).collect();
    state.writer.space.set_ceiling(Some(ceiling));
    Ok(Some((
        Pass { ceiling, only_long: true, targets, at: 0, low: Vec::new(), nested: NestedPosition::default() },
        above,
    )))
}

impl Pass {
    fn restart_with_all_nodes(&mut self) {
        (self.only_long, self.at) = (false, 0);
        self.low.clear();
        self.nested = NestedPosition::default();
    }

    /// Continues with the next target, and returns whether that is the first one again.
    fn start_next(&mut self) -> bool {
        self.at += 1;
        self.low.clear();
        let is_again = self.only_long && self.at == self.targets.len();
        if is_again {
            self.restart_with_all_nodes();
        }
        is_again
    }

    /// Moves the next part of the target. Updates the roots, the last of which is the newest commit's.
    fn advance(&mut self, arena: &crate::arena::Arena, moving: &mut Relocation<'_>, roots: &mut [Root]) -> Result<()> {
        let mut words = HashMap::new();
        // The range of indexes of the trees that were moved.
        let mut changed: Option<(usize, usize)> = None;
        while moving.visits() < STEP_NODES && !moving.is_done() {
            match self.targets.get(self.at) {
                Some(Target::Tree(name)) => {
                    let mut trees = Vec::new();
                    for root in &*roots {
                        trees.extend(root.tree(arena, name)?.filter(|tree| !trees.contains(tree)));
                    }
                    moving.set_range(&self.low, &trees)?;
                    for tree in trees {
                        let now = moving.tree(tree)?;
                        if now != tree {
                            words.insert(tree.bits(), now.bits());
                            changed = Some((changed.map_or(self.at, |(first, _)| first), self.at));
                        }
                    }
                }
                Some(Target::Nested(_)) if !words.is_empty() => break,
                Some(Target::Nested(name)) => {
                    let Some(newest) = roots.last_mut() else { break };
                    // Nodes below a shared one have several places, and stay where they are.
                    let is_done =
                        !moving.writer().shares.is_empty() || self.nested.advance(arena, moving, newest, name)?;
                    if !is_done {
                        break;
                    }
                    self.nested = NestedPosition::default();
                    self.start_next();
                    continue;
                }
                // A transaction visits the nodes of a catalog once. Catalogs have no long values.
                Some(Target::Catalogs) if !words.is_empty() => break,
                Some(Target::Catalogs | Target::Snapshots) if self.only_long => {}
                Some(Target::Catalogs) => {
                    let catalogs: Vec<Word> = roots.iter().map(|root| root.catalog).collect();
                    moving.set_range(&self.low, &catalogs)?;
                    for root in &mut *roots {
                        root.catalog = moving.tree(root.catalog)?;
                    }
                }
                Some(Target::Snapshots) => {
                    let Some(newest) = roots.last_mut() else { break };
                    moving.set_range(&self.low, &[newest.snapshots])?;
                    newest.snapshots = moving.tree(newest.snapshots)?;
                }
                None => break,
            }
            match moving.rest() {
                // Nodes that several commits share are moved together.
                Some(low) => {
                    self.low = low;
                    break;
                }
                None => {
                    if self.start_next() {
                        break;
                    }
                }
            }
        }
        if let Some((first, last)) = changed
            && let (Target::Tree(first), Target::Tree(last)) = (&self.targets[first], &self.targets[last])
        {
            moving.set_words(first.as_bytes(), last.as_bytes(), words);
            for root in roots {
                root.catalog = moving.tree(root.catalog)?;
            }
        }
        Ok(())
    }
}

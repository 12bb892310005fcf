//! The state of the writer: the newest commit, and the older commits whose nodes must be kept.

use std::sync::Arc;

use super::RemovedSubtrees;
use crate::arena::Arena;
use crate::error::Result;
use crate::extent::{Extent, Generation};
use crate::node::Kind;
use crate::readers::{Readers, Views, is_held};
use crate::records::{NESTED_VERSION, VERSION};
use crate::root::Root;
use crate::space::Space;
use crate::space::reclaim::{Reclaimer, RetiredNode};
use crate::trie::Writer;
use crate::trie::walk::walk;

/// The number of nodes of removed subtrees that each commit visits: at least this many, and this many for each node that
/// it retires itself. A visit takes about 0.1 µs, mostly for one cache miss. So commits that write free more than they
/// need, and a small commit takes about 25 µs longer.
///
/// Debug builds visit few, so that tests find subtrees in all states.
const VISITS_MIN: usize = if cfg!(debug_assertions) { 2 } else { 256 };
const VISITS_PER_NODE: usize = if cfg!(debug_assertions) { 1 } else { 2 };

/// A commit that readers may hold, and its value in the table of readers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublishedCommit {
    pub(crate) value: u64,
    pub(crate) root: Root,
}

impl PublishedCommit {
    /// The value in the table of readers for the commit whose root record is at `reference`.
    #[inline]
    pub(crate) fn table_value(reference: u64, sequence: u64) -> u64 {
        reference | sequence << 40
    }

    /// The node with the record of the commit; `None` for a checkpoint that a reader holds by its root.
    pub(crate) fn record(&self) -> Option<u64> {
        (!is_held(self.value)).then(|| Self::reference(self.value))
    }

    #[inline]
    pub(crate) fn reference(value: u64) -> u64 {
        value & (crate::node::REFERENCE_LIMIT - 1)
    }
}

/// A named snapshot, the commit that created it and, once it is dropped, the commit that dropped it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedSnapshot {
    pub(crate) root: Root,
    /// The number of names under which it is kept.
    pub(crate) names: usize,
    pub(crate) created: Generation,
    pub(crate) dropped: Option<Generation>,
}

impl NamedSnapshot {
    /// Whether this is the commit of a generation, which a name keeps.
    pub(crate) fn is_kept(&self, generation: Generation) -> bool {
        self.dropped.is_none() && self.root.generation == generation
    }
}

/// A change of a transaction to the named snapshots.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NamedChange {
    /// A commit was kept under one more name.
    Kept(Root),
    /// One of the names of the commit of this generation was dropped.
    Dropped(Generation),
}

/// The state that one writer at a time owns.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) writer: Writer,
    /// Dead nodes that earlier commits reach.
    pub(crate) reclaimer: Reclaimer,
    /// Dead nodes that are not part of any named snapshot.
    pub(crate) records: Reclaimer,
    /// Dead nodes that are not visited yet, so they are on no list.
    pub(crate) removed_subtrees: RemovedSubtrees,
    pub(crate) root: Root,
    /// The node with the record of `root`.
    pub(crate) record: u64,
    /// The commit that a crash would leave, before the log is replayed.
    pub(crate) durable: Root,
    /// The commit of the running checkpoint.
    pub(crate) checkpointing: Option<Root>,
    pub(crate) named: Vec<NamedSnapshot>,
    /// Commits that readers may hold, the newest last.
    pub(crate) published: Vec<PublishedCommit>,
    /// The first generation since the store was opened. Nodes that were retired earlier are on no list.
    pub(crate) opened: Generation,
    /// The free map that the durable header refers to, kept until another header is durable.
    pub(crate) free_map: Option<Extent>,
    /// The last commit that is not in the log. Until a checkpoint has it, a replay cannot reach later commits.
    pub(crate) gap: Option<u64>,
    /// Whether nodes were copied with their generation and checksum. The next checkpoint does not find such copies by generation.
    pub(crate) has_copies: bool,
    /// Whether a commit has, or had, trees that were nested, moved or copied.
    pub(crate) has_nested: bool,
    /// Whether the version of the last header does not say so yet.
    pub(crate) is_version_due: bool,
    /// A buffer for the list of commits that readers hold.
    pub(crate) held: Vec<u64>,
    /// The open views of transactions.
    pub(crate) views: Arc<Views>,
    /// The generations of views that nodes wait for which no transaction reaches any more.
    pub(crate) awaited_views: Vec<Generation>,
}

impl State {
    /// The version of the format for the next header.
    pub(crate) fn version(&self) -> u32 {
        if self.has_nested { NESTED_VERSION } else { VERSION }
    }

    /// The commits that readers, the last checkpoint and a running one need, and the open views of transactions.
    fn pinned_roots(&self) -> impl Iterator<Item = Root> + '_ {
        let readers = self.published.iter().map(|published| published.root);
        let views = self.views.roots().into_iter().map(|view| view.root);
        readers.chain([self.durable]).chain(self.checkpointing).chain(views)
    }

    /// Frees nodes that only the open transaction reached. Nodes that an open view may reach are freed after it.
    pub(crate) fn release_or_hold(&mut self, nodes: impl IntoIterator<Item = RetiredNode>) -> Result<()> {
        let Some(newest) = self.views.newest() else {
            return nodes.into_iter().try_for_each(|node| self.writer.release(node.extent));
        };
        let (held, unseen): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|node| node.birth <= newest);
        if !held.is_empty() {
            self.park_under_view(held, newest);
        }
        unseen.into_iter().try_for_each(|node| self.writer.release(node.extent))
    }

    fn park_under_view(&mut self, nodes: Vec<RetiredNode>, view: Generation) {
        self.reclaimer.park(nodes, view);
        if !self.awaited_views.contains(&view) {
            self.awaited_views.push(view);
        }
    }

    /// Frees what waited for views that have ended: without a commit, nothing else does.
    pub(crate) fn reclaim_after_views(&mut self, readers: &Readers) -> Result<()> {
        let count = self.awaited_views.len();
        if count > 0 {
            let open = self.views.roots();
            self.awaited_views.retain(|view| open.iter().any(|open| open.root.generation == *view));
        }
        if self.awaited_views.len() < count { self.reclaim(readers) } else { Ok(()) }
    }

    /// Returns whether a needed commit has this named snapshot.
    fn is_visible(&self, named: &NamedSnapshot) -> bool {
        let Some(dropped) = named.dropped else { return true };
        self.pinned_roots().any(|root| (named.created..dropped).contains(&root.generation))
    }

    /// Frees the nodes that no needed commit reaches any more. Visits a limited number of nodes of removed subtrees.
    pub(crate) fn reclaim(&mut self, readers: &Readers) -> Result<()> {
        self.held.clear();
        readers.pinned(&mut self.held);
        let (held, newest, record) = (&self.held, self.root.generation, self.record);
        self.published.retain(|published| published.record() == Some(record) || held.contains(&published.value));
        // The record of the newest commit that the previous writer made and a reader still holds: no tree reaches it.
        let has_older_record = self.published.iter().any(|published| {
            published.root.generation == newest && published.record().is_some_and(|other| other != record)
        });
        let retired = self.writer.retired.len() + self.writer.removed_subtrees.len();
        self.reclaimer.retire(&mut self.writer.retired, newest);
        self.removed_subtrees.add(&mut self.writer.removed_subtrees, newest, self.writer.arena.shared());
        self.visit_removed(VISITS_MIN + VISITS_PER_NODE * retired);
        self.records.retire(&mut self.writer.retired_records, newest);

        let mut gone = Vec::new();
        if self.named.iter().any(|named| named.dropped.is_some()) {
            let all = std::mem::take(&mut self.named);
            (self.named, gone) = all.into_iter().partition(|named| self.is_visible(named));
        }
        let roots = self.pinned_roots().map(|root| root.generation);
        let roots = roots.filter(|pin| *pin != newest || has_older_record);
        let mut pins = sorted(roots.collect());
        gone.retain(|named| named.root.generation < self.opened);
        let unlisted = self.take_unlisted(&gone)?;
        self.records.reclaim(&pins, &mut self.writer.space);
        pins.extend(self.named.iter().map(|named| named.root.generation));
        let pins = sorted(pins);
        self.reclaimer.reclaim(&pins, &mut self.writer.space);
        self.writer.poison_freed()?;
        unlisted.into_iter().try_for_each(|extent| self.writer.release(extent))
    }

    /// Visits about `limit` nodes of removed subtrees, and retires them.
    pub(crate) fn visit_removed(&mut self, limit: usize) {
        let mut left = limit;
        while left > 0 {
            let (mut nodes, mut late) = (Vec::new(), Vec::new());
            let Writer { arena, shares, .. } = &mut self.writer;
            let visited = self.removed_subtrees.visit(arena.shared(), shares, left, &mut nodes, &mut late);
            let Some(death) = visited else { break };
            left = left.saturating_sub((nodes.len() + late.len()).max(1));
            self.reclaimer.retire(&mut nodes, death);
            for (node, death) in late {
                self.reclaimer.retire(&mut vec![node], death);
            }
        }
        self.writer.shares.settle(self.removed_subtrees.first_death().is_some());
    }

    /// Calls `visit` with every node that a needed commit reaches, once for each such commit. It returns whether to visit the nodes
    /// below.
    pub(crate) fn walk_all(&self, visit: &mut dyn FnMut(Extent) -> Result<bool>) -> Result<()> {
        let arena = self.writer.shared();
        if self.record != 0 {
            visit(arena.extent(self.record)?)?;
        }
        let mut roots = vec![self.root];
        for published in &self.published {
            if let Some(record) = published.record().filter(|record| *record != self.record) {
                visit(arena.extent(record)?)?;
            }
            roots.push(published.root);
        }
        roots.extend([self.durable].into_iter().chain(self.checkpointing));
        roots.extend(self.named.iter().map(|named| named.root));
        for root in roots {
            walk_root(arena, &root, 0, visit)?;
        }
        Ok(())
    }

    /// Rebuilds the list of free space from the nodes that commits reach, after a transaction that failed halfway.
    pub(crate) fn rebuild_space(&mut self) -> Result<()> {
        let end = self.writer.space.end();
        let mut space = Space::new(crate::arena::FIRST_UNIT, end);
        self.walk_all(&mut |extent| Ok(space.mark_used(extent)))?;
        // Retired nodes are on lists already, whether a commit reaches them or not.
        self.mark_dead(&mut space)?;
        if let Some(map) = self.free_map {
            space.mark_used(map);
        }
        let arena = Arc::clone(self.writer.shared());
        for view in self.views.roots() {
            let mut only = Vec::new();
            let mut visit = |reference: u64| {
                let extent = arena.extent(reference)?;
                let is_new = space.mark_used(extent);
                if is_new {
                    only.push(RetiredNode { extent, birth: arena.birth(reference)? });
                }
                Ok(is_new)
            };
            for tree in view.trees.values().flatten().chain([&view.root.snapshots]) {
                walk(&arena, *tree, 0, &mut |reference, _| visit(reference))?;
            }
            if !only.is_empty() {
                self.park_under_view(only, view.root.generation);
            }
        }
        self.writer.space = space;
        self.writer.shares.revert(0);
        self.writer.retired.clear();
        self.writer.retired_records.clear();
        self.writer.removed_subtrees.clear();
        Ok(())
    }
}

/// The numbers in ascending order, without duplicates.
pub(crate) fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Visits all nodes of all trees of a commit, including its catalogs. Nodes created before generation `since` are not prefetched.
pub(crate) fn walk_root(
    arena: &Arc<Arena>,
    root: &Root,
    since: Generation,
    visit: &mut dyn FnMut(Extent) -> Result<bool>,
) -> Result<()> {
    let mut visit_node = |reference: u64, _| visit(arena.extent(reference)?);
    for (_, tree) in root.trees(arena)? {
        walk(arena, tree, since, &mut visit_node)?;
    }
    walk(arena, root.catalog, since, &mut visit_node)?;
    walk(arena, root.snapshots, since, &mut visit_node)
}

/// Writes the record of a commit, and returns its reference.
pub(crate) fn write_record(writer: &mut Writer, root: &Root) -> Result<u64> {
    let extent = writer.allocate_units(1)?;
    write_record_at(writer, extent, root)
}

/// Like [`write_record`], in space that was allocated for it.
pub(crate) fn write_record_at(writer: &mut Writer, extent: Extent, root: &Root) -> Result<u64> {
    root.write(writer.arena.fresh(extent, Kind::Root, root.generation)?);
    Ok(extent.start)
}

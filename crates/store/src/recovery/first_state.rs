//! The writer's state of the checkpoint from which a log is replayed: its free space, and the nodes that readers hold.

use std::collections::HashMap;
use std::sync::Arc;

use crate::arena::{Arena, FIRST_UNIT, WriteArena};
use crate::error::Result;
use crate::extent::{Extent, UNIT};
use crate::readers::Readers;
use crate::records::{Header, NESTED_VERSION};
use crate::root::Root;
use crate::space::Space;
use crate::space::reclaim::{Reclaimer, RetiredNode};
use crate::trie::Writer;
use crate::trie::shares::Shares;
use crate::writer::{
    NamedSnapshot, PublishedCommit, RemovedSubtrees, State, sorted, walk_published, walk_root, write_record_at,
};

/// The state of the checkpoint that the header describes.
pub(super) fn first_state(write_arena: WriteArena, readers: &Readers, header: &Header) -> Result<Box<State>> {
    let arena = &Arc::clone(write_arena.shared());
    let root = header.root;
    let mut roots: Vec<Root> = root.named(arena)?.into_iter().map(|(_, root)| root).collect();
    roots.sort_unstable_by_key(|root| root.generation);
    let named = roots.chunk_by(|a, b| a.generation == b.generation).map(|same| NamedSnapshot {
        root: same[0],
        names: same.len(),
        created: same[0].generation,
        dropped: None,
    });
    let named: Vec<NamedSnapshot> = named.collect();
    // Readers of other processes may hold commits of a writer that has ended.
    readers.take_over()?;
    let mut held = Vec::new();
    readers.pinned(&mut held);
    let mut published = Vec::new();
    for value in sorted(held) {
        let root = match readers.held_root(value) {
            Some(root) => root,
            None => Root::read(arena.node(PublishedCommit::reference(value))?)?,
        };
        published.push(PublishedCommit { value, root });
    }
    // Nodes that several of these commits reach are parked under the newest, the last one to need them.
    published.sort_unstable_by_key(|published| std::cmp::Reverse(published.root.generation));
    let newest = published.iter().map(|published| published.root.generation).max();
    let generation = root.generation.max(newest.unwrap_or(0)) + 1;

    let map = header.free_map.filter(|_| header.is_clean);
    let free_map = map.map(|reference| arena.extent(reference)).transpose()?;
    let mut records = Reclaimer::new();
    // The map includes the nodes of the header's commit, and no root records.
    let is_in_map = |published: &PublishedCommit| published.record().is_none() && published.root == root;
    let mut shares = Shares::default();
    let mut space = match map {
        Some(reference) => Space::lazy(MappedValue::new(arena, reference)?)?,
        None => find_free(arena, header, &root, &named, &mut shares)?,
    };
    if map.is_none() || !published.iter().all(is_in_map) {
        // A killed writer may have made the file longer, and readers may hold its last commits.
        space.grow(arena.len() / UNIT);
        hold_published(arena, &published, &mut space, &mut records)?;
    }
    let mut writer = Writer::new(write_arena, space, generation);
    writer.shares = shares;
    // Opening a store without writing to it does not make its file longer, however dense it is.
    let extent = writer.allocate_tightly(1)?;
    let record = write_record_at(&mut writer, extent, &root)?;
    published.push(PublishedCommit { value: PublishedCommit::table_value(record, root.sequence), root });
    Ok(Box::new(State {
        writer,
        reclaimer: Reclaimer::new(),
        records,
        removed_subtrees: RemovedSubtrees::default(),
        root,
        record,
        durable: root,
        checkpointing: None,
        named,
        published,
        opened: generation,
        free_map,
        gap: None,
        awaited_views: Vec::new(),
        has_copies: false,
        has_nested: header.version >= NESTED_VERSION,
        is_version_due: false,
        held: Vec::new(),
        views: Arc::default(),
    }))
}

/// Finds the free space by visiting all nodes that the header's commit and its named snapshots reach.
/// Counts the references to nodes that several trees of the header's commit share.
fn find_free(
    arena: &Arc<Arena>,
    header: &Header,
    root: &Root,
    named: &[NamedSnapshot],
    shares: &mut Shares,
) -> Result<Space> {
    let end = (arena.len() / UNIT).max(header.end);
    let mut space = Space::new(FIRST_UNIT, end);
    walk_root(arena, root, 0, &mut |extent| {
        let is_new = space.mark_used(extent);
        if !is_new && header.version >= NESTED_VERSION {
            shares.add(extent.start);
        }
        Ok(is_new)
    })?;
    shares.settle(false);
    for root in named.iter().map(|named| &named.root) {
        walk_root(arena, root, 0, &mut |extent| Ok(space.mark_used(extent)))?;
    }
    Ok(space)
}

/// Marks the nodes as used that only readers of other processes hold, and parks them, so that they become free when the
/// readers release them. Visits no node below one that is used already: the commit that reaches it reaches all below.
///
/// No named snapshot reaches them, as the last checkpoint has none that does, and later ones are of later commits. So they are
/// parked with `records`: a named snapshot between two of the commits would seem to need nodes that both of them reach only
/// by a snapshot that was dropped.
///
/// The nodes count as created by the oldest of the commits that reach them, because compaction has given copies the generations of
/// the nodes that they were copied from.
fn hold_published(
    arena: &Arc<Arena>,
    published: &[PublishedCommit],
    space: &mut Space,
    records: &mut Reclaimer,
) -> Result<()> {
    let mut births = HashMap::new();
    let mut groups = Vec::new();
    for published in published {
        let mut held = Vec::new();
        walk_published(arena, published, &mut |extent| {
            let is_new = space.mark_used(extent);
            if is_new {
                births.insert(extent.start, None);
                held.push(extent);
            }
            Ok(is_new)
        })?;
        groups.push((published.root.generation, held));
    }
    for published in published.iter().rev() {
        walk_published(arena, published, &mut |extent| {
            // All nodes below one that an older commit or the last checkpoint reaches are known.
            let Some(birth @ None) = births.get_mut(&extent.start) else { return Ok(false) };
            *birth = Some(published.root.generation);
            Ok(true)
        })?;
    }
    for (generation, held) in groups {
        let born = |extent: Extent| births.get(&extent.start).copied().flatten().unwrap_or(generation);
        records.park(held.into_iter().map(|extent| RetiredNode { extent, birth: born(extent) }), generation);
    }
    Ok(())
}

/// The bytes of a value node, kept mapped.
#[derive(Debug)]
struct MappedValue {
    arena: Arc<Arena>,
    reference: u64,
}

impl MappedValue {
    fn new(arena: &Arc<Arena>, reference: u64) -> Result<Self> {
        arena.value(reference)?;
        Ok(Self { arena: Arc::clone(arena), reference })
    }
}

impl AsRef<[u8]> for MappedValue {
    fn as_ref(&self) -> &[u8] {
        self.arena.value(self.reference).unwrap_or_default()
    }
}

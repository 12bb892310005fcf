//! Frees the space of dropped snapshots from before the store was opened.
//!
//! The nodes that such a snapshot reached and the newest commit did not when the store was opened are on no list of retired
//! nodes. When no needed commit has the snapshot any more, its trees are visited, and then all commits from before
//! the opening that readers hold:
//!
//! | a node that the snapshot reaches | its fate |
//! | --- | --- |
//! | the newest commit or another named snapshot reaches it | it stays, until that commit loses it |
//! | it was retired since the opening | it is on a list |
//! | readers hold commits that reach it | it is parked under the newest of them |
//! | none of these | it is free |

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::state::{NamedSnapshot, PublishedCommit, State, walk_root};
use crate::arena::{Arena, FIRST_UNIT};
use crate::error::Result;
use crate::extent::{Extent, Generation};
use crate::space::Space;
use crate::space::reclaim::RetiredNode;

/// The generations of the oldest and the newest of the commits that readers hold and that reach a node.
type Holders = Option<(Generation, Generation)>;

impl State {
    /// Returns the nodes on no list that only these dropped snapshots reach. Parks the ones that readers hold.
    pub(super) fn take_unlisted(&mut self, dropped: &[NamedSnapshot]) -> Result<Vec<Extent>> {
        if dropped.is_empty() {
            return Ok(Vec::new());
        }
        let arena = Arc::clone(self.writer.shared());
        let end = self.writer.space.end();
        let mut reached = Space::new(FIRST_UNIT, end);
        let roots = [self.root].into_iter().chain(self.named.iter().map(|named| named.root));
        for root in roots.clone() {
            walk_root(&arena, &root, 0, &mut |extent| Ok(reached.mark_used(extent)))?;
        }
        let mut listed = Space::new(FIRST_UNIT, end);
        self.mark_dead(&mut listed)?;
        let mut unlisted: HashMap<u64, (Extent, Holders)> = HashMap::new();
        for named in dropped {
            walk_root(&arena, &named.root, 0, &mut |extent| {
                // All nodes below a retired one are reached or on a list as well.
                let is_new = !reached.is_used(extent) && !listed.is_used(extent);
                Ok(is_new && unlisted.insert(extent.start, (extent, None)).is_none())
            })?;
        }
        for published in &self.published {
            let generation = published.root.generation;
            let mut seen = HashSet::new();
            walk_published(&arena, published, &mut |extent| {
                if reached.is_used(extent) || !seen.insert(extent.start) {
                    return Ok(false);
                }
                if let Some((_, holders)) = unlisted.get_mut(&extent.start) {
                    let (oldest, newest) = holders.unwrap_or((generation, generation));
                    *holders = Some((oldest.min(generation), newest.max(generation)));
                }
                Ok(true)
            })?;
        }
        let mut free = Vec::new();
        for (extent, holders) in unlisted.into_values() {
            match holders {
                // No named snapshot reaches it, as for records.
                Some((birth, newest)) => self.records.park([RetiredNode { extent, birth }], newest),
                None => free.push(extent),
            }
        }
        Ok(free)
    }

    /// Marks the nodes that are on lists, or are about to be.
    pub(super) fn mark_dead(&self, space: &mut Space) -> Result<()> {
        for extent in self.reclaimer.unneeded(&[]).chain(self.records.unneeded(&[])) {
            space.mark_used(extent);
        }
        self.removed_subtrees.walk(self.writer.shared(), &mut |extent| Ok(space.mark_used(extent)))
    }
}

/// Calls `visit` with the nodes that a commit and its named snapshots reach, and its record. It returns whether to visit the
/// nodes below.
pub(crate) fn walk_published(
    arena: &Arc<Arena>,
    published: &PublishedCommit,
    visit: &mut dyn FnMut(Extent) -> Result<bool>,
) -> Result<()> {
    let root = published.root;
    if let Some(record) = published.record() {
        visit(arena.extent(record)?)?;
    }
    for root in [root].into_iter().chain(root.named(arena)?.into_iter().map(|(_, named)| named)) {
        walk_root(arena, &root, 0, visit)?;
    }
    Ok(())
}

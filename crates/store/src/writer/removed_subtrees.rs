//! Subtrees that commits have removed as a whole, until their nodes are on the list of retired nodes.
//!
//! Removing a range of keys leaves the subtrees within the range as they are, and only puts their roots here. From then
//! on each commit visits a limited number of their nodes. A visited node is retired as if it had been visited by the
//! commit that removed it:
//!
//! | node | its units | rebuilding the free space | after a crash | in the free map of a clean close |
//! | --- | --- | --- | --- | --- |
//! | not visited | used | found by walking the subtree | free: no commit reaches it | free, as closing visits the rest |
//! | visited | used while a pin needs it, by the rules of [`reclaim`](crate::space::reclaim) | on the list | free | free, unless a named snapshot needs it |
//!
//! No node is changed or freed before it is visited, and parents are visited before their children, so the rest of a
//! subtree can be found at any time.

use std::collections::VecDeque;

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::extent::{Extent, Generation, UNIT};
use crate::node::Word;
use crate::space::reclaim::RetiredNode;
use crate::trie::find::{Branch, LEAF_LINES};
use crate::trie::shares::Shares;
use crate::trie::walk::walk;
use crate::trie::writer::{Target, targets};
use crate::words::{WordReader, WordWriter};

/// The number of nodes that are prefetched together.
const GROUP: usize = 16;

/// The subtrees that one commit has removed.
#[derive(Debug)]
struct Removal {
    /// The roots of the parts that were not visited yet.
    roots: Vec<u64>,
    /// The generation of the commit.
    death: Generation,
    /// The number of nodes that may still be retired. Only a damaged tree has more than the file has units, although copies of trees may
    /// have more references to nodes.
    left: u64,
}

/// The queue of removed subtrees, owned by the writer.
#[derive(Debug, Default)]
pub(crate) struct RemovedSubtrees {
    queue: VecDeque<Removal>,
    has_lost_nodes: bool,
}

impl RemovedSubtrees {
    /// Takes the subtrees that the commit of generation `death` has removed. Leaves `roots` empty.
    pub(crate) fn add(&mut self, roots: &mut Vec<u64>, death: Generation, arena: &Arena) {
        if !roots.is_empty() {
            self.queue.push_back(Removal { roots: std::mem::take(roots), death, left: arena.len() / UNIT });
        }
    }

    /// Saves the queue for another process.
    pub(crate) fn save(&self, out: &mut WordWriter) {
        out.put(self.has_lost_nodes.into());
        out.put_len(self.queue.len());
        for removal in &self.queue {
            out.put(removal.death);
            out.put(removal.left);
            out.put_len(removal.roots.len());
            removal.roots.iter().for_each(|root| out.put(*root));
        }
    }

    /// Reads what [`save`](Self::save) has saved.
    pub(crate) fn restore(from: &mut WordReader<'_>) -> Result<Self> {
        let has_lost_nodes = from.next_flag()?;
        let mut queue = VecDeque::new();
        for _ in 0..from.next_len()? {
            let (death, left) = (from.next()?, from.next()?);
            let roots = (0..from.next_len()?).map(|_| from.next()).collect::<Result<_>>()?;
            queue.push_back(Removal { roots, death, left });
        }
        Ok(Self { queue, has_lost_nodes })
    }

    /// The generation of the first commit whose subtrees were not visited completely.
    pub(crate) fn first_death(&self) -> Option<Generation> {
        self.queue.front().map(|removal| removal.death)
    }

    /// The number of subtrees of which no node was visited.
    pub(crate) fn len(&self) -> usize {
        self.queue.iter().map(|removal| removal.roots.len()).sum()
    }

    /// Whether nodes of a damaged subtree could not be visited. They count as used until the free space is found by
    /// visiting the trees of all commits.
    pub(crate) fn has_lost_nodes(&self) -> bool {
        self.has_lost_nodes
    }

    /// Visits about `limit` nodes of the first removal and adds them to `nodes`. Returns the generation that retired
    /// them; `None` if there is no removal.
    ///
    /// A node that has other references is not visited, and has one less. A node that lost another reference in a later
    /// commit died then, with all below that died with it: these are added to `late`.
    pub(crate) fn visit(
        &mut self,
        arena: &Arena,
        shares: &mut Shares,
        limit: usize,
        nodes: &mut Vec<RetiredNode>,
        late: &mut Vec<(RetiredNode, Generation)>,
    ) -> Option<Generation> {
        let removal = self.queue.front_mut()?;
        let mut late_roots = Vec::new();
        while nodes.len() < limit && !removal.roots.is_empty() {
            let count = GROUP.min(limit - nodes.len());
            let group = removal.roots.split_off(removal.roots.len().saturating_sub(count));
            group.iter().for_each(|reference| arena.prefetch::<LEAF_LINES>(*reference));
            for reference in group {
                let is_last_reference = !shares.is_shared(reference);
                let is_left = removal.left > 0 || !is_last_reference;
                removal.left = removal.left.saturating_sub(is_last_reference.into());
                if shares.is_empty() {
                    self.has_lost_nodes |= !is_left || removal.visit(arena, reference, nodes).is_err();
                    continue;
                }
                let visited = if is_left { visit_node(arena, shares, reference, removal.death) } else { Err(lost()) };
                let Ok(visited) = visited else {
                    self.has_lost_nodes = true;
                    continue;
                };
                for (node, death) in visited.nodes {
                    if death == removal.death { nodes.push(node) } else { late.push((node, death)) }
                }
                match visited.death {
                    Some(death) if death != removal.death => late_roots.push((death, visited.roots)),
                    _ => removal.roots.extend(visited.roots),
                }
            }
        }
        let (death, left) = (removal.death, removal.left);
        if removal.roots.is_empty() {
            self.queue.pop_front();
        }
        let late_roots = late_roots.into_iter().filter(|(_, roots)| !roots.is_empty());
        self.queue.extend(late_roots.map(|(death, roots)| Removal { roots, death, left }));
        Some(death)
    }

    /// Calls `visit` with the nodes that were not visited yet. It returns whether to visit the nodes below.
    pub(crate) fn walk(&self, arena: &Arena, visit: &mut dyn FnMut(Extent) -> Result<bool>) -> Result<()> {
        for root in self.queue.iter().flat_map(|removal| &removal.roots) {
            walk(arena, Word::new(*root, 0), 0, &mut |reference, _| visit(arena.extent(reference)?))?;
        }
        Ok(())
    }
}

impl Removal {
    /// Adds a node and its values to `nodes`, and its children and nested trees to the roots. Changes nothing if the node is
    /// damaged. No node has several references.
    fn visit(&mut self, arena: &Arena, reference: u64, nodes: &mut Vec<RetiredNode>) -> Result<()> {
        let retired = |reference| retired_node(arena, reference);
        let node = retired(reference)?;
        match Branch::at(arena, reference)? {
            Branch::Inner(inner) => self.roots.extend((0..inner.count()).map(|index| inner.child(index).reference())),
            Branch::Leaf(leaf) => {
                let (mut values, mut trees) = (Vec::new(), Vec::new());
                for target in targets(&leaf)? {
                    match target {
                        Target::Value(value) => values.push(retired(value)?),
                        Target::Tree(word) => trees.extend(Some(word.reference()).filter(|root| *root != 0)),
                    }
                }
                nodes.extend(values);
                self.roots.extend(trees);
            }
        }
        nodes.push(node);
        Ok(())
    }
}

/// The result of visiting a node of a removed subtree.
#[derive(Debug, Default)]
struct Visit {
    /// The node and its values, as far as nothing else refers to them, and the generations in which they died.
    nodes: Vec<(RetiredNode, Generation)>,
    /// The generation in which the node died, if nothing else refers to it.
    death: Option<Generation>,
    /// Its children and nested trees.
    roots: Vec<u64>,
}

/// Visits a node that has lost a reference in the generation `loss`. Changes nothing if the node is damaged.
fn visit_node(arena: &Arena, shares: &mut Shares, reference: u64, loss: Generation) -> Result<Visit> {
    let retired = |reference| retired_node(arena, reference);
    let node = retired(reference)?;
    let (mut values, mut roots) = (Vec::new(), Vec::new());
    match Branch::at(arena, reference)? {
        Branch::Inner(inner) => roots.extend((0..inner.count()).map(|index| inner.child(index).reference())),
        Branch::Leaf(leaf) => {
            for target in targets(&leaf)? {
                match target {
                    Target::Value(value) => values.push(retired(value)?),
                    Target::Tree(word) => roots.extend(Some(word.reference()).filter(|root| *root != 0)),
                }
            }
        }
    }
    let Some(death) = shares.remove(reference, loss) else { return Ok(Visit::default()) };
    let dead_value = |value: RetiredNode| Some((value, shares.remove(value.extent.start, death)?));
    let mut nodes: Vec<_> = values.into_iter().filter_map(dead_value).collect();
    nodes.push((node, death));
    Ok(Visit { nodes, death: Some(death), roots })
}

fn lost() -> Error {
    Error::corrupt("a removed subtree contains a cycle")
}

fn retired_node(arena: &Arena, reference: u64) -> Result<RetiredNode> {
    Ok(RetiredNode { extent: arena.extent(reference)?, birth: arena.birth(reference)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::WriteArena;
    use crate::node::{Kind, edit_inner};

    /// Writes an inner node at unit `at` that refers to `children`.
    fn inner(arena: &mut WriteArena, at: u64, children: &[u64]) {
        let words: Vec<Word> = children.iter().map(|child| Word::new(*child, 10)).collect();
        let dividers = &b"bcdefgh"[..children.len() - 1];
        let body = arena.fresh(Extent { start: at, units: 2 }, Kind::Inner, 1).unwrap();
        edit_inner::write(body, 10 * children.len() as u64, b"p", dividers, &words);
    }

    fn visit_all(removed: &mut RemovedSubtrees, arena: &Arena) -> Vec<u64> {
        let mut nodes = Vec::new();
        let (mut shares, mut late) = (Shares::default(), Vec::new());
        while removed.visit(arena, &mut shares, nodes.len() + 3, &mut nodes, &mut late).is_some() {}
        assert!(late.is_empty());
        nodes.iter().map(|node| node.extent.start).collect()
    }

    #[test]
    fn visits_through_cyclic_nodes_end() {
        let mut arena = WriteArena::in_memory(1 << 20, 1 << 16);
        inner(&mut arena, 200, &[200, 200]);
        let mut removed = RemovedSubtrees::default();
        removed.add(&mut vec![200], 2, arena.shared());
        let visits = visit_all(&mut removed, arena.shared());
        assert_eq!(visits.len() as u64, (1 << 16) / UNIT);
        assert!(removed.has_lost_nodes() && removed.first_death().is_none());
    }

    #[test]
    fn damaged_node_is_skipped_and_the_others_are_visited() {
        let mut arena = WriteArena::in_memory(1 << 20, 1 << 16);
        // There is no node at 400, and a node of a kind that does not exist at 600.
        inner(&mut arena, 200, &[300, 400, 500, 600]);
        inner(&mut arena, 300, &[700]);
        inner(&mut arena, 500, &[700]);
        inner(&mut arena, 600, &[700]);
        arena.own(600, 1).unwrap()[0] = 9;
        let mut removed = RemovedSubtrees::default();
        let mut roots = vec![200];
        removed.add(&mut roots, 2, arena.shared());
        assert!(roots.is_empty() && removed.len() == 1 && removed.first_death() == Some(2));
        let mut visits = visit_all(&mut removed, arena.shared());
        visits.sort_unstable();
        assert_eq!(visits, [200, 300, 500]);
        assert!(removed.has_lost_nodes() && removed.first_death().is_none());
    }
}

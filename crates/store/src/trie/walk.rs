//! Visits all nodes of a tree.

use super::find::{Branch, LEAF_LINES};
use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::extent::{Generation, UNIT};
use crate::node::{Slot, Word};

/// The number of nodes that are prefetched together. Their cache misses, one after the other, would take longer than
/// everything else.
const GROUP: usize = 16;

/// Calls `visit` with every node below `root`, also of nested trees, parents before their children. It returns whether to visit the nodes
/// below. Value nodes are visited too, with `false` as the second argument. Nodes created before generation `since` are
/// not prefetched.
pub(crate) fn walk(
    arena: &Arena,
    root: Word,
    since: Generation,
    visit: &mut dyn FnMut(u64, bool) -> Result<bool>,
) -> Result<()> {
    let mut pending = vec![root.reference()];
    let mut group = Vec::with_capacity(GROUP);
    // A tree with more nodes than the file has units reaches some of them over and over.
    let mut left = arena.len() / UNIT;
    while let Some(reference) = next(arena, &mut pending, &mut group, since) {
        if reference == 0 || !visit(reference, true)? {
            continue;
        }
        left = left.checked_sub(1).ok_or_else(|| Error::corrupt("a tree contains a cycle"))?;
        match Branch::at(arena, reference)? {
            Branch::Inner(inner) => {
                for index in (0..inner.count()).rev() {
                    pending.push(inner.child(index).reference());
                    arena.prefetch::<1>(inner.child(index).reference());
                }
            }
            Branch::Leaf(leaf) => {
                for index in 0..leaf.count() {
                    if !leaf.may_refer(index) {
                        continue;
                    }
                    match leaf.entry(index)?.value {
                        Slot::External(value) => drop(visit(value, false)?),
                        Slot::Tree(word) => pending.push(word.reference()),
                        Slot::Inline(_) => {}
                    }
                }
            }
        }
    }
    Ok(())
}

/// The next node, from a group that has been prefetched.
fn next(arena: &Arena, pending: &mut Vec<u64>, group: &mut Vec<u64>, since: Generation) -> Option<u64> {
    if group.is_empty() {
        group.extend(pending.drain(pending.len().saturating_sub(GROUP)..));
        for reference in &*group {
            if arena.birth(*reference).is_ok_and(|birth| birth >= since) {
                arena.prefetch::<LEAF_LINES>(*reference);
            }
        }
    }
    group.pop()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::WriteArena;
    use crate::extent::Extent;
    use crate::node::{Kind, edit_inner};

    #[test]
    fn walk_through_cyclic_nodes_ends() {
        let mut arena = WriteArena::in_memory(1 << 20, 1 << 16);
        let word = Word::new(200, 10);
        let body = arena.fresh(Extent { start: 200, units: 1 }, Kind::Inner, 1).unwrap();
        edit_inner::write(body, 20, b"p", b"q", &[word, word]);
        let mut visits = 0;
        let walked = walk(arena.shared(), word, 0, &mut |_, _| {
            visits += 1;
            Ok(true)
        });
        assert!(matches!(walked, Err(Error::Corrupt { .. })));
        assert!(visits <= 1 + (1 << 16) / UNIT);
    }
}

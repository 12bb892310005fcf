//! Visiting all nodes of a tree.

use super::find::Branch;
use crate::arena::Arena;
use crate::error::Result;
use crate::node::{Slot, Word};

/// Calls `visit` with every node below `root`, parents before their children; it says whether to go on below. Value nodes
/// are visited too, with `false` for being one of the trie.
pub(crate) fn walk(arena: &Arena, root: Word, visit: &mut dyn FnMut(u64, bool) -> Result<bool>) -> Result<()> {
    let mut pending = vec![root.reference()];
    while let Some(reference) = pending.pop() {
        if reference == 0 || !visit(reference, true)? {
            continue;
        }
        match Branch::parse(arena.node(reference)?, reference)? {
            Branch::Inner(inner) => {
                for index in (0..inner.count()).rev() {
                    pending.push(inner.child(index).reference());
                    // The next few will be needed soon, and are seldom in a cache.
                    arena.prefetch(inner.child(index).reference(), 1);
                }
            }
            Branch::Leaf(leaf) => {
                for index in 0..leaf.count() {
                    if let Slot::External(value) = leaf.entry(index)?.value {
                        visit(value, false)?;
                    }
                }
            }
        }
    }
    Ok(())
}

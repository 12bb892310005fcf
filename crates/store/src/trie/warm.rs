//! Loads the paths to many keys at once.
//!
//! The path to a key is a chain of loads, each of which waits for the one before. The paths to sixteen keys are sixteen
//! chains, whose cache misses overlap.

use super::MAX_KEY_LEN;
use super::find::{Branch, LEAF_LINES, is_leaf, prefetch};
use crate::arena::Arena;
use crate::node::Word;
use crate::node::leaf::behind;

/// The number of paths that are followed at a time: the number of loads that most processors have in flight.
pub(crate) const GROUP: usize = 16;

/// Loads the nodes on the path to each key into the cache. Damaged nodes are skipped; the search that follows reports
/// them.
pub(crate) fn warm<'k>(arena: &Arena, root: Word, keys: impl Iterator<Item = &'k [u8]>) {
    let mut keys = keys.fuse();
    loop {
        let mut paths = [(0_u64, &[][..]); GROUP];
        let mut count = 0;
        for key in keys.by_ref().take(GROUP) {
            paths[count] = (root.reference(), key);
            count += 1;
        }
        if count == 0 || root.is_none() {
            return;
        }
        // Every step but the first consumes a byte of the key or ends the path.
        for _ in 0..MAX_KEY_LEN {
            let mut is_done = true;
            for (reference, rest) in &mut paths[..count] {
                if *reference != 0 {
                    *reference = step(arena, *reference, rest);
                    is_done &= *reference == 0;
                }
            }
            if is_done {
                break;
            }
        }
    }
}

/// The number of lines of a leaf that are prefetched before its length is known.
const FIRST_LINES: u64 = 4;

/// The next node on the path, which is being loaded, or 0 at its end.
#[inline]
fn step(arena: &Arena, reference: u64, rest: &mut &[u8]) -> u64 {
    let Some(node) = arena.peek(reference) else { return 0 };
    let inner = match Branch::from_node(node) {
        Some(Branch::Inner(inner)) => inner,
        Some(Branch::Leaf(_)) => {
            let lines = u64::from(node.units()).clamp(FIRST_LINES, LEAF_LINES);
            arena.prefetch_lines(reference + FIRST_LINES, lines - FIRST_LINES);
            return 0;
        }
        None => return 0,
    };
    let Some(behind) = behind(rest, inner.prefix()) else { return 0 };
    *rest = behind;
    let child = inner.child(inner.child_index(behind.first().copied()));
    if is_leaf(child) {
        arena.prefetch::<FIRST_LINES>(child.reference());
    } else {
        prefetch(arena, child);
    }
    child.reference()
}

//! Counts the references to the nodes that copied trees share.
//!
//! A copy of a tree takes no time, because both places refer to the same root. From then on a node may have several
//! references *in one commit*: slots of parents, leaves and catalogs that refer to it. The rule:
//!
//! - The count of a node is the number of its references from nodes of the newest state (committed, or of the open
//!   transaction), plus the number of its references from removed subtrees that were not visited yet. A node that is in no
//!   entry here has one.
//! - A node is retired when its last reference goes. Until then, it stays as it is.
//! - A node with several references is never changed in place. If a path to it changes, a copy takes the place of one
//!   of its references. The copy refers to all that the node refers to, so each of these gets one more reference. So counts
//!   pass down the tree only along paths that change, parents before children.
//! - Nodes that a transaction changes in place have one reference: sharing a tree begins a new generation, and no node of an
//!   earlier one is changed in place.
//!
//! A node is reached by the commits from its birth to the loss of its last reference, without a gap. So the rules of
//! [`reclaim`](crate::space::reclaim) hold for readers and named snapshots as they do for nodes with one reference.
//!
//! | event | the counts |
//! | --- | --- |
//! | a tree is copied | its root has one more |
//! | a node with several references is copied for a change | it has one less, and its children one more |
//! | a key is removed or overwritten | its value node has one less; a nested tree's root keeps its count until it is visited |
//! | a removed node is visited | it has one less, and if none is left, its children are visited |
//! | rollback, abort | as they were: every change is in a journal |
//! | opening after a crash | counted by the visit of all trees that finds the free space; a clean close with shared nodes leaves no free map |
//!
//! The last reference may go in an earlier commit than another one, because removed subtrees are visited late. So the
//! generation of the latest loss is kept, too: the node died then.

use std::collections::HashMap;

use crate::error::Result;
use crate::extent::Generation;
use crate::words::{WordReader, WordWriter};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Share {
    references: u64,
    /// The latest generation in which a reference was lost.
    last_loss: Generation,
}

/// The nodes with several references. Owned by the writer.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    counts: HashMap<u64, Share>,
    /// The counts before each change of the open transaction.
    journal: Vec<(u64, Option<Share>)>,
}

impl Shares {
    /// Whether no node has several references.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Whether nothing is shared, and nothing was in the open transaction.
    pub(crate) fn is_unused(&self) -> bool {
        self.counts.is_empty() && self.journal.is_empty()
    }

    /// The number of references to a node.
    pub(crate) fn references(&self, node: u64) -> u64 {
        self.counts.get(&node).map_or(1, |share| share.references)
    }

    pub(crate) fn is_shared(&self, node: u64) -> bool {
        !self.counts.is_empty() && self.references(node) > 1
    }

    /// The nodes whose references are counted.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = u64> {
        self.counts.keys().copied()
    }

    /// Counts one more reference to a node.
    pub(crate) fn add(&mut self, node: u64) {
        let old = self.counts.get(&node).copied();
        let Share { references, last_loss } = old.unwrap_or(Share { references: 1, last_loss: 0 });
        self.set(node, old, Some(Share { references: references + 1, last_loss }));
    }

    /// Counts one reference less. Returns the generation in which the node died, if it was the last one.
    pub(crate) fn remove(&mut self, node: u64, loss: Generation) -> Option<Generation> {
        let Some(share) = self.counts.get(&node).copied() else { return Some(loss) };
        let last_loss = share.last_loss.max(loss);
        if share.references > 1 {
            self.set(node, Some(share), Some(Share { references: share.references - 1, last_loss }));
            return None;
        }
        self.set(node, Some(share), None);
        Some(last_loss)
    }

    fn set(&mut self, node: u64, old: Option<Share>, new: Option<Share>) {
        self.journal.push((node, old));
        match new {
            Some(share) => self.counts.insert(node, share),
            None => self.counts.remove(&node),
        };
    }

    /// The number of changes of the open transaction.
    pub(crate) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Undoes the changes after a mark.
    pub(crate) fn revert(&mut self, mark: usize) {
        for (node, old) in self.journal.drain(mark..).rev() {
            match old {
                Some(share) => self.counts.insert(node, share),
                None => self.counts.remove(&node),
            };
        }
    }

    /// Keeps the changes so far. Without removed subtrees, earlier losses of nodes with one reference do not matter: that
    /// reference is lost later.
    pub(crate) fn settle(&mut self, has_removed_subtrees: bool) {
        self.journal.clear();
        if !has_removed_subtrees && !self.counts.is_empty() {
            self.counts.retain(|_, share| share.references > 1);
        }
    }

    /// Saves the counts for another process.
    pub(crate) fn save(&self, out: &mut WordWriter) {
        out.put_len(self.counts.len());
        for (node, share) in &self.counts {
            [*node, share.references, share.last_loss].into_iter().for_each(|word| out.put(word));
        }
    }

    /// Reads what [`save`](Self::save) has saved.
    pub(crate) fn restore(from: &mut WordReader<'_>) -> Result<Self> {
        let mut shares = Self::default();
        for _ in 0..from.next_len()? {
            let (node, references, last_loss) = (from.next()?, from.next()?, from.next()?);
            shares.counts.insert(node, Share { references, last_loss });
        }
        Ok(shares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_dies_with_its_last_reference_in_generation_of_latest_loss() {
        let mut shares = Shares::default();
        assert_eq!(shares.remove(200, 3), Some(3));
        shares.add(200);
        shares.add(200);
        assert_eq!((shares.references(200), shares.is_shared(200)), (3, true));
        assert_eq!(shares.remove(200, 9), None);
        assert_eq!(shares.remove(200, 4), None);
        assert!(!shares.is_shared(200) && !shares.is_empty());
        assert_eq!(shares.remove(200, 5), Some(9));
        assert!(shares.is_empty());
    }

    #[test]
    fn reverted_changes_leave_earlier_counts() {
        let mut shares = Shares::default();
        shares.add(200);
        shares.settle(false);
        let mark = shares.mark();
        shares.add(200);
        shares.add(300);
        assert_eq!(shares.remove(300, 1), None);
        assert_eq!(shares.remove(300, 1), Some(1));
        shares.revert(mark);
        assert_eq!((shares.references(200), shares.references(300)), (2, 1));
        shares.settle(false);
        assert_eq!(shares.remove(200, 1), None);
        shares.settle(true);
        assert!(!shares.is_empty());
        shares.settle(false);
        assert!(shares.is_unused());
    }
}

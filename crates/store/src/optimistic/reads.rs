//! Records the keys and ranges that an optimistic transaction has read of its snapshot.

use super::key_ranges::KeyRanges;
use crate::tree::successor;

/// Beyond this number of ranges of a tree, neighbouring ones are joined, so that the memory of a long transaction is limited. A joined range
/// also has the keys between its parts: the transaction may meet a conflict that it would not have met otherwise. They take some 10 MB with keys
/// of 32 bytes.
pub(super) const MAX_RANGES: usize = 1 << 16;

/// The number of ranges that are joined to one.
const JOINED_RANGES: usize = 16;

/// The reads of one tree.
#[derive(Debug, Default)]
pub(super) struct TreeReads {
    pub(super) name: String,
    /// Whether the transaction has asked if the tree exists.
    pub(super) existence: bool,
    pub(super) ranges: KeyRanges,
}

impl TreeReads {
    fn add(&mut self, low: &[u8], high: Option<&[u8]>) {
        self.ranges.add(low, high);
        if self.ranges.len() > MAX_RANGES {
            self.ranges.coarsen(JOINED_RANGES);
        }
    }
}

/// The range that a cursor is reading. It counts as read at each time, even if the cursor is never dropped.
#[derive(Debug)]
struct OpenRange {
    tree: usize,
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    is_empty: bool,
}

/// The reads of all trees.
#[derive(Debug, Default)]
pub(super) struct Reads {
    trees: Vec<TreeReads>,
    /// Whether the transaction has asked for the names of all trees.
    pub(super) names: bool,
    open: Vec<Option<OpenRange>>,
    /// Whether nothing is recorded.
    is_off: bool,
}

impl Reads {
    /// Begins without reads. Later ones are recorded if `is_recorded`.
    pub(super) fn new(is_recorded: bool) -> Self {
        Self { is_off: !is_recorded, ..Self::default() }
    }

    /// The index of the tree with this name.
    pub(super) fn tree(&mut self, name: &str) -> usize {
        let index = self.trees.iter().position(|tree| tree.name == name);
        index.unwrap_or_else(|| {
            self.trees.push(TreeReads { name: name.to_owned(), ..TreeReads::default() });
            self.trees.len() - 1
        })
    }

    /// The trees, after all cursors have ended.
    pub(super) fn finish(&mut self) -> &[TreeReads] {
        (0..self.open.len()).for_each(|range| self.close(range));
        &self.trees
    }

    pub(super) fn existence(&mut self, tree: usize) {
        self.trees[tree].existence |= !self.is_off;
    }

    pub(super) fn key(&mut self, tree: usize, key: &[u8]) {
        if !self.is_off && self.trees[tree].ranges.find(key).is_none() {
            self.trees[tree].add(key, Some(&successor(key)));
        }
    }

    pub(super) fn range(&mut self, tree: usize, low: &[u8], high: Option<&[u8]>) {
        if !self.is_off {
            self.trees[tree].add(low, high);
        }
    }

    /// Opens an empty range, and returns its number.
    pub(super) fn open(&mut self, tree: usize) -> usize {
        let range = Some(OpenRange { tree, low: Vec::new(), high: None, is_empty: true });
        match self.open.iter().position(Option::is_none) {
            Some(free) => {
                self.open[free] = range;
                free
            }
            None => {
                self.open.push(range);
                self.open.len() - 1
            }
        }
    }

    pub(super) fn close(&mut self, range: usize) {
        if let Some(range) = self.open[range].take()
            && !range.is_empty
        {
            self.trees[range.tree].add(&range.low, range.high.as_deref());
        }
    }

    /// Adds the keys from `low` up to but not including `high` to an open range. They follow its keys, come before them, or begin another
    /// range.
    pub(super) fn extend(&mut self, range: usize, low: &[u8], high: Option<&[u8]>) {
        let Some(open) = self.open[range].as_mut().filter(|_| !self.is_off) else { return };
        let is_after = high.is_none_or(|high| &open.low[..] <= high);
        let is_before = open.high.as_ref().is_none_or(|end| low <= &end[..]);
        if open.is_empty || !is_after || !is_before {
            if !open.is_empty {
                self.trees[open.tree].add(&open.low, open.high.as_deref());
            }
            open.is_empty = false;
            replace(&mut open.low, low);
            open.high = high.map(<[u8]>::to_vec);
            return;
        }
        if low < &open.low[..] {
            replace(&mut open.low, low);
        }
        match (&mut open.high, high) {
            (Some(end), Some(high)) if high > &end[..] => replace(end, high),
            (end, None) => *end = None,
            _ => {}
        }
    }
}

fn replace(bytes: &mut Vec<u8>, by: &[u8]) {
    bytes.clear();
    bytes.extend_from_slice(by);
}

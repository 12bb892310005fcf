//! Collects the intact keys of a tree.

use std::collections::HashSet;
use std::sync::Arc;

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::extent::{Generation, UNIT};
use crate::inspect::Problem;
use crate::node::Word;
use crate::node::leaf::NESTED;
use crate::tree_path::TreePath;
use crate::trie::MAX_KEY_LEN;
use crate::trie::find::{Branch, StoredItem, resolve_item};

/// The value or the nested tree of an intact key.
pub(super) enum SalvagedItem<'f> {
    Value(&'f [u8]),
    Tree(NestedRoot),
}

impl<'f> SalvagedItem<'f> {
    /// The value. Neither catalogs nor the tree of named snapshots have nested trees.
    pub(super) fn value(self) -> Result<&'f [u8]> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Tree(_) => Err(Error::corrupt("a catalog has a nested tree")),
        }
    }
}

/// The root of a nested tree, and the generation of the leaf that refers to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NestedRoot {
    pub(super) word: Word,
    pub(super) birth_max: Generation,
}

/// A callback that takes a key and its value or nested tree.
pub(super) type KeyVisitor<'f> = dyn FnMut(&[u8], SalvagedItem<'_>) -> Result<()> + 'f;

#[derive(Debug)]
pub(super) struct Salvage<'a> {
    arena: &'a Arena,
    /// Nodes up to this generation have checksums.
    sealed: Generation,
    seen: HashSet<u64>,
    /// Whether several trees of a commit may have the same nodes.
    pub(super) may_share: bool,
    /// The name of the snapshot whose trees are visited, if it is a named one.
    snapshot: Option<String>,
    /// The place of the tree that is visited, if it is nested.
    nested: Option<TreePath>,
    pub(super) problems: Vec<Problem>,
}

/// A node to visit: the path to it, and the generation of the node that refers to it.
struct Visit {
    reference: u64,
    path: Arc<[u8]>,
    birth_max: Generation,
}

impl<'a> Salvage<'a> {
    pub(super) fn new(arena: &'a Arena, sealed: Generation) -> Self {
        Self {
            may_share: false,
            arena,
            sealed,
            seen: HashSet::new(),
            snapshot: None,
            nested: None,
            problems: Vec::new(),
        }
    }

    /// Continues with another commit, which may share nodes with the one before.
    pub(super) fn begin(&mut self, snapshot: Option<&str>) {
        self.seen.clear();
        self.snapshot = snapshot.map(str::to_owned);
    }

    /// Continues with the tree at this place. Within a tree, no two references lead to a node, but trees may share nodes.
    pub(super) fn enter(&mut self, place: &TreePath) {
        if self.may_share {
            self.seen.clear();
        }
        self.nested = (!place.keys().is_empty()).then(|| place.clone());
    }

    /// Calls `found` with the intact keys below `root`. No node may be of a generation after `birth_max`.
    pub(super) fn walk(&mut self, root: Word, birth_max: Generation, found: &mut KeyVisitor<'_>) -> Result<()> {
        let mut pending = vec![Visit { reference: root.reference(), path: Arc::from([]), birth_max }];
        while let Some(Visit { reference, path, birth_max }) = pending.pop() {
            if reference == 0 {
                continue;
            }
            let node = self.verify(reference, birth_max);
            match node.and_then(|birth| Ok((birth, Branch::at(self.arena, reference)?))) {
                Err(error) => self.report_lost(reference, &path, &error),
                Ok((birth, Branch::Inner(inner))) => {
                    let below: Arc<[u8]> = [&path[..], inner.prefix()].concat().into();
                    if below.len() > MAX_KEY_LEN {
                        self.report_lost(
                            reference,
                            &path,
                            &Error::corrupt("the path to a node is longer than the maximum length of a key"),
                        );
                        continue;
                    }
                    for index in (0..inner.count()).rev() {
                        let (reference, path) = (inner.child(index).reference(), Arc::clone(&below));
                        pending.push(Visit { reference, path, birth_max: birth });
                    }
                }
                Ok((birth, Branch::Leaf(leaf))) => {
                    for index in 0..leaf.count() {
                        let entry = leaf.entry_parts(index).and_then(|entry| {
                            if !matches!(entry.value_node, 0 | NESTED) {
                                self.verify(entry.value_node, birth)?;
                            }
                            Ok((entry.suffix, resolve_item(self.arena, entry.value, entry.value_node)?))
                        });
                        let item = entry.map(|(suffix, item)| match item {
                            StoredItem::Value(value) => (suffix, SalvagedItem::Value(value)),
                            StoredItem::Tree(word) => {
                                (suffix, SalvagedItem::Tree(NestedRoot { word, birth_max: birth }))
                            }
                        });
                        match item {
                            Ok((suffix, item)) => found(&[&path[..], leaf.prefix(), suffix].concat(), item)?,
                            Err(error) => self.report_lost(reference, &path, &error),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Verifies that a node has the right checksum and was not visited before, and returns its generation.
    fn verify(&mut self, reference: u64, birth_max: Generation) -> Result<Generation> {
        let (stored, right) = self.arena.checksums(reference)?;
        let birth = self.arena.birth(reference)?;
        if stored != right && (stored != 0 || birth <= self.sealed) {
            return Err(Error::corrupt_at(reference * UNIT, "the checksum of a node is wrong"));
        }
        if birth > birth_max {
            return Err(Error::corrupt_at(reference * UNIT, "a node is younger than what refers to it"));
        }
        if !self.seen.insert(reference) {
            return Err(Error::corrupt_at(reference * UNIT, "two references lead to this node"));
        }
        Ok(birth)
    }

    fn report_lost(&mut self, reference: u64, path: &[u8], error: &Error) {
        let what = match error {
            Error::Corrupt { what, .. } => what.clone(),
            other => other.to_string(),
        };
        let of = self.snapshot.as_ref().map(|name| format!(" of the snapshot {name:?}")).unwrap_or_default();
        let start = path.escape_ascii();
        let tree = self.nested.as_ref().map(|place| format!(" of the nested tree {place}")).unwrap_or_default();
        let what = format!("{what}: keys{tree}{of} that begin with \"{start}\" are lost");
        self.problems.push(Problem { offset: Some(reference.saturating_mul(UNIT)), what });
    }
}

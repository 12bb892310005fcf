//! Moves the nodes of trees nested in a tree, in bounded steps.

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::node::Word;
use crate::root::Root;
use crate::trie::find::{self, StoredItem};
use crate::trie::relocate::Relocation;
use crate::trie::{Cursor, Mode};

/// The number of keys that one transaction searches for nested trees.
const STEP_KEYS: usize = 1 << 14;

/// The position within the trees nested in a named tree.
#[derive(Debug, Default)]
pub(super) struct NestedPosition {
    /// The keys that lead to the tree that is searched for nested trees.
    path: Vec<Vec<u8>>,
    /// The first key that was not searched.
    next: Vec<u8>,
    /// The first key of the tree nested at `next` whose nodes were not moved.
    low: Option<Vec<u8>>,
}

impl NestedPosition {
    /// Moves nodes of the trees nested in the tree `name` of `root`, and returns whether all were visited.
    pub(super) fn advance(
        &mut self,
        arena: &Arena,
        moving: &mut Relocation<'_>,
        root: &mut Root,
        name: &str,
    ) -> Result<bool> {
        let mut left = STEP_KEYS;
        while left > 0 && !moving.is_done() {
            let Some(top) = root.tree(arena, name)? else { return Ok(true) };
            let roots = self.resolve(arena, top)?;
            let Some((key, nested)) = self.next_nested(arena, &roots, &mut left)? else {
                if left > 0 && !self.leave() {
                    return Ok(true);
                }
                continue;
            };
            let low = self.low.take().unwrap_or_default();
            moving.set_range(&low, &[nested])?;
            let now = moving.tree(nested)?;
            self.low = moving.rest();
            if now != nested {
                let top = self.put_root(moving, roots, &key, now)?;
                let writer = moving.writer();
                writer.put(&mut root.catalog, name.as_bytes(), &top.bits().to_le_bytes(), Mode::Replace)?;
            }
            if self.low.is_some() {
                self.next = key;
            } else {
                self.path.push(key);
                self.next.clear();
            }
        }
        Ok(false)
    }

    /// The roots of the trees on the path, from the named one on. Ends the path where another writer has removed a tree.
    fn resolve(&mut self, arena: &Arena, top: Word) -> Result<Vec<Word>> {
        let mut roots = vec![top];
        let mut around = top;
        for depth in 0..self.path.len() {
            match find::get_item(arena, around, &self.path[depth])? {
                Some(StoredItem::Tree(word)) => {
                    roots.push(word);
                    around = word;
                }
                _ => {
                    self.path.truncate(depth + 1);
                    self.leave();
                    break;
                }
            }
        }
        Ok(roots)
    }

    /// Continues after the tree that was searched. Returns whether it was a nested one.
    fn leave(&mut self) -> bool {
        let Some(mut key) = self.path.pop() else { return false };
        key.push(0);
        (self.next, self.low) = (key, None);
        true
    }

    /// The next nested tree of the tree at the end of the path. Counts the keys that were searched.
    fn next_nested(&mut self, arena: &Arena, roots: &[Word], left: &mut usize) -> Result<Option<(Vec<u8>, Word)>> {
        let Some(&around) = roots.last() else { return Ok(None) };
        let mut cursor = Cursor::new(arena, around);
        let mut has_key = cursor.seek(&self.next)?;
        while has_key {
            let Some(key) = cursor.key() else { break };
            if *left == 0 {
                (self.next, self.low) = (key.to_vec(), None);
                return Ok(None);
            }
            *left -= 1;
            if let Some(word) = cursor.nested() {
                if key != self.next {
                    self.low = None;
                }
                return Ok(Some((key.to_vec(), word?)));
            }
            has_key = cursor.next()?;
        }
        Ok(None)
    }

    /// Puts the new root of the tree nested at `key` into the trees around it, and returns the root of the named tree.
    fn put_root(&self, moving: &mut Relocation<'_>, mut roots: Vec<Word>, key: &[u8], now: Word) -> Result<Word> {
        let mut below = now;
        let keys = self.path.iter().map(Vec::as_slice).chain([key]);
        for key in keys.collect::<Vec<_>>().into_iter().rev() {
            let mut around = roots.pop().ok_or_else(|| Error::internal("a nested tree has no tree around it"))?;
            moving.writer().put_tree(&mut around, key, below, Mode::Update)?;
            below = around;
        }
        Ok(below)
    }
}

//! Trees nested in other trees, within a transaction.
//!
//! A transaction knows the roots of one chain of nested trees: each is at a key of the one before, and the first at a key of
//! a named tree. A handle to a nested tree borrows the transaction, so the chain leads to the newest handle, and nothing
//! else changes meanwhile. A change of a nested tree puts its new root at its key at once, up to the named tree.

use super::{Transaction, TreeMut};
use crate::commits::OpenTree;
use crate::error::{Error, Result};
use crate::node::Word;
use crate::pending::Place;
use crate::records::TreeLabel;
use crate::tree::Item;
use crate::tree_path::TreePath;
use crate::trie::find::{self, StoredItem};
use crate::trie::{Mode, Purpose, Target};
use crate::writer::State;

/// A nested tree on the chain.
#[derive(Debug)]
struct Level {
    key: Vec<u8>,
    root: Word,
    /// The number of the tree in the log record.
    number: usize,
}

/// The nested trees that lead to the newest handle.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The index of the named tree.
    tree: usize,
    levels: Vec<Level>,
}

impl Chain {
    /// The name or the number of a tree in the log record.
    #[inline]
    pub(super) fn label<'a>(&self, trees: &'a [OpenTree], place: Place) -> TreeLabel<'a> {
        match place.depth.checked_sub(1) {
            None => TreeLabel::Name(&trees[place.tree].name),
            Some(level) => TreeLabel::Number(self.levels[level].number),
        }
    }

    /// Whether the chain leads to the tree with these keys.
    fn is_at(&self, tree: usize, keys: &[Vec<u8>]) -> bool {
        self.tree == tree && self.levels.iter().map(|level| &level.key).eq(keys)
    }
}

impl TreeMut<'_> {
    /// Returns the tree nested at `key`, and creates it if there is nothing at the key.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let store = lath_store::Options::new().open_in_memory()?;
    /// let mut transaction = store.begin()?;
    /// let mut users = transaction.tree("users")?;
    /// let mut ada = users.tree_at(b"ada")?;
    /// ada.put(b"born", b"1815")?;
    /// ada.tree_at(b"letters")?.put(b"1", b"Dear Mr. Babbage")?;
    /// transaction.commit()?;
    ///
    /// let snapshot = store.snapshot()?;
    /// let users = snapshot.tree("users")?.expect("it was made above");
    /// let ada = users.tree_at(b"ada")?.expect("it was made above");
    /// assert_eq!((users.len()?, ada.len()?), (1, 2));
    /// assert_eq!(ada.get(b"born")?, Some(&b"1815"[..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyHoldsValue`], which leaves everything unchanged; otherwise the same as [`upsert`](Self::upsert).
    pub fn tree_at(&mut self, key: &[u8]) -> Result<TreeMut<'_>> {
        let place = self.transaction.enter(self.place, key, true)?;
        let place = place.ok_or_else(|| Error::internal("a nested tree was not created"))?;
        Ok(TreeMut { transaction: self.transaction, place })
    }

    /// Returns the tree nested at `key`, if there is one.
    ///
    /// # Errors
    /// [`Error::KeyHoldsValue`], [`Error::Corrupt`].
    pub fn existing_tree_at(&mut self, key: &[u8]) -> Result<Option<TreeMut<'_>>> {
        let place = self.transaction.enter(self.place, key, false)?;
        Ok(place.map(|place| TreeMut { transaction: self.transaction, place }))
    }

    /// Returns the value of `key`, or its nested tree.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn item(&mut self, key: &[u8]) -> Result<Option<Item<'_>>> {
        self.as_tree()?.item(key)
    }
}

impl Transaction {
    /// Returns the tree at a place, and creates it and the trees around it if they do not exist.
    ///
    /// # Errors
    /// [`Error::KeyHoldsValue`], [`Error::Limit`]; otherwise the same as [`tree`](Self::tree).
    pub fn tree_at(&mut self, path: &TreePath) -> Result<TreeMut<'_>> {
        let place = self.open_path(path.name(), path.keys(), true)?;
        let place = place.ok_or_else(|| Error::internal("a tree was not created"))?;
        Ok(TreeMut { transaction: self, place })
    }

    /// Returns the tree at a place, if it exists.
    ///
    /// # Errors
    /// [`Error::KeyHoldsValue`]; otherwise the same as [`tree`](Self::tree).
    pub fn existing_tree_at(&mut self, path: &TreePath) -> Result<Option<TreeMut<'_>>> {
        let place = self.open_path(path.name(), path.keys(), false)?;
        Ok(place.map(|place| TreeMut { transaction: self, place }))
    }

    /// Moves a tree with everything in it to another place, and returns whether it existed. Takes as long as a few lookups,
    /// for a tree of any size.
    ///
    /// A named tree can be moved to a key of another tree, a nested tree can get a name, and both can be renamed.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let store = lath_store::Options::new().open_in_memory()?;
    /// use lath_store::TreePath;
    ///
    /// let mut transaction = store.begin()?;
    /// transaction.tree("incoming")?.put(b"1", b"one")?;
    /// transaction.tree("archive")?;
    /// let place = TreePath::new("archive").child(b"2026");
    /// assert!(transaction.move_tree(&TreePath::new("incoming"), &place)?);
    /// assert!(transaction.existing_tree("incoming")?.is_none());
    /// assert_eq!(transaction.tree_at(&place)?.get(b"1")?, Some(&b"one"[..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Exists`] if there is a tree or a value at `to`, [`Error::Invalid`] if `to` is `from` or within it, or if there
    /// is no tree around `to`; these leave everything unchanged. After any other error the transaction can only be undone.
    pub fn move_tree(&mut self, from: &TreePath, to: &TreePath) -> Result<bool> {
        self.check()?;
        self.flush()?;
        if self.open_path(from.name(), from.keys(), false)?.is_none() {
            return Ok(false);
        }
        if to.is_within(from) {
            return Err(Error::Invalid(format!(
                "the tree {from} cannot be moved to {to}, which is itself or within it"
            )));
        }
        self.check_is_free(to)?;
        // Named snapshots may have the tree at another place from here on, which compaction must know.
        self.has_nested = true;
        let root = self.detach(from)?;
        self.attach(to, root)?;
        self.operations.move_tree(from, to);
        Ok(true)
    }

    /// Copies a tree with everything in it to another place, and returns whether it existed. Takes as long as a few lookups, for
    /// a tree of any size: both places have the same nodes, and later changes of one copy what they change.
    ///
    /// ```
    /// # fn main() -> lath_store::Result<()> {
    /// # let store = lath_store::Options::new().open_in_memory()?;
    /// use lath_store::TreePath;
    ///
    /// let mut transaction = store.begin()?;
    /// transaction.tree("draft")?.put(b"title", b"Notes")?;
    /// transaction.tree("versions")?;
    /// let first = TreePath::new("versions").child(b"1");
    /// assert!(transaction.copy_tree(&TreePath::new("draft"), &first)?);
    /// transaction.tree("draft")?.put(b"title", b"Notes on the Analytical Engine")?;
    /// assert_eq!(transaction.tree_at(&first)?.get(b"title")?, Some(&b"Notes"[..]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A tree can be copied into itself: the copy has what the tree had before.
    ///
    /// Shared nodes stay where they are when the store is [compacted](crate::Store::compact), and so do all nodes of nested trees
    /// while there are shared ones. The next opening of a store with shared nodes visits all of its nodes, as after a crash.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is a tree or a value at `to`, [`Error::Invalid`] if there is no tree around `to`; these leave
    /// everything unchanged. After any other error the transaction can only be undone.
    pub fn copy_tree(&mut self, from: &TreePath, to: &TreePath) -> Result<bool> {
        self.check()?;
        self.flush()?;
        if self.open_path(from.name(), from.keys(), false)?.is_none() {
            return Ok(false);
        }
        self.check_is_free(to)?;
        let Some(place) = self.open_path(from.name(), from.keys(), false)? else { return Ok(false) };
        let root = self.root(place);
        self.change(Purpose::Other, |state| {
            state.writer.share(root);
            Ok(())
        })?;
        self.has_nested = true;
        self.attach(to, root)?;
        self.operations.copy_tree(from, to);
        Ok(true)
    }

    /// The root of a tree that is about to change. If nodes are shared, the nodes that lead to a nested tree are copied first, from
    /// the outermost tree on, so that no other place sees the change.
    #[inline]
    pub(super) fn root_to_change(&mut self, place: Place) -> Result<Word> {
        if place.depth > 0 && !self.state()?.writer.shares.is_empty() {
            self.own_chain(place)?;
        }
        Ok(self.root(place))
    }

    fn own_chain(&mut self, place: Place) -> Result<()> {
        for depth in 0..place.depth {
            let above = Place { depth, ..place };
            let (mut root, nested) = (self.root(above), self.chain.levels[depth].root);
            let key = std::mem::take(&mut self.chain.levels[depth].key);
            let put = self.change(Purpose::Other, |state| state.writer.put_tree(&mut root, &key, nested, Mode::Update));
            self.chain.levels[depth].key = key;
            put?;
            self.set_root(above, root, Purpose::Other)?;
        }
        Ok(())
    }

    /// The root of a tree.
    #[inline]
    pub(super) fn root(&self, place: Place) -> Word {
        match place.depth.checked_sub(1) {
            None => self.trees[place.tree].root,
            Some(level) => self.chain.levels[level].root,
        }
    }

    /// Sets the root of a tree, and puts it at the keys of the trees around it.
    #[inline]
    pub(super) fn set_root(&mut self, place: Place, root: Word, purpose: Purpose) -> Result<()> {
        if place.depth == 0 {
            self.trees[place.tree].root = root;
            return Ok(());
        }
        self.set_nested_root(place, root, purpose)
    }

    fn set_nested_root(&mut self, place: Place, mut root: Word, purpose: Purpose) -> Result<()> {
        for depth in (0..place.depth).rev() {
            let level = &mut self.chain.levels[depth];
            if level.root == root {
                return Ok(());
            }
            level.root = root;
            let key = std::mem::take(&mut level.key);
            let mut above = self.root(Place { depth, ..place });
            let put = self.change(purpose, |state| state.writer.put_tree(&mut above, &key, root, Mode::Update));
            self.chain.levels[depth].key = key;
            if put? {
                return Err(Error::internal("the key of a nested tree is missing"));
            }
            root = above;
        }
        self.trees[place.tree].root = root;
        Ok(())
    }

    /// Makes the chain lead to the tree nested at `key` of the tree at `place`, and returns its place. Creates the tree if
    /// it does not exist and `creates`.
    fn enter(&mut self, place: Place, key: &[u8], creates: bool) -> Result<Option<Place>> {
        let below = Place { depth: place.depth + 1, ..place };
        let is_open = self.chain.tree == place.tree
            && self.chain.levels.len() == below.depth
            && self.chain.levels[place.depth].key == key;
        if is_open && !self.pending.is_empty() && self.pending.place == below {
            // Nothing has happened since the last put.
            return Ok(Some(below));
        }
        self.flush()?;
        let mut root = self.root(place);
        let (nested, is_new) = match find::get_item(self.state()?.writer.shared(), root, key)? {
            Some(StoredItem::Tree(word)) => (word, false),
            Some(StoredItem::Value(_)) => return Err(Error::KeyHoldsValue),
            None if !creates => return Ok(None),
            None => (Word::NONE, true),
        };
        if is_new {
            crate::trie::check_lengths(key, &[])?;
            root = self.root_to_change(place)?;
            self.change(Purpose::Other, |state| state.writer.put_tree(&mut root, key, nested, Mode::Replace))?;
            self.set_root(place, root, Purpose::Other)?;
            self.has_nested = true;
        }
        if place.depth == 0 {
            self.chain.tree = place.tree;
        }
        self.chain.levels.truncate(place.depth);
        let number = self.operations.nested_number(self.chain.label(&self.trees, place), key);
        if is_new {
            self.operations.create_nested(number);
        }
        self.chain.levels.push(Level { key: key.to_vec(), root: nested, number });
        Ok(Some(below))
    }

    /// Makes the chain lead to a tree, and returns its place. `None` if it does not exist, unless `creates`.
    fn open_path(&mut self, name: &str, keys: &[Vec<u8>], creates: bool) -> Result<Option<Place>> {
        let tree =
            if creates { Some(self.tree(name)?.place) } else { self.existing_tree(name)?.map(|tree| tree.place) };
        let Some(mut place) = tree else { return Ok(None) };
        let target = Place { depth: keys.len(), ..place };
        if !self.pending.is_empty() && self.pending.place == target && self.chain.is_at(place.tree, keys) {
            return Ok(Some(target));
        }
        for key in keys {
            match self.enter(place, key, creates)? {
                Some(below) => place = below,
                None => return Ok(None),
            }
        }
        Ok(Some(place))
    }

    /// Opens the tree around a nested tree.
    fn open_parent(&mut self, name: &str, keys: &[Vec<u8>]) -> Result<Place> {
        let place = self.open_path(name, keys, false)?;
        place.ok_or_else(|| Error::Invalid(format!("there is no tree around the place: open the tree {name:?} first")))
    }

    fn check_is_free(&mut self, path: &TreePath) -> Result<()> {
        let is_free = match path.keys().split_last() {
            None => self.existing_tree(path.name())?.is_none(),
            Some((key, around)) => {
                crate::trie::check_lengths(key, &[])?;
                let place = self.open_parent(path.name(), around)?;
                !find::has_key(self.state()?.writer.shared(), self.root(place), key)?
            }
        };
        if is_free { Ok(()) } else { Err(Error::Exists(path.to_string())) }
    }

    /// Removes a tree that exists from its place, but not its nodes, and returns its root.
    fn detach(&mut self, path: &TreePath) -> Result<Word> {
        let Some((key, around)) = path.keys().split_last() else {
            let index = self.look_up(path.name())?;
            let tree = &mut self.trees[index];
            tree.exists = false;
            return Ok(std::mem::take(&mut tree.root));
        };
        let place = self.open_parent(path.name(), around)?;
        let mut root = self.root_to_change(place)?;
        let detached = self.change(Purpose::Removal, |state| state.writer.detach(&mut root, key))?;
        let Some(Some(Target::Tree(nested))) = detached else {
            return Err(Error::internal("the key of a nested tree is missing"));
        };
        self.set_root(place, root, Purpose::Removal)?;
        Ok(nested)
    }

    /// Puts a tree without a place at a free one.
    fn attach(&mut self, path: &TreePath, nested: Word) -> Result<()> {
        let Some((key, around)) = path.keys().split_last() else {
            let index = self.look_up(path.name())?;
            self.trees[index].exists = true;
            self.trees[index].root = nested;
            return Ok(());
        };
        let place = self.open_parent(path.name(), around)?;
        let mut root = self.root_to_change(place)?;
        self.change(Purpose::Other, |state| state.writer.put_tree(&mut root, key, nested, Mode::Replace))?;
        self.has_nested = true;
        self.set_root(place, root, Purpose::Other)
    }

    /// Makes later headers say that the store has nested trees.
    pub(super) fn note_nested(&self, state: &mut State) {
        if self.has_nested && !state.has_nested {
            // Until the next checkpoint, only the log tells older programs that they cannot read the store.
            (state.has_nested, state.is_version_due) = (true, true);
        }
    }
}

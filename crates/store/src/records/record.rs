//! The operations of a transaction, as the log stores them.
//!
//! A commit's record is a sequence of operations. Lengths are LEB128 numbers. Trees are named once per record and numbered from 0.
//!
//! ```text
//! 1 use     name length │ name                                     the next tree's number has this name
//! 2 put     tree │ key length │ value length │ key │ value
//! 3 remove  tree │ key length │ key
//! 4 range   tree │ low length │ 1 + high length, or 0 for none │ low │ high
//! 5 create, 6 drop a tree; 7 keep, 8 drop a snapshot   name length │ name
//! 9 use nested  tree │ key length │ key                    the next tree's number has the tree nested at this key of a tree
//! 10 create nested  tree
//! 11 move, 12 copy  tree │ tree
//! ```

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::tree_path::TreePath;

const USE: u8 = 1;
const PUT: u8 = 2;
const REMOVE: u8 = 3;
const RANGE: u8 = 4;
const CREATE: u8 = 5;
const DROP: u8 = 6;
const KEEP: u8 = 7;
const FORGET: u8 = 8;
const USE_NESTED: u8 = 9;
const CREATE_NESTED: u8 = 10;
const MOVE: u8 = 11;
const COPY: u8 = 12;

/// A transaction with more bytes of operations than this is made durable by a checkpoint instead of the log.
const LIMIT: usize = 1 << 30;

/// The operations of a transaction so far.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    bytes: Vec<u8>,
    /// The names of trees and their numbers.
    names: Vec<(String, usize)>,
    /// The numbers of nested trees, by the number of the tree around them and the key.
    nested: HashMap<usize, HashMap<Vec<u8>, usize>>,
    /// The number of trees that have a number.
    trees: usize,
    is_recorded: bool,
}

/// A tree that an operation changes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TreeLabel<'a> {
    Name(&'a str),
    /// A nested tree, by its number.
    Number(usize),
}

/// A position in the operations of a transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OperationsMark {
    bytes: usize,
    trees: usize,
}

/// An operation that was read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    Put { tree: &'a TreePath, key: &'a [u8], value: &'a [u8] },
    Remove { tree: &'a TreePath, key: &'a [u8] },
    RemoveRange { tree: &'a TreePath, low: &'a [u8], high: Option<&'a [u8]> },
    CreateNested(&'a TreePath),
    Move { from: &'a TreePath, to: &'a TreePath },
    Copy { from: &'a TreePath, to: &'a TreePath },
    Create(&'a str),
    Drop(&'a str),
    KeepSnapshot(&'a str),
    DropSnapshot(&'a str),
}

impl Operations {
    /// Starts without operations. Later ones are recorded if `is_recorded`.
    pub(crate) fn new(is_recorded: bool) -> Self {
        Self { is_recorded, ..Self::default() }
    }

    /// The current end of the operations.
    pub(crate) fn mark(&self) -> OperationsMark {
        OperationsMark { bytes: self.bytes.len(), trees: self.trees }
    }

    /// Drops the operations after a mark.
    pub(crate) fn truncate(&mut self, mark: OperationsMark) {
        self.bytes.truncate(mark.bytes);
        self.trees = mark.trees;
        self.names.retain(|(_, number)| *number < mark.trees);
        self.nested.values_mut().for_each(|numbers| numbers.retain(|_, number| *number < mark.trees));
    }

    /// The record of the transaction, if it is recorded.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.is_recorded.then_some(&self.bytes)
    }

    #[inline]
    pub(crate) fn put(&mut self, tree: TreeLabel<'_>, key: &[u8], value: &[u8]) {
        if !self.has_room(key.len() + value.len()) {
            return;
        }
        let tree = self.number(tree);
        self.bytes.push(PUT);
        self.lengths([tree, key.len(), value.len()]);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn remove(&mut self, tree: TreeLabel<'_>, key: &[u8]) {
        if !self.has_room(key.len()) {
            return;
        }
        let tree = self.number(tree);
        self.bytes.push(REMOVE);
        self.lengths([tree, key.len()]);
        self.bytes.extend_from_slice(key);
    }

    pub(crate) fn remove_range(&mut self, tree: TreeLabel<'_>, low: &[u8], high: Option<&[u8]>) {
        if !self.has_room(low.len() + high.map_or(0, <[u8]>::len)) {
            return;
        }
        let tree = self.number(tree);
        self.bytes.push(RANGE);
        self.lengths([tree, low.len(), high.map_or(0, |high| high.len() + 1)]);
        self.bytes.extend_from_slice(low);
        self.bytes.extend_from_slice(high.unwrap_or_default());
    }

    /// Records that a nested tree was created.
    pub(crate) fn create_nested(&mut self, number: usize) {
        if self.has_room(0) {
            self.bytes.push(CREATE_NESTED);
            self.lengths([number]);
        }
    }

    pub(crate) fn move_tree(&mut self, from: &TreePath, to: &TreePath) {
        self.record_places(MOVE, from, to);
    }

    pub(crate) fn copy_tree(&mut self, from: &TreePath, to: &TreePath) {
        self.record_places(COPY, from, to);
    }

    fn record_places(&mut self, operation: u8, from: &TreePath, to: &TreePath) {
        let numbers = [from, to].map(|path| self.path_number(path));
        if self.has_room(0) {
            self.bytes.push(operation);
            self.lengths(numbers);
        }
    }

    pub(crate) fn create(&mut self, name: &str) {
        self.named(CREATE, name);
    }

    pub(crate) fn drop_tree(&mut self, name: &str) {
        self.named(DROP, name);
    }

    pub(crate) fn keep_snapshot(&mut self, name: &str) {
        self.named(KEEP, name);
    }

    pub(crate) fn drop_snapshot(&mut self, name: &str) {
        self.named(FORGET, name);
    }

    fn named(&mut self, operation: u8, name: &str) {
        if self.has_room(name.len()) {
            self.bytes.push(operation);
            self.lengths([name.len()]);
            self.bytes.extend_from_slice(name.as_bytes());
        }
    }

    /// Returns whether this many more bytes are recorded. A record that becomes too long is dropped.
    fn has_room(&mut self, more: usize) -> bool {
        if self.is_recorded && self.bytes.len() + more > LIMIT {
            self.is_recorded = false;
            self.bytes = Vec::new();
        }
        self.is_recorded
    }

    fn number(&mut self, tree: TreeLabel<'_>) -> usize {
        let tree = match tree {
            TreeLabel::Number(number) => return number,
            TreeLabel::Name(name) => name,
        };
        if let Some((_, number)) = self.names.iter().find(|(name, _)| name == tree) {
            return *number;
        }
        self.names.push((tree.to_owned(), self.trees));
        self.bytes.push(USE);
        self.lengths([tree.len()]);
        self.bytes.extend_from_slice(tree.as_bytes());
        self.trees += 1;
        self.trees - 1
    }

    /// The number of the tree nested at `key` of another one. It means nothing if operations are not recorded.
    pub(crate) fn nested_number(&mut self, parent: TreeLabel<'_>, key: &[u8]) -> usize {
        if !self.has_room(key.len()) {
            return 0;
        }
        let parent = self.number(parent);
        if let Some(number) = self.nested.get(&parent).and_then(|numbers| numbers.get(key)) {
            return *number;
        }
        self.nested.entry(parent).or_default().insert(key.to_vec(), self.trees);
        self.bytes.push(USE_NESTED);
        self.lengths([parent, key.len()]);
        self.bytes.extend_from_slice(key);
        self.trees += 1;
        self.trees - 1
    }

    fn path_number(&mut self, path: &TreePath) -> usize {
        if !self.has_room(path.name().len()) {
            return 0;
        }
        let number = self.number(TreeLabel::Name(path.name()));
        path.keys().iter().fold(number, |number, key| self.nested_number(TreeLabel::Number(number), key))
    }

    fn lengths<const N: usize>(&mut self, lengths: [usize; N]) {
        for mut length in lengths {
            while length >= 128 {
                self.bytes.push(length as u8 | 128);
                length >>= 7;
            }
            self.bytes.push(length as u8);
        }
    }
}

/// Calls `apply` with the operations of a record, in order.
pub(crate) fn replay(record: &[u8], mut apply: impl FnMut(Operation<'_>) -> Result<()>) -> Result<()> {
    let mut rest = Reader(record);
    let mut trees: Vec<TreePath> = Vec::new();
    while let Some(code) = rest.byte() {
        let operation = match code {
            USE => {
                trees.push(TreePath::new(rest.name()?));
                continue;
            }
            USE_NESTED => {
                let (tree, key) = (rest.tree(&trees)?, rest.length()?);
                let tree = tree.clone().child(rest.take(key)?);
                trees.push(tree);
                continue;
            }
            PUT => {
                let (tree, key, value) = (rest.tree(&trees)?, rest.length()?, rest.length()?);
                Operation::Put { tree, key: rest.take(key)?, value: rest.take(value)? }
            }
            REMOVE => {
                let (tree, key) = (rest.tree(&trees)?, rest.length()?);
                Operation::Remove { tree, key: rest.take(key)? }
            }
            RANGE => {
                let (tree, low, high) = (rest.tree(&trees)?, rest.length()?, rest.length()?);
                let low = rest.take(low)?;
                let high = high.checked_sub(1).map(|len| rest.take(len)).transpose()?;
                Operation::RemoveRange { tree, low, high }
            }
            CREATE_NESTED => Operation::CreateNested(rest.tree(&trees)?),
            COPY => Operation::Copy { from: rest.tree(&trees)?, to: rest.tree(&trees)? },
            MOVE => Operation::Move { from: rest.tree(&trees)?, to: rest.tree(&trees)? },
            CREATE => Operation::Create(rest.name()?),
            DROP => Operation::Drop(rest.name()?),
            KEEP => Operation::KeepSnapshot(rest.name()?),
            FORGET => Operation::DropSnapshot(rest.name()?),
            _ => return Err(damaged()),
        };
        apply(operation)?;
    }
    Ok(())
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn length(&mut self) -> Result<usize> {
        let mut length = 0_u64;
        for shift in (0..63).step_by(7) {
            let byte = self.byte().ok_or_else(damaged)?;
            length |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return usize::try_from(length).map_err(|_| damaged());
            }
        }
        Err(damaged())
    }

    fn name(&mut self) -> Result<&'a str> {
        let len = self.length()?;
        std::str::from_utf8(self.take(len)?).map_err(|_| damaged())
    }

    fn tree<'t>(&mut self, trees: &'t [TreePath]) -> Result<&'t TreePath> {
        trees.get(self.length()?).ok_or_else(damaged)
    }
}

#[cold]
fn damaged() -> Error {
    Error::corrupt("a log record is not a sequence of operations")
}

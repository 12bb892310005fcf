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
//! ```

use crate::error::{Error, Result};

const USE: u8 = 1;
const PUT: u8 = 2;
const REMOVE: u8 = 3;
const RANGE: u8 = 4;
const CREATE: u8 = 5;
const DROP: u8 = 6;
const KEEP: u8 = 7;
const FORGET: u8 = 8;

/// A transaction with more bytes of operations than this is made durable by a checkpoint instead of the log.
const LIMIT: usize = 1 << 30;

/// The operations of a transaction so far.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    bytes: Vec<u8>,
    trees: Vec<String>,
    is_recorded: bool,
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
    Put { tree: &'a str, key: &'a [u8], value: &'a [u8] },
    Remove { tree: &'a str, key: &'a [u8] },
    RemoveRange { tree: &'a str, low: &'a [u8], high: Option<&'a [u8]> },
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
        OperationsMark { bytes: self.bytes.len(), trees: self.trees.len() }
    }

    /// Drops the operations after a mark.
    pub(crate) fn truncate(&mut self, mark: OperationsMark) {
        self.bytes.truncate(mark.bytes);
        self.trees.truncate(mark.trees);
    }

    /// The record of the transaction, if it is recorded.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.is_recorded.then_some(&self.bytes)
    }

    #[inline]
    pub(crate) fn put(&mut self, tree: &str, key: &[u8], value: &[u8]) {
        if !self.has_room(key.len() + value.len()) {
            return;
        }
        let tree = self.number(tree);
        self.bytes.push(PUT);
        self.lengths([tree, key.len(), value.len()]);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn remove(&mut self, tree: &str, key: &[u8]) {
        if !self.has_room(key.len()) {
            return;
        }
        let tree = self.number(tree);
        self.bytes.push(REMOVE);
        self.lengths([tree, key.len()]);
        self.bytes.extend_from_slice(key);
    }

    pub(crate) fn remove_range(&mut self, tree: &str, low: &[u8], high: Option<&[u8]>) {
        if !self.has_room(low.len() + high.map_or(0, <[u8]>::len)) {
            return;
        }
        let tree = self.number(tree);
        self.bytes.push(RANGE);
        self.lengths([tree, low.len(), high.map_or(0, |high| high.len() + 1)]);
        self.bytes.extend_from_slice(low);
        self.bytes.extend_from_slice(high.unwrap_or_default());
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

    fn number(&mut self, tree: &str) -> usize {
        if let Some(number) = self.trees.iter().position(|name| name == tree) {
            return number;
        }
        self.trees.push(tree.to_owned());
        self.bytes.push(USE);
        self.lengths([tree.len()]);
        self.bytes.extend_from_slice(tree.as_bytes());
        self.trees.len() - 1
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
    let mut trees: Vec<&str> = Vec::new();
    while let Some(code) = rest.byte() {
        let operation = match code {
            USE => {
                trees.push(rest.name()?);
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

    fn tree(&mut self, trees: &[&'a str]) -> Result<&'a str> {
        trees.get(self.length()?).copied().ok_or_else(damaged)
    }
}

#[cold]
fn damaged() -> Error {
    Error::corrupt("a log record is not a sequence of operations")
}

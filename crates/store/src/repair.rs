//! Getting out of a damaged store what is whole.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use crate::arena::Arena;
use crate::check::Problem;
use crate::error::{Error, Result};
use crate::extent::{Generation, UNIT};
use crate::log::Log;
use crate::node::{Slot, Word};
use crate::options::{Durability, Options};
use crate::readers::SHARED_LEN;
use crate::record;
use crate::recovery::newest_header;
use crate::root::word_of;
use crate::storage::{FileStorage, Storage};
use crate::store::Store;
use crate::trie::find::{Branch, value};
use crate::trie::{Cursor, MAX_KEY_LEN};

/// A transaction of the new store ends after so many bytes of keys and values.
const BATCH_BYTES: usize = 8 << 20;

/// What [`repair`] brought over, and what it could not.
#[derive(Debug, Clone, Default)]
pub struct RepairReport {
    /// How many keys were brought over from the last checkpoint, before the log was replayed.
    pub keys: u64,
    /// What was damaged: all below such a node is lost, unless the log has it.
    pub problems: Vec<Problem>,
}

/// Brings what is whole of the store at `damaged`, which stays as it is, into a new store at `target`: the keys of the last
/// checkpoint whose nodes have the right checksums, and on them what the log has. Snapshots kept by name are not brought over,
/// other than those that the log keeps.
///
/// # Errors
/// [`Error::Exists`] if there is a file at `target`, [`Error::Busy`] if the damaged store is open for writing,
/// [`Error::Corrupt`] if neither of its headers is whole, [`Error::Io`].
pub fn repair(damaged: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<RepairReport> {
    let target = target.as_ref();
    if target.exists() {
        return Err(Error::Exists(target.display().to_string()));
    }
    let storage = FileStorage::new(damaged)?.create(false).read_only(true);
    let data = storage.data()?;
    let shared = storage.shared(SHARED_LEN)?;
    if !shared.lock_writer(false)? {
        return Err(Error::Busy);
    }
    let result = Options::new()
        .durability(Durability::Off)
        .open(target)
        .and_then(|target| bring_over(&storage, &Arena::new(data), &target));
    shared.unlock_writer()?;
    result
}

fn bring_over(storage: &dyn Storage, arena: &Arena, target: &Store) -> Result<RepairReport> {
    let header = newest_header(arena)?;
    let mut salvage = Salvage { arena, sealed: header.root.generation, seen: HashSet::new(), problems: Vec::new() };
    let mut trees = Vec::new();
    salvage.walk(header.root.catalog, &mut |name, word| {
        trees.push((String::from_utf8_lossy(name).into_owned(), word_of(word)?));
        Ok(())
    })?;
    let mut keys = 0;
    for (name, root) in trees {
        let mut transaction = target.begin()?;
        transaction.tree(&name)?;
        let mut bytes = 0;
        let mut open = Some(transaction);
        salvage.walk(root, &mut |key, value| {
            let mut transaction = match open.take() {
                Some(transaction) => transaction,
                None => target.begin()?,
            };
            transaction.tree(&name)?.put(key, value)?;
            keys += 1;
            bytes += key.len() + value.len();
            if bytes < BATCH_BYTES {
                open = Some(transaction);
                return Ok(());
            }
            bytes = 0;
            transaction.commit()
        })?;
        open.map_or(Ok(()), crate::transaction::Transaction::commit)?;
    }
    if has_any(arena, header.root.snapshots) {
        salvage.problems.push(Problem { offset: None, what: "snapshots kept by name were left behind".to_owned() });
    }
    let log = Log::open(storage, header.identity)?;
    let replayed = log.replay(header.root.sequence, |_, bytes| {
        let mut transaction = target.begin()?;
        record::replay(bytes, |operation| transaction.apply(operation))?;
        transaction.commit()
    });
    match replayed {
        Err(Error::Corrupt { what, .. }) => {
            salvage
                .problems
                .push(Problem { offset: None, what: format!("the log cannot be replayed further: {what}") });
        }
        other => drop(other?),
    }
    target.checkpoint()?;
    Ok(RepairReport { keys, problems: salvage.problems })
}

fn has_any(arena: &Arena, root: Word) -> bool {
    !root.is_none() && Cursor::new(arena, root).next().unwrap_or(true)
}

/// Takes a key and its value.
type Found<'f> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'f;

struct Salvage<'a> {
    arena: &'a Arena,
    /// Nodes up to this generation have checksums.
    sealed: Generation,
    seen: HashSet<u64>,
    problems: Vec<Problem>,
}

impl Salvage<'_> {
    /// Calls `found` with the keys and values below `root` that are whole.
    fn walk(&mut self, root: Word, found: &mut Found<'_>) -> Result<()> {
        let mut pending: Vec<(u64, Arc<[u8]>)> = vec![(root.reference(), Arc::from([]))];
        while let Some((reference, path)) = pending.pop() {
            if reference == 0 {
                continue;
            }
            match self.verify(reference).and_then(|()| Branch::parse(self.arena.node(reference)?, reference)) {
                Err(error) => self.lose(reference, &path, &error),
                Ok(Branch::Inner(inner)) => {
                    let below: Arc<[u8]> = [&path[..], inner.prefix()].concat().into();
                    if below.len() > MAX_KEY_LEN {
                        self.lose(reference, &path, &Error::corrupt("a path is longer than keys can be"));
                        continue;
                    }
                    for index in (0..inner.count()).rev() {
                        pending.push((inner.child(index).reference(), Arc::clone(&below)));
                    }
                }
                Ok(Branch::Leaf(leaf)) => {
                    for index in 0..leaf.count() {
                        let entry = leaf.entry(index).and_then(|entry| {
                            if let Slot::External(node) = entry.value {
                                self.verify(node)?;
                            }
                            Ok((entry.suffix, value(self.arena, entry.value)?))
                        });
                        match entry {
                            Ok((suffix, value)) => found(&[&path[..], leaf.prefix(), suffix].concat(), value)?,
                            Err(error) => self.lose(reference, &path, &error),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a node has the right checksum and was not met before.
    fn verify(&mut self, reference: u64) -> Result<()> {
        let (stored, right) = self.arena.checksums(reference)?;
        if stored != right && (stored != 0 || self.arena.birth(reference)? <= self.sealed) {
            return Err(Error::corrupt_at(reference * UNIT, "the checksum of a node is wrong"));
        }
        if !self.seen.insert(reference) {
            return Err(Error::corrupt_at(reference * UNIT, "two references lead to this node"));
        }
        Ok(())
    }

    fn lose(&mut self, reference: u64, path: &[u8], error: &Error) {
        let what = match error {
            Error::Corrupt { what, .. } => what.clone(),
            other => other.to_string(),
        };
        let start = path.escape_ascii();
        let what = format!("{what}: keys that begin with \"{start}\" are lost");
        self.problems.push(Problem { offset: Some(reference.saturating_mul(UNIT)), what });
    }
}

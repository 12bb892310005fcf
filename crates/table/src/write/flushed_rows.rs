//! Moves the hot rows of a commit to files.
//!
//! Rows may change while their files are written. Their changes are written to further files, in rounds that take less and less time, until few
//! have changed since. Only the changes after the last round hold up other writers, when the files become part of the table. If rows change about
//! as fast as they are written, rounds would not become much shorter, and there are none.

use std::sync::Arc;

use lath_parquet::DeleteMask;
use lath_store::Tree;

use super::open_write::OpenWrite;
use super::ordered_files::OrderedFiles;
use super::sorted_files::{NewFile, NewFiles, SortedFiles};
use crate::error::{Error, Result};
use crate::records::{FileEntry, TreeName};
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, TableSchema, batch};
use crate::view::{Commit, Engine, HotColumns, HotCursor, HotRows, View};

/// Number of changed rows that are left in the hot tree. To put them there again takes a few milliseconds. Tests have rounds with few rows.
const FEW_ROWS: usize = if cfg!(debug_assertions) { 20 } else { 2000 };

/// Maximum number of rounds, each of which makes a file.
const ROUNDS: usize = 12;

/// Files with the hot rows of a commit, which no commit names yet.
#[derive(Debug)]
pub(crate) struct FlushedRows {
    /// The commit whose hot rows they are.
    commit: Arc<Commit>,
    rounds: Vec<Round>,
}

/// The files that were written at once.
#[derive(Debug)]
struct Round {
    files: NewFiles,
    keys: RoundKeys,
    schema: Arc<TableSchema>,
    /// For each file, the rows that have changed since.
    changed: Vec<DeleteMask>,
}

/// The keys of rows that were written, in ascending order.
#[derive(Debug)]
enum RoundKeys {
    /// All hot rows of a commit.
    Hot(Arc<Commit>),
    Some(Vec<Vec<u8>>),
}

impl FlushedRows {
    /// Writes the hot rows of the newest commit to files, and rows that change meanwhile.
    pub(crate) fn write(engine: &Arc<Engine>) -> Result<Self> {
        let first = Commit::newest(engine)?;
        let mut flushed = Self { rounds: vec![write_all(engine, &first)?], commit: first };
        let mut count = flushed.commit.tree_len(TreeName::Hot)?;
        while flushed.rounds.len() < ROUNDS {
            let next = Commit::newest(engine)?;
            let changes = ChangedEntries::since(&flushed.commit, &next, TreeName::Hot)?;
            if changes.len() <= FEW_ROWS || changes.len() as u64 > count / 4 {
                break;
            }
            count = changes.len() as u64;
            flushed.mark_changed(engine, changes.put.iter().map(|(key, _)| key).chain(&changes.removed))?;
            flushed.rounds.push(write_changed(engine, &next, changes.put)?);
            flushed.commit = next;
        }
        Ok(flushed)
    }

    /// The commit whose hot rows the files have.
    pub(crate) fn commit(&self) -> &Arc<Commit> {
        &self.commit
    }

    /// The files, and their rows that other files replace.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&NewFile, &DeleteMask)> {
        self.rounds.iter().flat_map(|round| round.files.files().iter().zip(&round.changed))
    }

    /// Keeps the files, because a commit that returns an error may still have been made.
    pub(crate) fn keep(&mut self) {
        self.rounds.iter_mut().for_each(|round| round.files.keep());
    }

    /// Notes that the rows with these keys have changed.
    fn mark_changed<'k>(&mut self, engine: &Arc<Engine>, keys: impl Iterator<Item = &'k Vec<u8>>) -> Result<()> {
        let mut keys: Vec<&[u8]> = keys.map(Vec::as_slice).collect();
        keys.sort_unstable();
        self.rounds.iter_mut().try_for_each(|round| round.mark_changed(engine, &keys))
    }
}

impl Round {
    fn new(files: NewFiles, keys: RoundKeys, schema: Arc<TableSchema>) -> Self {
        let changed = files.files().iter().map(|_| DeleteMask::new()).collect();
        Self { files, keys, schema, changed }
    }

    fn mark_changed(&mut self, engine: &Arc<Engine>, keys: &[&[u8]]) -> Result<()> {
        if self.files.files().iter().any(|file| !file.entry.is_by_key()) {
            for (file, changed) in self.files.files().iter().zip(&mut self.changed) {
                *changed |= &file.rows_with(engine, &self.schema, keys)?;
            }
            return Ok(());
        }
        let (mut file, mut first) = (0, 0);
        for key in keys {
            let Some(place) = self.keys.place(key)? else { continue };
            let missing = || Error::internal("a flush has written too few rows");
            while place - first >= self.files.files().get(file).ok_or_else(missing)?.entry.rows {
                first += self.files.files()[file].entry.rows;
                file += 1;
            }
            self.changed[file].insert(place - first);
        }
        Ok(())
    }
}

impl RoundKeys {
    /// The number of rows before the one with this key; `None` if there is none.
    fn place(&self, key: &[u8]) -> Result<Option<u64>> {
        match self {
            Self::Hot(commit) => match commit.shared_tree(TreeName::Hot)? {
                Some(hot) if hot.contains_key(key)? => Ok(Some(hot.rank(key)?)),
                _ => Ok(None),
            },
            Self::Some(keys) => Ok(keys.binary_search_by(|other| other[..].cmp(key)).ok().map(|place| place as u64)),
        }
    }
}

/// Writes all hot rows of a commit.
fn write_all(engine: &Arc<Engine>, commit: &Arc<Commit>) -> Result<Round> {
    let (schema, mut view) = (Arc::clone(View::schema(commit)), Arc::clone(commit));
    let mut files = begin(engine, commit)?;
    let mut cursor = HotCursor::new(KeyRange::default(), HotColumns::all(&schema)?);
    while let Some((keys, columns)) = cursor.next(&mut view, BATCH_ROWS)? {
        files.push(batch(schema.arrow(), columns, keys.len())?, &keys)?;
    }
    Ok(Round::new(files.finish()?, RoundKeys::Hot(view), schema))
}

/// Writes hot rows of a commit, in ascending order of their keys.
fn write_changed(engine: &Arc<Engine>, commit: &Arc<Commit>, rows: Vec<(Vec<u8>, Vec<u8>)>) -> Result<Round> {
    let schema = Arc::clone(View::schema(commit));
    let (mut files, columns) = (begin(engine, commit)?, Arc::new(HotColumns::all(&schema)?));
    for part in rows.chunks(BATCH_ROWS) {
        let mut decoded = HotRows::new(Arc::clone(&columns));
        part.iter().try_for_each(|(key, value)| decoded.push(key, value))?;
        let keys = part.iter().map(|(key, _)| key).collect();
        files.push(batch(schema.arrow(), decoded.decode()?, part.len())?, &keys)?;
    }
    let keys = rows.into_iter().map(|(key, _)| key).collect();
    Ok(Round::new(files.finish()?, RoundKeys::Some(keys), schema))
}

fn begin(engine: &Arc<Engine>, commit: &Arc<Commit>) -> Result<OrderedFiles> {
    let files = SortedFiles::new(engine, commit.state(), View::schema(commit), 0)?;
    Ok(OrderedFiles::new(files, engine.options.flush_bytes))
}

impl OpenWrite {
    /// Makes files of flushed rows part of the table. Their rows leave the hot tree unless they have changed since the commit that was flushed, and
    /// tombstones of that commit go. `replaced` are the rows of older files that the flushed rows and tombstones replace.
    ///
    /// This takes as long as there are changes since that commit, however many rows were flushed.
    pub(crate) fn replace_flushed(&mut self, flushed: &mut FlushedRows, replaced: &[(u64, DeleteMask)]) -> Result<()> {
        // The transaction has not changed these trees yet.
        let newest = Commit::newest(self.engine())?;
        let hot = ChangedEntries::since(&flushed.commit, &newest, TreeName::Hot)?;
        let tombstones = ChangedEntries::since(&flushed.commit, &newest, TreeName::Tombstones)?;
        flushed.mark_changed(self.engine(), hot.removed.iter())?;
        let bytes = self.replace_hot(TreeName::Hot, &hot.put)?;
        let bytes = bytes + self.replace_hot(TreeName::Tombstones, &tombstones.put)?;
        self.set_hot_bytes(bytes);
        for (number, rows) in replaced {
            self.add_to_mask(*number, rows)?;
        }
        for (file, changed) in flushed.files() {
            self.add_file(file)?;
            self.add_to_mask(file.entry.number, changed)?;
        }
        Ok(())
    }

    /// Drops files whose rows are all masked, unless they are being merged.
    pub(crate) fn drop_empty_files(&mut self, merged: &[Arc<FileEntry>]) -> Result<()> {
        let manifest = Arc::clone(self.manifest());
        let is_merged = |file: &FileEntry| merged.iter().any(|merged| merged.number == file.number);
        let empty = manifest.files().iter().filter(|file| file.unmasked() == 0 && !is_merged(file));
        empty.into_iter().try_for_each(|file| self.drop_file(file))
    }
}

/// The entries of a tree of hot rows or tombstones that have changed between two commits.
#[derive(Debug, Default)]
struct ChangedEntries {
    put: Vec<(Vec<u8>, Vec<u8>)>,
    /// In ascending order.
    removed: Vec<Vec<u8>>,
}

impl ChangedEntries {
    fn len(&self) -> usize {
        self.put.len() + self.removed.len()
    }

    fn since(before: &Commit, now: &Commit, name: TreeName) -> Result<Self> {
        let mut changes = Self::default();
        match now.shared_tree(name)? {
            Some(tree) => before.for_each_change(name, tree, |key, now| {
                match now {
                    Some(value) => changes.put.push((key.to_vec(), value.to_vec())),
                    None => changes.removed.push(key.to_vec()),
                }
                Ok(())
            })?,
            None => {
                for entry in before.shared_tree(name)?.iter().flat_map(Tree::iter) {
                    changes.removed.push(entry?.0);
                }
            }
        }
        Ok(changes)
    }
}

//! Repairs data that can be derived from the rows.

use std::sync::Arc;

use lath_store::Durability;

use crate::error::{Error, Result};
use crate::file::DataFile;
use crate::maintenance::{
    CheckReport, Problem, check_locked, move_old_files, remove_orphans, rewrite_unverified, use_float_values,
};
use crate::read::{entries_of_rows, find_index};
use crate::records::{BLOCK_ROWS, BlockKeys, Feed, FileEntry, TreeName};
use crate::row::{ByteList, read_stamp};
use crate::table::Table;
use crate::view::{Engine, View, read_mask};
use crate::write::OpenWrite;

/// Report of [`Table::repair`].
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairReport {
    /// The problems before the repair.
    pub found: Vec<Problem>,
    /// The table as it is now.
    pub now: CheckReport,
}

impl Table {
    /// Checks the table and rebuilds data that can be derived from the rows. It neither loses a row nor brings back a deleted one.
    ///
    /// | damage | repair |
    /// | --- | --- |
    /// | an index does not have the entries that the rows have | its entries are rebuilt |
    /// | first, last or masked rows in the entry of a file, or the keys of its blocks, differ from the file and its mask | they are read from the file and its mask |
    /// | a key is hot and deleted | the later one wins |
    /// | the change feed cannot be read | its changes are dropped, and the feed continues with later commits; a reader gets an error that tells it to read the whole table again |
    /// | a file that no commit names | the file is removed, unless another process reads an older commit |
    ///
    /// A table without problems is then upgraded to the current format: files without checksums (format 4 and before) are rewritten, and float
    /// keys are encoded by value, so that both zeros are one key, and so are all NaNs. If two keys would become one, they stay as they are,
    /// and the report names them. Files in the folder of the table itself (format 5 and before) are moved to `_data/`.
    ///
    /// Missing or unreadable files, a damaged store, and keys with two rows cannot be repaired: use a [backup](Self::backup), and for the
    /// store [`lath_store::repair`]. Named snapshots, and snapshots that were taken before the repair, do not change.
    ///
    /// # Errors
    /// Any error that prevents reading or writing the table, and [`Error::Store`] for a table that was opened read-only.
    pub fn repair(&self) -> Result<RepairReport> {
        let engine = self.engine();
        let _no_maintenance = engine.lock_maintenance();
        let mut now = check_locked(engine)?;
        let mut found: Vec<Problem> = Vec::new();
        // Indexes, for example, can only be checked after files are repaired.
        while let Some(new) = new_problems(&now, &found) {
            found.extend(new);
            mend(engine, &now.problems)?;
            now = check_locked(engine)?;
        }
        if now.is_intact() {
            modernize(engine, &mut now)?;
        }
        Ok(RepairReport { found, now })
    }
}

/// Upgrades the rows of a table without problems to the current format.
fn modernize(engine: &Arc<Engine>, now: &mut CheckReport) -> Result<()> {
    match use_float_values(engine) {
        Err(error @ (Error::EqualKeys { .. } | Error::NotUnique { .. })) => {
            now.problems.push(Problem::Rows { what: error.to_string() });
        }
        done => done?,
    }
    rewrite_unverified(engine)?;
    move_old_files(engine)
}

/// Problems that the last check did not find; `None` if there are none.
fn new_problems(report: &CheckReport, found: &[Problem]) -> Option<Vec<Problem>> {
    let new: Vec<Problem> = report.problems.iter().filter(|problem| !found.contains(problem)).cloned().collect();
    (!new.is_empty()).then_some(new)
}

/// Repairs what can be repaired, in one commit.
fn mend(engine: &Arc<Engine>, problems: &[Problem]) -> Result<()> {
    let mut changing = OpenWrite::begin(engine)?;
    let files: Vec<&String> = problems
        .iter()
        .filter_map(|problem| if let Problem::File { name, .. } = problem { Some(name) } else { None })
        .collect();
    files.iter().try_for_each(|name| mend_file(&mut changing, name))?;
    for problem in problems {
        match problem {
            Problem::Rows { .. } => mend_deleted(&mut changing)?,
            Problem::Index { name } => mend_index(&mut changing, name)?,
            Problem::Changes { .. } => mend_changes(&mut changing)?,
            _ => {}
        }
    }
    changing.commit(Durability::Sync)?;
    if !files.is_empty() {
        engine.forget(&files.into_iter().cloned().collect::<Vec<_>>());
        engine.dead.retain(|_| false);
    }
    if problems.iter().any(|problem| matches!(problem, Problem::Orphan { .. })) {
        remove_orphans(engine)?;
    }
    Ok(())
}

/// Updates the entry of a file to match the file and its mask, if the file can be read and is sorted.
fn mend_file(changing: &mut OpenWrite, name: &str) -> Result<()> {
    let engine = Arc::clone(changing.engine());
    let entry = changing.manifest().files().iter().find(|entry| entry.name == name).cloned();
    let Some(entry) = entry else { return Ok(()) };
    let mask = read_mask(&mut changing.view()?, entry.number)?;
    let schema = Arc::clone(changing.schema());
    // Checksums that cannot be read are computed again below.
    let checksums = engine.checksums(&mut changing.view()?, &entry);
    let known = checksums.as_ref().ok().cloned().flatten();
    let file = DataFile::without_keys(&engine.files, &entry, &schema, known);
    // A file that cannot be read stays a problem in the report.
    let Ok(Some(FileKeys { min, max, blocks })) = file.and_then(|file| FileKeys::read(&file, &entry)) else {
        return Ok(());
    };
    if mask.iter().last().is_some_and(|row| row >= entry.rows) {
        return Ok(());
    }
    // The checksums of the pages verified the rows; everything else in the file is as it was when it was read.
    let is_checksummed = entry.is_checksummed && checksums.is_ok();
    let mended = FileEntry { masked: mask.len(), min, max, is_checksummed, ..FileEntry::clone(&entry) };
    changing.replace_file(mended, &blocks.to_bytes())
}

/// The smallest and largest key of a file, and the keys of its blocks.
#[derive(Debug)]
struct FileKeys {
    min: Vec<u8>,
    max: Vec<u8>,
    blocks: BlockKeys,
}

impl FileKeys {
    /// `None` if the file's number of rows differs from its entry, or if its rows have to be in key order and are not.
    fn read(file: &DataFile, entry: &FileEntry) -> Result<Option<Self>> {
        let codec = file.schema().key();
        let (mut min, mut max): (Option<Vec<u8>>, Option<Vec<u8>>) = Default::default();
        let mut blocks = BlockKeys::new(entry.is_by_key());
        let mut rows = 0;
        for batch in file.numbered(file.scan(codec.columns())?, codec.columns())? {
            let (columns, _) = batch?;
            for key in &codec.encode(&columns)? {
                let key = key.data();
                let is_greatest = max.as_ref().is_none_or(|max| key > &max[..]);
                match &mut blocks {
                    BlockKeys::First(_) if !is_greatest => return Ok(None),
                    BlockKeys::First(fences) if rows % BLOCK_ROWS == 0 => fences.push(key)?,
                    BlockKeys::First(_) => {}
                    BlockKeys::Bounds(bounds) => bounds.push(key)?,
                }
                if min.as_ref().is_none_or(|min| key < &min[..]) {
                    min = Some(key.to_vec());
                }
                if is_greatest {
                    max = Some(key.to_vec());
                }
                rows += 1;
            }
        }
        if let BlockKeys::Bounds(bounds) = &mut blocks {
            bounds.end_block()?;
        }
        Ok(min.zip(max).filter(|_| rows == entry.rows).map(|(min, max)| Self { min, max, blocks }))
    }
}

/// If a key is both hot and deleted, the later one wins.
fn mend_deleted(changing: &mut OpenWrite) -> Result<()> {
    let mut deleted: Vec<(Vec<u8>, u64)> = Vec::new();
    let mut view = changing.view()?;
    if let Some(tombstones) = view.tree(TreeName::Tombstones)? {
        for entry in tombstones.iter() {
            let (key, value) = entry?;
            deleted.push((key, read_stamp(value)?));
        }
    }
    let Some(hot) = view.tree(TreeName::Hot)? else { return Ok(()) };
    let (mut no_rows, mut no_tombstones) = (ByteList::default(), ByteList::default());
    for (key, stamp) in &deleted {
        if let Some(row) = hot.get(key)? {
            if read_stamp(row)? < *stamp { &mut no_rows } else { &mut no_tombstones }.push(key);
        }
    }
    for (name, keys) in [(TreeName::Hot, no_rows), (TreeName::Tombstones, no_tombstones)] {
        if keys.len() > 0 {
            changing.remove_keys(name, &keys)?;
        }
    }
    Ok(())
}

/// Rebuilds the entries of an index, unless it is unique and rows violate that.
fn mend_index(changing: &mut OpenWrite, name: &str) -> Result<()> {
    let index = match find_index(changing.indexes(), name) {
        Ok(index) => index,
        // The index belongs to a named snapshot.
        Err(Error::NoSuchIndex { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    // The rows cannot be read if a file is missing.
    let engine = Arc::clone(changing.engine());
    let Ok(entries) = entries_of_rows(&engine, &mut changing.view()?, &index) else { return Ok(()) };
    if entries.array_windows().any(|[a, b]| b.is_bound() && a.values() == b.values()) {
        return Ok(());
    }
    let mut tree = changing.index_tree_mut(index.number())?;
    tree.remove_range(&[], None)?;
    entries.iter().try_for_each(|entry| Ok(tree.put(entry.bytes(), &entry.tree_value())?))
}

/// Drops all changes of the feed. Changes of later commits are kept as before.
fn mend_changes(changing: &mut OpenWrite) -> Result<()> {
    let from = changing.state().stamp + 1;
    let feed = changing.state().feed.clone().map(|feed| Feed { from, ..feed });
    changing.changes_tree()?.remove_range(&[], None)?;
    changing.set_feed(feed);
    Ok(())
}

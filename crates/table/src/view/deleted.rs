//! Dead rows of files: replaced or deleted in a view.

use std::sync::Arc;

use lath_parquet::DeleteMask;
use lath_store::{RecordReader, Tree};

use super::View;
use super::deleted_cache::DeadEntry;
use super::engine::Engine;
use crate::error::{Error, Result};
use crate::file::locate;
use crate::records::{FileEntry, TreeName, file_key, mask_key};
use crate::row::{ByteList, read_stamp};

/// Keys that are hot or deleted, in ascending order, with their stamps.
#[derive(Debug, Default)]
struct HotKeys {
    keys: ByteList,
    stamps: Vec<u64>,
}

/// The dead rows of each of these files: rows that the mask has, and rows whose key is hot or deleted.
///
/// Cached rows of an earlier commit are extended by the keys that have changed since.
pub(crate) fn dead_rows(
    engine: &Engine,
    view: &mut dyn View,
    files: &[Arc<FileEntry>],
) -> Result<Vec<Arc<DeleteMask>>> {
    let (incarnation, committed) = (view.state().incarnation, view.committed_stamp());
    let (stamp, hot_stamp) = (view.state().stamp, view.state().hot_stamp);
    let known: Vec<Option<DeadEntry>> =
        files.iter().map(|file| engine.dead.get(file.number, incarnation, committed)).collect();
    let since =
        |file: &FileEntry, known: &Option<DeadEntry>| known.as_ref().map_or(0, |known| known.stamp).max(file.born);
    let oldest = files.iter().zip(&known).map(|(file, known)| since(file, known)).min().unwrap_or(stamp);
    // Nodes of the trees that are not newer have no keys that changed since. A file of which nothing is known may have any.
    let generation = known.iter().map(|known| known.as_ref().map_or(0, |known| known.generation)).min().unwrap_or(0);
    let mut changed = [HotKeys::default(), HotKeys::default()];
    if hot_stamp > oldest {
        for (keys, name) in changed.iter_mut().zip([TreeName::Hot, TreeName::Tombstones]) {
            *keys = HotKeys::since(view.tree(name)?, oldest, generation)?;
        }
    }
    let mut dead = Vec::with_capacity(files.len());
    for (file, known) in files.iter().zip(known) {
        if let Some(known) = &known
            && known.stamp == stamp
        {
            dead.push(Arc::clone(&known.dead));
            continue;
        }
        let since = since(file, &known);
        let is_mask_known = known.as_ref().is_some_and(|known| known.stamp >= file.mask_stamp);
        let mut rows = known.map_or_else(Arc::default, |known| known.dead);
        if !is_mask_known && file.masked > 0 {
            *Arc::make_mut(&mut rows) |= &read_whole_mask(view, file)?;
        }
        for keys in &changed {
            for row in keys.rows_in(engine, view, file, since)? {
                Arc::make_mut(&mut rows).insert(row);
            }
        }
        if stamp == committed {
            engine.dead.put(
                file.number,
                DeadEntry { incarnation, stamp, generation: view.generation(), dead: Arc::clone(&rows) },
            );
        }
        dead.push(rows);
    }
    Ok(dead)
}

/// The rows of files that hot rows and tombstones replace, by file number, without rows that the masks already have.
pub(crate) fn rows_replaced_by_hot(engine: &Engine, view: &mut dyn View) -> Result<Vec<(u64, DeleteMask)>> {
    let manifest = Arc::clone(view.manifest());
    let dead = dead_rows(engine, view, manifest.files())?;
    let mut replaced = Vec::new();
    for (entry, dead) in manifest.files().iter().zip(dead) {
        let mut rows = DeleteMask::clone(&dead);
        rows -= &read_mask(view, entry.number)?;
        replaced.push((entry.number, rows));
    }
    Ok(replaced)
}

impl HotKeys {
    /// The keys of a tree whose stamps are higher than `stamp`. The commit with this stamp, or an earlier one, had this generation.
    fn since(tree: Option<Tree<'_>>, stamp: u64, generation: u64) -> Result<Self> {
        let mut found = Self::default();
        let Some(tree) = tree else { return Ok(found) };
        tree.for_each_newer(generation, |key, value| {
            let changed = read_stamp(value)?;
            if changed > stamp {
                found.keys.push(key);
                found.stamps.push(changed);
            }
            Ok::<_, Error>(())
        })?;
        Ok(found)
    }

    /// The rows of a file that have one of the keys with a stamp higher than `since`.
    fn rows_in(&self, engine: &Engine, view: &mut dyn View, entry: &FileEntry, since: u64) -> Result<Vec<u64>> {
        // A table has many files, and each has few of the keys: the others are not compared.
        let first = self.keys.partition_point(|key| key < &entry.min[..]);
        let end = self.keys.partition_point_in(first..self.keys.len(), |key| key <= &entry.max[..]);
        let is_newer = |at: &usize| self.stamps[*at] > since;
        let keys: Vec<&[u8]> = (first..end).filter(is_newer).map(|at| self.keys.get(at)).collect();
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let file = engine.cold(view, entry)?;
        Ok(locate(&engine.blocks, &file, entry, &keys)?.into_iter().map(|(_, row)| row).collect())
    }
}

/// The rows that the mask of a file has.
pub(crate) fn read_mask(view: &mut dyn View, number: u64) -> Result<DeleteMask> {
    let mut mask = DeleteMask::new();
    let Some(tree) = view.tree(TreeName::Masks)? else { return Ok(mask) };
    for piece in tree.prefix(&file_key(number)) {
        mask |= &parse_mask(piece?.1)?;
    }
    Ok(mask)
}

/// The rows that the mask of a file has, which are as many as its entry says.
fn read_whole_mask(view: &mut dyn View, entry: &FileEntry) -> Result<DeleteMask> {
    let mask = read_mask(view, entry.number)?;
    if mask.len() == entry.masked && mask.iter().last().is_none_or(|row| row < entry.rows) {
        return Ok(mask);
    }
    let (name, found, expected) = (&entry.name, mask.len(), entry.masked);
    Err(Error::corrupt(format!("the mask of {name} has {found} rows, and its entry says {expected}")))
}

/// Makes sure that no piece of a file's mask is missing. The first call for a state of the mask reads all of it.
pub(crate) fn check_mask(engine: &Engine, view: &mut dyn View, entry: &FileEntry) -> Result<()> {
    if !engine.dead.is_mask_whole(entry) {
        read_whole_mask(view, entry)?;
        engine.dead.set_mask_whole(entry);
    }
    Ok(())
}

/// Whether the mask of a file has a row.
pub(crate) fn is_masked(engine: &Engine, view: &mut dyn View, entry: &FileEntry, row: u64) -> Result<bool> {
    check_mask(engine, view, entry)?;
    let Some(tree) = view.tree(TreeName::Masks)? else { return Ok(false) };
    let piece = tree.get(&mask_key(entry.number, row))?.map(parse_mask).transpose()?;
    Ok(piece.is_some_and(|mask| mask.contains(row)))
}

/// A piece of a mask.
pub(crate) fn parse_mask(bytes: &[u8]) -> Result<DeleteMask> {
    let mask = DeleteMask::from_bytes(RecordReader::new("a mask", bytes)?.bytes()?);
    mask.map_err(|error| Error::corrupt(error.to_string()))
}

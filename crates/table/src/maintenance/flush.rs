//! Hot rows become files.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lath_parquet::DeleteMask;
use lath_store::Durability;

use crate::error::{Error, Result};
use crate::records::{FileEntry, TreeName};
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, ByteList, batch};
use crate::view::{Commit, Engine, HotColumns, HotCursor, View, dead_rows, mask_of};
use crate::write::{NewFiles, OpenWrite, OrderedFiles, SortedFiles};

/// What [`Table::flush`](crate::Table::flush) has done.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flushed {
    /// How many rows were written.
    pub rows: u64,
    /// To how many files.
    pub files: usize,
}

/// Writes the hot rows of the newest commit to files. In one transaction the files become part of the table, the rows that they replace
/// and those with tombstones are masked, and the hot rows and tombstones go. Rows that change meanwhile stay hot.
pub(crate) fn flush(engine: &Arc<Engine>) -> Result<Flushed> {
    let _one_at_a_time = engine.lock_maintenance();
    // With nothing to do, nobody is waited for.
    if Commit::newest(engine)?.hot_len()? == 0 {
        return Ok(Flushed::default());
    }
    flush_beside(engine, &[])
}

/// Flushes if the background thread is to do so. A long merge calls this now and then, so that hot rows do not become many meanwhile.
/// Files that are `merged` stay in the list, also without rows.
pub(crate) fn flush_if_due(engine: &Arc<Engine>, merged: &[Arc<FileEntry>]) -> Result<()> {
    let newest = Commit::newest(engine)?;
    if engine.options.background && engine.options.is_flush_due(newest.hot_len()?, newest.state().hot_bytes) {
        // It would keep what the hot rows take from being reused.
        drop(newest);
        flush_beside(engine, merged)?;
    }
    Ok(())
}

fn flush_beside(engine: &Arc<Engine>, merged: &[Arc<FileEntry>]) -> Result<Flushed> {
    let (mut pinned, removals) = pin(engine)?;
    let manifest = Arc::clone(pinned.manifest());
    let dead = dead_rows(engine, &mut pinned, manifest.files())?;
    let mut replaced = Vec::new();
    for (entry, dead) in manifest.files().iter().zip(dead) {
        let mut rows = DeleteMask::clone(&dead);
        rows -= &mask_of(&mut pinned, entry.number)?;
        replaced.push((entry.number, rows));
    }
    let mut files = write_files(engine, &mut pinned)?;

    let mut changing = OpenWrite::begin(engine)?;
    let has_removals = engine.hot_removals.load(Ordering::Relaxed) != removals;
    let new_masks = replace_hot(&mut changing, &pinned, &files, has_removals)?;
    for (number, rows) in &replaced {
        changing.add_to_mask(*number, rows)?;
    }
    let mut flushed = Flushed::default();
    for (file, deleted) in files.files().iter().zip(&new_masks) {
        changing.add_file(file)?;
        changing.add_to_mask(file.entry.number, deleted)?;
        flushed.rows += file.entry.rows;
        flushed.files += 1;
    }
    drop_empty_files(&mut changing, merged)?;
    // Whether an error means that the commit was not made is not always known.
    files.keep();
    changing.commit(Durability::Sync)?;
    // Now that the store has few rows, a checkpoint writes little, and frees what the flushed ones took.
    engine.store.checkpoint()?;
    Ok(flushed)
}

/// The newest commit, and how often hot rows were removed before it. Both are read between two transactions: what an open one has removed is
/// counted already, but not in the newest commit.
fn pin(engine: &Arc<Engine>) -> Result<(Arc<Commit>, u64)> {
    let _nobody_writes = engine.store.begin()?;
    Ok((Commit::newest(engine)?, engine.hot_removals.load(Ordering::Relaxed)))
}

fn write_files(engine: &Arc<Engine>, pinned: &mut Arc<Commit>) -> Result<NewFiles> {
    let schema = Arc::clone(View::schema(pinned));
    let files = SortedFiles::new(engine, &pinned.state().clone(), &schema, 0)?;
    let mut files = OrderedFiles::new(files, engine.options.flush_bytes);
    let mut cursor = HotCursor::new(KeyRange::default(), HotColumns::all(&schema)?);
    while let Some((keys, columns)) = cursor.next(pinned, BATCH_ROWS)? {
        files.push(batch(schema.arrow(), columns, keys.len())?, &keys)?;
    }
    files.finish()
}

/// Removes the hot rows that are in files now, and the tombstones that masks make unnecessary. Of each new file it gives the rows that were
/// deleted since they were read.
fn replace_hot(
    changing: &mut OpenWrite,
    pinned: &Commit,
    files: &NewFiles,
    has_removals: bool,
) -> Result<Vec<DeleteMask>> {
    let mut deleted: Vec<DeleteMask> = files.files().iter().map(|_| DeleteMask::new()).collect();
    let has_changed = changing.committed_stamp() != pinned.stamp();
    if has_changed && has_removals {
        find_deleted(changing, pinned, files, &mut deleted)?;
    }
    // The transaction has changed nothing yet that these trees have.
    let newest = Commit::newest(changing.engine())?;
    let mut bytes = 0;
    for name in [TreeName::Hot, TreeName::Tombstones] {
        let tree = if has_changed { newest.shared_tree(name)? } else { None };
        bytes += changing.keep_since(name, tree, pinned.stamp())?;
    }
    changing.set_hot_bytes(bytes);
    Ok(deleted)
}

/// The flushed rows whose keys are not hot any more: they were deleted since, and there need not be a tombstone, as no file had them.
fn find_deleted(changing: &mut OpenWrite, pinned: &Commit, files: &NewFiles, deleted: &mut [DeleteMask]) -> Result<()> {
    if files.files().iter().any(|file| !file.entry.is_by_key()) {
        return find_deleted_unsorted(changing, pinned, files, deleted);
    }
    let (mut file, mut row) = (0, 0);
    for_each_flushed(changing, pinned, |_, is_hot| {
        if files.files().get(file).is_some_and(|file| row == file.entry.rows) {
            (file, row) = (file + 1, 0);
        }
        if !is_hot {
            let mask = deleted.get_mut(file).ok_or_else(|| Error::internal("a flush has written too few files"))?;
            mask.insert(row);
        }
        row += 1;
        Ok(())
    })
}

/// The same for files that are not in the order of their keys.
fn find_deleted_unsorted(
    changing: &mut OpenWrite,
    pinned: &Commit,
    files: &NewFiles,
    deleted: &mut [DeleteMask],
) -> Result<()> {
    let mut keys = ByteList::default();
    for_each_flushed(changing, pinned, |key, is_hot| {
        if !is_hot {
            keys.push(key);
        }
        Ok(())
    })?;
    let keys: Vec<&[u8]> = keys.iter().collect();
    if keys.is_empty() {
        return Ok(());
    }
    let (engine, schema) = (Arc::clone(changing.engine()), Arc::clone(changing.schema()));
    for (file, deleted) in files.files().iter().zip(deleted) {
        *deleted = file.rows_with(&engine, &schema, &keys)?;
    }
    Ok(())
}

/// Calls `visit` with each key that was flushed, in ascending order, and with whether it is still hot.
fn for_each_flushed(
    changing: &mut OpenWrite,
    pinned: &Commit,
    mut visit: impl FnMut(&[u8], bool) -> Result<()>,
) -> Result<()> {
    let Some(before) = pinned.shared_tree(TreeName::Hot)? else { return Ok(()) };
    let now = changing.tree(TreeName::Hot)?;
    let mut now = now.map(|tree| tree.cursor());
    let mut has_now = match &mut now {
        Some(cursor) => cursor.next()?,
        None => false,
    };
    let mut cursor = before.cursor();
    while cursor.next()? {
        let Some(key) = cursor.key() else { break };
        while let Some(now) = now.as_mut().filter(|_| has_now)
            && now.key().is_some_and(|now| now < key)
        {
            has_now = now.next()?;
        }
        visit(key, has_now && now.as_ref().is_some_and(|now| now.key() == Some(key)))?;
    }
    Ok(())
}

/// Drops files all of whose rows are masked, unless they are being merged.
fn drop_empty_files(changing: &mut OpenWrite, merged: &[Arc<FileEntry>]) -> Result<()> {
    let manifest = Arc::clone(changing.manifest());
    let is_merged = |file: &FileEntry| merged.iter().any(|merged| merged.number == file.number);
    let empty = manifest.files().iter().filter(|file| file.unmasked() == 0 && !is_merged(file));
    empty.into_iter().try_for_each(|file| changing.drop_file(file))
}

//! Hot rows become files.

use std::sync::Arc;

use lath_parquet::DeleteMask;
use lath_store::Durability;

use crate::byte_list::ByteList;
use crate::changing::Changing;
use crate::dead::{dead_rows, mask_of};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::hot::{HotColumns, HotCursor, for_each_since};
use crate::key_range::KeyRange;
use crate::layout::TreeName;
use crate::ordered_files::OrderedFiles;
use crate::pinned::Pinned;
use crate::schema::{BATCH_ROWS, batch};
use crate::sorted_files::{NewFiles, SortedFiles};
use crate::view::View;

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
    let mut pinned = Pinned::newest(engine)?;
    if pinned.len_of(TreeName::Hot)? + pinned.len_of(TreeName::Tombstones)? == 0 {
        return Ok(Flushed::default());
    }
    let manifest = Arc::clone(pinned.manifest());
    let dead = dead_rows(engine, &mut pinned, manifest.files())?;
    let mut replaced = Vec::new();
    for (entry, dead) in manifest.files().iter().zip(dead) {
        let mut rows = DeleteMask::clone(&dead);
        rows -= &mask_of(&mut pinned, entry.number)?;
        replaced.push((entry.number, rows));
    }
    let mut files = write_files(engine, &mut pinned)?;

    let mut changing = Changing::begin(engine)?;
    let new_masks = replace_hot(&mut changing, &pinned, &files)?;
    for (number, rows) in &replaced {
        changing.add_to_mask(*number, rows)?;
    }
    let mut flushed = Flushed::default();
    for (file, deleted) in files.files().iter().zip(&new_masks) {
        changing.add_file(file.entry.clone(), &file.keys.to_bytes())?;
        changing.add_to_mask(file.entry.number, deleted)?;
        flushed.rows += file.entry.rows;
        flushed.files += 1;
    }
    drop_empty_files(&mut changing)?;
    // Whether an error means that the commit was not made is not always known.
    files.keep();
    changing.commit(Durability::Sync)?;
    Ok(flushed)
}

fn write_files(engine: &Arc<Engine>, pinned: &mut Arc<Pinned>) -> Result<NewFiles> {
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
fn replace_hot(changing: &mut Changing, pinned: &Pinned, files: &NewFiles) -> Result<Vec<DeleteMask>> {
    let flushed_stamp = pinned.stamp();
    let mut deleted: Vec<DeleteMask> = files.files().iter().map(|_| DeleteMask::new()).collect();
    let mut left = Left::default();
    let mut left_tombstones = Left::default();
    if changing.committed_stamp() != flushed_stamp {
        left.read(changing, TreeName::Hot, flushed_stamp)?;
        left_tombstones.read(changing, TreeName::Tombstones, flushed_stamp)?;
        find_deleted(changing, pinned, files, &mut deleted)?;
    }
    changing.replace_all(TreeName::Hot, &left.keys, &left.values)?;
    changing.replace_all(TreeName::Tombstones, &left_tombstones.keys, &left_tombstones.values)?;
    changing.set_hot_bytes(left.bytes + left_tombstones.bytes);
    Ok(deleted)
}

/// What changed since the flush began.
#[derive(Debug, Default)]
struct Left {
    keys: ByteList,
    values: ByteList,
    bytes: u64,
}

impl Left {
    fn read(&mut self, changing: &mut Changing, name: TreeName, stamp: u64) -> Result<()> {
        let Some(tree) = changing.tree(name)? else { return Ok(()) };
        for_each_since(tree, stamp, |key, value, _| {
            self.keys.push(key);
            self.values.push(value);
            self.bytes += (key.len() + value.len()) as u64;
        })
    }
}

/// The flushed rows whose keys are not hot any more: they were deleted since, and there need not be a tombstone, as no file had them.
fn find_deleted(changing: &mut Changing, pinned: &Pinned, files: &NewFiles, deleted: &mut [DeleteMask]) -> Result<()> {
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
    changing: &mut Changing,
    pinned: &Pinned,
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
    changing: &mut Changing,
    pinned: &Pinned,
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

/// Drops files all of whose rows are masked.
fn drop_empty_files(changing: &mut Changing) -> Result<()> {
    let manifest = Arc::clone(changing.manifest());
    let empty = manifest.files().iter().filter(|file| file.unmasked() == 0);
    empty.into_iter().try_for_each(|file| changing.drop_file(file))
}

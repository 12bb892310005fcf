//! Moves the hot rows of a commit to files.

use std::sync::Arc;

use lath_parquet::DeleteMask;

use super::open_write::OpenWrite;
use super::ordered_files::OrderedFiles;
use super::sorted_files::{NewFiles, SortedFiles};
use crate::error::{Error, Result};
use crate::records::{FileEntry, TreeName};
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, ByteList, batch};
use crate::view::{Commit, Engine, HotColumns, HotCursor, View};

/// Writes the hot rows of a commit to files, which no commit names yet.
pub(crate) fn write_hot_rows(engine: &Arc<Engine>, pinned: &mut Arc<Commit>) -> Result<NewFiles> {
    let schema = Arc::clone(View::schema(pinned));
    let files = SortedFiles::new(engine, &pinned.state().clone(), &schema, 0)?;
    let mut files = OrderedFiles::new(files, engine.options.flush_bytes);
    let mut cursor = HotCursor::new(KeyRange::default(), HotColumns::all(&schema)?);
    while let Some((keys, columns)) = cursor.next(pinned, BATCH_ROWS)? {
        files.push(batch(schema.arrow(), columns, keys.len())?, &keys)?;
    }
    files.finish()
}

impl OpenWrite {
    /// Makes files of flushed rows part of the table. Their rows leave the hot tree unless they have changed since the commit that was flushed, and
    /// tombstones of that commit go. `replaced` are the rows of older files that the flushed rows and tombstones replace.
    pub(crate) fn replace_flushed(
        &mut self,
        flushed: &Commit,
        files: &NewFiles,
        replaced: &[(u64, DeleteMask)],
        has_removals: bool,
    ) -> Result<()> {
        let mut deleted: Vec<DeleteMask> = files.files().iter().map(|_| DeleteMask::new()).collect();
        let has_changed = self.committed_stamp() != flushed.stamp();
        if has_changed && has_removals {
            find_deleted(self, flushed, files, &mut deleted)?;
        }
        self.keep_changed_hot(flushed, has_changed)?;
        for (number, rows) in replaced {
            self.add_to_mask(*number, rows)?;
        }
        for (file, deleted) in files.files().iter().zip(&deleted) {
            self.add_file(file)?;
            self.add_to_mask(file.entry.number, deleted)?;
        }
        Ok(())
    }

    /// Removes hot rows and tombstones, except for the ones that commits after `flushed` have put.
    fn keep_changed_hot(&mut self, flushed: &Commit, has_changed: bool) -> Result<()> {
        // The transaction has not changed these trees yet.
        let newest = Commit::newest(self.engine())?;
        let mut bytes = 0;
        for name in [TreeName::Hot, TreeName::Tombstones] {
            let tree = if has_changed { newest.shared_tree(name)? } else { None };
            bytes += self.keep_since(name, tree, flushed.stamp())?;
        }
        self.set_hot_bytes(bytes);
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

/// Finds deleted rows in files that are not in key order.
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
    let mut view = changing.view()?;
    let now = view.tree(TreeName::Hot)?;
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

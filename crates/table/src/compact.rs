//! Small and much-deleted files become fewer and larger ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use lath_parquet::DeleteMask;
use lath_store::Durability;

use crate::changing::Changing;
use crate::cold::ColdFile;
use crate::dead::{dead_rows, mask_of};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::key_range::KeyRange;
use crate::layout::FileEntry;
use crate::locate::{keys_of_rows, locate};
use crate::manifest::Manifest;
use crate::options::TableOptions;
use crate::pinned::Pinned;
use crate::range::{Merge, Source};
use crate::schema::{BATCH_ROWS, batch};
use crate::sorted_files::{NewFile, NewFiles, SortedFiles};
use crate::view::View;

/// What [`Table::compact`](crate::Table::compact) has done.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compacted {
    /// How many merges were made.
    pub merges: usize,
    /// How many files were merged.
    pub files_before: usize,
    /// How many files they became.
    pub files_after: usize,
    /// How many rows were written.
    pub rows: u64,
}

/// Merges files until no merge is due.
pub(crate) fn compact(engine: &Arc<Engine>) -> Result<Compacted> {
    let mut compacted = Compacted::default();
    while let Some(step) = compact_once(engine)? {
        compacted.merges += 1;
        compacted.files_before += step.files_before;
        compacted.files_after += step.files_after;
        compacted.rows += step.rows;
    }
    Ok(compacted)
}

/// Makes one merge, if one is due.
pub(crate) fn compact_once(engine: &Arc<Engine>) -> Result<Option<Compacted>> {
    let _one_at_a_time = engine.lock_maintenance();
    let mut pinned = Pinned::newest(engine)?;
    let chosen = choose(pinned.manifest(), &engine.options);
    if chosen.is_empty() {
        return Ok(None);
    }
    let dead = dead_rows(engine, &mut pinned, &chosen)?;
    let mut files = merge(engine, &mut pinned, &chosen, &dead)?;

    let mut changing = Changing::begin(engine)?;
    let new_masks = map_later_deletes(engine, &mut changing, &chosen, &dead, &files)?;
    for entry in &chosen {
        changing.drop_file(entry)?;
    }
    let mut rows = 0;
    for (file, deleted) in files.files().iter().zip(&new_masks) {
        changing.add_file(file.entry.clone(), &file.fences.to_bytes())?;
        changing.add_to_mask(file.entry.number, deleted)?;
        rows += file.entry.rows;
    }
    let files_after = files.files().len();
    // Whether an error means that the commit was not made is not always known.
    files.keep();
    changing.commit(Durability::Sync)?;
    Ok(Some(Compacted { merges: 1, files_before: chosen.len(), files_after, rows }))
}

/// The files to merge: those of which much is deleted, else as many of about the same size as are due. None if none are.
fn choose(manifest: &Manifest, options: &TableOptions) -> Vec<Arc<FileEntry>> {
    let is_much_deleted =
        |file: &&Arc<FileEntry>| file.masked > 0 && file.masked * 100 >= file.rows * u64::from(options.deleted_percent);
    let much_deleted = bounded(manifest.files().iter().filter(is_much_deleted), options);
    if !much_deleted.is_empty() {
        return much_deleted;
    }
    let mut by_size: BTreeMap<u32, Vec<&Arc<FileEntry>>> = BTreeMap::new();
    for file in manifest.files().iter().filter(|file| file.unmasked() < options.file_rows.div_ceil(2)) {
        // Files of one class have up to four times as many rows as each other.
        by_size.entry(file.unmasked().max(1).ilog2() / 2).or_default().push(file);
    }
    let due =
        by_size.into_values().map(|files| bounded(files, options)).find(|files| files.len() >= options.merge_files);
    due.unwrap_or_default()
}

/// The first of the files, up to the maximum number of rows of a merge; at least one.
fn bounded<'f>(files: impl IntoIterator<Item = &'f Arc<FileEntry>>, options: &TableOptions) -> Vec<Arc<FileEntry>> {
    let mut rows = 0;
    let is_within = |file: &&Arc<FileEntry>| {
        let is_first = rows == 0;
        rows += file.unmasked().max(1);
        is_first || rows <= options.merge_rows
    };
    files.into_iter().take_while(is_within).cloned().collect()
}

fn merge(
    engine: &Arc<Engine>,
    pinned: &mut Arc<Pinned>,
    chosen: &[Arc<FileEntry>],
    dead: &[Arc<DeleteMask>],
) -> Result<NewFiles> {
    let schema = Arc::clone(View::schema(pinned));
    let columns: Vec<usize> = (0..schema.arrow().fields().len()).collect();
    let mut sources = Vec::with_capacity(chosen.len());
    for (entry, dead) in chosen.iter().zip(dead) {
        let file = engine.cold(pinned, entry)?;
        sources.push(Source::cold(&file, dead, &KeyRange::default(), u64::MAX, &columns, None)?);
    }
    let level = chosen.iter().map(|file| file.level).max().unwrap_or(0) + 1;
    let mut files = SortedFiles::new(engine, &pinned.state().clone(), &schema, level);
    let mut merge = Merge { schema: Arc::clone(&schema), columns, sources };
    loop {
        let rows = merge.next(pinned, BATCH_ROWS, true)?;
        if rows.row_count == 0 {
            return files.finish();
        }
        files.push(&batch(schema.arrow(), rows.columns, rows.row_count)?, &rows.keys)?;
    }
}

/// Of each new file, the rows that were masked in the old files since these were read.
fn map_later_deletes(
    engine: &Engine,
    changing: &mut Changing,
    chosen: &[Arc<FileEntry>],
    dead: &[Arc<DeleteMask>],
    files: &NewFiles,
) -> Result<Vec<DeleteMask>> {
    let mut later = Vec::new();
    for (entry, dead) in chosen.iter().zip(dead) {
        let now = changing.manifest().files().iter().find(|file| file.number == entry.number);
        let now = now.ok_or_else(|| Error::internal("a file was dropped while it was merged"))?;
        if now.mask_stamp != entry.mask_stamp {
            let mut rows = mask_of(changing, entry.number)?;
            rows -= dead;
            let rows: Vec<u64> = rows.iter().collect();
            later.push(keys_of_rows(&*engine.cold(changing, entry)?, &rows)?);
        }
    }
    let schema = Arc::clone(changing.schema());
    let mask = |file: &NewFile| {
        let mut mask = DeleteMask::new();
        if later.is_empty() {
            return Ok(mask);
        }
        let cold = ColdFile::find(&engine.folder, &file.entry, &schema, file.fences.clone(), &engine.dataset)?;
        for keys in &later {
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            locate(&engine.blocks, &cold, &file.entry, &keys)?.into_iter().for_each(|(_, row)| mask.insert(row));
        }
        Ok(mask)
    };
    files.files().iter().map(mask).collect()
}

//! Merges small and much-deleted files to fewer and larger ones in the order of the table.

use std::collections::BTreeMap;
use std::sync::Arc;

use lath_parquet::DeleteMask;
use lath_store::Durability;

use super::expire;
use super::flush::flush_if_due;
use crate::error::{Error, Result};
use crate::file::keys_of_rows;
use crate::read::scan::{RowMerge, RowSource};
use crate::records::{FileEntry, Manifest, TableOptions};
use crate::row::{BATCH_ROWS, RowOrder, TableSchema, batch, is_same_order};
use crate::view::{Commit, Engine, View, dead_rows, read_mask};
use crate::write::{NewFile, NewFiles, OpenWrite, OrderedFiles, SortedFiles};

/// Counts of [`Table::compact`](crate::Table::compact).
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompactReport {
    /// Number of merges.
    pub merges: usize,
    /// Number of files that were merged.
    pub files_before: usize,
    /// Number of files that they became.
    pub files_after: usize,
    /// Number of rows that were written.
    pub rows: u64,
    /// Number of rows of files that were removed because they had expired.
    pub expired_rows: u64,
    /// Number of files that were removed without being read, because all of their rows had expired.
    pub expired_files: usize,
}

/// Thresholds for merging files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    /// Number of files of about the same size.
    files: usize,
    /// Share of deleted rows in percent.
    deleted_percent: u32,
}

impl Due {
    /// Share of deleted rows from which on [`compact`] rewrites a file, in percent of its rows. A GROUP BY over five million rows, a tenth of
    /// them updated, took 22 ms while the old rows stayed in their files, 15 ms without them, and 14 ms before the updates.
    const DELETED_PERCENT: u32 = 5;

    /// Thresholds while a table changes.
    pub(crate) fn in_background(options: &TableOptions) -> Self {
        Self { files: options.merge_files, deleted_percent: options.deleted_percent }
    }

    /// Thresholds before a table is read often.
    fn by_hand(options: &TableOptions) -> Self {
        Self { files: 2, deleted_percent: options.deleted_percent.min(Self::DELETED_PERCENT) }
    }
}

/// Merges files until no merge is due. It ends even while a writer adds files: it makes no more merges than the files at the start can
/// need, where each is rewritten or merged with another once.
pub(crate) fn compact(engine: &Arc<Engine>) -> Result<CompactReport> {
    let expired = expire::remove_expired(engine, 0)?;
    let mut compacted =
        CompactReport { expired_rows: expired.rows, expired_files: expired.files, ..CompactReport::default() };
    let due = Due::by_hand(&engine.options);
    let max_merges = 2 * Commit::newest(engine)?.manifest().files().len();
    while compacted.merges < max_merges
        && let Some(step) = compact_once(engine, due)?
    {
        compacted.merges += 1;
        compacted.files_before += step.files_before;
        compacted.files_after += step.files_after;
        compacted.rows += step.rows;
        compacted.expired_rows += step.expired_rows;
        compacted.expired_files += step.expired_files;
    }
    Ok(compacted)
}

/// Makes one merge, if one is due.
pub(crate) fn compact_once(engine: &Arc<Engine>, due: Due) -> Result<Option<CompactReport>> {
    let _one_at_a_time = engine.lock_maintenance();
    let pinned = Commit::newest(engine)?;
    let mut chosen = choose(pinned.manifest(), &engine.options, due);
    let order = RowOrder::from_ids(&pinned.state().cluster, View::schema(&pinned))?.map(Arc::new);
    if let Some(order) = &order {
        retain_unordered(&mut chosen, order, View::schema(&pinned))?;
    }
    if chosen.is_empty() {
        return Ok(None);
    }
    let expired = expire::remove_from(engine, &chosen, 0)?;
    if expired.rows == 0 {
        return merge_chosen(engine, pinned, order, chosen).map(Some);
    }
    let pinned = Commit::newest(engine)?;
    let is_chosen = |entry: &&Arc<FileEntry>| chosen.iter().any(|chosen| chosen.number == entry.number);
    let left: Vec<_> = pinned.manifest().files().iter().filter(is_chosen).cloned().collect();
    let report = match left.is_empty() {
        true => CompactReport { merges: 1, files_before: chosen.len(), ..CompactReport::default() },
        false => merge_chosen(engine, pinned, order, left)?,
    };
    Ok(Some(CompactReport { expired_rows: expired.rows, expired_files: expired.files, ..report }))
}

/// Rewrites the files without checksums of blocks, which format 4 and earlier ones wrote. The caller keeps files from coming and going.
pub(crate) fn rewrite_unverified(engine: &Arc<Engine>) -> Result<()> {
    while let pinned = Commit::newest(engine)?
        && let Some(entry) = pinned.manifest().files().iter().find(|entry| !entry.is_checksummed).cloned()
    {
        drop(pinned);
        rewrite_files(engine, &[entry.number])?;
    }
    Ok(())
}

/// Writes each of these files again in the newest schema, if it is still there, in one commit. The caller keeps files from coming and going.
pub(crate) fn rewrite_files(engine: &Arc<Engine>, numbers: &[u64]) -> Result<()> {
    let mut pinned = Commit::newest(engine)?;
    let is_chosen = |entry: &&Arc<FileEntry>| numbers.contains(&entry.number);
    let chosen: Vec<_> = pinned.manifest().files().iter().filter(is_chosen).cloned().collect();
    if chosen.is_empty() {
        return Ok(());
    }
    let order = RowOrder::from_ids(&pinned.state().cluster, View::schema(&pinned))?.map(Arc::new);
    let merged = chosen
        .iter()
        .map(|entry| FileMerge::write(engine, &mut pinned, order.as_ref(), vec![Arc::clone(entry)], &chosen));
    let merged = merged.collect::<Result<Vec<_>>>()?;
    drop(pinned);
    commit_merged(engine, merged).map(drop)
}

/// Merges files, in one commit.
fn merge_chosen(
    engine: &Arc<Engine>,
    mut pinned: Arc<Commit>,
    order: Option<Arc<RowOrder>>,
    chosen: Vec<Arc<FileEntry>>,
) -> Result<CompactReport> {
    let kept = chosen.clone();
    let merged = FileMerge::write(engine, &mut pinned, order.as_ref(), chosen, &kept)?;
    drop(pinned);
    commit_merged(engine, vec![merged])
}

/// Files with the rows of others, which they will replace.
struct FileMerge {
    chosen: Vec<Arc<FileEntry>>,
    /// The rows that were deleted when each was read.
    dead: Vec<Arc<DeleteMask>>,
    files: NewFiles,
}

impl FileMerge {
    /// Merges files. Flushes meanwhile leave the files `kept` in the list.
    fn write(
        engine: &Arc<Engine>,
        pinned: &mut Arc<Commit>,
        order: Option<&Arc<RowOrder>>,
        chosen: Vec<Arc<FileEntry>>,
        kept: &[Arc<FileEntry>],
    ) -> Result<Self> {
        let dead = dead_rows(engine, pinned, &chosen)?;
        let files = match order {
            Some(order) if !is_in_order(&chosen[0], order, View::schema(pinned))? => {
                sort(engine, pinned, &chosen, &dead, kept)?
            }
            _ => merge(engine, pinned, order.cloned(), &chosen, &dead, kept)?,
        };
        Ok(Self { chosen, dead, files })
    }
}

/// Replaces files by what they were merged to, in one commit.
fn commit_merged(engine: &Arc<Engine>, merged: Vec<FileMerge>) -> Result<CompactReport> {
    let mut changing = OpenWrite::begin(engine)?;
    let mut report = CompactReport { merges: merged.len(), ..CompactReport::default() };
    for FileMerge { chosen, dead, files } in &merged {
        let new_masks = map_later_deletes(engine, &mut changing, chosen, dead, files)?;
        for entry in chosen {
            changing.drop_file(entry)?;
        }
        for (file, deleted) in files.files().iter().zip(&new_masks) {
            changing.add_file(file)?;
            changing.add_to_mask(file.entry.number, deleted)?;
            report.rows += file.entry.rows;
        }
        report.files_before += chosen.len();
        report.files_after += files.files().len();
    }
    // Whether an error means that the commit was not made is not always known.
    for mut merged in merged {
        merged.files.keep();
    }
    changing.commit(Durability::Sync)?;
    Ok(report)
}

/// Chooses the files to merge: much-deleted ones, or else as many of about the same size as are due.
fn choose(manifest: &Manifest, options: &TableOptions, due: Due) -> Vec<Arc<FileEntry>> {
    let is_much_deleted =
        |file: &&Arc<FileEntry>| file.masked > 0 && file.masked * 100 >= file.rows * u64::from(due.deleted_percent);
    let much_deleted = bounded(manifest.files().iter().filter(is_much_deleted), options);
    if !much_deleted.is_empty() {
        return much_deleted;
    }
    let mut by_size: BTreeMap<u32, Vec<&Arc<FileEntry>>> = BTreeMap::new();
    for file in manifest.files().iter().filter(|file| file.unmasked() < options.file_rows.div_ceil(2)) {
        // Files of one class have up to four times as many rows as each other.
        by_size.entry(file.unmasked().max(1).ilog2() / 2).or_default().push(file);
    }
    let chosen = by_size.into_values().map(|files| bounded(files, options)).find(|files| files.len() >= due.files);
    chosen.unwrap_or_default()
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

/// Leaves only files that are not in an order, if there are any: they are sorted before they are merged with others.
fn retain_unordered(chosen: &mut Vec<Arc<FileEntry>>, order: &RowOrder, schema: &Arc<TableSchema>) -> Result<()> {
    let is_ordered = |entry: &Arc<FileEntry>| is_in_order(entry, order, schema);
    let is_ordered = chosen.iter().map(is_ordered).collect::<Result<Vec<_>>>()?;
    if is_ordered.contains(&false) {
        let mut is_ordered = is_ordered.into_iter();
        chosen.retain(|_| is_ordered.next() == Some(false));
    }
    Ok(())
}

/// Whether the rows of a file are in an order, in this schema.
fn is_in_order(entry: &FileEntry, order: &RowOrder, schema: &Arc<TableSchema>) -> Result<bool> {
    Ok(entry.order == order.ids() && is_same_order(&entry.order, &*schema.with_version(entry.schema)?, schema))
}

/// Rewrites files in the order of the table, in parts that are sorted in memory.
fn sort(
    engine: &Arc<Engine>,
    pinned: &mut Arc<Commit>,
    chosen: &[Arc<FileEntry>],
    dead: &[Arc<DeleteMask>],
    kept: &[Arc<FileEntry>],
) -> Result<NewFiles> {
    let schema = Arc::clone(View::schema(pinned));
    let columns: Vec<usize> = (0..schema.arrow().fields().len()).collect();
    let files = SortedFiles::new(engine, &pinned.state().clone(), &schema, merged_level(chosen))?;
    let mut files = OrderedFiles::new(files, engine.options.flush_bytes);
    for (entry, dead) in chosen.iter().zip(dead) {
        let file = engine.cold(pinned, entry)?;
        let scan = file.scan(&columns)?.deleted([(0, DeleteMask::clone(dead))]);
        for rows in file.numbered(scan, &columns)? {
            flush_if_due(engine, kept)?;
            let (columns, numbers) = rows?;
            files.push_unsorted(batch(schema.arrow(), columns, numbers.len())?)?;
        }
    }
    files.finish()
}

/// The level of what files become.
fn merged_level(chosen: &[Arc<FileEntry>]) -> u32 {
    chosen.iter().map(|file| file.level).max().unwrap_or(0) + 1
}

fn merge(
    engine: &Arc<Engine>,
    pinned: &mut Arc<Commit>,
    order: Option<Arc<RowOrder>>,
    chosen: &[Arc<FileEntry>],
    dead: &[Arc<DeleteMask>],
    kept: &[Arc<FileEntry>],
) -> Result<NewFiles> {
    let schema = Arc::clone(View::schema(pinned));
    let columns: Vec<usize> = (0..schema.arrow().fields().len()).collect();
    let mut files = SortedFiles::new(engine, &pinned.state().clone(), &schema, merged_level(chosen))?;
    let mut sources = Vec::with_capacity(chosen.len());
    for (entry, dead) in chosen.iter().zip(dead) {
        let file = engine.cold(pinned, entry)?;
        sources.push(match &order {
            None => RowSource::all_by_key(&file, dead, &columns, chosen.len())?,
            Some(order) => RowSource::clustered(&file, dead, &columns, order)?,
        });
    }
    let is_by_key = order.is_none();
    let mut merge = match order {
        None => RowMerge::by_key(Arc::clone(&schema), columns, sources),
        Some(order) => RowMerge::in_order(Arc::clone(&schema), columns, order, sources),
    };
    loop {
        flush_if_due(engine, kept)?;
        let rows = merge.next(pinned, BATCH_ROWS, is_by_key)?;
        if rows.row_count == 0 {
            return files.finish();
        }
        let keys = match is_by_key {
            true => rows.keys,
            false => schema.key().encode(&schema.key().select(&rows.columns))?.iter().collect(),
        };
        files.push(&batch(schema.arrow(), rows.columns, rows.row_count)?, &keys)?;
    }
}

/// For each new file, the rows that were masked in the old files since these were read.
fn map_later_deletes(
    engine: &Engine,
    changing: &mut OpenWrite,
    chosen: &[Arc<FileEntry>],
    dead: &[Arc<DeleteMask>],
    files: &NewFiles,
) -> Result<Vec<DeleteMask>> {
    let mut later = Vec::new();
    for (entry, dead) in chosen.iter().zip(dead) {
        let now = changing.manifest().files().iter().find(|file| file.number == entry.number);
        let now = now.ok_or_else(|| Error::internal("a file was dropped while it was merged"))?;
        if now.mask_stamp != entry.mask_stamp {
            let mut rows = read_mask(&mut changing.view()?, entry.number)?;
            rows -= dead;
            let rows: Vec<u64> = rows.iter().collect();
            let mut keys = keys_of_rows(&*engine.cold(&mut changing.view()?, entry)?, &rows)?;
            keys.sort_unstable();
            later.push(keys);
        }
    }
    let schema = Arc::clone(changing.schema());
    let mask = |file: &NewFile| {
        let mut mask = DeleteMask::new();
        for keys in &later {
            let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
            mask |= &file.rows_with(engine, &schema, &keys)?;
        }
        Ok(mask)
    };
    files.files().iter().map(mask).collect()
}

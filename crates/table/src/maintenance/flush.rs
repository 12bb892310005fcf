//! Flushes hot rows to files.

use std::sync::Arc;

use lath_parquet::DeleteMask;
use lath_store::Durability;

use super::expire;
use crate::error::Result;
use crate::publish::{CommitFiles, PublishedCommit, publish_if_set};
use crate::records::FileEntry;
use crate::view::{Commit, Engine, View, rows_replaced_by_hot};
use crate::write::{FlushedRows, OpenWrite};

/// Counts of [`Table::flush`](crate::Table::flush).
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlushReport {
    /// Number of rows that were written.
    pub rows: u64,
    /// Number of files.
    pub files: usize,
}

/// Writes the hot rows of the newest commit to files. In one transaction the files become part of the table, the rows that they replace
/// and those with tombstones are masked, and the hot rows and tombstones go. Rows that change meanwhile stay hot.
pub(crate) fn flush(engine: &Arc<Engine>) -> Result<FlushReport> {
    Ok(flush_locked(engine)?.0)
}

/// Flushes; the commit that was published, if the table is published.
pub(crate) fn flush_and_publish(engine: &Arc<Engine>) -> Result<Option<PublishedCommit>> {
    Ok(flush_locked(engine)?.1)
}

fn flush_locked(engine: &Arc<Engine>) -> Result<(FlushReport, Option<PublishedCommit>)> {
    let _one_at_a_time = engine.lock_maintenance();
    // With nothing to do, it need not wait for a writer.
    let newest = Commit::newest(engine)?;
    if newest.hot_len()? == 0 {
        return Ok((FlushReport::default(), publish_if_set(engine, CommitFiles::new(newest, &[], &[]))?));
    }
    drop(newest);
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

fn flush_beside(engine: &Arc<Engine>, merged: &[Arc<FileEntry>]) -> Result<(FlushReport, Option<PublishedCommit>)> {
    expire::remove_hot(engine)?;
    let mut flushed = FlushedRows::write(engine)?;
    let replaced = rows_replaced_by_hot(engine, &mut Arc::clone(flushed.commit()))?;
    // So that the commit, for which others wait, has little to sync.
    engine.store.sync()?;

    let mut changing = OpenWrite::begin(engine)?;
    let with_masks: Vec<(u64, DeleteMask)> =
        flushed.files().map(|(file, changed)| (file.entry.number, changed.clone())).collect();
    changing.replace_flushed(&mut flushed, &replaced)?;
    changing.drop_empty_files(merged)?;
    // Whether an error means that the commit was not made is not always known.
    flushed.keep();
    changing.commit(Durability::Sync)?;
    // Now that the store has few rows, a checkpoint writes little, and frees what the flushed ones took.
    engine.store.checkpoint()?;
    let entries: Vec<&FileEntry> = flushed.files().map(|(file, _)| &file.entry).collect();
    let rows = entries.iter().map(|entry| entry.rows).sum::<u64>()
        - with_masks.iter().map(|(_, rows)| rows.len()).sum::<u64>();
    let report = FlushReport { rows, files: entries.len() };
    // With these files, and with the masks of its time, the commit has no hot rows. The newest one may have.
    let replaced: Vec<(u64, DeleteMask)> = replaced.into_iter().chain(with_masks).collect();
    let files = CommitFiles::new(Arc::clone(flushed.commit()), &entries, &replaced);
    let published = publish_if_set(engine, files)?;
    Ok((report, published))
}

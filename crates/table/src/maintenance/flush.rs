//! Flushes hot rows to files.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lath_store::Durability;

use super::expire;
use crate::error::Result;
use crate::publish::{CommitFiles, PublishedCommit, publish_if_set};
use crate::records::FileEntry;
use crate::view::{Commit, Engine, View, rows_replaced_by_hot};
use crate::write::{OpenWrite, write_hot_rows};

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
    let (mut pinned, removals) = pin(engine)?;
    let replaced = rows_replaced_by_hot(engine, &mut pinned)?;
    let mut files = write_hot_rows(engine, &mut pinned)?;

    let mut changing = OpenWrite::begin(engine)?;
    let has_removals = engine.hot_removals.load(Ordering::Relaxed) != removals;
    changing.replace_flushed(&pinned, &files, &replaced, has_removals)?;
    changing.drop_empty_files(merged)?;
    // Whether an error means that the commit was not made is not always known.
    files.keep();
    changing.commit(Durability::Sync)?;
    // Now that the store has few rows, a checkpoint writes little, and frees what the flushed ones took.
    engine.store.checkpoint()?;
    let flushed: Vec<&FileEntry> = files.files().iter().map(|file| &file.entry).collect();
    let report = FlushReport { rows: flushed.iter().map(|entry| entry.rows).sum(), files: flushed.len() };
    // With these files, and with the masks of its time, the commit has no hot rows. The newest one may have.
    let published = publish_if_set(engine, CommitFiles::new(pinned, &flushed, &replaced))?;
    Ok((report, published))
}

/// The newest commit, and how often hot rows were removed before it. Both are read between two transactions: what an open one has removed is
/// counted already, but not in the newest commit.
fn pin(engine: &Arc<Engine>) -> Result<(Arc<Commit>, u64)> {
    let _nobody_writes = engine.store.begin()?;
    Ok((Commit::newest(engine)?, engine.hot_removals.load(Ordering::Relaxed)))
}

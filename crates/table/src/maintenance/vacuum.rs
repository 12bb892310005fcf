//! Files that no reader needs are removed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use lath_store::{HeldSpace, Holder, Snapshot, Stats};

use crate::error::Result;
use crate::publish::oldest_commit;
use crate::records::history::History;
use crate::records::{DroppedFile, Manifest, TreeName, file_key, file_number, named_snapshots};
use crate::view::Engine;
use crate::write::OpenWrite;

/// The store's free space stays with it up to this much, or up to one part in [`KEPT_PART`] of the table's size.
const KEPT_BYTES: u64 = 16 << 20;
const KEPT_PART: u64 = 8;

/// While others commit, up to so much of the store's free space stays with it. The hot rows that come soon need it again, and moving nodes
/// to the front of the file while they are changed takes many checkpoints: in five million upserts of rows anywhere in the table, 17 of 30
/// seconds, and nine in ten of the bytes written.
const BUSY_KEPT_BYTES: u64 = 1 << 30;

/// The number of commits between two looks up to which the store counts as idle. After this many commits by others, moving nodes stops.
pub(crate) const IDLE_COMMITS: u64 = 16;

/// Activity of a table while it is vacuumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Somebody has asked for it, and waits for it to end.
    ByHand,
    /// Next to nothing was committed for a while.
    Idle,
    Busy,
}

/// Removes files that no reader needs, and returns their number; then gives back the store's free space if it has much.
pub(crate) fn vacuum(engine: &Arc<Engine>, activity: Activity) -> Result<usize> {
    // Flushing removes whole trees of rows.
    engine.store.visit_removed_subtrees()?;
    let stats = engine.store.stats()?;
    let mut removed = remove_dropped(engine, &stats)?;
    // Opening the table sends no request, so that it does not look for objects without a commit.
    if activity == Activity::ByHand && engine.files.url().is_some() {
        let _one_at_a_time = engine.lock_maintenance();
        removed += remove_orphans(engine)?;
    }
    give_space_back(engine, &stats, activity)?;
    Ok(removed)
}

/// After a flush the store has nearly as much free space as the flushed rows took, in its file and in its log.
fn give_space_back(engine: &Engine, stats: &Stats, activity: Activity) -> Result<()> {
    let is_kept = |held: &&HeldSpace| held.by != Holder::Checkpoint;
    let kept: u64 = stats.held.iter().filter(is_kept).map(|held| held.bytes).sum();
    let used = stats.file_bytes - stats.free_bytes - stats.dead_bytes + kept;
    let free = stats.file_bytes - used + stats.log_file_bytes;
    let (kept_bytes, kept_part) = match activity {
        Activity::ByHand | Activity::Idle => (KEPT_BYTES, KEPT_PART),
        Activity::Busy => (BUSY_KEPT_BYTES, 1),
    };
    if free <= kept_bytes {
        return Ok(());
    }
    let files: u64 = read_manifest(engine, &engine.store.snapshot()?)?.files().iter().map(|file| file.bytes).sum();
    if free <= (files + used) / kept_part {
        return Ok(());
    }
    // Each step is a separate commit.
    let mut last = engine.store.snapshot()?.sequence() + IDLE_COMMITS;
    engine.store.compact_with(|_| {
        last += 1;
        let is_idle = || engine.store.snapshot().is_ok_and(|newest| newest.sequence() <= last);
        if activity != Activity::Idle || is_idle() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(())
}

/// Removes files that were dropped from the list and that no snapshot needs, and returns their number.
///
/// A file goes only after the commit that dropped it is durable. If the process ends before the entry of the removed file has gone too,
/// the next vacuum finds no file, which is as well.
fn remove_dropped(engine: &Arc<Engine>, stats: &Stats) -> Result<usize> {
    let _one_at_a_time = engine.lock_maintenance();
    let snapshot = engine.store.snapshot()?;
    let dropped = dropped_files(engine, &snapshot)?;
    if dropped.is_empty() {
        return Ok(0);
    }
    let published = oldest_commit(engine)?;
    let mut needed = BTreeSet::new();
    for named in named_snapshots(&snapshot)? {
        needed.extend(read_manifest(engine, &named)?.files().iter().map(|file| file.number));
    }
    let is_unneeded = |(number, file): &(u64, DroppedFile)| {
        // A snapshot of commit `stamp` or a later one does not have the file. Those taken since `stats` are later.
        file.stamp <= stats.sequence
            && stats.oldest_reader.is_none_or(|reader| file.stamp <= reader)
            && published.is_none_or(|commit| file.stamp <= commit)
            && !needed.contains(number)
    };
    let unneeded = not_in_history(engine, &snapshot, dropped.into_iter().filter(is_unneeded).collect())?;
    if unneeded.is_empty() {
        return Ok(0);
    }
    drop(snapshot);
    engine.store.sync()?;
    for (_, file) in &unneeded {
        engine.files.remove(&file.name)?;
    }
    let mut changing = OpenWrite::begin(engine)?;
    let mut tree = changing.dropped_tree()?;
    for (number, _) in &unneeded {
        tree.remove(&file_key(*number))?;
    }
    changing.commit(engine.options.durability)?;
    engine.forget(&unneeded.iter().map(|(_, file)| file.name.clone()).collect::<Vec<_>>());
    engine.dead.retain(|file| !unneeded.iter().any(|(number, _)| *number == file));
    Ok(unneeded.len())
}

/// The dropped files that no commit of the history has.
fn not_in_history(
    engine: &Engine,
    snapshot: &Snapshot,
    dropped: Vec<(u64, DroppedFile)>,
) -> Result<Vec<(u64, DroppedFile)>> {
    let history = History::new(snapshot)?;
    let mut manifests: BTreeMap<u64, Manifest> = BTreeMap::new();
    let mut unneeded = Vec::new();
    for (number, file) in dropped {
        let is_needed = match history.last_before(file.dropped)? {
            None => false,
            Some(kept) => {
                let manifest = match manifests.entry(kept.commit) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(read_manifest(engine, &history.open(kept)?)?),
                };
                manifest.files().iter().any(|file| file.number == number)
            }
        };
        if !is_needed {
            unneeded.push((number, file));
        }
    }
    Ok(unneeded)
}

/// Removes files that neither the newest commit nor a snapshot names: what a process that was killed has written and not committed. Files
/// stay while another process reads an older commit, which may be one that was lost.
pub(crate) fn remove_orphans(engine: &Engine) -> Result<usize> {
    if engine.store.stats()?.oldest_reader.is_some() {
        return Ok(0);
    }
    remove_unnamed(engine)
}

/// As [`remove_orphans`] for files in the table's folder, when it is opened. That sends no request for objects.
pub(crate) fn remove_local_orphans(engine: &Engine) -> Result<usize> {
    if engine.files.url().is_some() { Ok(0) } else { remove_orphans(engine) }
}

/// Removes files that neither the newest commit nor a snapshot names. No process reads an older commit.
pub(crate) fn remove_unnamed(engine: &Engine) -> Result<usize> {
    let mut removed = 0;
    for name in orphans(engine)? {
        engine.files.remove(&name)?;
        removed += 1;
    }
    Ok(removed)
}

/// Files that are called as the table's, that neither the newest commit nor a snapshot names, and that are not being written.
pub(crate) fn orphans(engine: &Engine) -> Result<Vec<String>> {
    let mut found = engine.files.names()?;
    // An existing file's name is among these until a commit has it. A file that is not complete has a longer name.
    let writing = engine.writing_files().clone();
    let known = known_names(engine, &engine.store.snapshot()?)?;
    let is_written = |name: &String| writing.iter().any(|written| name.contains(last_part(written)));
    found.retain(|name| !known.contains(name) && !is_written(name));
    Ok(found)
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The names of the files that a commit has, has dropped, or has in a named snapshot. Those in the history are among them.
fn known_names(engine: &Engine, snapshot: &Snapshot) -> Result<BTreeSet<String>> {
    let mut names: BTreeSet<String> = dropped_files(engine, snapshot)?.into_iter().map(|(_, file)| file.name).collect();
    names.extend(read_manifest(engine, snapshot)?.files().iter().map(|file| file.name.clone()));
    for named in named_snapshots(snapshot)? {
        names.extend(read_manifest(engine, &named)?.files().iter().map(|file| file.name.clone()));
    }
    Ok(names)
}

fn read_manifest(engine: &Engine, snapshot: &Snapshot) -> Result<Manifest> {
    Manifest::read(engine.read_tree(snapshot, TreeName::Files)?)
}

fn dropped_files(engine: &Engine, snapshot: &Snapshot) -> Result<Vec<(u64, DroppedFile)>> {
    let Some(tree) = engine.read_tree(snapshot, TreeName::Dropped)? else { return Ok(Vec::new()) };
    let parse = |entry: lath_store::Result<lath_store::Entry<'_>>| {
        let (key, value) = entry?;
        Ok((file_number(&key)?, DroppedFile::from_bytes(value)?))
    };
    tree.iter().map(parse).collect()
}

//! Removes rows that have expired from files.
//!
//! | rows of a file, by its statistics | removed by |
//! | --- | --- |
//! | all have expired | dropping the file, which is not read; with indexes, by masking its rows, because their entries have to be found |
//! | some have expired | masking them, and merging the file when its deleted rows are many enough |
//! | none has expired | |
//!
//! [`compact`](super::compact) masks all expired rows. The background thread masks rows of a file again only if, by its smallest and largest time, as
//! large a share of the rows has expired since the last time as is rewritten ([`TableOptions::deleted_percent`](crate::TableOptions::deleted_percent)),
//! so that it does not read the column again and again. A merge masks the expired rows of its files before it reads them.

use std::sync::{Arc, PoisonError};

use lath_store::Durability;

use crate::error::Result;
use crate::records::FileEntry;
use crate::view::{Commit, Engine, Expiry, TimeBounds, View};
use crate::write::{ExpiredRows, OpenWrite};

/// Rows that were removed because they had expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ExpiredCounts {
    pub(crate) rows: u64,
    /// Number of files that were dropped without being read.
    pub(crate) files: usize,
}

/// The expired rows of a file, by its statistics.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ExpiredPart {
    None,
    /// About this share of the rows has expired since they were masked last.
    Share(f64),
    All,
}

/// Removes expired rows of all files of which `percent` or more have expired since the last time.
pub(crate) fn remove_expired(engine: &Arc<Engine>, percent: u32) -> Result<ExpiredCounts> {
    if Commit::newest(engine)?.expiry().is_none() {
        return Ok(ExpiredCounts::default());
    }
    let _one_at_a_time = engine.lock_maintenance();
    let files = Commit::newest(engine)?.manifest().files().to_vec();
    remove_from(engine, &files, percent)
}

/// Removes the expired rows of these files. The caller keeps files from coming and going.
pub(crate) fn remove_from(engine: &Arc<Engine>, files: &[Arc<FileEntry>], percent: u32) -> Result<ExpiredCounts> {
    let mut pinned = Commit::newest(engine)?;
    let Some(expiry) = pinned.expiry().cloned() else { return Ok(ExpiredCounts::default()) };
    let has_indexes = !pinned.indexes().is_empty();
    let (mut whole, mut partly) = (Vec::new(), Vec::new());
    for entry in files {
        match expired(engine, &mut pinned, entry, &expiry)? {
            ExpiredPart::All if !has_indexes => whole.push(entry.number),
            ExpiredPart::Share(share) if share * 100.0 < f64::from(percent) => {}
            ExpiredPart::All | ExpiredPart::Share(_) => partly.push(Arc::clone(entry)),
            ExpiredPart::None => {}
        }
    }
    let rows = ExpiredRows::find(engine, &mut pinned, &expiry, &partly)?;
    drop(pinned);
    let mut counts = ExpiredCounts { rows: 0, files: whole.len() };
    if !whole.is_empty() || !rows.is_empty() {
        let mut changing = OpenWrite::begin(engine)?;
        for number in whole {
            let entry = Arc::clone(changing.manifest().file(number)?);
            counts.rows += entry.unmasked();
            changing.drop_file(&entry)?;
        }
        for rows in &rows {
            counts.rows += changing.remove_expired_rows(rows)?;
        }
        changing.drop_empty_files(&[])?;
        changing.commit(Durability::Sync)?;
    }
    let mut bounds = engine.time_bounds.lock().unwrap_or_else(PoisonError::into_inner);
    for entry in &partly {
        bounds.entry(entry.number).and_modify(|bounds| bounds.removed_micros = expiry.latest_micros());
    }
    Ok(counts)
}

/// Removes expired rows from the store, before they would be written to files.
pub(crate) fn remove_hot(engine: &Arc<Engine>) -> Result<()> {
    if Commit::newest(engine)?.expiry().is_none() {
        return Ok(());
    }
    let mut changing = OpenWrite::begin(engine)?;
    match changing.remove_expired_hot()? {
        0 => Ok(()),
        _ => changing.commit(engine.options.durability),
    }
}

/// Looks at the statistics of a file, which are read once.
fn expired(engine: &Engine, pinned: &mut Arc<Commit>, entry: &FileEntry, expiry: &Expiry) -> Result<ExpiredPart> {
    let column = View::schema(pinned).id(expiry.column());
    let known = engine.time_bounds.lock().unwrap_or_else(PoisonError::into_inner).get(&entry.number).cloned();
    let bounds = match known.filter(|known| known.column == column) {
        Some(known) => known,
        None => {
            let read = read_bounds(engine, pinned, entry, expiry, column)?;
            let current = pinned.manifest();
            let mut all = engine.time_bounds.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|number, _| current.files().iter().any(|file| file.number == *number));
            all.insert(entry.number, read.clone());
            read
        }
    };
    let latest = expiry.latest_micros();
    let Some((min, max)) = bounds.min_max else {
        // Only the rows tell. The next merge reads them.
        return Ok(if bounds.is_null { ExpiredPart::None } else { ExpiredPart::Share(0.0) });
    };
    if latest < min || latest <= bounds.removed_micros {
        return Ok(ExpiredPart::None);
    }
    if max <= latest && !bounds.has_nulls {
        return Ok(ExpiredPart::All);
    }
    let length = (max.saturating_sub(min)).max(1) as f64;
    let since = latest.min(max).saturating_sub(bounds.removed_micros.max(min)).max(1);
    Ok(ExpiredPart::Share(since as f64 / length))
}

fn read_bounds(
    engine: &Engine,
    pinned: &mut Arc<Commit>,
    entry: &FileEntry,
    expiry: &Expiry,
    column: u32,
) -> Result<TimeBounds> {
    let file = engine.cold(pinned, entry)?;
    let unknown = TimeBounds { column, min_max: None, has_nulls: true, is_null: false, removed_micros: i64::MIN };
    let Some(place) = file.upgrade().place(expiry.column()).filter(|_| file.is_verified()) else { return Ok(unknown) };
    let statistics = file.file().open()?.statistics()?;
    let Some(statistics) = statistics.columns.get(place) else { return Ok(unknown) };
    let (Some(min), Some(max)) = (statistics.min.value(), statistics.max.value()) else { return Ok(unknown) };
    let has_nulls = !(statistics.null_count.is_exact() && statistics.null_count.value() == Some(&0));
    Ok(match (Expiry::micros(min), Expiry::micros(max)) {
        (Some((min, _)), Some((_, max))) => TimeBounds { min_max: Some((min, max)), has_nulls, ..unknown },
        _ => TimeBounds { is_null: true, ..unknown },
    })
}

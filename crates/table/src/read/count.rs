//! Counts rows.

use std::ops::Range;
use std::sync::Arc;

use lath_parquet::DeleteMask;
use lath_store::Tree;

use crate::error::{Error, Result};
use crate::file::{BlockCache, DataFile, block_ranges, lower_bound};
use crate::records::{BlockIndex, BlockKeys, KeyBounds, TreeName};
use crate::row::key::KeyRange;
use crate::view::{Engine, View, dead_rows};

/// The number of rows of the view with rows that have expired, checked against the numbers of entries of its indexes.
///
/// # Errors
/// [`Error::Corrupt`] if an index has a different number of entries, because a row is missing or repeated.
pub(crate) fn count_all(engine: &Engine, view: &mut dyn View) -> Result<u64> {
    let rows = count_by_files(engine, view)?;
    for index in Arc::clone(view.indexes()).iter() {
        let entries = view.index_tree(index.number())?.map_or(Ok(0), |tree| tree.len())?;
        if entries != rows {
            let name = index.name();
            let what = format!("there are {rows} rows, and the index {name:?} has {entries} entries: check the table");
            return Err(Error::corrupt(what));
        }
    }
    Ok(rows)
}

/// The number of rows of files that are not dead, and of hot rows, with rows that have expired.
pub(crate) fn count_by_files(engine: &Engine, view: &mut dyn View) -> Result<u64> {
    let manifest = Arc::clone(view.manifest());
    let dead = dead_rows(engine, view, manifest.files())?;
    let cold: u64 = manifest.files().iter().zip(dead).map(|(file, dead)| file.rows.saturating_sub(dead.len())).sum();
    let hot = view.tree(TreeName::Hot)?.map_or(Ok(0), |tree| tree.len())?;
    Ok(cold + hot)
}

/// The number of rows whose keys are in a range, with rows that have expired. It reads at most two blocks of the key columns of a file in key order,
/// and of other files the blocks that have keys both inside and outside of the range.
pub(crate) fn count_range(engine: &Engine, view: &mut dyn View, range: &KeyRange) -> Result<u64> {
    if range.is_empty() {
        return Ok(0);
    }
    let files = view.manifest().in_range(range);
    let dead = dead_rows(engine, view, &files)?;
    let mut count = 0;
    for (entry, dead) in files.iter().zip(dead) {
        let file = engine.cold(view, entry)?;
        count += match file.keys() {
            BlockKeys::First(fences) => count_rows(&rows_of_range(&engine.blocks, &file, fences, range)?, &dead),
            BlockKeys::Bounds(bounds) => count_unsorted(&file, bounds, range, &dead)?,
        };
    }
    if let Some(tree) = view.tree(TreeName::Hot)? {
        count += count_keys(&tree, range)?;
    }
    Ok(count)
}

/// Number of these rows that are not dead.
fn count_rows(rows: &Range<u64>, dead: &DeleteMask) -> u64 {
    (rows.end - rows.start).saturating_sub(dead.count_within(rows))
}

/// The number of rows of a file in another order that are not dead and whose keys are in a range.
fn count_unsorted(file: &DataFile, bounds: &KeyBounds, range: &KeyRange, dead: &DeleteMask) -> Result<u64> {
    let is_within = |&block: &usize| {
        let (least, greatest) = bounds.block(block);
        range.contains(least) && range.contains(greatest)
    };
    let (within, partly): (Vec<usize>, Vec<usize>) = bounds.in_range(range).partition(is_within);
    let mut count: u64 = within.into_iter().map(|block| count_rows(&file.block_rows(block), dead)).sum();
    if partly.is_empty() {
        return Ok(count);
    }
    let codec = file.schema().key();
    let scan = file.scan(codec.columns())?.rows(block_ranges(file, partly.into_iter()));
    for batch in file.numbered(scan.deleted([(0, dead.clone())]), codec.columns())? {
        let (columns, _) = batch?;
        count += codec.encode(&columns)?.iter().filter(|key| range.contains(key.data())).count() as u64;
    }
    Ok(count)
}

/// The number of keys of a tree in a range.
pub(crate) fn count_keys(tree: &Tree<'_>, range: &KeyRange) -> Result<u64> {
    Ok(match &range.high {
        Some(high) => tree.count::<&[u8]>(&range.low[..]..&high[..])?,
        None => tree.count::<&[u8]>(&range.low[..]..)?,
    })
}

/// The rows of a file in the order of its keys whose keys are in a range.
pub(crate) fn rows_of_range(
    cache: &BlockCache,
    file: &DataFile,
    fences: &BlockIndex,
    range: &KeyRange,
) -> Result<Range<u64>> {
    let low = if range.low.is_empty() { 0 } else { lower_bound(cache, file, fences, &range.low)? };
    let high = range.high.as_ref().map_or(Ok(file.rows()), |high| lower_bound(cache, file, fences, high))?;
    Ok(low..high.max(low))
}

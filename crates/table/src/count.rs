//! How many rows there are.

use std::ops::Range;
use std::sync::Arc;

use lath_store::Tree;

use crate::cold::ColdFile;
use crate::dead::dead_rows;
use crate::engine::Engine;
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::layout::TreeName;
use crate::locate::lower_bound;
use crate::view::View;

/// The number of rows of the view.
pub(crate) fn count_all(engine: &Engine, view: &mut dyn View) -> Result<u64> {
    let manifest = Arc::clone(view.manifest());
    let dead = dead_rows(engine, view, manifest.files())?;
    let cold: u64 = manifest.files().iter().zip(dead).map(|(file, dead)| file.rows.saturating_sub(dead.len())).sum();
    let hot = view.tree(TreeName::Hot)?.map_or(Ok(0), |tree| tree.len())?;
    Ok(cold + hot)
}

/// The number of rows whose keys are in a range. Of each file at most two blocks of the key columns are read.
pub(crate) fn count_range(engine: &Engine, view: &mut dyn View, range: &KeyRange) -> Result<u64> {
    if range.is_empty() {
        return Ok(0);
    }
    let files = view.manifest().in_range(range);
    let dead = dead_rows(engine, view, &files)?;
    let mut count = 0;
    for (entry, dead) in files.iter().zip(dead) {
        let file = engine.cold(view, entry)?;
        let rows = rows_of_range(&file, range)?;
        count += (rows.end - rows.start).saturating_sub(dead.count_within(&rows));
    }
    if let Some(tree) = view.tree(TreeName::Hot)? {
        count += count_keys(&tree, range)?;
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

/// The rows of a file whose keys are in a range.
pub(crate) fn rows_of_range(file: &ColdFile, range: &KeyRange) -> Result<Range<u64>> {
    let low = if range.low.is_empty() { 0 } else { lower_bound(file, &range.low)? };
    let high = range.high.as_ref().map_or(Ok(file.rows()), |high| lower_bound(file, high))?;
    Ok(low..high.max(low))
}

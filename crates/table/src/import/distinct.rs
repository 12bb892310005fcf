//! Whether no two of the rows that are imported have the same key.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use lath_parquet::{Dataset, DatasetOptions};
use xxhash_rust::xxh3::xxh3_64;

use super::file_keys::KeysOfRows;
use super::take::Source;
use super::watch::Watch;
use crate::error::{Error, Result};
use crate::row::TableSchema;

/// Returns an error if two rows have the same key. A sorted file whose range of keys overlaps no other range is not compared.
pub(super) fn check_distinct(
    schema: &Arc<TableSchema>,
    source: &Dataset,
    options: &DatasetOptions,
    files: &[(Source, KeysOfRows)],
    watch: &mut Watch<'_>,
) -> Result<()> {
    let mut ranges: Vec<_> = files.iter().enumerate().filter_map(|(at, (_, keys))| Some((at, keys.range()?))).collect();
    ranges.sort_by(|(_, one), (_, other)| one.cmp(other));
    let mut checked: BTreeSet<usize> = (0..files.len()).filter(|&at| !files[at].1.is_sorted()).collect();
    let mut greatest: Option<(usize, &[u8])> = None;
    for (at, (min, max)) in &ranges {
        if let Some((before, end)) = greatest
            && &min[..] <= end
        {
            checked.extend([before, *at]);
        }
        if greatest.is_none_or(|(_, end)| &max[..] > end) {
            greatest = Some((*at, max));
        }
    }
    let mut hashes: Vec<u64> = checked.iter().flat_map(|&at| files[at].1.hashes().iter().copied()).collect();
    hashes.sort_unstable();
    let twice: HashSet<u64> = hashes.array_windows().filter(|[a, b]| a == b).map(|[a, _]| *a).collect();
    if twice.is_empty() {
        return Ok(());
    }
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    for at in checked {
        watch.poll()?;
        files[at].0.for_each_live_key(schema, source, options, |key| {
            if twice.contains(&xxh3_64(key)) && !seen.insert(key.to_vec()) {
                let key = schema.key().describe(&schema.key().decode([key])?, 0);
                return Err(Error::import(format!(
                    "two rows have the key {key}: delete one of them in the source, or choose other key columns; `lath table create` takes the \
                     last row of a key"
                )));
            }
            Ok(())
        })?;
    }
    Ok(())
}

//! Locates the rows with given keys in a file.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Array, ArrayRef};

use super::block_cache::BlockCache;
use super::data_file::DataFile;
use super::lookup::KeyInBlock;
use crate::error::{Error, Result};
use crate::records::{BLOCK_ROWS, BlockIndex, BlockKeys, FileEntry};
use crate::row::interleave_rows;

/// With more keys than this, blocks are read without probing Bloom filters first: most blocks of a file then have one of
/// the keys.
pub(crate) const MAX_PROBED_KEYS: usize = 1 << 16;

/// Up to this number of blocks is read one by one and cached. More blocks are scanned without caching.
pub(crate) const MAX_CACHED_BLOCKS: usize = 64;

/// A key that was found: its place among the keys of the lookup, and its row in the file.
pub(crate) type KeyLocation = (usize, u64);

/// The rows of a file that have one of `keys`, which are in ascending order and distinct, in ascending order of rows.
///
/// In a file in key order, the block index gives the block that can have a key, and Bloom filters rule out keys that no
/// row group has; then the key columns of the remaining blocks are read and compared.
pub(crate) fn locate(
    cache: &BlockCache,
    file: &DataFile,
    entry: &FileEntry,
    keys: &[&[u8]],
) -> Result<Vec<KeyLocation>> {
    let first = keys.partition_point(|key| *key < &entry.min[..]);
    let end = keys.partition_point(|key| *key <= &entry.max[..]);
    let candidates = keys.get(first..end).unwrap_or_default();
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let fences = match file.keys() {
        BlockKeys::First(fences) => fences,
        BlockKeys::Bounds(bounds) => {
            let found = file.locate_unsorted(bounds, cache, candidates)?;
            return Ok(found.into_iter().map(|(at, row)| (first + at, row)).collect());
        }
    };
    let codec = file.schema().key();
    let ranges = if candidates.len() <= MAX_PROBED_KEYS {
        let left = file.probe(fences, cache, candidates, &codec.decode(candidates.iter().copied())?)?;
        if left.chunk_by(|a, b| a.block == b.block).count() <= MAX_CACHED_BLOCKS {
            let mut found = Vec::new();
            for KeyInBlock { at, block } in left {
                found.extend(file.row_in_block(cache, block, candidates[at])?.map(|row| (first + at, row)));
            }
            return Ok(found);
        }
        block_ranges(file, left.into_iter().map(|key| key.block))
    } else {
        block_ranges(file, fences.find_blocks(candidates.iter().copied()).flatten())
    };
    let scan = file.scan(codec.columns())?.rows(ranges);
    let mut found = Vec::new();
    let mut next = 0;
    for batch in file.numbered(scan, codec.columns())? {
        let (columns, rows) = batch?;
        let encoded = codec.encode(&columns)?;
        let mut at = 0;
        while let Some(candidate) = candidates.get(next) {
            // Many rows lie between two keys, or many keys between two rows: neither is compared one by one.
            at = first_not_less(at, encoded.num_rows(), |row| encoded.row(row).data() < *candidate);
            if at == encoded.num_rows() {
                break;
            }
            let row = encoded.row(at);
            if row.data() == *candidate {
                found.push((first + next, rows[at]));
                next += 1;
                at += 1;
            } else {
                next = first_not_less(next, candidates.len(), |key| candidates[key] < row.data());
            }
        }
        if next == candidates.len() {
            break;
        }
    }
    Ok(found)
}

/// [`locate`] for each of these files, on up to `threads` threads.
pub(crate) fn locate_in_files(
    cache: &BlockCache,
    files: &[(Arc<DataFile>, &FileEntry)],
    keys: &[&[u8]],
    threads: usize,
) -> Result<Vec<Vec<KeyLocation>>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Vec<KeyLocation>)>> {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((file, entry)) = files.get(at) else { return Ok(done) };
            done.push((at, locate(cache, file, entry, keys)?));
        }
    };
    let done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(files.len())).map(|_| scope.spawn(work)).collect();
        let own = work();
        let joined = others.into_iter().map(std::thread::ScopedJoinHandle::join);
        let joined = joined.map(|other| other.unwrap_or_else(|_| Err(Error::internal("locating keys has failed"))));
        std::iter::once(own).chain(joined).collect::<Result<Vec<_>>>()
    })?;
    let mut located = vec![Vec::new(); files.len()];
    done.into_iter().flatten().for_each(|(at, found)| located[at] = found);
    Ok(located)
}

/// The first number in `from..end` that is not less, or `end`; all less ones come before the others. The steps double, because it is seldom far.
fn first_not_less(from: usize, end: usize, is_less: impl Fn(usize) -> bool) -> usize {
    let (mut less, mut step) = (from, 1);
    // All before `less` are less.
    while less < end && is_less(less + (step - 1).min(end - less - 1)) {
        less += step.min(end - less);
        step *= 2;
    }
    let (mut low, mut high) = (less, end.min(less + step - 1));
    while low < high {
        let middle = low + (high - low) / 2;
        if is_less(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// The rows of these blocks, which are in ascending order.
pub(crate) fn block_ranges(file: &DataFile, blocks: impl Iterator<Item = usize>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    blocks.for_each(|block| push_range(&mut ranges, file.block_rows(block)));
    ranges
}

/// The number of the first row whose key is not less than `key`, in a file that is in the order of its keys.
pub(crate) fn lower_bound(cache: &BlockCache, file: &DataFile, fences: &BlockIndex, key: &[u8]) -> Result<u64> {
    let Some(block) = fences.find_block(key) else { return Ok(0) };
    let keys = file.keys_of_block(cache, block)?;
    Ok(file.block_rows(block).start + keys.partition_point(|other| other < key) as u64)
}

/// The encoded keys of these rows, which are in ascending order, one for each.
pub(crate) fn keys_of_rows(file: &DataFile, rows: &[u64]) -> Result<Vec<Vec<u8>>> {
    let codec = file.schema().key();
    let mut keys = Vec::with_capacity(rows.len());
    let scan = file.scan(codec.columns())?.rows(single_rows(rows));
    for batch in file.numbered(scan, codec.columns())? {
        let (columns, _) = batch?;
        keys.extend(codec.encode(&columns)?.iter().map(|row| row.data().to_vec()));
    }
    if keys.len() == rows.len() { Ok(keys) } else { Err(Error::corrupt("a file has fewer rows than its entry says")) }
}

/// These columns of these rows, which are in ascending order, batch by batch with the number of rows.
pub(crate) fn columns_of_rows(
    cache: &BlockCache,
    file: &DataFile,
    rows: &[u64],
    columns: &[usize],
) -> Result<Vec<(usize, Vec<ArrayRef>)>> {
    if rows.chunk_by(|a, b| a / BLOCK_ROWS == b / BLOCK_ROWS).count() <= MAX_CACHED_BLOCKS {
        return Ok(vec![(rows.len(), columns_of_blocks(cache, file, rows, columns)?)]);
    }
    let scan = file.scan(columns)?.rows(single_rows(rows));
    file.numbered(scan, columns)?.map(|batch| batch.map(|(columns, rows)| (rows.len(), columns))).collect()
}

/// Reads columns of rows block by block, and caches the blocks.
fn columns_of_blocks(cache: &BlockCache, file: &DataFile, rows: &[u64], columns: &[usize]) -> Result<Vec<ArrayRef>> {
    let mut blocks: Vec<usize> = Vec::new();
    let mut order = Vec::with_capacity(rows.len());
    for &row in rows {
        if row >= file.rows() {
            return Err(Error::corrupt("a file has fewer rows than its entry says"));
        }
        let block = (row / BLOCK_ROWS) as usize;
        if blocks.last() != Some(&block) {
            blocks.push(block);
        }
        order.push((blocks.len() - 1, (row % BLOCK_ROWS) as usize));
    }
    let column = |&column: &usize| {
        let stored = match file.upgrade().place(column).filter(|_| !blocks.is_empty()) {
            Some(place) => {
                let arrays = blocks.iter().map(|&block| file.column_of_block(cache, place, block));
                let arrays = arrays.collect::<Result<Vec<_>>>()?;
                let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
                Some(interleave_rows(&arrays, &order)?)
            }
            None => None,
        };
        file.upgrade().column(column, stored, rows.len())
    };
    columns.iter().map(column).collect()
}

/// Ranges of these rows, which are in ascending order.
pub(crate) fn single_rows(rows: &[u64]) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for &row in rows {
        push_range(&mut ranges, row..row + 1);
    }
    ranges
}

/// Adds a range that does not begin before the last one; ranges that touch become one.
fn push_range(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
        _ => ranges.push(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_not_less_is_found_from_anywhere() {
        for end in 0..70 {
            for from in 0..=end {
                for first in from..=end {
                    let found = first_not_less(from, end, |number| {
                        assert!((from..end).contains(&number));
                        number < first
                    });
                    assert_eq!(found, first, "{from}..{end}");
                }
            }
        }
    }

    #[test]
    fn neighbouring_rows_are_one_range() {
        assert_eq!(single_rows(&[1, 2, 3, 7, 9, 10]), [1..4, 7..8, 9..11]);
    }
}

//! Probing the filters of row groups for keys, with as few bytes and requests as possible.
//!
//! The footer has the offset of a filter and, unless the writer is old, the length of header and bitset together. That gives the
//! probable start of the bitset, so that header and blocks are requested together. A header that says otherwise costs a second round,
//! and so does a footer without lengths. Headers are remembered with the file: later probes read only blocks.

use std::sync::Arc;

use bytes::Bytes;
use lath_kernels::bloom;

use super::keys::Keys;
use super::pending::{PendingProbe, finish_pending};
use super::results::{ProbeResult, ProbeResults, probe_bitset};
use crate::error::Result;
use crate::file::ParquetFile;
use crate::filters::FilterMemory;

/// Keys that are looked up in the filters of a leaf.
#[derive(Debug)]
pub(crate) struct Lookup {
    /// Index among the Parquet leaves.
    pub(crate) leaf: usize,
    pub(crate) keys: Keys,
}

/// The results of each lookup for `row_groups`.
pub(crate) fn probe(
    file: &ParquetFile,
    lookups: &[Lookup],
    row_groups: &[usize],
    memory: Option<&Arc<FilterMemory>>,
) -> Result<Vec<ProbeResults>> {
    let mut results: Vec<ProbeResults> = lookups.iter().map(|_| ProbeResults::new(row_groups.len())).collect();
    let mut pending = Vec::new();
    let metadata = file.metadata();
    let (row_group_count, leaf_count) = (metadata.row_group_count(), metadata.column_count());
    for (number, (lookup, results)) in lookups.iter().zip(&mut results).enumerate() {
        let Some(filters) = file.filters().column(lookup.leaf, leaf_count, row_group_count) else { continue };
        let mut cached = CachedFilters::with_capacity(if filters.has_cached() { row_groups.len() } else { 0 });
        for (at, &row_group) in row_groups.iter().enumerate() {
            if let Some(bitset) = filters.cached(row_group) {
                cached.add(bitset, at);
            } else if let Ok(chunk) = metadata.chunk(row_group, lookup.leaf) {
                pending.extend(PendingProbe::new(file, chunk, filters, row_group, &lookup.keys, (number, at)));
            }
        }
        cached.probe(&lookup.keys, results)?;
    }
    finish_pending(file, pending, memory, &mut results)?;
    for (lookup, results) in lookups.iter().zip(&mut results) {
        results.sort();
        if let Some(filters) = file.filters().column(lookup.leaf, leaf_count, row_group_count) {
            results.probe_second(filters, &lookup.keys, row_groups)?;
        }
    }
    Ok(results)
}

/// The results of cached filters for `row_groups`; `None` without cached filters. `keys` is called only if there are some.
pub(crate) fn probe_cached(
    file: &ParquetFile,
    leaf: usize,
    keys: impl FnOnce() -> Option<Keys>,
    row_groups: &[usize],
) -> Result<Option<ProbeResults>> {
    let Some(filters) = file.filters().cached_column(leaf) else { return Ok(None) };
    let Some(keys) = keys() else { return Ok(None) };
    let mut results = ProbeResults::new(row_groups.len());
    let mut cached = CachedFilters::with_capacity(row_groups.len());
    for (at, &row_group) in row_groups.iter().enumerate() {
        if let Some(bitset) = filters.cached(row_group) {
            cached.add(bitset, at);
        }
    }
    cached.probe(&keys, &mut results)?;
    results.sort();
    results.probe_second(filters, &keys, row_groups)?;
    Ok(Some(results))
}

/// Filters that are in memory, with the numbers of their row groups.
struct CachedFilters<'a> {
    bitsets: Vec<&'a [u8]>,
    numbers: Vec<usize>,
}

impl<'a> CachedFilters<'a> {
    fn with_capacity(capacity: usize) -> Self {
        Self { bitsets: Vec::with_capacity(capacity), numbers: Vec::with_capacity(capacity) }
    }

    fn add(&mut self, bitset: &'a Bytes, number: usize) {
        self.bitsets.push(bitset);
        self.numbers.push(number);
    }

    fn probe(self, keys: &Keys, results: &mut ProbeResults) -> Result<()> {
        if let Some(hash) = keys.single_hash() {
            let mut present = vec![0; self.bitsets.len().div_ceil(64)];
            bloom::check_filters(&self.bitsets, hash, &mut present)?;
            if self.bitsets.len() == results.count {
                // Every row group has a filter.
                results.possible = present;
                return Ok(());
            }
            for (at, number) in self.numbers.into_iter().enumerate() {
                if present[at / 64] >> (at % 64) & 1 == 0 {
                    results.set(number, ProbeResult::Absent);
                }
            }
            return Ok(());
        }
        for (bitset, number) in self.bitsets.into_iter().zip(self.numbers) {
            results.set(number, probe_bitset(bitset, keys, &keys.hashes)?);
        }
        Ok(())
    }
}

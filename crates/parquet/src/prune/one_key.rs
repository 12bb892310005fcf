//! One key that is looked up in many files at once, in filters that are in memory.
//!
//! Of a thousand files that are asked again and again, whatever is looked at has left the cache. What a file takes then is the
//! number of times that the processor waits for memory. Files are therefore asked together, in steps: each step looks at one
//! place of every file, and none of them waits for another.

use std::sync::Arc;

use bytes::Bytes;
use lath_kernels::bloom;
use lath_predicate::BoundPredicate;

use super::bloom::{Keys, second_hash};
use super::column::PreparedColumn;
use super::report::PruneReport;
use super::stages::key_alone;
use crate::file::{KnownSchema, ParquetFile};
use crate::filters::ColumnFilters;

/// Most row groups of a file that is asked together with others. Of more, the file alone keeps the processor busy.
const MOST_ROW_GROUPS: usize = 64;

/// A predicate that looks up one key and does nothing else, for files of one schema.
#[derive(Debug)]
pub(crate) struct OneKey {
    schema: Arc<KnownSchema>,
    leaf: usize,
    hash: u64,
}

impl OneKey {
    /// For files with the schema of `file`; `None` for predicates of other kinds.
    pub(crate) fn new(file: &ParquetFile, predicate: &BoundPredicate) -> Option<Self> {
        let columns: Vec<PreparedColumn<'_>> =
            predicate.columns.iter().map(|column| PreparedColumn::new(file, column)).collect();
        let test = predicate.test.clone().simplify();
        let (leaf, kind, test) = key_alone(&columns, &test)?;
        let hash = Keys::new(kind, test)?.only()?;
        Some(Self { schema: Arc::clone(file.known_schema()), leaf, hash })
    }

    /// What pruning says of those of `files` that have filters in memory for all row groups, none of which has the key.
    pub(crate) fn rule_out(&self, files: &[Option<&ParquetFile>]) -> Vec<Option<PruneReport>> {
        let is_asked = |file: &&ParquetFile| Arc::ptr_eq(file.known_schema(), &self.schema);
        let row_counts: Vec<&[u64]> = files
            .iter()
            .map(|file| file.filter(is_asked).map_or(&[][..], ParquetFile::row_group_row_counts))
            .map(|row_counts| if row_counts.len() <= MOST_ROW_GROUPS { row_counts } else { &[] })
            .collect();
        let columns: Vec<Option<&ColumnFilters>> = files
            .iter()
            .zip(&row_counts)
            .map(|(file, row_counts)| file.filter(|_| !row_counts.is_empty())?.filters().kept_column(self.leaf))
            .collect();
        let mut bitsets: Vec<&[u8]> = Vec::with_capacity(row_counts.iter().map(|row_counts| row_counts.len()).sum());
        let asked: Vec<bool> = columns
            .iter()
            .zip(&row_counts)
            .map(|(column, row_counts)| {
                let start = bitsets.len();
                let kept = |row_group| column.and_then(|column| column.kept(row_group)).map(|bitset| &bitset[..]);
                bitsets.extend((0..row_counts.len()).map_while(kept));
                let is_asked = column.is_some() && bitsets.len() - start == row_counts.len();
                if !is_asked {
                    bitsets.truncate(start);
                }
                is_asked
            })
            .collect();
        let mut present = vec![0; bitsets.len().div_ceil(64)];
        if bloom::check_filters(&bitsets, self.hash, &mut present).is_err() {
            // Not a filter: who asks of the file alone finds out.
            return files.iter().map(|_| None).collect();
        }
        let second = second_hash(self.hash);
        let mut at = 0;
        let report = |((&is_asked, row_counts), column): ((&bool, &&[u64]), &Option<&ColumnFilters>)| {
            let first = at;
            at += if is_asked { row_counts.len() } else { 0 };
            let may_be_in = |row_group: usize| {
                let at = first + row_group;
                let passes_second = |bitset: &Bytes| bloom::check(bitset, second).unwrap_or(true);
                present[at / 64] >> (at % 64) & 1 != 0
                    && column.and_then(|column| column.second(row_group)).is_none_or(passes_second)
            };
            let is_absent = is_asked && !(0..row_counts.len()).any(may_be_in);
            is_absent.then(|| PruneReport::ruled_out_by_filters(row_counts))
        };
        asked.iter().zip(&row_counts).zip(&columns).map(report).collect()
    }
}

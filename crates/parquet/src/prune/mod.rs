//! Rules out row groups and pages of a file that have no row for which a predicate is true.
//!
//! Evidence is used from the cheapest kind to the most expensive, each for the row groups that remain:
//!
//! | evidence | proves | costs |
//! | --- | --- | --- |
//! | [`statistics`] of column chunks | values lie between bounds; the number of nulls | nothing, they are in the footer |
//! | [`bloom`] filters | a value is not in the chunk | 32 bytes a key |
//! | [`dictionary`] pages | all values of the chunk are in the dictionary | the page |
//! | [`page_index`] | the same as statistics, page by page | the two indexes of the column |
//!
//! Evidence of a whole file, which the log of a table has ([`file_evidence`]), is used before the file is opened.
//!
//! If a predicate only looks up one key, cached filters are probed first, for many files together ([`single_key`]).
//!
//! Each module documents when its evidence is not used. Malformed or encrypted evidence and evidence of an unknown kind rules out
//! nothing, and is reported by `lath check`; only storage failures are errors. Well-formed evidence is trusted: a wrong minimum
//! hides rows.
//!
//! A test has one of three truth values, and evidence gives the set of possible ones ([`Outcomes`](outcomes::Outcomes)). A row
//! group or page is ruled out if the whole test cannot be true there. Parts of a test that evidence decides are not evaluated on
//! the rows, nor are absent keys of an IN list.

mod bloom;
mod bound;
mod bounds;
mod column;
mod decisive;
mod dictionary;
mod domain;
mod file_evidence;
mod options;
mod outcomes;
mod page_index;
mod report;
mod single_key;
mod stages;
mod statistics;
mod thresholds;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use lath_predicate::{BoundPredicate, Test};

pub use self::bloom::bloom_filter_sample;
pub(crate) use self::bloom::{ComputedFilter, KeyKind, Keys, array_hashes};
pub(crate) use self::bound::Bound;
pub(crate) use self::bounds::{BoundReader, DecodedBounds};
use self::column::PreparedColumn;
pub(crate) use self::domain::Domain;
pub use self::file_evidence::{ColumnBounds, FileEvidence, TablePredicate};
pub use self::options::Pruning;
pub(crate) use self::page_index::pages_of_chunk;
pub use self::report::{PruneReport, PrunedCounts};
pub(crate) use self::single_key::SingleKeyProbe;
use self::stages::Stages;
pub(crate) use self::stages::key_leaf;
use self::thresholds::MAX_ROW_GROUPS_TOGETHER;
use crate::error::{Error, Result};
use crate::file::ParquetFile;

/// A row group that was not ruled out.
#[derive(Debug, Clone)]
pub(crate) struct Surviving {
    pub(crate) row_group: usize,
    /// Rows that may pass, counted from the row group's first row: sorted, disjoint, not empty.
    pub(crate) rows: Vec<Range<u64>>,
    /// The test that remains for the rows. It is true for the same rows as the predicate's test, and may be null where that is
    /// false. [`Test::Constant`] with true: all rows pass.
    pub(crate) test: Arc<Test>,
}

/// The row groups of `row_groups`, and the rows in them, for which `predicate` may be true, in the given order.
///
/// # Errors
/// [`Error::Io`] if filters, indexes or dictionaries cannot be read, [`Error::Invalid`] for a row group that the file does not
/// have.
pub(crate) fn prune(
    file: &ParquetFile,
    predicate: &BoundPredicate,
    row_groups: &[usize],
    pruning: &Pruning,
    report: &mut PruneReport,
) -> Result<Vec<Surviving>> {
    let count = file.row_group_row_counts().len();
    if let Some(row_group) = row_groups.iter().find(|row_group| **row_group >= count) {
        return Err(Error::invalid(format!("no row group {row_group} in a file of {count}")));
    }
    let columns: Vec<PreparedColumn<'_>> =
        predicate.columns.iter().map(|column| PreparedColumn::new(file, column)).collect();
    let mut stages = Stages::new(file, &columns, predicate, pruning, report);
    let mut surviving = Vec::new();
    for row_groups in row_groups.chunks(MAX_ROW_GROUPS_TOGETHER) {
        stages.statistics(row_groups)?;
        stages.bloom()?;
        stages.dictionary()?;
        stages.page_index(&mut surviving)?;
    }
    Ok(surviving)
}

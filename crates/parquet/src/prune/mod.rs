//! Which rows of a file need not be looked at.
//!
//! Evidence is asked for from the cheapest kind to the dearest, each for the row groups that are left:
//!
//! | evidence | what it proves | what it costs |
//! | --- | --- | --- |
//! | [`statistics`] of column chunks | values lie between bounds; how many are null | nothing, it is in the footer |
//! | [`bloom`] filters | a value is not in the chunk | 32 bytes a key |
//! | [`dictionary`] pages | the chunk's values are among these | the page |
//! | [`page_index`] | the same as statistics, page by page | the two indexes of the column |
//!
//! A key alone is looked up in the filters that are in memory before everything else, of many files at once ([`one_key`]).
//!
//! Each module says when its evidence is passed over. What is malformed, encrypted or of a kind that is not known rules out
//! nothing, and is left for `lath check` to report; only storage that fails is an error. That a file tells the truth is
//! taken for granted: a smallest value that is not the smallest hides rows.
//!
//! A test has three truths, and evidence is the set of those that it may have ([`Outcomes`](outcomes::Outcomes)). A row group or page is ruled
//! out when the whole test cannot be true there. Parts of a test that are settled are not asked of the rows again, nor are
//! keys of an IN list that are not there.

mod bloom;
mod bound;
mod bounds;
mod column;
mod dictionary;
mod domain;
mod one_key;
mod options;
mod outcomes;
mod page_index;
mod positive;
mod report;
mod stages;
mod statistics;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use lath_predicate::{BoundPredicate, Test};

pub(crate) use self::bloom::{Making, sample as sample_of_filter};
pub(crate) use self::bound::Bound;
pub(crate) use self::bounds::{BoundReader, Read};
use self::column::PreparedColumn;
pub(crate) use self::domain::Domain;
pub(crate) use self::one_key::OneKey;
pub use self::options::Pruning;
pub(crate) use self::page_index::pages_of_chunk;
pub use self::report::{PruneReport, Pruned};
use self::stages::Stages;
pub(crate) use self::stages::leaf_of_keys;
use crate::error::{Error, Result};
use crate::file::ParquetFile;

/// Row groups that go through all stages together: what is noted of them stays in the cache, and they are enough for the
/// requests of a store to be made at the same time.
const ROW_GROUPS_TOGETHER: usize = 4096;

/// What is left of a row group.
#[derive(Debug, Clone)]
pub(crate) struct Surviving {
    pub(crate) row_group: usize,
    /// Rows that may pass, counted from the row group's first: sorted, disjoint, not empty.
    pub(crate) rows: Vec<Range<u64>>,
    /// What still has to be asked of the rows. It is true for the same ones as the predicate's test, and may be null where
    /// that is false. [`Test::Constant`] with true: all of them pass.
    pub(crate) test: Arc<Test>,
}

/// The row groups of `row_groups`, and the rows in them, for which `predicate` may be true, in the order given.
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
    for row_groups in row_groups.chunks(ROW_GROUPS_TOGETHER) {
        stages.statistics(row_groups)?;
        stages.bloom()?;
        stages.dictionary()?;
        stages.page_index(&mut surviving)?;
    }
    Ok(surviving)
}

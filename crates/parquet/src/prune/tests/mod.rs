//! Compares pruning with the evaluation of every row.

mod bounds;
mod columns;
mod computed;
mod corpus;
mod encryption;
mod hostile;
mod oracle;
mod probes;

use std::sync::Arc;

use arrow_array::BooleanArray;
use lath_predicate::{BindContext, BoundPredicate, Predicate, Test};

use super::{PruneReport, Pruning, Surviving, prune};
use crate::ParquetFile;
use crate::decode::predicate_leaf;
use crate::filters::FilterMemory;

/// Every kind of evidence by itself, none of them, and all.
fn prunings() -> Vec<(&'static str, Pruning)> {
    let memory = Some(Arc::new(FilterMemory::new(1 << 20)));
    let none = Pruning::none;
    vec![
        ("none", none()),
        ("statistics", Pruning { statistics: true, ..none() }),
        ("Bloom filters", Pruning { bloom: true, ..none() }),
        ("Bloom filters in memory", Pruning { bloom: true, filter_memory: memory, ..none() }),
        ("dictionaries", Pruning { dictionary: true, dictionary_share: 1, ..none() }),
        ("page index", Pruning { page_index: true, ..none() }),
        ("all", Pruning::default()),
    ]
}

/// Binds an expression to a file.
fn bound(file: &ParquetFile, text: &str) -> BoundPredicate {
    let (schema, nodes) = file.build_schema(&file.schema_options(), None).unwrap();
    let leaf = |path: &[usize]| predicate_leaf(&nodes, path);
    let context = BindContext::new(&schema).with_leaves(&leaf);
    Predicate::parse(text).unwrap().bind(&context).unwrap()
}

/// The truth values of a predicate for each row of a row group.
fn truths(file: &ParquetFile, predicate: &BoundPredicate, row_group: usize) -> Vec<Option<bool>> {
    let mut paths: Vec<String> = predicate.columns.iter().map(|column| column.names.join(".")).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut truths = Vec::new();
    if paths.is_empty() {
        let rows = file.row_group_row_counts()[row_group] as usize;
        return predicate.evaluate(&[], rows).unwrap().iter().collect();
    }
    for batch in file.scan().row_groups([row_group]).select(paths).build().unwrap() {
        let batch = batch.unwrap();
        let operands: Vec<_> = predicate.columns.iter().map(|column| column.operand(&batch).unwrap()).collect();
        let result: BooleanArray = predicate.evaluate(&operands, batch.num_rows()).unwrap();
        assert_eq!(result.len(), batch.num_rows());
        truths.extend(result.iter());
    }
    truths
}

/// Prunes with every kind of evidence, and compares the remaining rows with the truth values of every row. Returns the sum of all
/// reports.
fn check(file: &ParquetFile, predicate: &BoundPredicate, what: &dyn std::fmt::Debug) -> PruneReport {
    let row_groups: Vec<usize> = (0..file.row_group_row_counts().len()).collect();
    let expected: Vec<_> = row_groups.iter().map(|&row_group| truths(file, predicate, row_group)).collect();
    let mut all = PruneReport::default();
    for (name, pruning) in prunings() {
        // The second time, headers and filters are known.
        for _ in 0..2 {
            let mut report = PruneReport::default();
            let left = prune(file, predicate, &row_groups, &pruning, &mut report).unwrap();
            check_left(file, predicate, &expected, &left, &format!("{name}: {what:?}"));
            let rows: u64 = expected.iter().map(|rows| rows.len() as u64).sum();
            let of_left: u64 = left.iter().flat_map(|left| &left.rows).map(|rows| rows.end - rows.start).sum();
            let stages = [report.statistics, report.bloom, report.dictionary, report.page_index];
            assert_eq!(stages.iter().map(|stage| stage.rows).sum::<u64>() + of_left, rows, "{name}: {what:?}");
            let pruned: u64 = stages.iter().map(|stage| stage.row_groups).sum();
            assert_eq!(pruned + left.len() as u64, row_groups.len() as u64, "{name}: {what:?}");
            all += report;
        }
    }
    all
}

fn check_left(
    file: &ParquetFile,
    predicate: &BoundPredicate,
    expected: &[Vec<Option<bool>>],
    left: &[Surviving],
    what: &str,
) {
    assert!(left.is_sorted_by(|one, next| one.row_group < next.row_group), "{what}");
    let mut is_left: Vec<Vec<bool>> = expected.iter().map(|rows| vec![false; rows.len()]).collect();
    for Surviving { row_group, rows, test } in left {
        assert!(!rows.is_empty() && rows.iter().all(|range| range.start < range.end), "{what}: {rows:?}");
        assert!(rows.windows(2).all(|pair| pair[0].end < pair[1].start), "{what}: {rows:?}");
        let truths = match &**test {
            Test::Constant(truth) => vec![*truth; expected[*row_group].len()],
            test => truths(file, &predicate.with_test(test.clone()), *row_group),
        };
        for row in rows.iter().flat_map(|range| range.start as usize..range.end as usize) {
            is_left[*row_group][row] = true;
            let (left, all) = (truths[row] == Some(true), expected[*row_group][row] == Some(true));
            assert_eq!(left, all, "{what}: row {row} of row group {row_group} by {test:?}");
        }
    }
    for (row_group, rows) in expected.iter().enumerate() {
        for (row, truth) in rows.iter().enumerate() {
            let is_dropped = *truth == Some(true) && !is_left[row_group][row];
            assert!(!is_dropped, "{what}: row {row} of row group {row_group} is missing");
        }
    }
}

//! Tests the rows of windows by the conjuncts of a predicate.

use std::sync::Arc;
use std::time::Instant;

use super::columns::Columns;
use super::leaf_column::TestRows;
use super::wanted::WantedRows;
use crate::decode::SearchablePage;
use crate::error::Result;
use crate::scan::columns::{Conjunct, ConjunctStats, FilePlan, Operand, PageSearch};
use crate::scan::monitor::Counters;
use crate::scan::planner::PlannedRowGroup;
use crate::scan::rows::{Mask, Truth, Window, Windows};
use crate::scan::run::work::Reader;
use crate::scan::thresholds::SPARSE;

/// The conjuncts of a predicate, and their test results so far in one row group.
#[derive(Debug)]
pub(super) struct Testing {
    conjuncts: Vec<Conjunct>,
    /// Indices of the conjuncts in the order of their tests.
    order: Vec<usize>,
    /// By conjunct: its results for the entries of the dictionary, if it was tested by one.
    truths: Vec<Option<Truth>>,
    stats: Vec<ConjunctStats>,
    /// A leaf, and the search of its pages before the first conjunct is tested.
    search: Option<(usize, PageSearch)>,
}

impl Testing {
    pub(super) fn new(conjuncts: Vec<Conjunct>, planned: &PlannedRowGroup) -> Self {
        let plan = &planned.plan;
        let order = plan.selectivity.order(&conjuncts, |conjunct| bytes_per_row(conjunct, planned));
        let search = order.first().and_then(|&first| search_for(&conjuncts[first], plan));
        let truths = conjuncts.iter().map(|_| None).collect();
        let stats = vec![ConjunctStats::default(); conjuncts.len()];
        Self { conjuncts, order, truths, stats, search }
    }

    /// Skips pages without a match. Returns the maximum number of rows to test together: the rows of one page, if the next page
    /// is to be searched.
    /// next page is to be searched.
    pub(super) fn skip_pages(
        &mut self,
        windows: &mut Windows,
        max_rows: usize,
        columns: &mut Columns,
        reader: &mut Reader,
        counters: &Counters,
    ) -> Result<usize> {
        let plan = Arc::clone(&columns.planned.plan);
        while let Some((leaf, search)) = &self.search
            && plan.search_stats.is_worthwhile()
            && let Some(start) = windows.start()
        {
            reader.check()?;
            let begun = Instant::now();
            let column = columns.open(*leaf, reader)?;
            let has_no_match = |page: SearchablePage<'_>| {
                let has_no_match = search.has_no_match(page);
                has_no_match.inspect(|&is_skipped| plan.search_stats.add(is_skipped)).unwrap_or(false)
            };
            if !column.skip_page_if(start, has_no_match)? {
                return Ok(column.rows_of_page().map_or(max_rows, |rows| rows.min(max_rows)));
            }
            let skipped = windows.skip_to(column.position());
            counters.add_window(skipped, 0);
            if let Some(stats) = self.order.first().and_then(|&first| self.stats.get_mut(first)) {
                stats.time += begun.elapsed();
                stats.rows_tested += skipped as u64;
            }
        }
        Ok(max_rows)
    }

    /// The passing rows of a window: tests one conjunct after another until no row is left.
    pub(super) fn test(&mut self, window: &Window, columns: &mut Columns, reader: &mut Reader) -> Result<Arc<Mask>> {
        let kept = match &columns.planned.deleted {
            Some(deleted) => window.without_deleted(deleted, columns.planned.first_row),
            None => Mask::all(window.len()),
        };
        let mut wanted = WantedRows::new(window, Arc::new(kept));
        for position in 0..self.order.len() {
            let rows_tested = wanted.kept().count();
            if rows_tested == 0 {
                break;
            }
            let index = self.order[position];
            let start = Instant::now();
            let passed = self.test_conjunct(index, &wanted, columns, reader)?;
            if passed.count() < passed.len() {
                let mut both = passed;
                if !wanted.kept().is_all() {
                    both.and(wanted.kept())?;
                }
                if both.count() < rows_tested {
                    wanted.narrow(both);
                }
            }
            let stats = &mut self.stats[index];
            stats.time += start.elapsed();
            stats.rows_tested += rows_tested as u64;
            stats.rows_passed += wanted.kept().count() as u64;
        }
        Ok(Arc::clone(wanted.kept()))
    }

    /// The rows of the window for which a conjunct is true. The result is unspecified for rows that are not wanted.
    fn test_conjunct(
        &mut self,
        index: usize,
        wanted: &WantedRows<'_>,
        columns: &mut Columns,
        reader: &mut Reader,
    ) -> Result<Mask> {
        let plan = Arc::clone(&columns.planned.plan);
        match self.conjuncts[index].operands.as_slice() {
            &[operand] => match plan.operands[operand] {
                Operand::Leaf(leaf) => self.test_leaf(index, leaf, wanted, columns, reader),
                Operand::Within(_) => self.test_operands(index, wanted, columns, reader),
            },
            _ => self.test_operands(index, wanted, columns, reader),
        }
    }

    /// Tests the values or dictionary entries of one leaf.
    fn test_leaf(
        &mut self,
        index: usize,
        leaf: usize,
        wanted: &WantedRows<'_>,
        columns: &mut Columns,
        reader: &mut Reader,
    ) -> Result<Mask> {
        let Conjunct { predicate, sparse, .. } = &self.conjuncts[index];
        match columns.rows_to_test(leaf, wanted, *sparse, reader)? {
            TestRows::Codes { codes, dictionary, rows } => {
                let truth = match &mut self.truths[index] {
                    Some(truth) => truth,
                    none => none.insert(Truth::new(predicate, dictionary)?),
                };
                truth.of(codes)?.spread(rows)
            }
            TestRows::Values { array, rows } => {
                let truth = predicate.evaluate(std::slice::from_ref(array), array.len())?;
                Mask::from_truth(&truth).spread(rows)
            }
        }
    }

    /// Tests operands that are several leaves or lie within columns.
    fn test_operands(
        &self,
        index: usize,
        wanted: &WantedRows<'_>,
        columns: &mut Columns,
        reader: &mut Reader,
    ) -> Result<Mask> {
        let plan = Arc::clone(&columns.planned.plan);
        let Conjunct { predicate, operands, sparse } = &self.conjuncts[index];
        let leaves: Vec<usize> =
            operands.iter().flat_map(|&operand| plan.operands[operand].leaves().iter().copied()).collect();
        // All decoded rows, if they are the same for all leaves; else only the wanted rows.
        let common = common_rows(&leaves, *sparse, wanted, columns, reader)?;
        let rows = common.unwrap_or_else(|| Arc::clone(wanted.kept()));
        let mut arrays = Vec::with_capacity(operands.len());
        for (&operand, bound) in operands.iter().zip(&predicate.columns) {
            let operand = &plan.operands[operand];
            let batches = columns.values(operand.leaves(), &rows, wanted, reader)?;
            match operand {
                Operand::Leaf(_) => arrays.extend(batches.into_iter().map(|batch| batch.array)),
                Operand::Within(column) => {
                    let array = column.assemble(&plan, batches, rows.count())?;
                    arrays.push(bound.operand(&column.batch(array)?)?);
                }
            }
        }
        let truth = predicate.evaluate(&arrays, rows.count())?;
        Mask::from_truth(&truth).spread(&rows)
    }

    /// Adds the test results to the statistics of the plan. Returns the conjuncts that no row of the row group passed.
    pub(super) fn finish(self, planned: &PlannedRowGroup) -> Vec<Conjunct> {
        planned.plan.selectivity.add(&self.conjuncts, &self.stats);
        let all_rows = planned.file.row_group_row_counts().get(planned.row_group).copied();
        let is_miss =
            |stats: &ConjunctStats| stats.rows_passed == 0 && all_rows.is_some_and(|rows| stats.rows_tested >= rows);
        let conjuncts = self.conjuncts.into_iter().zip(self.stats);
        conjuncts.filter(|(_, stats)| is_miss(stats)).map(|(conjunct, _)| conjunct).collect()
    }
}

/// The rows that all of `leaves` have decoded or will decode, if they are the same and not many more than wanted.
fn common_rows(
    leaves: &[usize],
    mut sparse: usize,
    wanted: &WantedRows<'_>,
    columns: &mut Columns,
    reader: &mut Reader,
) -> Result<Option<Arc<Mask>>> {
    for &leaf in leaves {
        if columns.open(leaf, reader)?.may_have_codes() {
            sparse = SPARSE;
        }
    }
    let rows = &wanted.decode_ranges()?.rows;
    if wanted.kept().is_sparse_in(rows, sparse) {
        return Ok(None);
    }
    for &leaf in leaves {
        if columns.open(leaf, reader)?.held_rows().is_some_and(|held| held != rows) {
            return Ok(None);
        }
    }
    Ok(Some(Arc::clone(rows)))
}

/// Estimated bytes a row of the columns of a conjunct, from the footer.
fn bytes_per_row(conjunct: &Conjunct, planned: &PlannedRowGroup) -> f64 {
    let metadata = planned.file.metadata();
    let leaves = conjunct.operands.iter().flat_map(|&operand| planned.plan.operands[operand].leaves());
    let chunk = |leaf: usize| metadata.chunk(planned.row_group, planned.plan.leaves[leaf].leaf.column).ok();
    let bytes = leaves.filter_map(|&leaf| chunk(leaf)).map(|chunk| chunk.uncompressed_size() as f64).sum::<f64>();
    let rows = metadata.row_counts().get(planned.row_group).copied().unwrap_or(0);
    1.0 + bytes / rows.max(1) as f64
}

/// The leaf of a conjunct, and the search of its pages.
fn search_for(conjunct: &Conjunct, plan: &FilePlan) -> Option<(usize, PageSearch)> {
    let &[operand] = conjunct.operands.as_slice() else { return None };
    match plan.operands[operand] {
        Operand::Leaf(leaf) if plan.search_stats.is_worthwhile() => {
            Some((leaf, PageSearch::new(&conjunct.predicate.test)?))
        }
        _ => None,
    }
}

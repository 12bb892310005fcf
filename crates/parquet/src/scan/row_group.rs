//! One row group: the columns of the predicate window by window, the others where rows survive.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Array, Int64Array, RecordBatch, RecordBatchOptions};

use super::conjuncts::{self, Conjunct, SPARSE, Tally};
use super::counters::{Counters, Stage};
use super::file_plan::{FilePlan, Operand};
use super::leaf_column::{Filters, LeafColumn, Rows};
use super::leaf_places::LeafPlaces;
use super::mask::Mask;
use super::planner::Planned;
use super::search::Search;
use super::truth::Truth;
use super::window::{Stretch, Window, Windows};
use super::work::Reader;
use crate::decode::Untouched;
use crate::error::{Error, Result};
use crate::prune::{Making, leaf_of_keys};

/// Reads the surviving rows of one row group.
#[derive(Debug)]
pub(super) struct RowGroupScan {
    planned: Planned,
    windows: Windows,
    window_rows: usize,
    columns: Vec<Option<LeafColumn>>,
    filters: Filters,
    conjuncts: Vec<Conjunct>,
    /// The conjuncts in the order that they are asked.
    order: Vec<usize>,
    truths: Vec<Option<Truth>>,
    /// What to search the pages of a leaf for, before the first conjunct is asked.
    search: Option<(usize, Search)>,
    tallies: Vec<Tally>,
    places: LeafPlaces,
    /// Nothing is left, or the predicate is true of no row.
    ended: bool,
}

/// Rows of a window that survive.
#[derive(Debug)]
pub(super) struct Survivors {
    window: Window,
    pub(super) kept: Arc<Mask>,
}

/// What came of a window.
#[derive(Debug)]
pub(super) enum Next {
    /// Rows of it survive.
    Survivors(Survivors),
    /// None does.
    Nothing,
    /// There is none.
    End,
}

/// Windows that are tested have at most so many rows: what is decoded of them stays in the cache.
const MOST_TESTED_ROWS: usize = 8192;
/// And at least so many, however few rows the batches of the result may have.
const FEWEST_TESTED_ROWS: usize = 1024;

impl RowGroupScan {
    /// Starts at the first row. `reader` has what earlier row groups of the same plan left.
    pub(super) fn new(planned: Planned, reader: &mut Reader, batch_size: usize) -> Self {
        let plan = &planned.plan;
        let split = conjuncts::split(planned.predicate.as_deref());
        let ended = split.is_none();
        let conjuncts = split.unwrap_or_default();
        let order = plan.experience.order(&conjuncts, |conjunct| guess(conjunct, &planned));
        let window_rows =
            if conjuncts.is_empty() { batch_size } else { batch_size.clamp(FEWEST_TESTED_ROWS, MOST_TESTED_ROWS) };
        let search = order.first().and_then(|&first| search_for(&conjuncts[first], plan));
        reader.turn_to(&planned);
        Self {
            search,
            windows: Windows::new(planned.rows.clone()),
            window_rows,
            columns: (0..plan.leaves.len()).map(|_| None).collect(),
            filters: Filters::default(),
            order,
            truths: conjuncts.iter().map(|_| None).collect(),
            tallies: vec![Tally::default(); conjuncts.len()],
            conjuncts,
            places: LeafPlaces::default(),
            planned,
            ended,
        }
    }

    /// The rows that survive in the next window, and how many rows were looked at.
    pub(super) fn next(&mut self, reader: &mut Reader, counters: &Counters) -> Result<(usize, Next)> {
        if self.ended {
            return Ok((0, Next::End));
        }
        reader.check()?;
        self.filters.clear();
        self.columns.iter_mut().flatten().for_each(LeafColumn::start_window);
        let most = counters
            .timed(Stage::Test, || self.pass_pages(reader, counters))
            .map_err(|error| self.planned.locate(error))?;
        let Some(window) = self.windows.next(most) else {
            self.ended = true;
            return Ok((0, Next::End));
        };
        let kept =
            counters.timed(Stage::Test, || self.test(&window, reader)).map_err(|error| self.planned.locate(error))?;
        counters.add_window(window.len(), kept.count());
        let rows = window.len();
        let next = if kept.count() > 0 { Next::Survivors(Survivors { window, kept }) } else { Next::Nothing };
        Ok((rows, next))
    }

    /// Passes over pages that have nothing of what is searched for. Returns how many rows to test together: those of no more
    /// than a page, where the next one is to be searched.
    fn pass_pages(&mut self, reader: &mut Reader, counters: &Counters) -> Result<usize> {
        let plan = Arc::clone(&self.planned.plan);
        while let Some((leaf, search)) = &self.search
            && plan.searches.pays()
            && let Some(start) = self.windows.start()
        {
            reader.check()?;
            let begun = Instant::now();
            let column = &mut self.columns[*leaf];
            let column = opened(column, *leaf, &self.planned, &self.conjuncts, &mut self.places, reader)?;
            let is_barren = |page: Untouched<'_>| {
                let is_barren = search.is_barren(page);
                is_barren.inspect(|&is_barren| plan.searches.add(is_barren)).unwrap_or(false)
            };
            if !column.pass_page(start, is_barren)? {
                return Ok(column.rows_of_page().map_or(self.window_rows, |rows| rows.min(self.window_rows)));
            }
            let passed = self.windows.pass(column.position());
            counters.add_window(passed, 0);
            if let Some(tally) = self.order.first().and_then(|&first| self.tallies.get_mut(first)) {
                tally.time += begun.elapsed();
                tally.rows_asked += passed as u64;
            }
        }
        Ok(self.window_rows)
    }

    /// What is left to do, for another scan of the row group to go on with.
    pub(super) fn stop(mut self, reader: &mut Reader) -> Planned {
        let windows = std::mem::replace(&mut self.windows, Windows::new(Vec::new()));
        let planned = Planned { rows: windows.rest(), ..self.planned.clone() };
        self.finish(reader);
        planned
    }

    /// Leaves column readers to the next row group, and what was learned.
    pub(super) fn finish(self, reader: &mut Reader) {
        self.planned.plan.experience.learn(&self.conjuncts, &self.tallies);
        let all_rows = self.planned.file.row_group_row_counts().get(self.planned.row_group).copied();
        let is_in_vain =
            |tally: &Tally| tally.rows_passed == 0 && all_rows.is_some_and(|rows| tally.rows_asked >= rows);
        let in_vain: Vec<usize> = (0..self.tallies.len()).filter(|&index| is_in_vain(&self.tallies[index])).collect();
        for (index, column) in self.columns.into_iter().enumerate() {
            if let Some(column) = column {
                reader.put(index, column.into_reader(), self.planned.file.source());
            }
        }
        for conjunct in in_vain {
            // What is read for it was read before: an error of now is of storage, and nobody's who has the rows.
            let _ = make_filter(&self.planned, &self.conjuncts[conjunct], reader);
        }
    }

    /// The row group's place.
    pub(super) fn planned(&self) -> &Planned {
        &self.planned
    }

    /// The columns of the result for the survivors, of which at most `most` are taken.
    pub(super) fn batch(
        &mut self,
        mut survivors: Survivors,
        most: usize,
        reader: &mut Reader,
        counters: &Counters,
    ) -> Result<RecordBatch> {
        if survivors.kept.count() > most {
            let mut first = (*survivors.kept).clone();
            first.truncate(most);
            survivors.kept = Arc::new(first);
        }
        counters
            .timed(Stage::Fetch, || self.materialise(&survivors, reader))
            .map_err(|error| self.planned.locate(error))
    }

    fn materialise(&mut self, survivors: &Survivors, reader: &mut Reader) -> Result<RecordBatch> {
        let Survivors { window, kept } = survivors;
        let plan = Arc::clone(&self.planned.plan);
        let mut stretch = None;
        let mut arrays = Vec::with_capacity(plan.columns.len());
        for planned in &plan.columns {
            for &leaf in &planned.leaves {
                self.load_kept(leaf, window, kept, &mut stretch, reader)?;
            }
            let leaves: Option<Vec<_>> =
                planned.leaves.iter().map(|&leaf| self.columns[leaf].as_mut().and_then(LeafColumn::take)).collect();
            arrays.push(planned.assemble(&plan, leaves.ok_or_else(not_held)?, kept.count())?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(kept.count()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&plan.schema), arrays, &options)
            .map_err(|error| Error::of_arrow(&error))?;
        Ok(batch)
    }

    /// Numbers within the file of the rows that survive.
    pub(super) fn row_numbers(&self, survivors: &Survivors, most: usize) -> Int64Array {
        let first = self.planned.first_row;
        let numbers = survivors.window.row_numbers(&survivors.kept).take(most);
        Int64Array::from_iter_values(numbers.map(|row| (first + row).cast_signed()))
    }

    /// Asks the conjuncts of a window, one after the other, until no row is left.
    fn test(&mut self, window: &Window, reader: &mut Reader) -> Result<Arc<Mask>> {
        let mut kept = Arc::new(match &self.planned.deleted {
            Some(deleted) => deleted.kept(window, self.planned.first_row)?,
            None => Mask::all(window.len()),
        });
        let mut stretch = None;
        for position in 0..self.order.len() {
            if kept.count() == 0 {
                break;
            }
            let index = self.order[position];
            let start = Instant::now();
            let asked = kept.count();
            let passed = self.ask(index, window, &kept, &mut stretch, reader)?;
            if passed.count() < passed.len() {
                let mut both = passed;
                if !kept.is_all() {
                    both.and(&kept)?;
                }
                if both.count() < asked {
                    kept = Arc::new(both);
                    stretch = None;
                }
            }
            let tally = &mut self.tallies[index];
            tally.time += start.elapsed();
            tally.rows_asked += asked as u64;
            tally.rows_passed += kept.count() as u64;
        }
        Ok(kept)
    }

    /// The rows of the window for which a conjunct is true. Nothing is known of those that are not in `kept`.
    fn ask(
        &mut self,
        index: usize,
        window: &Window,
        kept: &Arc<Mask>,
        stretch: &mut Option<Stretch>,
        reader: &mut Reader,
    ) -> Result<Mask> {
        let plan = Arc::clone(&self.planned.plan);
        if let &[operand] = self.conjuncts[index].operands.as_slice()
            && let Operand::Leaf(leaf) = plan.operands[operand]
        {
            return self.ask_leaf(index, leaf, window, kept, stretch, reader);
        }
        let operands = self.conjuncts[index].operands.clone();
        let leaves: Vec<usize> =
            operands.iter().flat_map(|&operand| plan.operands[operand].leaves().iter().copied()).collect();
        // All of them with the rows that they have, if those are the same; else just the rows in question.
        let domain = match self.common_domain(&leaves, self.conjuncts[index].sparse, window, kept, stretch, reader)? {
            Some(domain) => domain,
            None => {
                for &leaf in &leaves {
                    self.load_kept(leaf, window, kept, stretch, reader)?;
                }
                Arc::clone(kept)
            }
        };
        let conjunct = &self.conjuncts[index];
        let mut arrays = Vec::with_capacity(operands.len());
        for (&operand, bound) in operands.iter().zip(&conjunct.predicate.columns) {
            let batches = || {
                let leaves = plan.operands[operand].leaves().iter();
                leaves
                    .map(|&leaf| self.columns[leaf].as_ref().and_then(LeafColumn::batch).cloned().ok_or_else(not_held))
            };
            arrays.push(match &plan.operands[operand] {
                Operand::Leaf(_) => batches().next().ok_or_else(not_held)??.array,
                Operand::Within(column) => {
                    let array = column.assemble(&plan, batches().collect::<Result<Vec<_>>>()?, domain.count())?;
                    bound.operand(&column.batch(array)?)?
                }
            });
        }
        let truth = conjunct.predicate.evaluate(&arrays, domain.count())?;
        Mask::of_truth(&truth).spread(&domain)
    }

    /// The rows that all of `leaves` hold, or hold now, if they are the same and not many more than are asked for.
    fn common_domain(
        &mut self,
        leaves: &[usize],
        mut sparse: usize,
        window: &Window,
        kept: &Arc<Mask>,
        stretch: &mut Option<Stretch>,
        reader: &mut Reader,
    ) -> Result<Option<Arc<Mask>>> {
        for &leaf in leaves {
            if self.column(leaf, reader)?.may_have_codes() {
                sparse = SPARSE;
            }
        }
        let stretch = stretch_of(window, kept, stretch)?;
        if is_sparse(kept, &stretch.domain, sparse) {
            return Ok(None);
        }
        for &leaf in leaves {
            let column = self.column(leaf, reader)?;
            if column.held().is_some_and(|domain| *domain != stretch.domain) {
                return Ok(None);
            }
        }
        for &leaf in leaves {
            let column = self.column(leaf, reader)?;
            column.load(stretch)?;
            if column.batch().is_none() {
                column.narrow(&stretch.domain, &mut Filters::default())?;
            }
        }
        Ok(Some(Arc::clone(&stretch.domain)))
    }

    fn ask_leaf(
        &mut self,
        index: usize,
        leaf: usize,
        window: &Window,
        kept: &Arc<Mask>,
        stretch: &mut Option<Stretch>,
        reader: &mut Reader,
    ) -> Result<Mask> {
        let most_entries = usize::try_from(self.planned.row_count().saturating_mul(2)).unwrap_or(usize::MAX);
        self.column(leaf, reader)?;
        let Self { columns, conjuncts, truths, filters, .. } = self;
        let column = columns[leaf].as_mut().ok_or_else(not_held)?;
        let sparse = conjuncts[index].sparse;
        if column.held().is_none() {
            let stretch = stretch_of(window, kept, stretch)?;
            if is_sparse(kept, &stretch.domain, sparse) && column.can_select() {
                column.load_selected(stretch, kept)?;
            } else {
                column.load_to_test(stretch, most_entries)?;
            }
        }
        if let Some(Rows::Values { domain, .. }) = column.rows()
            && is_sparse(kept, domain, sparse)
        {
            column.narrow(kept, filters)?;
        }
        let predicate = &conjuncts[index].predicate;
        match column.rows().ok_or_else(not_held)? {
            Rows::Codes { codes, dictionary, domain } => {
                let truth = match &mut truths[index] {
                    Some(truth) => truth,
                    none => none.insert(Truth::new(predicate, dictionary)?),
                };
                truth.of(codes)?.spread(domain)
            }
            Rows::Values { array, domain } => {
                let truth = predicate.evaluate(std::slice::from_ref(array), array.len())?;
                Mask::of_truth(&truth).spread(domain)
            }
        }
    }

    /// Sees to it that a leaf holds the values of the rows in `kept` and no others.
    fn load_kept(
        &mut self,
        leaf: usize,
        window: &Window,
        kept: &Arc<Mask>,
        stretch: &mut Option<Stretch>,
        reader: &mut Reader,
    ) -> Result<()> {
        self.column(leaf, reader)?;
        let column = self.columns[leaf].as_mut().ok_or_else(not_held)?;
        if column.held().is_none() {
            let stretch = stretch_of(window, kept, stretch)?;
            if stretch.domain.count() > kept.count() && column.can_select() {
                column.load_selected(stretch, kept)?;
            } else if stretch.domain.count() > kept.count() {
                // Indices are dropped more cheaply than values.
                column.load_codes(stretch)?;
            } else {
                column.load(stretch)?;
            }
        }
        column.narrow(kept, &mut self.filters)
    }

    /// The column of a leaf, opened if it is not yet.
    fn column(&mut self, leaf: usize, reader: &mut Reader) -> Result<&mut LeafColumn> {
        let Self { columns, planned, conjuncts, places, .. } = self;
        opened(&mut columns[leaf], leaf, planned, conjuncts, places, reader)
    }
}

/// The column of a leaf, opened if it is not yet. If rows of it may be passed over, its pages are found by their places.
fn opened<'c>(
    column: &'c mut Option<LeafColumn>,
    leaf: usize,
    planned: &Planned,
    conjuncts: &[Conjunct],
    places: &mut LeafPlaces,
    reader: &mut Reader,
) -> Result<&'c mut LeafColumn> {
    match column {
        Some(column) => Ok(column),
        none => {
            let Planned { file, plan, row_group, .. } = planned;
            let is_read_whole = planned.is_whole() && plan.is_read_first(leaf, conjuncts);
            let places = match is_read_whole || !planned.uses_page_index {
                true => None,
                false => places.of(leaf, &plan.leaves, file, *row_group)?,
            };
            Ok(none.insert(LeafColumn::new(reader.open(planned, leaf, places)?)))
        }
    }
}

/// Makes a filter of the values of a conjunct's column, if it is about keys that the row group has not and was read for such before.
fn make_filter(planned: &Planned, conjunct: &Conjunct, reader: &mut Reader) -> Result<()> {
    let Planned { file, plan, row_group, .. } = planned;
    let (Some(memory), &[operand]) = (&planned.made_filters, conjunct.operands.as_slice()) else { return Ok(()) };
    let (Operand::Leaf(leaf), Some((column, kind))) =
        (&plan.operands[operand], leaf_of_keys(file, &conjunct.predicate))
    else {
        return Ok(());
    };
    let Some(mut making) = Making::after_reading_in_vain(file, column, kind, *row_group, memory) else { return Ok(()) };
    let mut values = reader.open(planned, *leaf, None)?;
    let mut left = file.row_group_row_counts().get(*row_group).copied().unwrap_or(0);
    while left > 0 {
        reader.check()?;
        let rows = left.min(MOST_TESTED_ROWS as u64);
        values.append(rows as usize)?;
        if !making.add(&values.finish()?.array)? {
            return Ok(());
        }
        left -= rows;
    }
    making.finish();
    reader.put(*leaf, values, file.source());
    Ok(())
}

/// What it takes to ask a conjunct, as far as the footer tells: bytes a row of its columns.
fn guess(conjunct: &Conjunct, planned: &Planned) -> f64 {
    let metadata = planned.file.metadata();
    let leaves = conjunct.operands.iter().flat_map(|&operand| planned.plan.operands[operand].leaves());
    let chunk = |leaf: usize| metadata.chunk(planned.row_group, planned.plan.leaves[leaf].leaf.column).ok();
    let bytes = leaves.filter_map(|&leaf| chunk(leaf)).map(|chunk| chunk.uncompressed_size() as f64).sum::<f64>();
    let rows = metadata.row_counts().get(planned.row_group).copied().unwrap_or(0);
    1.0 + bytes / rows.max(1) as f64
}

/// What to search the pages of a conjunct's leaf for, and which leaf that is.
fn search_for(conjunct: &Conjunct, plan: &FilePlan) -> Option<(usize, Search)> {
    let &[operand] = conjunct.operands.as_slice() else { return None };
    match plan.operands[operand] {
        Operand::Leaf(leaf) if plan.searches.pays() => Some((leaf, Search::new(&conjunct.predicate.test)?)),
        _ => None,
    }
}

fn stretch_of<'a>(window: &Window, kept: &Mask, stretch: &'a mut Option<Stretch>) -> Result<&'a Stretch> {
    match stretch {
        Some(stretch) => Ok(stretch),
        none => Ok(none.insert(window.stretch(kept)?)),
    }
}

fn is_sparse(kept: &Mask, domain: &Mask, sparse: usize) -> bool {
    kept.count() * sparse < domain.count()
}

fn not_held() -> Error {
    Error::internal("a column was not decoded where it is needed")
}

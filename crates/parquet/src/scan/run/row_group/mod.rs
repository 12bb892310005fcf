//! Scans one row group: the columns of the predicate window by window, the others where rows survive.
//!
//! | state | event | next state |
//! | --- | --- | --- |
//! | (start) | the predicate is true of no row | `Ended` |
//! | (start) | there is neither a predicate nor a deleted row | `Whole` |
//! | (start) | else | `Testing` |
//! | `Whole` | `next`, rows are left | `Whole`: all rows of the window survive |
//! | `Testing` | `next`, a page has no match for what is searched | `Testing`: the page is skipped |
//! | `Testing` | `next`, rows are left | `Testing`: rows of the window survive, or none |
//! | `Whole`, `Testing` | `next`, no row is left | `Ended` |
//! | any | `stop` or `finish` | `Ended`, and columns are closed |
//!
//! | module | what it does |
//! | --- | --- |
//! | `testing` | Tests the rows of a window with the predicate. |
//! | `wanted`, `survivors` | Keep the rows of a window that survive, and decode their columns. |
//! | `columns`, `leaf_column`, `filters` | Open the leaves, decode them by need, and drop the rows that were ruled out. |
//! | `computed_filter` | Computes a Bloom filter of a row group without a match. |

mod columns;
mod computed_filter;
mod filters;
mod leaf_column;
mod survivors;
mod testing;
mod wanted;

use arrow_array::RecordBatch;

use self::columns::Columns;
use self::computed_filter::compute_filter;
use self::testing::Testing;
use super::work::Reader;
use crate::error::Result;
use crate::scan::columns::{Conjunct, split_conjuncts};
use crate::scan::monitor::{Counters, Stage};
use crate::scan::planner::PlannedRowGroup;
use crate::scan::rows::Windows;
use crate::scan::thresholds::{MAX_FILTERED_ROWS, MAX_TESTED_ROWS, MIN_TESTED_ROWS};

pub(in crate::scan) use self::survivors::Survivors;

/// Reads the surviving rows of one row group.
#[derive(Debug)]
pub(in crate::scan) struct RowGroupScan {
    columns: Columns,
    windows: Windows,
    max_window_rows: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    /// All rows survive.
    Whole,
    Testing(Box<Testing>),
    /// No row is left. These conjuncts were true for no row of the row group.
    Ended {
        misses: Vec<Conjunct>,
    },
}

/// Result of a window.
#[derive(Debug)]
pub(in crate::scan) enum Next {
    /// Rows that survive.
    Survivors(Survivors),
    /// No row survives.
    Nothing,
    /// There are no more windows.
    End,
}

impl RowGroupScan {
    /// Starts at the first row. `reader` has the open columns of earlier row groups of the same plan.
    pub(in crate::scan) fn new(planned: PlannedRowGroup, reader: &mut Reader, batch_size: usize) -> Self {
        reader.start(&planned);
        let windows = Windows::new(planned.rows.clone());
        let conjuncts = split_conjuncts(planned.predicate.as_deref());
        let columns = Columns::new(planned, conjuncts.as_deref().unwrap_or_default());
        let (state, max_window_rows) = match conjuncts {
            None => (State::Ended { misses: Vec::new() }, batch_size),
            Some(conjuncts) if conjuncts.is_empty() && columns.planned.deleted.is_none() => (State::Whole, batch_size),
            Some(conjuncts) => {
                let max_window_rows = match conjuncts.is_empty() {
                    true => batch_size.min(MAX_FILTERED_ROWS),
                    false => batch_size.clamp(MIN_TESTED_ROWS, MAX_TESTED_ROWS),
                };
                (State::Testing(Box::new(Testing::new(conjuncts, &columns.planned))), max_window_rows)
            }
        };
        Self { columns, windows, max_window_rows, state }
    }

    /// The surviving rows of the next window, and the number of tested rows.
    pub(in crate::scan) fn next(&mut self, reader: &mut Reader, counters: &Counters) -> Result<(usize, Next)> {
        if let State::Ended { .. } = self.state {
            return Ok((0, Next::End));
        }
        reader.check()?;
        self.columns.start_window();
        let Self { columns, windows, max_window_rows, state } = self;
        let survivors = match state {
            State::Ended { .. } => None,
            State::Whole => windows.next(*max_window_rows).map(Survivors::All),
            State::Testing(testing) => {
                let test = || {
                    let max_rows = testing.skip_pages(windows, *max_window_rows, columns, reader, counters)?;
                    let Some(window) = windows.next(max_rows) else { return Ok(None) };
                    let kept = testing.test(&window, columns, reader)?;
                    Ok(Some(Survivors::Some { window, kept }))
                };
                counters.timed(Stage::Test, test).map_err(|error| self.columns.planned.locate(error))?
            }
        };
        let Some(survivors) = survivors else {
            self.end();
            return Ok((0, Next::End));
        };
        let (rows, count) = (survivors.window().len(), survivors.count());
        counters.add_window(rows, count);
        Ok((rows, if count > 0 { Next::Survivors(survivors) } else { Next::Nothing }))
    }

    /// The columns of the result for the survivors.
    pub(in crate::scan) fn batch(
        &mut self,
        survivors: &Survivors,
        reader: &mut Reader,
        counters: &Counters,
    ) -> Result<RecordBatch> {
        let batch = counters.timed(Stage::Fetch, || match survivors {
            Survivors::All(window) => self.columns.whole_batch(window, reader),
            Survivors::Some { window, kept } => {
                self.columns.batch(&wanted::WantedRows::new(window, kept.clone()), reader)
            }
        });
        batch.map_err(|error| self.columns.planned.locate(error))
    }

    /// The planned row group.
    pub(in crate::scan) fn planned(&self) -> &PlannedRowGroup {
        &self.columns.planned
    }

    /// Stops, and returns the remaining rows for another scan of the row group.
    pub(in crate::scan) fn stop(mut self, reader: &mut Reader) -> PlannedRowGroup {
        let windows = std::mem::replace(&mut self.windows, Windows::new(Vec::new()));
        let rows = windows.rest();
        PlannedRowGroup { rows, ..self.finish(reader) }
    }

    /// Leaves open columns to the next row group. Adds the test results to the statistics of the predicate.
    pub(in crate::scan) fn finish(mut self, reader: &mut Reader) -> PlannedRowGroup {
        self.end();
        let planned = self.columns.close(reader);
        if let State::Ended { misses } = &self.state {
            for conjunct in misses {
                // The same bytes were read before. An error now comes from storage, and the caller has all rows already.
                let _ = compute_filter(&planned, conjunct, reader);
            }
        }
        planned
    }

    /// Goes to `Ended`.
    fn end(&mut self) {
        let misses = match std::mem::replace(&mut self.state, State::Ended { misses: Vec::new() }) {
            State::Whole => Vec::new(),
            State::Testing(testing) => testing.finish(&self.columns.planned),
            State::Ended { misses } => misses,
        };
        self.state = State::Ended { misses };
    }
}

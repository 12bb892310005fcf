//! The leaves of a row group, opened on first use.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};

use super::filters::Filters;
use super::leaf_column::{LeafColumn, TestRows};
use super::wanted::WantedRows;
use crate::decode::LeafBatch;
use crate::error::{Error, Result};
use crate::scan::columns::{Conjunct, LeafPlaces};
use crate::scan::planner::PlannedRowGroup;
use crate::scan::rows::{Mask, Window};
use crate::scan::run::work::Reader;

/// The columns of one row group.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) planned: PlannedRowGroup,
    /// By leaf of the plan: `None` until it is opened.
    leaves: Vec<Option<LeafColumn>>,
    /// By leaf of the plan: whether no row of it is skipped.
    is_read_whole: Vec<bool>,
    places: LeafPlaces,
    filters: Filters,
    /// Maximum entries of a dictionary that is tested: twice the number of rows to test.
    max_entries: usize,
}

impl Columns {
    /// The columns that `planned` reads, none of which is open yet. Rows are tested by `conjuncts`.
    pub(super) fn new(planned: PlannedRowGroup, conjuncts: &[Conjunct]) -> Self {
        let leaves = 0..planned.plan.leaves.len();
        let is_whole = planned.is_whole();
        Self {
            leaves: leaves.clone().map(|_| None).collect(),
            is_read_whole: leaves.map(|leaf| is_whole && planned.plan.is_read_first(leaf, conjuncts)).collect(),
            places: LeafPlaces::default(),
            filters: Filters::default(),
            max_entries: usize::try_from(planned.row_count().saturating_mul(2)).unwrap_or(usize::MAX),
            planned,
        }
    }

    /// Drops the decoded rows of the previous window.
    pub(super) fn start_window(&mut self) {
        self.filters.clear();
        self.leaves.iter_mut().flatten().for_each(LeafColumn::start_window);
    }

    /// The column of a leaf, opened on first use. If rows of it may be skipped, its pages are found by the offset index.
    pub(super) fn open(&mut self, leaf: usize, reader: &mut Reader) -> Result<&mut LeafColumn> {
        self.open_with_filters(leaf, reader).map(|(column, _)| column)
    }

    fn open_with_filters(&mut self, leaf: usize, reader: &mut Reader) -> Result<(&mut LeafColumn, &mut Filters)> {
        let Self { planned, leaves, is_read_whole, places, filters, .. } = self;
        let column = match &mut leaves[leaf] {
            Some(column) => column,
            none => {
                let places = match is_read_whole[leaf] || !planned.uses_page_index {
                    true => None,
                    false => places.of(leaf, &planned.plan.leaves, &planned.file, planned.row_group)?,
                };
                none.insert(LeafColumn::new(reader.open(planned, leaf, places)?))
            }
        };
        Ok((column, filters))
    }

    /// As [`LeafColumn::rows_to_test`].
    pub(super) fn rows_to_test(
        &mut self,
        leaf: usize,
        wanted: &WantedRows<'_>,
        sparse: usize,
        reader: &mut Reader,
    ) -> Result<TestRows<'_>> {
        let max_entries = self.max_entries;
        let (column, filters) = self.open_with_filters(leaf, reader)?;
        column.rows_to_test(wanted, sparse, max_entries, filters)
    }

    /// As [`LeafColumn::values`], for several leaves.
    pub(super) fn values(
        &mut self,
        leaves: &[usize],
        rows: &Arc<Mask>,
        wanted: &WantedRows<'_>,
        reader: &mut Reader,
    ) -> Result<Vec<LeafBatch>> {
        let values = leaves.iter().map(|&leaf| {
            let (column, filters) = self.open_with_filters(leaf, reader)?;
            column.values(rows, wanted, filters)
        });
        values.collect()
    }

    /// The columns of the result for the wanted rows.
    pub(super) fn batch(&mut self, wanted: &WantedRows<'_>, reader: &mut Reader) -> Result<RecordBatch> {
        let rows = wanted.kept();
        self.assemble(rows.count(), |columns, leaf| {
            let (column, filters) = columns.open_with_filters(leaf, reader)?;
            column.take_values(rows, wanted, filters)
        })
    }

    /// The columns of the result for all rows of a window without decoded rows.
    pub(super) fn whole_batch(&mut self, window: &Window, reader: &mut Reader) -> Result<RecordBatch> {
        self.assemble(window.len(), |columns, leaf| columns.open(leaf, reader)?.read(window.ranges()))
    }

    fn assemble(
        &mut self,
        row_count: usize,
        mut values: impl FnMut(&mut Self, usize) -> Result<LeafBatch>,
    ) -> Result<RecordBatch> {
        let plan = Arc::clone(&self.planned.plan);
        let mut arrays = Vec::with_capacity(plan.columns.len());
        for column in &plan.columns {
            let leaves = column.leaves.iter().map(|&leaf| values(self, leaf)).collect::<Result<Vec<_>>>()?;
            arrays.push(column.assemble(&plan, leaves, row_count)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(Arc::clone(&plan.schema), arrays, &options)
            .map_err(|error| Error::from_arrow(&error))
    }

    /// Leaves open columns to the next row group.
    pub(super) fn close(self, reader: &mut Reader) -> PlannedRowGroup {
        for (leaf, column) in self.leaves.into_iter().enumerate() {
            if let Some(column) = column {
                reader.put(leaf, column.into_reader(), self.planned.file.source());
            }
        }
        self.planned
    }
}

//! Evidence of the statistics of column chunks in the footer.
//!
//! Minimum, maximum and null count can prove that no row passes, or that all do; [`bounds`](super::bounds) documents how far they
//! are trusted. Contradictory counts (more nulls than values, a flat column with more or fewer values than rows) prove nothing.

use arrow_schema::DataType;
use lath_format::FileMetaData;
use lath_kernels::compare::Comparison;
use lath_predicate::ValueTest;

use super::bounds::{DecodedBounds, value_type};
use super::column::PreparedColumn;
use super::domain::Domain;
use super::outcomes::{Evidence, Outcomes};
use crate::file::ParquetFile;

/// The statistics of a row group.
pub(super) struct RowGroupStatistics<'a> {
    pub(super) file: &'a ParquetFile,
    pub(super) columns: &'a [PreparedColumn<'a>],
    pub(super) row_group: usize,
}

impl<'a> RowGroupStatistics<'a> {
    fn domain(&self, column: &PreparedColumn<'_>) -> Domain<'a> {
        let (Some(leaf), Some(descriptor)) = (column.column.leaf, column.descriptor) else { return Domain::ANY };
        let metadata: &'a FileMetaData = self.file.metadata();
        let Ok(chunk) = metadata.chunk(self.row_group, leaf) else { return Domain::ANY };
        let value_count = chunk.num_values();
        if descriptor.max_rep_level() == 0 && Some(&value_count) != metadata.row_counts().get(self.row_group) {
            return Domain::ANY;
        }
        let statistics = chunk.statistics();
        let null_count = match descriptor.max_def_level() {
            0 => Some(0),
            _ => statistics.and_then(|statistics| statistics.null_count),
        };
        let Some(bounds) = &column.bounds else {
            // Without bounds, NaNs make no difference.
            return DecodedBounds::UNKNOWN.domain(true, value_count, null_count, None);
        };
        let read = statistics.map_or(DecodedBounds::UNKNOWN, |statistics| bounds.chunk_bounds(descriptor, &statistics));
        let nan_count = if bounds.is_float() { chunk.nan_count() } else { None };
        read.domain(bounds.is_float(), value_count, null_count, nan_count)
    }
}

impl Evidence for RowGroupStatistics<'_> {
    fn values(&self, column: usize, test: &ValueTest) -> Outcomes {
        match self.columns.get(column) {
            Some(column) if column.applies_to(test) => self.domain(column).outcomes(test),
            _ => Outcomes::ANY,
        }
    }

    fn columns(&self, left: usize, op: Comparison, right: usize, common: &DataType) -> Outcomes {
        let prepared = |column: usize| {
            let column = self.columns.get(column).filter(|column| !column.column.repeated)?;
            // Values of other types are converted before they are compared.
            let is_common = value_type(column.column.field.data_type()) == value_type(common);
            (is_common && column.bounds.is_some()).then_some(column)
        };
        match (prepared(left), prepared(right)) {
            (Some(left), Some(right)) => self.domain(left).compared_with(op, &self.domain(right)),
            _ => Outcomes::ANY,
        }
    }
}

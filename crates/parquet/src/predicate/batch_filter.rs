use arrow_array::{ArrayRef, BooleanArray, RecordBatch};

use super::test::BoundPredicate;
use crate::error::Result;

/// A [`Predicate`](crate::Predicate) for batches of one schema.
#[derive(Debug, Clone)]
pub struct BatchFilter {
    bound: BoundPredicate,
}

impl BatchFilter {
    pub(super) fn new(bound: BoundPredicate) -> Self {
        Self { bound }
    }

    /// The paths of the columns that the predicate needs, as [`ReadBuilder::columns`](crate::ReadBuilder::columns) takes them.
    pub fn columns(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.bound.columns.iter().map(|column| column.path.clone()).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }

    /// True, false or null for each row of a batch, which has at least the columns that the predicate needs.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the batch lacks a column, or has it with another type.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let operands: Vec<ArrayRef> =
            self.bound.columns.iter().map(|column| column.operand(batch)).collect::<Result<_>>()?;
        self.bound.evaluate(&operands, batch.num_rows())
    }
}

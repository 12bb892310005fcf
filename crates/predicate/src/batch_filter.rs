use arrow_array::{ArrayRef, BooleanArray, RecordBatch};

use crate::bind::BoundPredicate;
use crate::error::Result;

/// A [`Predicate`](crate::Predicate) for batches of one schema.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{BooleanArray, Int64Array, RecordBatch};
/// use lath_predicate::Predicate;
///
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
/// let filter = Predicate::parse("id >= 1.5")?.filter(&rows.schema())?;
/// assert_eq!(filter.columns(), ["id"]);
/// assert_eq!(filter.evaluate(&rows)?, BooleanArray::from(vec![false, true, true]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct BatchFilter {
    bound: BoundPredicate,
}

impl BatchFilter {
    pub(crate) fn new(bound: BoundPredicate) -> Self {
        Self { bound }
    }

    /// The paths of the columns that the predicate needs, with dots before the fields of structs.
    pub fn columns(&self) -> Vec<String> {
        self.names().iter().map(|names| names.join(".")).collect()
    }

    /// The columns that the predicate needs: for each the name of the root column, then the names of fields within structs.
    pub fn names(&self) -> Vec<Vec<String>> {
        let mut names: Vec<Vec<String>> = self.bound.columns.iter().map(|column| column.names.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// True, false or null for each row of a batch, which must have the columns of the predicate.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the batch lacks a column, or has it with another type;
    /// [`Error::Cast`](crate::Error::Cast) if a value cannot be cast.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let operands: Vec<ArrayRef> =
            self.bound.columns.iter().map(|column| column.operand(batch)).collect::<Result<_>>()?;
        self.bound.evaluate(&operands, batch.num_rows())
    }
}

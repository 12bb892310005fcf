//! Adds the rows that the FILTER of an aggregate function excludes to the nulls of its argument.

use arrow_array::{Array, BooleanArray};
use datafusion::arrow::buffer::NullBuffer;

/// The nulls of values, and every row that is not selected.
pub(crate) fn nulls_beside_selected(nulls: Option<&NullBuffer>, selected: Option<&BooleanArray>) -> Option<NullBuffer> {
    let selected = selected.map(|selected| match selected.nulls() {
        Some(known) => NullBuffer::new(selected.values() & known.inner()),
        None => NullBuffer::new(selected.values().clone()),
    });
    NullBuffer::union(nulls, selected.as_ref())
}

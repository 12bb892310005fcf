//! Applies the FILTER of an aggregate function to nulls.

use arrow_array::{Array, BooleanArray};
use datafusion::arrow::buffer::NullBuffer;

/// The nulls of values, extended by every row that is not selected.
pub(crate) fn nulls_beside_selected(nulls: Option<&NullBuffer>, selected: Option<&BooleanArray>) -> Option<NullBuffer> {
    let selected = selected.map(|selected| match selected.nulls() {
        Some(known) => NullBuffer::new(selected.values() & known.inner()),
        None => NullBuffer::new(selected.values().clone()),
    });
    NullBuffer::union(nulls, selected.as_ref())
}

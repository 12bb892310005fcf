//! Memory size of a slice of an array.

use arrow_array::{Array, ArrayRef};

/// The memory in bytes of the rows that an array has, which may be a small part of a larger one.
pub(crate) fn slice_bytes(array: &ArrayRef) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}

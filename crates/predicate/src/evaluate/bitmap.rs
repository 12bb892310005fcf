//! Makes bitmaps: from kernels, of one truth, and from arrays of truths.

use arrow_array::{Array, BooleanArray};
use arrow_buffer::{BooleanBuffer, Buffer};
use lath_kernels::KernelError;
use lath_kernels::compare::{self, Number, NumberSet, set_slot_count, word_count};

use crate::error::Result;

/// A bit for each of `len` values, computed by a kernel that fills words of 64 bits.
pub(super) fn fill_bitmap(
    len: usize,
    kernel: impl FnOnce(&mut [u64]) -> std::result::Result<(), KernelError>,
) -> Result<BooleanBuffer> {
    let mut words = vec![0; word_count(len)];
    kernel(&mut words)?;
    Ok(BooleanBuffer::new(Buffer::from_vec(words), 0, len))
}

/// Maximum length of a list that is searched linearly.
const MAX_COMPARED: usize = 32;

/// A bit for each value: whether it is in `set`.
pub(super) fn find_in_set<T: Number>(values: &[T], set: &[T]) -> Result<BooleanBuffer> {
    if set.len() <= MAX_COMPARED {
        return fill_bitmap(values.len(), |out| compare::in_set(values, set, out));
    }
    let mut slots = vec![T::default(); set_slot_count(set.len())];
    let set = NumberSet::new(set, &mut slots)?;
    fill_bitmap(values.len(), |out| set.find(values, out))
}

/// `truth` for each of `len` values, as a bit.
pub(super) fn uniform(truth: bool, len: usize) -> BooleanBuffer {
    if truth { BooleanBuffer::new_set(len) } else { BooleanBuffer::new_unset(len) }
}

/// A bit for each value that is not null.
pub(super) fn validity(array: &dyn Array) -> BooleanBuffer {
    array.logical_nulls().map_or_else(|| uniform(true, array.len()), |nulls| nulls.inner().clone())
}

/// `truth` for each of `len` rows.
pub(super) fn constant(truth: Option<bool>, len: usize) -> BooleanArray {
    match truth {
        Some(truth) => BooleanArray::new(uniform(truth, len), None),
        None => BooleanArray::new_null(len),
    }
}

/// A bit for each truth: whether it is `truth` (`None` is null).
pub(super) fn is_truth(result: &BooleanArray, truth: Option<bool>) -> BooleanArray {
    let valid = validity(result);
    let bits = match truth {
        Some(true) => &valid & result.values(),
        Some(false) => &valid & &!result.values(),
        None => !&valid,
    };
    BooleanArray::new(bits, None)
}

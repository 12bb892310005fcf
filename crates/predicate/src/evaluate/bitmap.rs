//! Bitmaps that kernels write.

use arrow_buffer::{BooleanBuffer, Buffer};
use lath_kernels::KernelError;
use lath_kernels::compare::{self, Number, NumberSet, set_slot_count, word_count};

use crate::error::Result;

/// A bit for each of `len` values, by a kernel that fills words of 64.
pub(super) fn filled(
    len: usize,
    kernel: impl FnOnce(&mut [u64]) -> std::result::Result<(), KernelError>,
) -> Result<BooleanBuffer> {
    let mut words = vec![0; word_count(len)];
    kernel(&mut words)?;
    Ok(BooleanBuffer::new(Buffer::from_vec(words), 0, len))
}

/// Longest list that each value is compared with throughout.
const MOST_COMPARED: usize = 32;

/// Which of `values` are in `set`.
pub(super) fn among<T: Number>(values: &[T], set: &[T]) -> Result<BooleanBuffer> {
    if set.len() <= MOST_COMPARED {
        return filled(values.len(), |out| compare::any_of(values, set, out));
    }
    let mut slots = vec![T::default(); set_slot_count(set.len())];
    let set = NumberSet::new(set, &mut slots)?;
    filled(values.len(), |out| set.find(values, out))
}

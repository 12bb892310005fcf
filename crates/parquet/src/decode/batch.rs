//! Decoded rows of a leaf.

use arrow_array::{Array, ArrayRef, BooleanArray, make_array};
use arrow_buffer::bit_iterator::BitIndexIterator;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use arrow_select::filter::filter;
use lath_kernels::{KernelError, select};

use super::aligned::AlignedBytes;
use super::strings::view_array;
use crate::error::{Error, Result};

/// Decoded rows of a leaf.
#[derive(Debug, Clone)]
pub(crate) struct LeafBatch {
    /// A value or null for every slot of the leaf.
    pub(crate) array: ArrayRef,
    /// Definition level of every entry; empty unless the reader keeps levels.
    pub(crate) def_levels: Vec<u8>,
    /// Repetition level of every entry; empty unless the reader keeps levels and the leaf has repetition.
    pub(crate) rep_levels: Vec<u8>,
}

impl LeafBatch {
    /// The rows whose bits are set in `selection`, `count` of them, of a leaf without repetition; `filter` selects the same rows.
    pub(crate) fn filter_flat(
        &self,
        selection: &[u8],
        count: usize,
        filter: impl FnOnce(&ArrayRef) -> Result<ArrayRef>,
        out: &mut AlignedBytes,
    ) -> Result<Self> {
        let array = match compress(&self.array, selection, count, out)? {
            Some(array) => array,
            None => filter(&self.array)?,
        };
        let def_levels = match self.def_levels.as_slice() {
            [] => Vec::new(),
            levels => {
                let mut kept = vec![0; count];
                select::compress_u8(levels, selection, 0, &mut kept)?;
                kept
            }
        };
        Ok(Self { array, def_levels, rep_levels: Vec::new() })
    }

    /// The rows whose bits are set in `selection`, of a leaf with repetition. `slot_def_level` is the definition level from which
    /// an entry is a slot.
    pub(crate) fn filter_repeated(&self, selection: &[u64], slot_def_level: u8) -> Result<Self> {
        let (mut def_levels, mut rep_levels) = (Vec::new(), Vec::new());
        let mut slots = Vec::with_capacity(self.array.len());
        let (mut row, mut is_selected) = (0usize, false);
        for (&rep, &def) in self.rep_levels.iter().zip(&self.def_levels) {
            if rep == 0 {
                is_selected = selection.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1);
                row += 1;
            }
            if is_selected {
                rep_levels.push(rep);
                def_levels.push(def);
            }
            if def >= slot_def_level {
                slots.push(is_selected);
            }
        }
        let slots = BooleanArray::new(BooleanBuffer::from(slots), None);
        let array = filter(&self.array, &slots).map_err(|error| Error::from_arrow(&error))?;
        Ok(Self { array, def_levels, rep_levels })
    }
}

/// The selected slots of an array of fixed width or of views; `None` for other layouts.
fn compress(array: &ArrayRef, selection: &[u8], count: usize, out: &mut AlignedBytes) -> Result<Option<ArrayRef>> {
    let data_type = array.data_type();
    let is_view = matches!(data_type, DataType::Utf8View | DataType::BinaryView);
    let width = match data_type {
        DataType::FixedSizeBinary(width) => usize::try_from(*width).ok(),
        _ if is_view => Some(16),
        DataType::Dictionary(..) => None,
        other => other.primitive_width(),
    };
    let data = array.to_data();
    let (Some(width @ (1 | 2 | 4 | 8 | 16)), 0, [slots, heap @ ..]) = (width, data.offset(), data.buffers()) else {
        return Ok(None);
    };
    let Some(slots) = slots.get(..array.len() * width) else { return Ok(None) };
    out.clear();
    let kept = out.grow(count * width);
    if !compress_values(width, slots, selection, kept)? {
        return Ok(None);
    }
    let kept = out.finish();
    let nulls = match data.nulls() {
        None => None,
        Some(nulls) => {
            let mut bits = vec![0u8; count.div_ceil(8)];
            select::compress_bits(nulls.validity(), nulls.offset(), selection, 0, array.len(), &mut bits, 0)?;
            let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(bits), 0, count));
            Some(nulls).filter(|nulls| nulls.null_count() > 0)
        }
    };
    if is_view {
        return Ok(Some(view_array(data_type, kept, heap.to_vec(), nulls)));
    }
    let data = ArrayData::builder(data_type.clone()).len(count).add_buffer(kept).nulls(nulls).build();
    Ok(Some(make_array(data.map_err(|error| Error::from_arrow(&error))?)))
}

/// Moves the `values` of `width` bytes whose bits are set in `selection` to `kept`, which has space for exactly these; returns
/// false if they are not aligned as values of that width are.
pub(super) fn compress_values(width: usize, values: &[u8], selection: &[u8], kept: &mut [u8]) -> Result<bool> {
    match width {
        1 => compress_slots(values, selection, kept, select::compress_u8),
        2 => compress_slots(values, selection, kept, select::compress_u16),
        4 => compress_slots(values, selection, kept, select::compress_u32),
        8 => compress_slots(values, selection, kept, select::compress_u64),
        16 => compress_slots(values, selection, kept, select::compress_u128),
        _ => {
            pick_values(width, values, selection, kept);
            Ok(true)
        }
    }
}

/// As [`compress_values`], value by value, with any alignment.
pub(super) fn pick_values(width: usize, values: &[u8], selection: &[u8], kept: &mut [u8]) {
    match width {
        4 => pick_chunks::<4>(values, selection, kept),
        8 => pick_chunks::<8>(values, selection, kept),
        _ => {
            let kept = kept.chunks_exact_mut(width.max(1));
            for (index, kept) in set_bits(selection).zip(kept) {
                kept.copy_from_slice(&values[index * width..][..width]);
            }
        }
    }
}

fn pick_chunks<const WIDTH: usize>(values: &[u8], selection: &[u8], kept: &mut [u8]) {
    let (values, kept) = (values.as_chunks::<WIDTH>().0, kept.as_chunks_mut::<WIDTH>().0);
    pick(values, selection.as_chunks().0, kept);
}

/// Positions of the set bits in whole words.
pub(super) fn set_bits(words: &[u8]) -> impl Iterator<Item = usize> + '_ {
    BitIndexIterator::new(words, 0, 8 * words.len())
}

/// A kernel that moves selected values to the front of its output.
type Compress<T> = fn(&[T], &[u8], usize, &mut [T]) -> Result<usize, KernelError>;

/// If fewer than one in this many values of `width` bytes is selected, they are picked bit by bit, so that the time depends on
/// the selected values only: the kernels process a vector of values at a time.
pub(super) fn few(width: usize) -> usize {
    if width < 8 { 16 } else { 8 }
}

/// Moves the selected `slots`, which are values of type `T`, to `kept`, which has space for exactly these; returns false if they
/// are not aligned.
fn compress_slots<T: bytemuck::Pod>(
    slots: &[u8],
    selection: &[u8],
    kept: &mut [u8],
    compress: Compress<T>,
) -> Result<bool> {
    let Ok(slots) = bytemuck::try_cast_slice::<u8, T>(slots) else { return Ok(false) };
    let kept: &mut [T] = bytemuck::cast_slice_mut(kept);
    let (words, []) = selection.as_chunks::<8>() else {
        compress(slots, selection, 0, kept)?;
        return Ok(true);
    };
    if kept.len() * few(size_of::<T>()) >= slots.len() {
        compress(slots, selection, 0, kept)?;
        return Ok(true);
    }
    pick(slots, words, kept);
    Ok(true)
}

/// Moves the few selected `slots` to `kept`, which has space for exactly these.
fn pick<T: Copy>(slots: &[T], words: &[[u8; 8]], kept: &mut [T]) {
    if kept.len() * 32 >= slots.len() {
        pick_about::<T, 8>(slots, words, kept);
    } else {
        pick_about::<T, 2>(slots, words, kept);
    }
}

/// As [`pick`], if about `FIRST` of 64 slots are selected, or somewhat fewer.
fn pick_about<T: Copy, const FIRST: usize>(slots: &[T], words: &[[u8; 8]], kept: &mut [T]) {
    let mut count = 0;
    for (word, slots) in words.iter().zip(slots.chunks(64)) {
        let mut bits = u64::from_le_bytes(*word);
        // The number of selected slots is unpredictable for branches: the first ones are moved whether selected or not.
        if let (Some(kept), Ok(slots)) = (kept.get_mut(count..count + FIRST), <&[T; 64]>::try_from(slots)) {
            for kept in kept {
                *kept = slots[(bits | 1 << 63).trailing_zeros() as usize];
                count += usize::from(bits != 0);
                bits &= bits.wrapping_sub(1);
            }
        }
        while let Some(slot) = slots.get(bits.trailing_zeros() as usize)
            && let Some(kept) = kept.get_mut(count)
        {
            *kept = *slot;
            count += 1;
            bits &= bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BooleanArray, FixedSizeBinaryArray, Int8Array, Int16Array, Int32Array, Int64Array, StringViewArray,
    };
    use lath_testkit::Seeded;

    use super::*;

    #[test]
    fn selected_slots_are_those_that_arrow_selects() {
        let mut random = Seeded::new("selected slots are those that arrow selects");
        let mut out = AlignedBytes::default();
        for len in [0usize, 1, 63, 64, 65, 1000, 8192] {
            let numbers: Vec<Option<i64>> =
                (0..len).map(|_| (random.u8(..8) > 0).then(|| i64::from(random.u8(..)) << random.u8(..56))).collect();
            let strings = numbers.iter().map(|number| number.map(|number| number.to_string()));
            let arrays: [ArrayRef; 6] = [
                Arc::new(numbers.iter().map(|number| number.map(|number| number as i8)).collect::<Int8Array>()),
                Arc::new(numbers.iter().map(|number| number.map(|number| number as i16)).collect::<Int16Array>()),
                Arc::new(numbers.iter().map(|number| number.map(|number| number as i32)).collect::<Int32Array>()),
                Arc::new(numbers.iter().copied().collect::<Int64Array>()),
                Arc::new(strings.collect::<StringViewArray>()),
                Arc::new(
                    FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                        numbers.iter().map(|number| number.map(|number| i128::from(number).to_le_bytes())),
                        16,
                    )
                    .unwrap(),
                ),
            ];
            for of_256 in [0u16, 1, 8, 15, 17, 128, 256] {
                let selection: Vec<bool> = (0..len).map(|_| u16::from(random.u8(..)) < of_256).collect();
                let mut words = vec![0u64; len.div_ceil(64)];
                selection.iter().enumerate().for_each(|(row, &bit)| words[row / 64] |= u64::from(bit) << (row % 64));
                let count = selection.iter().filter(|&&bit| bit).count();
                let selection = BooleanArray::from(selection);
                for array in &arrays {
                    let kept = compress(array, bytemuck::cast_slice(&words), count, &mut out).unwrap().unwrap();
                    assert_eq!(*kept, *filter(array, &selection).unwrap(), "{len} {of_256} {}", array.data_type());
                }
            }
        }
    }
}

//! What a leaf gives for some rows.

use arrow_array::{Array, ArrayRef, BooleanArray, make_array};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use arrow_select::filter::filter;
use lath_kernels::{KernelError, select};

use super::strings::view_array;
use crate::error::{Error, Result};

/// What a leaf gives for a batch of rows.
#[derive(Debug, Clone)]
pub(crate) struct LeafBatch {
    /// A value or null for every slot of the leaf.
    pub(crate) array: ArrayRef,
    /// Definition level of every entry; empty unless the leaf was asked to keep levels.
    pub(crate) def_levels: Vec<u8>,
    /// Repetition level of every entry; empty unless the leaf was asked to keep levels and has repetition.
    pub(crate) rep_levels: Vec<u8>,
}

impl LeafBatch {
    /// The rows whose bits are set in `selection`, `count` of them, of a leaf without repetition; `filter` says the same.
    pub(crate) fn filter_flat(
        &self,
        selection: &[u8],
        count: usize,
        filter: impl FnOnce(&ArrayRef) -> Result<ArrayRef>,
    ) -> Result<Self> {
        let array = match compress(&self.array, selection, count)? {
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

    /// The rows whose bits are set in `selection`, of a leaf with repetition. `slot_def_level` is the definition level from
    /// which an entry is a slot.
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
        let array = filter(&self.array, &slots).map_err(|error| Error::invalid(error.to_string()))?;
        Ok(Self { array, def_levels, rep_levels })
    }
}

/// The selected slots of an array of fixed width or of views; `None` for one of another layout.
fn compress(array: &ArrayRef, selection: &[u8], count: usize) -> Result<Option<ArrayRef>> {
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
    let kept = match width {
        1 => compressed(slots, selection, count, select::compress_u8)?,
        2 => compressed(slots, selection, count, select::compress_u16)?,
        4 => compressed(slots, selection, count, select::compress_u32)?,
        8 => compressed(slots, selection, count, select::compress_u64)?,
        _ => compressed(slots, selection, count, select::compress_u128)?,
    };
    let Some(kept) = kept else { return Ok(None) };
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
    Ok(Some(make_array(data.map_err(|error| Error::invalid(error.to_string()))?)))
}

/// A kernel that moves selected values to the front of its output.
type Compress<T> = fn(&[T], &[u8], usize, &mut [T]) -> Result<usize, KernelError>;

/// The selected ones of `slots`, which are values of type `T`; `None` if they are not aligned to it.
fn compressed<T: bytemuck::Pod + ArrowNativeType>(
    slots: &[u8],
    selection: &[u8],
    count: usize,
    compress: Compress<T>,
) -> Result<Option<Buffer>> {
    let Ok(slots) = bytemuck::try_cast_slice::<u8, T>(slots) else { return Ok(None) };
    let mut kept = vec![T::zeroed(); count];
    compress(slots, selection, 0, &mut kept)?;
    Ok(Some(Buffer::from_vec(kept)))
}

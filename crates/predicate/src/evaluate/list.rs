//! Tests whether lists contain an element.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, OffsetSizeTrait};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use crate::error::{Error, Result};

/// A bit for each list of `array`: whether it has an element whose bit is set by `found`, which takes the elements of all lists.
pub(super) fn contains(array: &dyn Array, found: impl Fn(&dyn Array) -> Result<BooleanBuffer>) -> Result<BooleanArray> {
    let truths = match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            any_in_offsets(list.offsets(), &found(list.values())?)
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            any_in_offsets(list.offsets(), &found(list.values())?)
        }
        DataType::ListView(_) => {
            let list = array.as_list_view::<i32>();
            any_in_views(list.offsets(), list.sizes(), &found(list.values())?)
        }
        DataType::LargeListView(_) => {
            let list = array.as_list_view::<i64>();
            any_in_views(list.offsets(), list.sizes(), &found(list.values())?)
        }
        DataType::FixedSizeList(..) => {
            let list = array.as_fixed_size_list();
            let (size, found) = (list.value_length() as usize, found(list.values())?);
            BooleanBuffer::collect_bool(list.len(), |row| any(&found, row * size, (row + 1) * size))
        }
        other => return Err(Error::mismatch(format!("{other} is not a list"))),
    };
    Ok(BooleanArray::new(truths, array.logical_nulls()))
}

fn any_in_offsets<O: OffsetSizeTrait>(offsets: &[O], found: &BooleanBuffer) -> BooleanBuffer {
    let len = offsets.len().saturating_sub(1);
    BooleanBuffer::collect_bool(len, |row| any(found, offsets[row].as_usize(), offsets[row + 1].as_usize()))
}

fn any_in_views<O: OffsetSizeTrait>(offsets: &[O], sizes: &[O], found: &BooleanBuffer) -> BooleanBuffer {
    BooleanBuffer::collect_bool(offsets.len(), |row| {
        let start = offsets[row].as_usize();
        any(found, start, start + sizes[row].as_usize())
    })
}

fn any(found: &BooleanBuffer, start: usize, end: usize) -> bool {
    (start..end).any(|index| found.value(index))
}

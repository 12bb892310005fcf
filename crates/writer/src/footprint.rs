//! Size in bytes of Arrow data. An array may be a slice of larger buffers.

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray, RecordBatch};
use arrow_schema::DataType;

/// Bytes of a batch's rows.
pub(super) fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(slice_bytes).sum()
}

/// Bytes of an array's elements, without the parts of buffers outside the slice and without a dictionary's values.
pub(super) fn slice_bytes(array: &ArrayRef) -> usize {
    let len = array.len();
    let nulls = if array.nulls().is_some() { len.div_ceil(8) } else { 0 };
    nulls
        + match array.data_type() {
            DataType::Null => 0,
            DataType::Boolean => len.div_ceil(8),
            DataType::Utf8 => between(array.as_string::<i32>().value_offsets(), 4),
            DataType::Binary => between(array.as_binary::<i32>().value_offsets(), 4),
            DataType::LargeUtf8 => between(array.as_string::<i64>().value_offsets(), 8),
            DataType::LargeBinary => between(array.as_binary::<i64>().value_offsets(), 8),
            DataType::Utf8View => viewed(array.as_string_view()),
            DataType::BinaryView => viewed(array.as_binary_view()),
            DataType::FixedSizeBinary(width) => len * width.unsigned_abs() as usize,
            DataType::Dictionary(keys, _) => len * keys.primitive_width().unwrap_or(8),
            DataType::Struct(_) => array.as_struct().columns().iter().map(slice_bytes).sum(),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                listed(list.value_offsets(), list.values(), 4)
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                listed(list.value_offsets(), list.values(), 8)
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let columns = map.entries().columns().iter();
                columns.map(|column| listed(map.value_offsets(), column, 0)).sum::<usize>() + len * 4
            }
            DataType::FixedSizeList(..) => slice_bytes(array.as_fixed_size_list().values()),
            DataType::ListView(_) => {
                let list = array.as_list_view::<i32>();
                len * 8 + share(list.values(), list.sizes().iter().map(|&size| size as usize).sum())
            }
            DataType::LargeListView(_) => {
                let list = array.as_list_view::<i64>();
                len * 16 + share(list.values(), list.sizes().iter().map(|&size| size as usize).sum())
            }
            other => len * other.primitive_width().unwrap_or(8),
        }
}

fn span<O: Copy + Into<i64>>(offsets: &[O]) -> (usize, usize) {
    let at = |offset: Option<&O>| offset.map_or(0, |&offset| offset.into() as usize);
    (at(offsets.first()), at(offsets.last()))
}

fn between<O: Copy + Into<i64>>(offsets: &[O], width: usize) -> usize {
    let (start, end) = span(offsets);
    end - start + offsets.len() * width
}

fn listed<O: Copy + Into<i64>>(offsets: &[O], values: &ArrayRef, width: usize) -> usize {
    let (start, end) = span(offsets);
    slice_bytes(&values.slice(start, end - start)) + offsets.len() * width
}

fn viewed<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>) -> usize {
    const INLINE: u32 = 12;
    let outside = |view: &u128| if *view as u32 > INLINE { *view as u32 as usize } else { 0 };
    array.len() * 16 + array.views().iter().map(outside).sum::<usize>()
}

/// Bytes of `count` elements of average size.
fn share(values: &ArrayRef, count: usize) -> usize {
    (slice_bytes(values) as u128 * count as u128 / values.len().max(1) as u128) as usize
}

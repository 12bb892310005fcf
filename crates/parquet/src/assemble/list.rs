//! Assembles lists of every Arrow kind, and maps, from their element's array and the levels of one leaf below.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListArray, GenericListViewArray, MapArray, OffsetSizeTrait,
    StructArray, make_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{DataType, FieldRef};
use lath_kernels::levels;

use super::{Slots, corrupt, mismatch};
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::schema::Node;

/// Builds the list array of `node` around the array of its element.
pub(super) fn assemble(
    node: &Node,
    element_def_level: u8,
    element: ArrayRef,
    def_levels: &[u8],
    rep_levels: &[u8],
    limits: &Limits,
) -> Result<ArrayRef> {
    let slots = Slots::new(node, def_levels, rep_levels)?;
    let nulls = if node.def_level > node.ancestor_def_level { slots.nulls(node, def_levels)? } else { None };
    let mut elements = vec![0; slots.mask.len()];
    levels::ge_mask(def_levels, element_def_level, &mut elements)?;
    let mut own = vec![0; slots.mask.len()];
    levels::le_mask(rep_levels, node.rep_level + 1, &mut own)?;
    levels::and(&mut elements, &own)?;

    match node.field.data_type() {
        DataType::List(field) => {
            let offsets = offsets_i32(node, &slots, &elements, &element)?;
            list_array(node, field, offsets, element, nulls)
        }
        DataType::LargeList(field) => {
            let offsets = offsets_i64(node, &slots, &elements, &element)?;
            list_array(node, field, offsets, element, nulls)
        }
        DataType::ListView(field) => {
            let offsets = offsets_i32(node, &slots, &elements, &element)?;
            list_view_array(node, field, &offsets, element, nulls)
        }
        DataType::LargeListView(field) => {
            let offsets = offsets_i64(node, &slots, &elements, &element)?;
            list_view_array(node, field, &offsets, element, nulls)
        }
        DataType::FixedSizeList(field, size) => {
            let offsets = offsets_i64(node, &slots, &elements, &element)?;
            fixed_size_list_array(node, field, *size, &offsets, element, nulls, limits)
        }
        DataType::Map(field, sorted) => {
            let offsets = offsets_i32(node, &slots, &elements, &element)?;
            let entries = element.as_any().downcast_ref::<StructArray>().cloned();
            let entries = entries.ok_or_else(|| Error::unsupported("a map whose entries are not a group"))?;
            let map = MapArray::try_new(Arc::clone(field), offsets, entries, nulls, *sorted);
            Ok(Arc::new(map.map_err(|error| corrupt(node, error))?))
        }
        other => Err(Error::unsupported(format!("a repeated field read as {other}"))),
    }
}

fn offsets_i32(node: &Node, slots: &Slots, elements: &[u64], element: &ArrayRef) -> Result<OffsetBuffer<i32>> {
    let mut offsets = vec![0; slots.count + 1];
    let (starts, end) = offsets.split_at_mut(slots.count);
    end[0] = levels::list_offsets_i32(&slots.mask, elements, 0, starts)?;
    check_end(node, end[0] as usize, element)?;
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

fn offsets_i64(node: &Node, slots: &Slots, elements: &[u64], element: &ArrayRef) -> Result<OffsetBuffer<i64>> {
    let mut offsets = vec![0; slots.count + 1];
    let (starts, end) = offsets.split_at_mut(slots.count);
    end[0] = levels::list_offsets_i64(&slots.mask, elements, 0, starts)?;
    check_end(node, end[0] as usize, element)?;
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

fn check_end(node: &Node, end: usize, element: &ArrayRef) -> Result<()> {
    if end == element.len() { Ok(()) } else { Err(mismatch(node, end, element.len())) }
}

fn list_array<O: OffsetSizeTrait>(
    node: &Node,
    field: &FieldRef,
    offsets: OffsetBuffer<O>,
    element: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let list = GenericListArray::<O>::try_new(Arc::clone(field), offsets, element, nulls);
    Ok(Arc::new(list.map_err(|error| corrupt(node, error))?))
}

fn list_view_array<O: OffsetSizeTrait>(
    node: &Node,
    field: &FieldRef,
    offsets: &OffsetBuffer<O>,
    element: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let sizes: Vec<O> = offsets.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let starts = offsets.inner().slice(0, sizes.len());
    let list = GenericListViewArray::<O>::try_new(Arc::clone(field), starts, ScalarBuffer::from(sizes), element, nulls);
    Ok(Arc::new(list.map_err(|error| corrupt(node, error))?))
}

/// In Arrow a null list of fixed size still has elements; Parquet stores none, so that nulls are inserted.
fn fixed_size_list_array(
    node: &Node,
    field: &FieldRef,
    size: i32,
    offsets: &[i64],
    element: ArrayRef,
    nulls: Option<NullBuffer>,
    limits: &Limits,
) -> Result<ArrayRef> {
    let len = offsets.len() - 1;
    let size_usize = usize::try_from(size).map_err(|_| Error::internal("a fixed-size list of negative size"))?;
    let wrong = |slot: usize| {
        let is_null = nulls.as_ref().is_some_and(|nulls| nulls.is_null(slot));
        !is_null && offsets[slot + 1] - offsets[slot] != i64::from(size)
    };
    if let Some(slot) = (0..len).find(|&slot| wrong(slot)) {
        let actual = offsets[slot + 1] - offsets[slot];
        return Err(Error::corrupt(format!(
            "{}: a list of {actual} elements in a column of fixed-size lists of {size}",
            node.field.name()
        )));
    }
    let padded = if element.len() == len * size_usize {
        element
    } else {
        pad(&element, size_usize, offsets, nulls.as_ref(), limits)?
    };
    let list = FixedSizeListArray::try_new_with_length(Arc::clone(field), size, padded, nulls, len);
    Ok(Arc::new(list.map_err(|error| corrupt(node, error))?))
}

/// The elements with `size` nulls inserted for each null list.
fn pad(
    element: &ArrayRef,
    size: usize,
    offsets: &[i64],
    nulls: Option<&NullBuffer>,
    limits: &Limits,
) -> Result<ArrayRef> {
    let len = offsets.len() - 1;
    // A null list has no stored bytes, so that only its size determines its memory.
    let needed = (len as u64).saturating_mul(size as u64).saturating_mul(slot_bytes(element.data_type()));
    if needed > limits.padding_bytes && needed / 16 > element.get_array_memory_size() as u64 {
        let what = "bytes of a batch for null lists of fixed size (limit padding_bytes)";
        return Err(Error::limit(what, limits.padding_bytes, needed));
    }
    let data = element.to_data();
    let mut padded = MutableArrayData::new(vec![&data], true, len * size);
    for slot in 0..len {
        if nulls.is_some_and(|nulls| nulls.is_null(slot)) {
            padded.try_extend_nulls(size).map_err(|error| Error::from_arrow(&error))?;
        } else {
            let range = offsets[slot] as usize..offsets[slot + 1] as usize;
            padded.try_extend(0, range.start, range.end).map_err(|error| Error::from_arrow(&error))?;
        }
    }
    Ok(make_array(padded.freeze()))
}

/// Bytes of a null slot of an array.
fn slot_bytes(data_type: &DataType) -> u64 {
    match data_type {
        DataType::FixedSizeList(element, size) => {
            slot_bytes(element.data_type()).saturating_mul(u64::try_from(*size).unwrap_or(0))
        }
        DataType::FixedSizeBinary(width) => u64::try_from(*width).unwrap_or(0),
        DataType::Struct(fields) => {
            fields.iter().fold(0, |sum: u64, field| sum.saturating_add(slot_bytes(field.data_type())))
        }
        other => other.primitive_width().unwrap_or(size_of::<u128>()) as u64,
    }
}

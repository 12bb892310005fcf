//! The elements of lists, in any Arrow layout.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, MapArray, OffsetSizeTrait, make_array};
use arrow_buffer::NullBuffer;
use arrow_data::transform::{Capacities, MutableArrayData};
use arrow_schema::DataType;
use lath_parquet::{Error, Result};

use super::take;

/// The elements of lists that are not null, one list after another.
pub(super) struct Elements {
    lengths: Vec<usize>,
    array: ArrayRef,
}

/// From this mean length on, elements are copied as ranges instead of one by one.
const RANGE_COPY_LENGTH: usize = 8;

impl Elements {
    /// The elements of any list except a map. `present` marks the lists that are not null.
    pub(super) fn from_list(array: &ArrayRef, present: Option<&NullBuffer>) -> Result<Self> {
        match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Self::between(list.offsets(), list.values(), present)
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                Self::between(list.offsets(), list.values(), present)
            }
            DataType::ListView(_) => {
                let list = array.as_list_view::<i32>();
                Self::viewed(list.offsets(), list.sizes(), list.values(), present)
            }
            DataType::LargeListView(_) => {
                let list = array.as_list_view::<i64>();
                Self::viewed(list.offsets(), list.sizes(), list.values(), present)
            }
            DataType::FixedSizeList(..) => {
                let list = array.as_fixed_size_list();
                let size = usize::try_from(list.value_length())
                    .map_err(|_| Error::invalid("a list of a fixed size below zero"))?;
                Self::new(list.len(), |i| i * size..(i + 1) * size, list.values(), present)
            }
            other => Err(Error::invalid(format!("{other} is not a list"))),
        }
    }

    /// The entries of maps.
    pub(super) fn from_map(map: &MapArray, present: Option<&NullBuffer>) -> Result<Self> {
        let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
        Self::between(map.offsets(), &entries, present)
    }

    fn between<O: OffsetSizeTrait>(offsets: &[O], values: &ArrayRef, present: Option<&NullBuffer>) -> Result<Self> {
        let range = |i: usize| offsets[i].as_usize()..offsets[i + 1].as_usize();
        Self::new(offsets.len().saturating_sub(1), range, values, present)
    }

    fn viewed<O: OffsetSizeTrait>(
        offsets: &[O],
        sizes: &[O],
        values: &ArrayRef,
        present: Option<&NullBuffer>,
    ) -> Result<Self> {
        let range = |i: usize| offsets[i].as_usize()..offsets[i].as_usize() + sizes[i].as_usize();
        Self::new(offsets.len(), range, values, present)
    }

    fn new(
        count: usize,
        range: impl Fn(usize) -> Range<usize>,
        values: &ArrayRef,
        present: Option<&NullBuffer>,
    ) -> Result<Self> {
        let mut lengths: Vec<usize> = (0..count).map(|i| range(i).len()).collect();
        if let Some(present) = present {
            lengths.iter_mut().zip(present.iter()).for_each(|(length, is_valid)| *length *= usize::from(is_valid));
        }
        // In the usual case, lists without gaps between them, one range has all elements.
        let all = if count == 0 { 0..0 } else { range(0).start..range(count - 1).end };
        let is_ascending = || (1..count).all(|i| range(i - 1).end == range(i).start);
        let ranges = if all.end.checked_sub(all.start) == Some(lengths.iter().sum()) && is_ascending() {
            vec![all]
        } else {
            merged((0..count).zip(&lengths).map(|(i, length)| {
                let start = range(i).start;
                start..start + length
            }))
        };
        let array = match ranges.as_slice() {
            [] => values.slice(0, 0),
            [range] => values.slice(range.start, range.len()),
            ranges => together(values, ranges)?,
        };
        Ok(Self { lengths, array })
    }

    /// Number of elements of each list; 0 for null lists.
    pub(super) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    pub(super) fn array(&self) -> &ArrayRef {
        &self.array
    }
}

/// The non-empty ranges; adjacent ones are merged.
fn merged(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges.filter(|range| !range.is_empty()) {
        match merged.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => merged.push(range),
        }
    }
    merged
}

fn together(values: &ArrayRef, ranges: &[Range<usize>]) -> Result<ArrayRef> {
    let len: usize = ranges.iter().map(ExactSizeIterator::len).sum();
    if len / ranges.len().max(1) < RANGE_COPY_LENGTH {
        return take(values, ranges.iter().flat_map(|range| range.start as u64..range.end as u64).collect());
    }
    let data = values.to_data();
    let mut copy = MutableArrayData::with_capacities(vec![&data], false, Capacities::Array(len));
    for range in ranges {
        copy.try_extend(0, range.start, range.end).map_err(|error| Error::invalid(error.to_string()))?;
    }
    Ok(make_array(copy.freeze()))
}

//! Turns the Arrow arrays of a column back into the entries of one leaf, as a Parquet file counts them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, OffsetSizeTrait, make_array};
use arrow_buffer::NullBuffer;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType};

/// A leaf within a column: the indices of the children that lead to it.
pub(super) type LeafPath = Vec<usize>;

/// The paths of all leaves of a type, in the order of Parquet's schema.
pub(super) fn leaf_paths(data_type: &DataType) -> Vec<LeafPath> {
    let mut paths = Vec::new();
    collect(data_type, &mut Vec::new(), &mut paths);
    paths
}

fn collect(data_type: &DataType, path: &mut LeafPath, paths: &mut Vec<LeafPath>) {
    match data_type {
        DataType::Struct(fields) => {
            for (index, field) in fields.iter().enumerate() {
                path.push(index);
                collect(field.data_type(), path, paths);
                path.pop();
            }
        }
        DataType::List(child) | DataType::LargeList(child) | DataType::Map(child, _) => {
            path.push(0);
            collect(child.data_type(), path, paths);
            path.pop();
        }
        _ => paths.push(path.clone()),
    }
}

/// The values of one leaf.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Values, and nulls where the leaf or a struct above it is null.
    pub(super) values: ArrayRef,
    /// Number of null and empty lists above the leaf: each has one entry in the file, without a value.
    pub(super) missing: u64,
    /// Histograms of definition and repetition levels.
    pub(super) def_levels: Vec<u64>,
    pub(super) rep_levels: Vec<u64>,
}

/// Follows `path` down from `column`, whose field is `nullable` or not.
pub(super) fn descend(column: &ArrayRef, nullable: bool, path: &[usize]) -> Result<Leaf, ArrowError> {
    let mut leaf =
        Leaf { values: column.clone(), missing: 0, def_levels: vec![0], rep_levels: vec![column.len() as u64] };
    let mut nullable = nullable;
    // Slots that are null because a struct above is.
    let mut ended = 0;
    for &index in path {
        ended = leaf.define(nullable, leaf.values.null_count() as u64, ended);
        let array = Arc::clone(&leaf.values);
        nullable = match array.data_type() {
            DataType::Struct(fields) => {
                let parent = array.as_struct();
                leaf.values = with_nulls(parent.column(index), parent.nulls())?;
                fields[index].is_nullable()
            }
            DataType::List(element) => {
                let list = array.as_list::<i32>();
                ended = leaf.repeat(list.values(), list.offsets(), list.nulls())?;
                element.is_nullable()
            }
            DataType::LargeList(element) => {
                let list = array.as_list::<i64>();
                ended = leaf.repeat(list.values(), list.offsets(), list.nulls())?;
                element.is_nullable()
            }
            DataType::Map(entries, _) => {
                let map = array.as_map();
                let pairs: ArrayRef = Arc::new(map.entries().clone());
                ended = leaf.repeat(&pairs, map.offsets(), map.nulls())?;
                entries.is_nullable()
            }
            other => return Err(ArrowError::SchemaError(format!("{other} has no children"))),
        };
    }
    let nulls = leaf.values.logical_null_count() as u64;
    leaf.define(nullable, nulls, ended);
    leaf.end(leaf.values.len() as u64 - nulls);
    Ok(leaf)
}

impl Leaf {
    /// `count` entries end at the current definition level.
    fn end(&mut self, count: u64) {
        if let Some(last) = self.def_levels.last_mut() {
            *last += count;
        }
    }

    /// Visits a node with `nulls` null slots, `ended` of which are null because a struct above is. Returns the new number of
    /// slots that have ended.
    fn define(&mut self, nullable: bool, nulls: u64, ended: u64) -> u64 {
        if !nullable {
            return ended;
        }
        self.end(nulls.saturating_sub(ended));
        self.def_levels.push(0);
        nulls
    }

    /// Continues with the elements of all lists that are not null. None of them has ended yet.
    fn repeat<O: OffsetSizeTrait>(
        &mut self,
        values: &ArrayRef,
        offsets: &[O],
        nulls: Option<&NullBuffer>,
    ) -> Result<u64, ArrowError> {
        let (mut hidden, mut empty, mut null) = (false, 0, 0);
        for (row, ends) in offsets.windows(2).enumerate() {
            let is_empty = ends[0] == ends[1];
            let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
            null += u64::from(is_null);
            empty += u64::from(is_empty && !is_null);
            hidden |= is_null && !is_empty;
        }
        let lists = offsets.len() as u64 - 1;
        self.values = elements(values, offsets, nulls, hidden)?;
        self.missing += null + empty;
        self.end(empty);
        self.def_levels.push(0);
        // The first element of a list continues the list above it.
        self.rep_levels.push(self.values.len() as u64 - (lists - null - empty));
        Ok(0)
    }
}

fn with_nulls(child: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0 && child.data_type() != &DataType::Null) else {
        return Ok(child.clone());
    };
    let nulls = NullBuffer::union(Some(nulls), child.nulls());
    if let Some(child) = child.as_boolean_opt() {
        // The offset of array data applies to its null buffer too.
        return Ok(Arc::new(BooleanArray::new(child.values().clone(), nulls)));
    }
    Ok(make_array(child.to_data().into_builder().nulls(nulls).build()?))
}

/// The elements of all lists that are not null. `hidden`: some null lists have elements.
fn elements<O: OffsetSizeTrait>(
    values: &ArrayRef,
    offsets: &[O],
    nulls: Option<&NullBuffer>,
    hidden: bool,
) -> Result<ArrayRef, ArrowError> {
    let (start, end) = (offsets[0].as_usize(), offsets[offsets.len() - 1].as_usize());
    if !hidden {
        return Ok(values.slice(start, end - start));
    }
    // These elements are not part of the data.
    let data = values.to_data();
    let mut shown = MutableArrayData::new(vec![&data], false, end - start);
    for (row, ends) in offsets.windows(2).enumerate() {
        if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
            shown.try_extend(0, ends[0].as_usize(), ends[1].as_usize())?;
        }
    }
    Ok(make_array(shown.freeze()))
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, ListArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn null_and_empty_lists_are_entries_without_value() {
        let lists = [Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(3)])];
        let column: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        let leaf = descend(&column, true, &[0]).unwrap();
        assert_eq!(leaf.values.as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(1), None, Some(3)]));
        assert_eq!(leaf.missing, 2);
        // A null list, an empty one, a null element, two values; the second element alone continues a list.
        assert_eq!((leaf.def_levels, leaf.rep_levels), (vec![1, 1, 1, 2], vec![4, 1]));
    }

    #[test]
    fn elements_behind_null_lists_are_left_out() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
        let nulls = NullBuffer::from(vec![true, false, true]);
        let field = Arc::new(Field::new_list_field(DataType::Int32, true));
        let list = ListArray::new(field, OffsetBuffer::new(vec![0, 1, 3, 4].into()), values, Some(nulls));
        let leaf = descend(&(Arc::new(list) as ArrayRef), true, &[0]).unwrap();
        assert_eq!(leaf.values.as_primitive::<Int32Type>(), &Int32Array::from(vec![1, 4]));
        assert_eq!(leaf.missing, 1);
    }
}

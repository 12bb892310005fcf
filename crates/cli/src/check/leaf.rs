//! From the Arrow arrays of a column back to the values and nulls of one leaf, as a Parquet file counts them.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, make_array};
use arrow_buffer::NullBuffer;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType};

/// A leaf within a column: the children to follow from the column down.
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
pub(super) struct Leaf {
    /// Values, and nulls where the leaf or a struct above it is null.
    pub(super) values: ArrayRef,
    /// Lists above the leaf that are null or empty: each has one entry in the file, with no value.
    pub(super) missing: u64,
}

/// Follows `path` from `column` down.
pub(super) fn descend(column: &ArrayRef, path: &[usize]) -> Result<Leaf, ArrowError> {
    let mut values = column.clone();
    let mut missing = 0;
    for &index in path {
        values = match values.data_type() {
            DataType::Struct(_) => {
                let parent = values.as_struct();
                with_nulls(parent.column(index), parent.nulls())?
            }
            DataType::List(_) => {
                let list = values.as_list::<i32>();
                elements(list.values(), list.offsets(), list.nulls(), &mut missing)?
            }
            DataType::LargeList(_) => {
                let list = values.as_list::<i64>();
                elements(list.values(), list.offsets(), list.nulls(), &mut missing)?
            }
            DataType::Map(..) => {
                let map = values.as_map();
                let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
                elements(&entries, map.offsets(), map.nulls(), &mut missing)?
            }
            other => return Err(ArrowError::SchemaError(format!("{other} has no children"))),
        };
    }
    Ok(Leaf { values, missing })
}

fn with_nulls(child: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) if child.data_type() != &DataType::Null => {
            let nulls = NullBuffer::union(Some(nulls), child.nulls());
            Ok(make_array(child.to_data().into_builder().nulls(nulls).build()?))
        }
        _ => Ok(child.clone()),
    }
}

/// The elements of all lists that are not null, one after the other.
fn elements<O: OffsetSizeTrait>(
    values: &ArrayRef,
    offsets: &[O],
    nulls: Option<&NullBuffer>,
    missing: &mut u64,
) -> Result<ArrayRef, ArrowError> {
    let mut hidden = false;
    for (row, ends) in offsets.windows(2).enumerate() {
        let is_empty = ends[0] == ends[1];
        let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
        *missing += u64::from(is_null || is_empty);
        hidden |= is_null && !is_empty;
    }
    let (start, end) = (offsets[0].as_usize(), offsets[offsets.len() - 1].as_usize());
    if !hidden {
        return Ok(values.slice(start, end - start));
    }
    // Null lists may have elements behind them that are no part of the data.
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
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, ListArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn null_and_empty_lists_are_entries_without_value() {
        let lists = [Some(vec![Some(1), None]), None, Some(vec![]), Some(vec![Some(3)])];
        let column: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
        let leaf = descend(&column, &[0]).unwrap();
        assert_eq!(leaf.values.as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(1), None, Some(3)]));
        assert_eq!(leaf.missing, 2);
    }

    #[test]
    fn elements_behind_null_lists_are_left_out() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
        let nulls = NullBuffer::from(vec![true, false, true]);
        let field = Arc::new(Field::new_list_field(DataType::Int32, true));
        let list = ListArray::new(field, OffsetBuffer::new(vec![0, 1, 3, 4].into()), values, Some(nulls));
        let leaf = descend(&(Arc::new(list) as ArrayRef), &[0]).unwrap();
        assert_eq!(leaf.values.as_primitive::<Int32Type>(), &Int32Array::from(vec![1, 4]));
        assert_eq!(leaf.missing, 1);
    }
}

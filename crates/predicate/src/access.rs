//! Gets the values of an operand from a batch.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, MapArray, RecordBatch, UInt32Array, make_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use arrow_select::take::take;
use lath_kernels::compare::Comparison;

use crate::error::Result;
use crate::evaluate::test_values;
use crate::test::ValueTest;
use crate::value::Value;

/// A step from a batch to an operand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Access {
    /// The column, or the field of a struct, with this name.
    Field(String),
    /// The value of a map at this key; `None` if the key's type has no such value.
    Key(Option<Value>),
}

/// The values at the end of `steps`, null within a null struct or map; `None` if the batch has no such column or field.
pub(crate) fn follow(batch: &RecordBatch, steps: &[Access]) -> Result<Option<ArrayRef>> {
    let Some((Access::Field(root), steps)) = steps.split_first() else { return Ok(None) };
    let Some(column) = batch.column_by_name(root) else { return Ok(None) };
    let mut array = Arc::clone(column);
    for step in steps {
        array = match step {
            Access::Field(name) => {
                let Some(parent) = array.as_struct_opt() else { return Ok(None) };
                let Some(child) = parent.column_by_name(name) else { return Ok(None) };
                with_parent_nulls(parent.nulls(), child)?
            }
            Access::Key(key) => {
                let Some(map) = array.as_map_opt() else { return Ok(None) };
                map_values(map, key.as_ref())?
            }
        };
    }
    Ok(Some(array))
}

/// The value of each map at a key. If a map repeats the key, the last entry wins.
fn map_values(map: &MapArray, key: Option<&Value>) -> Result<ArrayRef> {
    let mut indices = vec![0u32; map.len()];
    let mut valid = vec![false; map.len()];
    if let Some(key) = key {
        let is_key = test_values(&ValueTest::Compare(Comparison::Equal, key.clone()), map.keys())?;
        for (row, bounds) in map.value_offsets().windows(2).enumerate() {
            let (start, end) = (bounds[0] as usize, bounds[1] as usize);
            let found = (start..end).rev().find(|&entry| is_key.value(entry));
            if let Some(entry) = found.filter(|_| map.is_valid(row)) {
                (indices[row], valid[row]) = (entry as u32, true);
            }
        }
    }
    let indices = UInt32Array::new(ScalarBuffer::from(indices), Some(NullBuffer::from(valid)));
    Ok(take(map.values(), &indices, None)?)
}

/// `child` with the nulls of the struct above it.
fn with_parent_nulls(nulls: Option<&NullBuffer>, child: &ArrayRef) -> Result<ArrayRef> {
    let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return Ok(Arc::clone(child)) };
    if child.data_type() == &DataType::Null {
        return Ok(Arc::clone(child));
    }
    let nulls = NullBuffer::union(Some(nulls), child.nulls());
    if let Some(child) = child.as_boolean_opt() {
        // Array data has one offset for values and nulls, but here the values may be a slice of bits with another offset.
        return Ok(Arc::new(BooleanArray::new(child.values().clone(), nulls)));
    }
    let data = child.to_data().into_builder().nulls(nulls).build();
    Ok(make_array(data?))
}

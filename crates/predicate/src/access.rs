//! The values of an operand in a batch.

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

/// A step of the way from a batch to an operand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Access {
    /// To the column, or the field of a struct, of this name.
    Field(String),
    /// To the value that a map has for this key; `None` if the key's type has no such value.
    Key(Option<Value>),
}

/// The values that `steps` lead to, null within a null struct or map; `None` if the batch has nothing there.
pub(crate) fn operand_of(batch: &RecordBatch, steps: &[Access]) -> Result<Option<ArrayRef>> {
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
                values_of_key(map, key.as_ref())?
            }
        };
    }
    Ok(Some(array))
}

/// The values that maps have for a key. Where a key repeats, the last one counts.
fn values_of_key(map: &MapArray, key: Option<&Value>) -> Result<ArrayRef> {
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
        // A slice of bits begins within a buffer, at an offset that array data has its nulls begin at too.
        return Ok(Arc::new(BooleanArray::new(child.values().clone(), nulls)));
    }
    let data = child.to_data().into_builder().nulls(nulls).build();
    Ok(make_array(data?))
}

//! Tests of the values of one array.

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray};
use arrow_schema::DataType;
use lath_kernels::compare::Comparison;

use super::bitmap::{is_truth, uniform, validity};
use super::truth_cache::TruthCache;
use super::{boolean, bytes, float, integer, list};
use crate::error::{Error, Result};
use crate::test::ValueTest;
use crate::value::data_type_name;

/// Tests each value of an array.
///
/// ```
/// use arrow_array::{BooleanArray, Int32Array};
/// use lath_predicate::{Comparison, Value, ValueTest, test_values};
///
/// let values = Int32Array::from(vec![Some(1), None, Some(3)]);
/// let above_two = ValueTest::Compare(Comparison::Greater, Value::Int(2));
/// assert_eq!(test_values(&above_two, &values)?, BooleanArray::from(vec![Some(false), None, Some(true)]));
/// # Ok::<(), lath_predicate::Error>(())
/// ```
///
/// # Errors
/// [`Error::Mismatch`] if the test does not apply to the array's type.
pub fn test_values(test: &ValueTest, array: &dyn Array) -> Result<BooleanArray> {
    match test {
        ValueTest::IsNull => return Ok(BooleanArray::new(!&validity(array), None)),
        ValueTest::Always(truth) => return Ok(BooleanArray::new(uniform(*truth, array.len()), array.logical_nulls())),
        ValueTest::Contains(element) => {
            return list::contains(array, |elements| {
                let is_element = test_values(&ValueTest::Compare(Comparison::Equal, element.clone()), elements)?;
                Ok(is_truth(&is_element, Some(true)).into_parts().0)
            });
        }
        _ => {}
    }
    let truths = match array.data_type() {
        DataType::Dictionary(..) => return TruthCache::default().test_dictionary(test, array, test_values),
        DataType::Null => return Ok(BooleanArray::new_null(array.len())),
        DataType::Boolean => boolean::test(test, array.as_boolean()),
        other if other.is_string() || other.is_binary() => bytes::test(test, array)?,
        DataType::FixedSizeBinary(_) => bytes::test(test, array)?,
        other if other.is_floating() => float::test(test, array)?,
        _ => integer::test(test, array)?,
    };
    let truths = truths.ok_or_else(|| {
        Error::mismatch(format!("the test was bound to another type than {}", data_type_name(array.data_type())))
    })?;
    Ok(BooleanArray::new(truths, array.logical_nulls()))
}

//! Evaluates tests of booleans.

use arrow_array::BooleanArray;
use arrow_buffer::BooleanBuffer;

use super::bitmap::uniform;
use crate::test::ValueTest;
use crate::value::Value;

/// A bit for each value; `None` if the test or the array is of another type.
pub(super) fn test(test: &ValueTest, array: &BooleanArray) -> Option<BooleanBuffer> {
    let of = |truth| holds(test, truth);
    let values = array.values();
    Some(match (of(false)?, of(true)?) {
        (false, true) => values.clone(),
        (true, false) => !values,
        (same, _) => uniform(same, values.len()),
    })
}

/// The test of one value.
fn holds(test: &ValueTest, truth: bool) -> Option<bool> {
    let value = Value::Boolean(truth);
    match test {
        ValueTest::Truth => Some(truth),
        ValueTest::Compare(op, literal @ Value::Boolean(_)) => Some(op.holds(value.cmp(literal))),
        ValueTest::Between(low @ Value::Boolean(_), high @ Value::Boolean(_)) => Some(*low <= value && value <= *high),
        ValueTest::In(set) => Some(set.contains(&value)),
        _ => None,
    }
}

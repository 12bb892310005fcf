//! Maps floats that are equal but differ in bits to one value: both zeros, and all NaNs.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, make_array};
use arrow_schema::DataType;
use half::f16;

use crate::error::Result;

/// Comparison of floats as keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FloatKeys {
    /// By bits: every bit pattern is a different key. Tables of format 4 and before, whose keys stay as they are.
    #[default]
    ByBits,
    /// By value: 0.0 and -0.0 are one key (0.0), and so are all NaNs (the positive quiet one), which come last.
    ByValue,
}

/// Whether values of a type have floats in them.
pub(crate) fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_floats(values),
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            has_floats(field.data_type())
        }
        other => other.is_floating(),
    }
}

/// The array with canonical floats: 0.0 for both zeros, and one NaN.
pub(crate) fn canonical(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Float16 => floats::<Float16Type>(array, |value| value == f16::ZERO, f16::is_nan),
        DataType::Float32 => floats::<Float32Type>(array, |value| value == 0.0, f32::is_nan),
        DataType::Float64 => floats::<Float64Type>(array, |value| value == 0.0, f64::is_nan),
        data_type if has_floats(data_type) => {
            // The children of a dictionary are its values. Values that become equal keep their places, and encode alike.
            let data = array.to_data();
            let children = data.child_data().iter().map(|child| Ok(canonical(&make_array(child.clone()))?.to_data()));
            let children = children.collect::<Result<Vec<_>>>()?;
            make_array(data.into_builder().child_data(children).build()?)
        }
        _ => Arc::clone(array),
    })
}

fn floats<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    is_zero: impl Fn(T::Native) -> bool,
    is_nan: impl Fn(T::Native) -> bool,
) -> ArrayRef
where
    T::Native: Nan,
{
    let values = array.as_primitive::<T>();
    let is_special = |value: T::Native| is_zero(value) || is_nan(value);
    if !values.values().iter().any(|&value| is_special(value)) {
        return Arc::clone(array);
    }
    let one_form = |value| match value {
        value if is_zero(value) => T::default_value(),
        value if is_nan(value) => T::Native::NAN_KEY,
        value => value,
    };
    let found: PrimitiveArray<T> = values.unary(one_form);
    Arc::new(found)
}

/// Types with a NaN.
trait Nan {
    /// Positive and quiet, without a payload.
    const NAN_KEY: Self;
}

impl Nan for f32 {
    const NAN_KEY: Self = Self::from_bits(0x7fc0_0000);
}

impl Nan for f64 {
    const NAN_KEY: Self = Self::from_bits(0x7ff8_0000_0000_0000);
}

impl Nan for f16 {
    const NAN_KEY: Self = Self::from_bits(0x7e00);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use arrow_array::{DictionaryArray, Float32Array, Float64Array, Int8Array, StructArray};
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn zeros_and_nans_have_one_form_wherever_they_are() {
        let given = vec![Some(-0.0), None, Some(f64::from_bits(0xfff8_0000_0000_0001)), Some(1.5)];
        let expected = vec![Some(0.0), None, Some(f64::from_bits(0x7ff8_0000_0000_0000)), Some(1.5)];
        let bits = |array: &ArrayRef| {
            array.as_primitive::<Float64Type>().iter().map(|value| value.map(f64::to_bits)).collect::<Vec<_>>()
        };
        let (given, expected): (ArrayRef, ArrayRef) =
            (Arc::new(Float64Array::from(given)), Arc::new(Float64Array::from(expected)));
        assert_eq!(bits(&canonical(&given).unwrap()), bits(&expected));
        let field = Arc::new(Field::new("x", DataType::Float64, true));
        let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, Arc::clone(&given))]));
        assert_eq!(bits(canonical(&nested).unwrap().as_struct().column(0)), bits(&expected));
        let keys = Int8Array::from(vec![0, 2, 3, 0]);
        let dictionary: ArrayRef = Arc::new(DictionaryArray::new(keys, given));
        let found = canonical(&dictionary).unwrap();
        assert_eq!(bits(found.as_any_dictionary().values()), bits(&expected));
    }

    #[test]
    fn an_array_without_them_is_not_copied() {
        let given: ArrayRef = Arc::new(Float32Array::from(vec![1.0, f32::INFINITY, -2.5]));
        assert!(Arc::ptr_eq(&canonical(&given).unwrap(), &given));
    }
}

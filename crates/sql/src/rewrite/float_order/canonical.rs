//! The function that maps all NaNs to one and both zeros to one, even within lists, structs and maps.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The name of the function. Scans recognise and remove it, because their comparisons need no canonical floats.
pub(crate) const CANONICAL_FLOAT: &str = "canonical_float";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Canonical {
    signature: Signature,
}

impl Canonical {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Canonical {
    fn name(&self) -> &str {
        CANONICAL_FLOAT
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type] => Ok(data_type.clone()),
            _ => plan_err!("{CANONICAL_FLOAT} has an argument"),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(values)] => canonical(values).map(ColumnarValue::Array),
            [ColumnarValue::Scalar(value)] => Ok(ColumnarValue::Scalar(canonical_scalar(value.clone()))),
            _ => plan_err!("{CANONICAL_FLOAT} has an argument"),
        }
    }

    // Scans never declare an order of floats, and all sorts within a query are by canonical floats.
    fn output_ordering(&self, _: &[ExprProperties]) -> Result<SortProperties> {
        Ok(SortProperties::Unordered)
    }
}

/// Whether a type is or contains a float.
pub(super) fn has_float(data_type: &DataType) -> bool {
    match data_type {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => true,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_float(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_float(field.data_type())),
        DataType::Dictionary(_, value) => has_float(value),
        DataType::RunEndEncoded(_, field) => has_float(field.data_type()),
        _ => false,
    }
}

/// Whether an expression is a float literal other than zero and NaN.
pub(super) fn is_plain_number(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(ScalarValue::Float64(Some(value)), _) => !value.is_nan() && *value != 0.0,
        Expr::Literal(ScalarValue::Float32(Some(value)), _) => !value.is_nan() && *value != 0.0,
        _ => false,
    }
}

pub(super) fn canonical_scalar(value: ScalarValue) -> ScalarValue {
    if !has_float(&value.data_type()) || value.is_null() {
        return value;
    }
    let array = value.to_array().and_then(|array| canonical(&array));
    array.and_then(|array| ScalarValue::try_from_array(&array, 0)).unwrap_or(value)
}

/// Makes the floats of an array, including nested ones, canonical.
pub(super) fn canonical(values: &ArrayRef) -> Result<ArrayRef> {
    // Adding zero removes the sign of a zero.
    Ok(match values.data_type() {
        DataType::Float64 => Arc::new(
            values
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value + 0.0 }),
        ),
        DataType::Float32 => Arc::new(
            values
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value + 0.0 }),
        ),
        DataType::Float16 => Arc::new(
            values
                .as_primitive::<Float16Type>()
                .unary::<_, Float16Type>(|value| if value.is_nan() { Half::NAN } else { value + Half::ZERO }),
        ),
        nested if has_float(nested) => {
            let data = values.to_data();
            let mut children = Vec::with_capacity(data.child_data().len());
            for child in data.child_data() {
                children.push(canonical(&make_array(child.clone()))?.to_data());
            }
            make_array(data.into_builder().child_data(children).build()?)
        }
        _ => Arc::clone(values),
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{Float64Array, ListArray, StructArray};
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn zeros_and_nans_within_structs_and_lists_are_one() {
        let negative = f64::from_bits(0xfff8_0000_0000_0007);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(-0.0), Some(negative), None, Some(1.5)]));
        let field = Arc::new(Field::new("x", DataType::Float64, true));
        let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, floats)]));
        let canonical = canonical(&nested.slice(0, 3)).unwrap();
        let inner = canonical.as_struct().column(0).as_primitive::<Float64Type>();
        assert_eq!(inner.value(0).to_bits(), 0);
        assert_eq!(inner.value(1).to_bits(), f64::NAN.to_bits());
        assert!(inner.is_null(2));
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]));
        assert_eq!(&super::canonical(&lists).unwrap(), &lists);
    }
}

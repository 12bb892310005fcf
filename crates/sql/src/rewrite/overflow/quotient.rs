//! Quotients of decimals that Arrow (59) cannot compute: it multiplies the dividend by a power of ten, in 128 bits, and the product of
//! `sum(price / 2) / sum(price / 2)`, with 16 digits after the points, does not fit, although the quotient does.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, Decimal128Array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};
use datafusion::arrow::compute::kernels::arity::try_binary;
use datafusion::arrow::datatypes::i256;
use datafusion::common::{Result, exec_datafusion_err, internal_err};
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use super::decimal::{DIGITS_END, decimal_text};
use super::sql_name;

const MAX_DIGITS: i16 = 38;
/// The name of the function.
const QUOTIENT: &str = "divide_checked";

/// The quotient of two 128-bit decimals, cut off after the last digit of its type, as Arrow does.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Quotient {
    signature: Signature,
}

impl Quotient {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }

    /// Whether Arrow's dividend may not fit into 128 bits.
    pub(super) fn is_needed(left: &DataType, right: &DataType) -> bool {
        let quotient = BinaryTypeCoercer::new(left, &Operator::Divide, right).get_result_type();
        match (left, right, quotient) {
            (&DataType::Decimal128(p1, s1), &DataType::Decimal128(p2, s2), Ok(DataType::Decimal128(_, scale))) => {
                let exponent = exponent(s1, s2, scale);
                i16::from(p1) + exponent > MAX_DIGITS || i16::from(p2) - exponent > MAX_DIGITS
            }
            _ => false,
        }
    }
}

/// The power of ten that brings the dividend to the scale of the quotient and the divisor; the divisor is multiplied if it is negative.
fn exponent(left: i8, right: i8, quotient: i8) -> i16 {
    i16::from(quotient) - i16::from(left) + i16::from(right)
}

fn power(exponent: i16) -> Option<i256> {
    i256::from_i128(10).checked_pow(u32::try_from(exponent).ok()?)
}

/// The quotient; `None` if it does not fit. The divisor is not zero.
fn divide(left: i128, right: i128, factors: (i256, i256)) -> Option<i128> {
    let narrow = |value: i128, factor: i256| factor.to_i128().and_then(|factor| value.checked_mul(factor));
    if let (Some(left), Some(right)) = (narrow(left, factors.0), narrow(right, factors.1)) {
        return left.checked_div(right);
    }
    let left = i256::from_i128(left).checked_mul(factors.0)?;
    let right = i256::from_i128(right).checked_mul(factors.1)?;
    left.checked_div(right)?.to_i128()
}

impl ScalarUDFImpl for Quotient {
    fn name(&self) -> &str {
        QUOTIENT
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        let sides: Vec<String> = args.iter().map(ToString::to_string).collect();
        Ok(sides.join(" / "))
    }

    // The name of the replaced expression, because other parts of the plan refer to it.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let sides: Vec<String> = args.iter().map(|side| side.schema_name().to_string()).collect();
        Ok(sides.join(" / "))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [left, right] => BinaryTypeCoercer::new(left, &Operator::Divide, right).get_result_type(),
            _ => internal_err!("{QUOTIENT} has two arguments"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, is_nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let all_constant = args.args.iter().all(|side| matches!(side, ColumnarValue::Scalar(_)));
        let sides = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = sides.as_slice() else { return internal_err!("{QUOTIENT} has two arguments") };
        let types = (left.data_type(), right.data_type(), args.return_type());
        let (&DataType::Decimal128(_, s1), &DataType::Decimal128(_, s2), &DataType::Decimal128(precision, scale)) =
            types
        else {
            return internal_err!("{QUOTIENT} of {} and {}", types.0, types.1);
        };
        let exponent = exponent(s1, s2, scale);
        let too_wide = || {
            exec_datafusion_err!("the quotient of {} and {} has too many digits", sql_name(types.0), sql_name(types.1))
        };
        let factors = (power(exponent.max(0)).ok_or_else(too_wide)?, power((-exponent).max(0)).ok_or_else(too_wide)?);
        let end = 10_u128.checked_pow(u32::from(precision)).unwrap_or(DIGITS_END);
        let quotients: Decimal128Array = try_binary(
            left.as_primitive::<Decimal128Type>(),
            right.as_primitive::<Decimal128Type>(),
            |left, right| {
                if right == 0 {
                    return Err(ArrowError::DivideByZero);
                }
                divide(left, right, factors).filter(|quotient| quotient.unsigned_abs() < end).ok_or_else(|| {
                    let (left, right) = (decimal_text(left, s1), decimal_text(right, s2));
                    let text = format!(
                        "{left} / {right} does not fit {}; cast one side to fewer digits, or to DOUBLE",
                        sql_name(types.2)
                    );
                    ArrowError::ComputeError(text)
                })
            },
        )?;
        let quotients = quotients.with_precision_and_scale(precision, scale)?;
        if all_constant {
            return ScalarValue::try_from_array(&quotients, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(Arc::new(quotients)))
    }
}

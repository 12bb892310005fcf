//! Common types of decimals that are compared or are values of one expression.
//!
//! DataFusion 55 chooses a common type of at most 38 digits and drops digits before the point: `d > 12` is an error if 37 digits of `d` are
//! after the point. Here decimals get as many digits as both sides have, up to 76.

use arrow_schema::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use datafusion::scalar::ScalarValue;
use lath_parquet::ExactType;

/// Maximum digits of DataFusion's common types.
const NARROW_DIGITS: i16 = 38;
const MAX_DIGITS: i16 = 76;

/// Casts integers and decimals that need a common type to one that holds all of them, if 38 digits are too few. Returns whether it did.
pub(crate) fn unify(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    // Expressions without a type yet stay unchanged. If one is not a number, the common type is not a decimal.
    let all: Vec<Option<Option<(i16, i16)>>> = exprs.iter().map(|expr| expr_places(expr, schema)).collect();
    if all.contains(&Some(None)) || !exprs.iter().any(|expr| is_decimal(expr, schema)) {
        return false;
    }
    let Some(common) = wide_type(all.iter().copied().flatten()) else { return false };
    for (expr, places) in exprs.into_iter().zip(all) {
        if places.flatten().is_some() {
            let inner = std::mem::replace(expr, Expr::Literal(ScalarValue::Null, None));
            *expr = cast(inner, common.clone());
        }
    }
    true
}

/// The decimal type for these numbers of digits before and after the point, if it needs more than 38 digits.
pub(crate) fn wide_type(all: impl Iterator<Item = Option<(i16, i16)>> + Clone) -> Option<DataType> {
    if all.clone().any(|places| places.is_none()) {
        return None;
    }
    let whole = all.clone().flatten().map(|(whole, _)| whole).max()?;
    let scale = all.flatten().map(|(_, scale)| scale).max()?;
    let is_wide = scale > 0 && whole + scale > NARROW_DIGITS && whole + scale <= MAX_DIGITS;
    let (precision, scale) = (u8::try_from(whole + scale).ok()?, i8::try_from(scale).ok()?);
    is_wide.then_some(DataType::Decimal256(precision, scale))
}

fn is_decimal(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|data_type| data_type.is_decimal())
}

/// The digits of an expression; `None` if its type is unknown or null.
fn expr_places(expr: &Expr, schema: &DFSchema) -> Option<Option<(i16, i16)>> {
    if let Expr::Literal(ScalarValue::Int64(Some(value)), _) = expr {
        return Some(Some((i16::try_from(value.unsigned_abs().to_string().len()).unwrap_or(NARROW_DIGITS), 0)));
    }
    let data_type = expr.get_type(schema).ok()?;
    (data_type != DataType::Null).then(|| places(&data_type))
}

/// The digits of a number type before and after the point.
pub(crate) fn places(data_type: &DataType) -> Option<(i16, i16)> {
    let (whole, scale) = ExactType::new(data_type)?.digits()?;
    Some((whole, scale.max(0)))
}

//! Decimals beside floats are floats.
//!
//! DataFusion 55 compares them as decimals of 30 digits, 15 of them after the point: large floats and NaN are errors then, small ones are 0,
//! and no condition on a column of floats goes into the scan. As in PostgreSQL, a decimal becomes a float here. A literal becomes one of the
//! column's precision, as in conditions of `lath find`, so that `real_column = 0.1` finds what was stored as 0.1.

use arrow_schema::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use datafusion::scalar::ScalarValue;

/// Casts the decimals among expressions that get one type, if one of them is a float; whether there were such.
pub(crate) fn unify(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    // What has no type yet is left as it is.
    let types: Vec<Option<DataType>> = exprs.iter().map(|expr| expr.get_type(schema).ok()).collect();
    let mut floats = types.iter().flatten().filter(|data_type| data_type.is_floating());
    let is_decimal = |data_type: &Option<DataType>| data_type.as_ref().is_some_and(DataType::is_decimal);
    let Some(first) = floats.next() else { return false };
    if !types.iter().any(is_decimal) {
        return false;
    }
    let is_wide = *first == DataType::Float64 || floats.any(|data_type| *data_type == DataType::Float64);
    for (expr, data_type) in exprs.into_iter().zip(&types) {
        if is_decimal(data_type) {
            let float = if is_literal(expr) && !is_wide { DataType::Float32 } else { DataType::Float64 };
            let inner = std::mem::replace(expr, Expr::Literal(ScalarValue::Null, None));
            *expr = cast(inner, float);
        }
    }
    true
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => true,
        Expr::Negative(inner) => is_literal(inner),
        _ => false,
    }
}

/// The floats that decimals become in a column of a union.
pub(crate) fn type_in_union(types: &[DataType]) -> Option<DataType> {
    let has_floats = types.iter().any(DataType::is_floating);
    (has_floats && types.iter().any(DataType::is_decimal)).then_some(DataType::Float64)
}

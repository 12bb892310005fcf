//! Makes decimals floats where they meet floats.
//!
//! DataFusion 55 compares them as decimals of 30 digits, 15 of them after the point: large floats and NaN are errors, small floats become
//! 0, and no condition on a float column is pushed down to the scan. Here a decimal becomes a float, as in PostgreSQL. A literal gets the
//! column's precision, as in conditions of `lath find`, so that `real_column = 0.1` finds values stored as 0.1.

use arrow_schema::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use datafusion::scalar::ScalarValue;

/// Casts decimals that need a common type with a float. Returns whether it did.
pub(crate) fn unify(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    // Expressions without a type yet stay unchanged.
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

/// The float type of a union's column, if decimals meet floats in it.
pub(crate) fn type_in_union(types: &[DataType]) -> Option<DataType> {
    let has_floats = types.iter().any(DataType::is_floating);
    (has_floats && types.iter().any(DataType::is_decimal)).then_some(DataType::Float64)
}

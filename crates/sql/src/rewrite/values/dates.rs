//! Dates that meet timestamps become timestamps of their unit. DataFusion 55 casts both to nanoseconds, which have no dates before 1677 and
//! after 2262.

use arrow_schema::{DataType, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};

/// Casts dates to the type of the timestamps that they meet. Returns whether it did.
pub(super) fn unify(exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let types: Vec<DataType> = exprs.iter().map(|expr| expr.get_type(schema).unwrap_or(DataType::Null)).collect();
    let is_date = |data_type: &DataType| matches!(data_type, DataType::Date32 | DataType::Date64);
    let mut timestamps = types.iter().filter(|data_type| matches!(data_type, DataType::Timestamp(..)));
    let Some(common @ DataType::Timestamp(unit, None)) = timestamps.next() else { return false };
    let has_others = types.iter().any(|known| !is_date(known) && known != common && *known != DataType::Null);
    if *unit == TimeUnit::Nanosecond || has_others || !types.iter().any(is_date) {
        return false;
    }
    for (expr, _) in exprs.into_iter().zip(&types).filter(|(_, data_type)| is_date(data_type)) {
        *expr = cast(expr.clone(), common.clone());
    }
    true
}

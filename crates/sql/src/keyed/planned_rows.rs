//! Plans small tables of values.

use datafusion::common::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::col;
use datafusion::scalar::ScalarValue;

/// A table of texts.
pub(super) fn texts<const N: usize>(names: [&str; N], texts: Vec<[Option<String>; N]>) -> Result<LogicalPlan> {
    let row = |row: [Option<String>; N]| row.map(ScalarValue::Utf8);
    rows(names, texts.into_iter().map(row).collect(), std::array::from_fn(|_| ScalarValue::Utf8(None)))
}

/// A table of values. `none` has the types of its columns.
pub(super) fn rows<const N: usize>(
    names: [&str; N],
    rows: Vec<[ScalarValue; N]>,
    none: [ScalarValue; N],
) -> Result<LogicalPlan> {
    let is_empty = rows.is_empty();
    let rows = if is_empty { vec![none] } else { rows };
    let value = |value: ScalarValue| Expr::Literal(value, None);
    let rows: Vec<Vec<Expr>> = rows.into_iter().map(|row| row.into_iter().map(value).collect()).collect();
    let columns = (1..).zip(names).map(|(number, name)| col(format!("column{number}")).alias(name));
    let named = LogicalPlanBuilder::values(rows)?.project(columns)?;
    if is_empty { named.limit(0, Some(0))?.build() } else { named.build() }
}

//! The table functions `changes('t', from => 'monday')`, `changes('t', consumer => 'copy')` and `consumers('t')`.

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::LogicalPlan;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, Value, ValueWithSpan};
use lath_table::Consumer;

use super::planned_rows::rows;
use super::table::KeyedTable;
use super::tables::SessionTables;
use crate::error::table_error;

/// `changes('t', from => 'monday')` and `changes('t', consumer => 'copy')`; `None` for other arguments.
pub(crate) fn named_changes(tables: &SessionTables, arguments: &[FunctionArg]) -> Result<Option<KeyedTable>> {
    let [table, FunctionArg::Named { name, arg, .. }] = arguments else { return Ok(None) };
    let text = |argument: &FunctionArgExpr| match argument {
        FunctionArgExpr::Expr(Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. })) => {
            Some(text.clone())
        }
        _ => None,
    };
    let table = match table {
        FunctionArg::Unnamed(table) => text(table),
        _ => None,
    };
    match (name.value.to_ascii_lowercase().as_str(), table, text(arg)) {
        ("from", Some(table), Some(snapshot)) => tables.keyed(&table)?.changes_from(&snapshot).map(Some),
        ("consumer", Some(table), Some(consumer)) => tables.keyed(&table)?.changes_for(&consumer).map(Some),
        _ => plan_err!(
            "changes takes the name of a table and from => 'snapshot', for the rows of this snapshot and the changes after it, or consumer => 'name'"
        ),
    }
}

/// The consumers of a table.
pub(crate) fn consumers(table: &KeyedTable) -> Result<LogicalPlan> {
    let row = |consumer: Consumer| {
        [
            ScalarValue::Utf8(Some(consumer.name)),
            ScalarValue::UInt64(Some(consumer.sequence)),
            ScalarValue::Boolean(Some(consumer.is_bootstrapping)),
            ScalarValue::UInt64(Some(consumer.max_rows)),
        ]
    };
    let none =
        [ScalarValue::Utf8(None), ScalarValue::UInt64(None), ScalarValue::Boolean(None), ScalarValue::UInt64(None)];
    let consumers = table.table().consumers().map_err(table_error)?;
    rows(["name", "sequence", "bootstraps", "rows"], consumers.into_iter().map(row).collect(), none)
}

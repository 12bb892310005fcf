//! `DELETE FROM orders AS o WHERE o.id = 3`.
//!
//! DataFusion (55) plans a deletion without the alias of its table.

use std::sync::Arc;

use datafusion::common::{Result, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DmlStatement, LogicalPlan, WriteOp};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    Delete, FromTable, SetExpr, Statement as SqlStatement, TableFactor, TableWithJoins,
};

use crate::grammar::parse;
use crate::keyed::SessionTables;

/// Plans a deletion from an aliased table with a primary key; `None` for other statements.
pub(crate) async fn plan_delete_from_alias(
    state: &SessionState,
    tables: &SessionTables,
    statement: &Statement,
) -> Result<Option<LogicalPlan>> {
    let Statement::Statement(statement) = statement else { return Ok(None) };
    let SqlStatement::Delete(delete) = statement.as_ref() else { return Ok(None) };
    let Some(target) = target_with_alias(delete) else { return Ok(None) };
    let TableFactor::Table { name, .. } = &target.relation else { return Ok(None) };
    let reference = object_name_to_table_reference(name.clone(), true)?;
    let Ok(table) = tables.keyed(reference.table()) else { return Ok(None) };
    // The rows to delete, by a query in which the alias resolves.
    let text = "SELECT * FROM the_table";
    let Some(Statement::Statement(mut query)) = parse(text)?.pop_front() else { return plan_err!("{text}") };
    if let SqlStatement::Query(query) = query.as_mut()
        && let SetExpr::Select(select) = query.body.as_mut()
    {
        select.from = vec![target.clone()];
        select.selection.clone_from(&delete.selection);
    }
    let rows = state.statement_to_plan(Statement::Statement(query)).await?;
    let target = provider_as_source(Arc::new(table));
    Ok(Some(LogicalPlan::Dml(DmlStatement::new(reference, target, WriteOp::Delete, Arc::new(rows)))))
}

/// The table of a deletion, if it has an alias and the statement nothing else but a condition.
fn target_with_alias(delete: &Delete) -> Option<&TableWithJoins> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let [target] = from.as_slice() else { return None };
    let has_alias = matches!(&target.relation, TableFactor::Table { alias: Some(_), .. }) && target.joins.is_empty();
    let is_plain = delete.tables.is_empty()
        && delete.using.is_none()
        && delete.returning.is_none()
        && delete.order_by.is_empty()
        && delete.limit.is_none()
        && delete.optimizer_hints.is_empty()
        && delete.output.is_none();
    (has_alias && is_plain).then_some(target)
}

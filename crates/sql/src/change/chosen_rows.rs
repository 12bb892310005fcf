//! `DELETE FROM orders AS o WHERE o.id = 3`, and `ORDER BY` and `LIMIT` of `DELETE` and `UPDATE`.
//!
//! DataFusion (55) plans a deletion without the alias of its table, and neither clause. Here a query returns the rows.

use std::sync::Arc;

use datafusion::common::{Result, not_impl_err, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DmlStatement, LogicalPlan, Projection, WriteOp};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    Delete, Expr, FromTable, LimitClause, OrderBy, OrderByExpr, OrderByKind, Statement as SqlStatement, TableFactor,
    TableWithJoins, Update,
};

use crate::grammar::select_from_table;
use crate::keyed::SessionTables;

/// Plans a change of a table with a primary key whose rows a query has to choose; `None` for other statements.
pub(crate) async fn plan_chosen_rows(
    state: &SessionState,
    tables: &SessionTables,
    statement: &Statement,
) -> Result<Option<LogicalPlan>> {
    let Statement::Statement(statement) = statement else { return Ok(None) };
    match statement.as_ref() {
        SqlStatement::Delete(delete) => plan_deletion(state, tables, delete).await,
        SqlStatement::Update(update) if !update.order_by.is_empty() || update.limit.is_some() => {
            plan_limited_update(state, tables, update).await.map(Some)
        }
        _ => Ok(None),
    }
}

async fn plan_deletion(state: &SessionState, tables: &SessionTables, delete: &Delete) -> Result<Option<LogicalPlan>> {
    let Some(target) = plain_target(delete) else { return Ok(None) };
    let TableFactor::Table { name, alias, .. } = &target.relation else { return Ok(None) };
    let is_limited = !delete.order_by.is_empty() || delete.limit.is_some();
    if alias.is_none() && !is_limited {
        return Ok(None);
    }
    let reference = object_name_to_table_reference(name.clone(), true)?;
    let table = match tables.keyed(reference.table()) {
        Ok(table) => table,
        Err(_) if !is_limited => return Ok(None),
        Err(_) => return refuse(&reference.to_string()),
    };
    let rows = ChosenRows {
        target,
        condition: delete.selection.as_ref(),
        order_by: &delete.order_by,
        limit: delete.limit.as_ref(),
    };
    let rows = rows.plan(state).await?;
    let target = provider_as_source(Arc::new(table));
    Ok(Some(LogicalPlan::Dml(DmlStatement::new(reference, target, WriteOp::Delete, Arc::new(rows)))))
}

/// Plans an update of all rows that satisfy the condition, and takes the first of them.
async fn plan_limited_update(state: &SessionState, tables: &SessionTables, update: &Update) -> Result<LogicalPlan> {
    let TableFactor::Table { name, .. } = &update.table.relation else {
        return plan_err!("{} is not the name of a table", update.table);
    };
    let reference = object_name_to_table_reference(name.clone(), true)?;
    let Ok(_) = tables.keyed(reference.table()) else { return refuse(&reference.to_string()) };
    let rows = ChosenRows {
        target: &update.table,
        condition: update.selection.as_ref(),
        order_by: &update.order_by,
        limit: update.limit.as_ref(),
    };
    let rows = rows.plan(state).await?;
    let all = Update { order_by: Vec::new(), limit: None, ..update.clone() };
    let all = state.statement_to_plan(Statement::Statement(Box::new(SqlStatement::Update(all)))).await?;
    let LogicalPlan::Dml(mut all) = all else { return unknown_form(&reference.to_string()) };
    let LogicalPlan::Projection(Projection { expr, input, .. }) = all.input.as_ref() else {
        return unknown_form(&reference.to_string());
    };
    if input.schema().columns() != rows.schema().columns() {
        return unknown_form(&reference.to_string());
    }
    let values = Projection::try_new(expr.clone(), Arc::new(rows))?;
    all.input = Arc::new(LogicalPlan::Projection(values));
    Ok(LogicalPlan::Dml(all))
}

fn refuse<T>(name: &str) -> Result<T> {
    plan_err!(
        "{name} is in memory or has files, so that ORDER BY and LIMIT do not choose its rows; choose them by WHERE"
    )
}

fn unknown_form<T>(name: &str) -> Result<T> {
    not_impl_err!("this form of UPDATE with LIMIT of table {name}; choose the rows by a subquery in WHERE")
}

/// The rows of a table that a statement changes.
struct ChosenRows<'s> {
    target: &'s TableWithJoins,
    condition: Option<&'s Expr>,
    order_by: &'s [OrderByExpr],
    limit: Option<&'s Expr>,
}

impl ChosenRows<'_> {
    /// Plans the query that returns them.
    async fn plan(self, state: &SessionState) -> Result<LogicalPlan> {
        let query = select_from_table(|query, select| {
            select.from = vec![self.target.clone()];
            select.selection = self.condition.cloned();
            if !self.order_by.is_empty() {
                let kind = OrderByKind::Expressions(self.order_by.to_vec());
                query.order_by = Some(OrderBy { kind, interpolate: None });
            }
            query.limit_clause = self.limit.cloned().map(|limit| LimitClause::LimitOffset {
                limit: Some(limit),
                offset: None,
                limit_by: Vec::new(),
            });
        })?;
        state.statement_to_plan(query).await
    }
}

/// The table of a deletion, if the statement has nothing else but a condition, an order and a limit.
fn plain_target(delete: &Delete) -> Option<&TableWithJoins> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let [target] = from.as_slice() else { return None };
    let is_plain = delete.tables.is_empty()
        && delete.using.is_none()
        && delete.returning.is_none()
        && delete.optimizer_hints.is_empty()
        && delete.output.is_none();
    (target.joins.is_empty() && is_plain).then_some(target)
}

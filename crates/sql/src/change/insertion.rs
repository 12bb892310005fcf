//! `INSERT INTO t SELECT … FROM (VALUES …) AS v`.
//!
//! DataFusion (55) casts every VALUES within the statement to the types of the table's columns, so an inner VALUES was cast to the types of
//! unrelated columns, and 1.7 became 1. Here the query is planned by itself.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::{Column, DFSchema, Result, ScalarValue, plan_err};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, TableSource, lit};
use datafusion::sql::parser::Statement;
use datafusion::sql::planner::object_name_to_table_reference;
use datafusion::sql::sqlparser::ast::{
    Insert, Query, SetExpr, SqliteOnConflict, Statement as SqlStatement, TableFactor, TableObject, Visit, Visitor,
};

use super::conflict::is_plain;
use crate::dialect::normal;

/// Plans an insertion whose query has VALUES among its tables; `None` for other statements.
pub(crate) async fn plan_insertion(state: &SessionState, statement: &Statement) -> Result<Option<LogicalPlan>> {
    let Statement::Statement(statement) = statement else { return Ok(None) };
    let SqlStatement::Insert(insert) = statement.as_ref() else { return Ok(None) };
    let (Some(source), TableObject::TableName(name)) = (&insert.source, &insert.table) else { return Ok(None) };
    let Some(op) = operation(insert).filter(|_| has_inner_values(source)) else { return Ok(None) };
    let reference = object_name_to_table_reference(name.clone(), true)?;
    let Some(table) = state.schema_for_ref(reference.clone())?.table(reference.table()).await? else {
        return plan_err!("there is no table {reference}");
    };
    let query = Statement::Statement(Box::new(SqlStatement::Query(source.clone())));
    let rows = state.statement_to_plan(query).await?;
    let target = provider_as_source(table);
    let exprs = columns(insert, target.as_ref(), &rows)?;
    let rows = LogicalPlanBuilder::from(rows).project(exprs)?.build()?;
    LogicalPlanBuilder::insert_into(rows, reference, target, op)?.build().map(Some)
}

/// The operation of an insertion; `None` if it has clauses that only DataFusion supports.
fn operation(insert: &Insert) -> Option<InsertOp> {
    let replaces = insert.replace_into || insert.or == Some(SqliteOnConflict::Replace);
    let other = insert.on.is_some() || insert.or.is_some_and(|or| or != SqliteOnConflict::Replace);
    let plain = Insert { source: None, or: None, replace_into: false, ..insert.clone() };
    (!other && is_plain(&plain)).then_some(if replaces { InsertOp::Replace } else { InsertOp::Append })
}

/// Whether a query has VALUES among its tables, rather than being VALUES.
fn has_inner_values(query: &Query) -> bool {
    struct Inner;
    impl Visitor for Inner {
        type Break = ();

        fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
            match table {
                TableFactor::Derived { subquery, .. } if has_values(&subquery.body) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let tables = query.with.iter().flat_map(|with| &with.cte_tables);
            match tables.into_iter().any(|table| has_values(&table.query.body)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    query.visit(&mut Inner).is_break()
}

fn has_values(body: &SetExpr) -> bool {
    match body {
        SetExpr::Values(_) => true,
        SetExpr::Query(query) => has_values(&query.body),
        SetExpr::SetOperation { left, right, .. } => has_values(left) || has_values(right),
        _ => false,
    }
}

/// The values of the table's columns that an INSERT gives.
fn columns(insert: &Insert, table: &dyn TableSource, rows: &LogicalPlan) -> Result<Vec<Expr>> {
    let schema = table.schema();
    let mut given = Vec::new();
    for name in &insert.columns {
        let Some(ident) = name.0.last().and_then(|part| part.as_ident()).filter(|_| name.0.len() == 1) else {
            return plan_err!("{name} is not the name of a column");
        };
        let column = normal(ident);
        if schema.column_with_name(&column).is_none() {
            return plan_err!("the table has no column {column:?}");
        }
        if given.contains(&column) {
            return plan_err!("column {column:?} is named twice; name it once");
        }
        given.push(column);
    }
    if given.is_empty() {
        given = schema.fields().iter().map(|field| field.name().clone()).collect();
    }
    if given.len() != rows.schema().fields().len() {
        return plan_err!(
            "the INSERT names {} columns and its query returns {}; make the numbers equal",
            given.len(),
            rows.schema().fields().len()
        );
    }
    table_values(table, rows, &given)
}

/// The columns of the table: the columns of a query for the ones that are given, cast to their types, and the defaults of the others.
pub(super) fn table_values(table: &dyn TableSource, rows: &LogicalPlan, given: &[String]) -> Result<Vec<Expr>> {
    let schema = table.schema();
    let (none, empty) = (lit(ScalarValue::Null), DFSchema::empty());
    let value = |field: &Arc<arrow_schema::Field>| {
        let value = match given.iter().position(|column| column == field.name()) {
            Some(at) => Expr::Column(Column::from(rows.schema().qualified_field(at)))
                .cast_to(field.data_type(), rows.schema())?,
            None => {
                table.get_column_default(field.name()).unwrap_or(&none).clone().cast_to(field.data_type(), &empty)?
            }
        };
        Ok(value.alias(field.name()))
    };
    schema.fields().iter().map(value).collect()
}

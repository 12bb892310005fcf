//! Applies the rewrites of syntax to a statement before it is planned.

use std::ops::ControlFlow;

use datafusion::error::DataFusionError;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, Fetch, FunctionArg, FunctionArgExpr, JoinOperator, LimitClause, ObjectNamePart, Query, Select, SetExpr,
    Statement as SqlStatement, TableFactor, TableWithJoins, Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::dialect::normal;
use crate::rewrite::aggregates::{empty_frames, text_aggregates, windows};
use crate::rewrite::joins::{row_subqueries, rows};
use crate::rewrite::values::nested::{element_functions, inner_values, lists};
use crate::rewrite::values::{cast_names, functions, numbers, patterns, types};
use crate::rewrite::{change_sources, field_access, foreign_calls, output};
use crate::statement::explained;

/// Rewrites the queries and expressions of a statement.
pub(crate) fn rewrite(statement: &mut Statement) -> Result<(), DataFusionError> {
    if let Statement::Statement(statement) = &mut *statement
        && let SqlStatement::Query(query) = statement.as_mut()
    {
        output::name_answer(query);
    }
    let flow = match explained(statement) {
        Statement::Statement(statement) => statement.visit(&mut Rewriter),
        Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => query.visit(&mut Rewriter),
        _ => ControlFlow::Continue(()),
    };
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(DataFusionError::from(error)),
    }
}

/// Rewrites an expression as if a statement had it.
pub(crate) fn rewrite_expression(expr: &mut Expr) -> Result<(), ParserError> {
    match expr.visit(&mut Rewriter) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Rewriter;

impl VisitorMut for Rewriter {
    type Break = ParserError;

    fn pre_visit_statement(&mut self, statement: &mut SqlStatement) -> ControlFlow<ParserError> {
        types::rename_columns(statement);
        as_flow(inner_values::rewrite(statement).and_then(|()| change_sources::rewrite(statement)))
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<ParserError> {
        fetch_as_limit(query);
        output::number_order(query);
        if let SetExpr::Values(values) = query.body.as_mut() {
            numbers::unify_values(values);
            types::unify_values(values);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<ParserError> {
        cast_names::rewrite(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<ParserError> {
        select.from.iter_mut().for_each(name_sides);
        windows::modifiers_as_sets(&mut select.group_by);
        windows::write_out_sets(&mut select.group_by);
        output::name_items(select);
        element_functions::rename_parameters(select);
        text_aggregates::order_apart(select);
        as_flow(windows::refine(select).and_then(|()| row_subqueries::rewrite_conditions(select)))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<ParserError> {
        without_lateral(factor);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<ParserError> {
        let steps: [foreign_calls::Rewrite; 13] = [
            windows::rewrite,
            empty_frames::rewrite,
            numbers::rewrite,
            types::rewrite,
            patterns::rewrite,
            rows::rewrite,
            row_subqueries::rewrite,
            lists::rewrite,
            element_functions::rewrite,
            field_access::rewrite,
            |expr| foreign_calls::interval_values(expr, rewrite_expression),
            functions::rewrite,
            |expr| foreign_calls::rewrite(expr, rewrite_expression),
        ];
        as_flow(steps.into_iter().try_for_each(|step| step(expr)))
    }
}

fn as_flow(result: Result<(), ParserError>) -> ControlFlow<ParserError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

/// Rewrites `LATERAL unnest(list)` as `unnest(list)`, which sees the tables before it anyway.
fn without_lateral(factor: &mut TableFactor) {
    let TableFactor::Function { lateral: true, name, args, with_ordinality: false, alias } = factor else { return };
    let is_unnest = matches!(name.0.as_slice(), [ObjectNamePart::Identifier(name)] if normal(name) == "unnest");
    let lists = args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(list)) => Some(list.clone()),
        _ => None,
    });
    let Some(array_exprs) = lists.collect::<Option<Vec<_>>>().filter(|_| is_unnest) else { return };
    *factor = TableFactor::UNNEST {
        alias: alias.take(),
        array_exprs,
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    };
}

/// Rewrites DuckDB's `SEMI JOIN` and `ANTI JOIN` to `LEFT SEMI JOIN` and `LEFT ANTI JOIN`.
fn name_sides(from: &mut TableWithJoins) {
    for join in &mut from.joins {
        let operator = &mut join.join_operator;
        *operator = match std::mem::replace(operator, JoinOperator::CrossApply) {
            JoinOperator::Semi(constraint) => JoinOperator::LeftSemi(constraint),
            JoinOperator::Anti(constraint) => JoinOperator::LeftAnti(constraint),
            other => other,
        };
    }
}

/// Rewrites `FETCH FIRST n ROWS ONLY` to `LIMIT n`.
fn fetch_as_limit(query: &mut Query) {
    let Some(Fetch { with_ties: false, percent: false, quantity }) = &query.fetch else { return };
    let one = || Expr::value(Value::Number("1".to_owned(), false));
    let quantity = quantity.clone().unwrap_or_else(one);
    match &mut query.limit_clause {
        None => {
            let limit_by = Vec::new();
            query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(quantity), offset: None, limit_by });
        }
        Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => *limit = Some(quantity),
        // A query with both is refused elsewhere.
        Some(_) => return,
    }
    query.fetch = None;
}

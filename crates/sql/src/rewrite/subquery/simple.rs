//! Recognises subqueries that DataFusion 55 evaluates correctly, with fewer joins: conditions of WHERE in which null counts as false, with
//! outer columns in conditions only, and aggregates that are null over no rows, correlated by equalities.

use std::collections::HashSet;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, FetchType, LogicalPlan, Operator};

use super::domain::{is_correlated, outer_columns_in, reaches_beyond};
use super::push::value_of_no_rows;
use super::subqueries::contains_subquery;

/// Whether a part of WHERE can be left to DataFusion.
pub(super) fn is_condition(expr: &Expr, schema: &DFSchema, joins_scalars: bool) -> Result<bool> {
    match expr {
        Expr::InSubquery(InSubquery { expr, subquery, negated: true }) => {
            let plan = &subquery.subquery;
            let has_nulls = expr.nullable(schema).unwrap_or(true) || plan.schema().field(0).is_nullable();
            let is_simple = has_column(expr) && is_plain_join(expr, plan, schema)? && is_row_set(plan, schema)?;
            Ok(is_simple && (!has_nulls || !is_correlated(plan)?))
        }
        Expr::InSubquery(InSubquery { expr, subquery, negated: false }) => {
            let plan = &subquery.subquery;
            Ok(has_column(expr) && is_plain_join(expr, plan, schema)? && is_row_set(plan, schema)?)
        }
        other => is_alternative(other, schema, joins_scalars),
    }
}

/// Whether a part below AND or OR can be left to DataFusion, which marks rows by a join.
fn is_alternative(expr: &Expr, schema: &DFSchema, joins_scalars: bool) -> Result<bool> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
            Ok(is_alternative(left, schema, joins_scalars)? && is_alternative(right, schema, joins_scalars)?)
        }
        Expr::Exists(Exists { subquery, .. }) => {
            Ok(is_correlated(&subquery.subquery)? && is_row_set(&subquery.subquery, schema)?)
        }
        Expr::Not(expr) if matches!(expr.as_ref(), Expr::Exists(_)) => is_alternative(expr, schema, joins_scalars),
        Expr::InSubquery(InSubquery { expr, subquery, negated: false }) => {
            // Names of generated columns would occur twice in the mark join.
            let is_column = subquery.subquery.schema().qualified_field(0).0.is_some();
            Ok(is_column
                && has_own_type(expr, &subquery.subquery, schema)
                && has_column(expr)
                && is_row_set(&subquery.subquery, schema)?)
        }
        other => has_scalars_only(other, schema, joins_scalars),
    }
}

/// Whether DataFusion can join a correlated subquery. It cannot if it has to cast a column that a condition uses, too.
fn is_plain_join(expr: &Expr, plan: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
    Ok(!is_correlated(plan)? || has_own_type(expr, plan, schema))
}

fn has_own_type(expr: &Expr, plan: &LogicalPlan, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|own| own == *plan.schema().field(0).data_type())
}

fn has_column(expr: &Expr) -> bool {
    !contains_subquery(expr) && !expr.column_refs().is_empty()
}

/// Whether all subqueries in an expression are scalar ones that can be left to DataFusion.
fn has_scalars_only(expr: &Expr, schema: &DFSchema, joins_scalars: bool) -> Result<bool> {
    let mut only = true;
    expr.apply(|expr| {
        match expr {
            Expr::ScalarSubquery(subquery) => only &= is_scalar(&subquery.subquery, schema, joins_scalars)?,
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => only = false,
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(only)
}

/// Whether all outer columns are from `schema` and occur only in conditions, and rows above them are neither grouped nor counted.
fn is_row_set(plan: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
    if reaches_beyond(plan, schema)? || has_shared_names(plan)? {
        return Ok(false);
    }
    let mut plan = plan;
    loop {
        if !is_correlated(plan)? {
            return Ok(!matches!(below_names(plan), LogicalPlan::Aggregate(total) if total.group_expr.is_empty()));
        }
        // DataFusion does not find the columns of the conditions behind the name of a derived table.
        plan = match plan {
            LogicalPlan::Projection(projection) if !has_outer(&projection.expr)? => &projection.input,
            LogicalPlan::Filter(filter) => {
                for condition in split_conjunction(&filter.predicate) {
                    if has_outer(std::slice::from_ref(condition))? && !is_comparison(condition) {
                        return Ok(false);
                    }
                }
                &filter.input
            }
            _ => return Ok(false),
        };
    }
}

/// Whether columns of different tables in correlated conditions or the output have the same name. DataFusion puts all of them under one
/// alias and compares the wrong one.
fn has_shared_names(plan: &LogicalPlan) -> Result<bool> {
    let mut columns: HashSet<Column> = plan.schema().columns().into_iter().collect();
    plan.apply(|node| {
        if let LogicalPlan::Filter(filter) = node {
            for condition in split_conjunction(&filter.predicate) {
                if has_outer(std::slice::from_ref(condition))? {
                    columns.extend(condition.column_refs().into_iter().cloned());
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let names: HashSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    Ok(names.len() < columns.len())
}

/// Whether a condition is false or null if one of its sides is null.
fn is_comparison(condition: &Expr) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(condition, Expr::BinaryExpr(BinaryExpr { op: Eq | NotEq | Lt | LtEq | Gt | GtEq, .. }))
}

fn has_outer(exprs: &[Expr]) -> Result<bool> {
    let mut has_outer = false;
    for expr in exprs {
        outer_columns_in(expr, &mut |_| has_outer = true)?;
    }
    Ok(has_outer)
}

fn below_names(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Projection(projection) => below_names(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => below_names(&alias.input),
        LogicalPlan::Filter(filter) => below_names(&filter.input),
        LogicalPlan::Sort(sort) => below_names(&sort.input),
        other => other,
    }
}

/// Whether a scalar subquery can be left to DataFusion, which does not count the rows if it joins them (`joins_scalars`).
pub(super) fn is_scalar(plan: &LogicalPlan, schema: &DFSchema, joins_scalars: bool) -> Result<bool> {
    if !is_correlated(plan)? {
        if joins_scalars && !has_one_row(plan) {
            return Ok(false);
        }
        // DataFusion considers the result non-null if the column is, even if there may be no row.
        return Ok(plan.schema().field(0).is_nullable() || is_total(plan));
    }
    if reaches_beyond(plan, schema)? || has_shared_names(plan)? {
        return Ok(false);
    }
    let mut plan = plan;
    let aggregate = loop {
        plan = match plan {
            LogicalPlan::Projection(projection) if projection.expr.iter().all(is_null_of_null) => &projection.input,
            LogicalPlan::SubqueryAlias(alias) => &alias.input,
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => break aggregate,
            _ => return Ok(false),
        };
    };
    for expr in &aggregate.aggr_expr {
        if value_of_no_rows(expr, aggregate)?.is_some() {
            return Ok(false);
        }
    }
    if has_outer(&aggregate.aggr_expr)? {
        return Ok(false);
    }
    // DataFusion does not find the columns of the conditions behind the name of a derived table.
    let mut plan = aggregate.input.as_ref();
    while is_correlated(plan)? {
        plan = match plan {
            LogicalPlan::Projection(projection) if !has_outer(&projection.expr)? => &projection.input,
            LogicalPlan::Filter(filter) => {
                for condition in split_conjunction(&filter.predicate) {
                    if has_outer(std::slice::from_ref(condition))? && !is_equality(condition, filter.input.schema()) {
                        return Ok(false);
                    }
                }
                &filter.input
            }
            _ => return Ok(false),
        };
    }
    Ok(true)
}

/// Whether a plan always has exactly one row.
fn is_total(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_total(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_total(&alias.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

/// Whether an expression is null if its columns are null.
fn is_null_of_null(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Alias(alias) => is_null_of_null(&alias.expr),
        Expr::Cast(Cast { expr, .. }) => is_null_of_null(expr),
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide,
            right,
        }) => {
            let is_constant = |expr: &Expr| matches!(expr, Expr::Literal(..));
            (is_null_of_null(left) && (is_null_of_null(right) || is_constant(right)))
                || (is_constant(left) && is_null_of_null(right))
        }
        _ => false,
    }
}

/// Whether a condition equates an outer column with a column. Floats are compared through a function, which DataFusion cannot join by.
fn is_equality(condition: &Expr, schema: &DFSchema) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return false };
    match (left.as_ref(), right.as_ref()) {
        (column @ Expr::Column(_), Expr::OuterReferenceColumn(outer, _))
        | (Expr::OuterReferenceColumn(outer, _), column @ Expr::Column(_)) => {
            let is_float = column.get_type(schema).is_ok_and(|data_type| data_type.is_floating());
            !is_float && !outer.data_type().is_floating()
        }
        _ => false,
    }
}

/// Whether the shape of a plan limits it to one row.
pub(super) fn has_one_row(plan: &LogicalPlan) -> bool {
    match below_names(plan) {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Limit(limit) => matches!(limit.get_fetch_type(), Ok(FetchType::Literal(Some(0 | 1)))),
        LogicalPlan::EmptyRelation(_) => true,
        _ => false,
    }
}

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, not_impl_err};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Sort, SortExpr,
    Subquery, Window, binary_expr,
};

use super::attach::{Attachment, Scalars};
use super::domain::{Domain, outer_columns, repeatable};
use super::push::push;
use super::subqueries::{contains_subquery, subquery};
use super::{Names, columns, simple, unnest};

/// Replaces the subqueries in the expressions of a node.
pub(super) fn rewrite(node: LogicalPlan, names: &Names) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Join(join) = &node
        && is_lateral(&join.right)
        && let Some(plan) = lateral(join, names)?
    {
        return Ok(Transformed::yes(plan));
    }
    let mut has_subqueries = false;
    node.apply_expressions(|expr| {
        has_subqueries |= contains_subquery(expr);
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !has_subqueries {
        return Ok(Transformed::no(node));
    }
    let node = node.map_expressions(|expr| inner(expr, names))?.data;
    let plan = match node {
        LogicalPlan::Filter(filter) => rewrite_filter(filter, names)?,
        LogicalPlan::Projection(projection) => rewrite_projection(projection, names)?,
        LogicalPlan::Aggregate(aggregate) => rewrite_aggregate(&aggregate, names)?,
        LogicalPlan::Window(window) => rewrite_window(&window, names)?,
        LogicalPlan::Sort(sort) => rewrite_sort(sort, names)?,
        LogicalPlan::Join(join) => rewrite_join(join, names)?,
        other => other,
    };
    Ok(Transformed::yes(plan))
}

/// Replaces the subqueries within the plans of subqueries.
fn inner(expr: Expr, names: &Names) -> Result<Transformed<Expr>> {
    let plan = |subquery: Subquery| {
        let plan = unnest(subquery.subquery.as_ref().clone(), names)?;
        Ok::<_, datafusion::error::DataFusionError>(Subquery { subquery: Arc::new(plan), ..subquery })
    };
    expr.transform_up(|expr| {
        Ok(Transformed::yes(match expr {
            Expr::Exists(Exists { subquery, negated }) => Expr::Exists(Exists { subquery: plan(subquery)?, negated }),
            Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
                Expr::InSubquery(InSubquery { expr, subquery: plan(subquery)?, negated })
            }
            Expr::SetComparison(comparison) => {
                Expr::SetComparison(SetComparison { subquery: plan(comparison.subquery)?, ..comparison })
            }
            Expr::ScalarSubquery(subquery) => Expr::ScalarSubquery(plan(subquery)?),
            other => return Ok(Transformed::no(other)),
        }))
    })
}

fn rewrite_filter(filter: Filter, names: &Names) -> Result<LogicalPlan> {
    let mut kept = Vec::new();
    let mut replaced = Vec::new();
    for condition in split_conjunction_owned(filter.predicate) {
        let is_kept = simple::is_condition(&condition, filter.input.schema(), names.joins_scalars)?;
        if is_kept { &mut kept } else { &mut replaced }.push(condition);
    }
    let mut plan = LogicalPlanBuilder::from(filter.input);
    if let Some(kept) = conjunction(kept) {
        plan = plan.filter(kept)?;
    }
    let plan = plan.build()?;
    if replaced.is_empty() {
        return Ok(plan);
    }
    let schema = Arc::clone(plan.schema());
    let mut attachment = Attachment::new(plan, names)?;
    let conditions = replaced.into_iter().map(|condition| attachment.condition(condition, Scalars::Kept));
    let conditions = conditions.collect::<Result<Vec<_>>>()?;
    let mut plan = LogicalPlanBuilder::from(attachment.plan);
    if let Some(condition) = conjunction(conditions) {
        plan = plan.filter(condition)?;
    }
    columns::only(plan.build()?, &schema, &[])
}

fn rewrite_projection(projection: Projection, names: &Names) -> Result<LogicalPlan> {
    let mut attachment = Attachment::new(projection.input.as_ref().clone(), names)?;
    let mut exprs = Vec::with_capacity(projection.expr.len());
    for (at, expr) in projection.expr.into_iter().enumerate() {
        exprs.push(columns::named_as(attachment.value(expr, Scalars::Kept)?, &projection.schema, at));
    }
    LogicalPlanBuilder::from(attachment.plan).project(exprs)?.build()
}

fn rewrite_aggregate(aggregate: &Aggregate, names: &Names) -> Result<LogicalPlan> {
    let mut attachment = Attachment::new(aggregate.input.as_ref().clone(), names)?;
    let mut replace = |exprs: &[Expr]| {
        exprs.iter().map(|expr| attachment.value(expr.clone(), Scalars::Joined)).collect::<Result<Vec<_>>>()
    };
    let (groups, aggregates) = (replace(&aggregate.group_expr)?, replace(&aggregate.aggr_expr)?);
    let plan = Aggregate::try_new(Arc::new(attachment.plan), groups, aggregates)?;
    renamed(LogicalPlan::Aggregate(plan), &aggregate.schema)
}

fn rewrite_window(window: &Window, names: &Names) -> Result<LogicalPlan> {
    let mut attachment = Attachment::new(window.input.as_ref().clone(), names)?;
    let functions = window.window_expr.iter().map(|expr| attachment.value(expr.clone(), Scalars::Joined));
    let functions = functions.collect::<Result<Vec<_>>>()?;
    let first = attachment.plan.schema().fields().len();
    let plan = LogicalPlan::Window(Window::try_new(functions, Arc::new(attachment.plan))?);
    let mut exprs = columns::all(window.input.schema());
    for at in exprs.len()..window.schema.fields().len() {
        let function = columns::at(plan.schema(), first + at - window.input.schema().fields().len());
        exprs.push(columns::named_as(Expr::Column(function), &window.schema, at));
    }
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}

fn rewrite_sort(sort: Sort, names: &Names) -> Result<LogicalPlan> {
    let schema = Arc::clone(sort.input.schema());
    let input = with_hidden_columns(sort.input.as_ref(), &sort.expr)?;
    let mut attachment = Attachment::new(input, names)?;
    let mut order = Vec::with_capacity(sort.expr.len());
    for by in sort.expr {
        order.push(SortExpr::new(attachment.value(by.expr, Scalars::Joined)?, by.asc, by.nulls_first));
    }
    let plan = Sort { expr: order, input: Arc::new(attachment.plan), fetch: sort.fetch };
    columns::only(LogicalPlan::Sort(plan), &schema, &[])
}

/// Adds columns to the input of a sort that only subqueries of ORDER BY use.
fn with_hidden_columns(input: &LogicalPlan, order: &[SortExpr]) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(projection) = input else { return Ok(input.clone()) };
    let mut hidden: Vec<Column> = Vec::new();
    for by in order {
        each_subquery(&by.expr, &mut |plan| {
            outer_columns(plan, &mut |column| {
                let is_hidden = !columns::has(&projection.schema, column)
                    && columns::has(projection.input.schema(), column)
                    && !hidden.contains(column);
                if is_hidden {
                    hidden.push(column.clone());
                }
            })
        })?;
    }
    let exprs = projection.expr.iter().cloned().chain(hidden.into_iter().map(Expr::Column));
    LogicalPlanBuilder::from(Arc::clone(&projection.input)).project(exprs)?.build()
}

fn each_subquery(expr: &Expr, found: &mut impl FnMut(&LogicalPlan) -> Result<()>) -> Result<()> {
    expr.apply(|expr| {
        if let Some(subquery) = subquery(expr) {
            found(&subquery.subquery)?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Renames the fields of a plan to the names in `schema`, by index.
fn renamed(plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    let own = Arc::clone(plan.schema());
    let exprs = (0..own.fields().len()).map(|at| columns::named_as(Expr::Column(columns::at(&own, at)), schema, at));
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}

fn rewrite_join(join: Join, names: &Names) -> Result<LogicalPlan> {
    let conditions = join.filter.map(split_conjunction_owned).unwrap_or_default();
    let (replaced, kept): (Vec<_>, Vec<_>) = conditions.into_iter().partition(contains_subquery);
    if join.join_type == JoinType::Inner {
        let joined = LogicalPlan::Join(Join { filter: conjunction(kept), ..join });
        return match conjunction(replaced) {
            Some(condition) => rewrite_filter(Filter::try_new(condition, Arc::new(joined))?, names),
            None => Ok(joined),
        };
    }
    let mut left = Attachment::new(join.left.as_ref().clone(), names)?;
    let mut right = Attachment::new(join.right.as_ref().clone(), names)?;
    let mut conditions = kept;
    for condition in replaced {
        let side = if uses_only(&condition, join.right.schema())? {
            &mut right
        } else if uses_only(&condition, join.left.schema())? {
            &mut left
        } else {
            return not_impl_err!(
                "a subquery in the ON of an outer join that uses columns of both sides: join to the subquery's tables first, and compare with their columns"
            );
        };
        conditions.push(side.condition(condition, Scalars::Joined)?);
    }
    let on = join.on.into_iter().map(|(left, right)| binary_expr(left, Operator::Eq, right));
    let conditions: Vec<Expr> = on.chain(conditions).collect();
    let plan = LogicalPlanBuilder::from(left.plan).join_on(right.plan, join.join_type, conditions)?.build()?;
    columns::only(plan, &join.schema, &[])
}

/// Whether a condition's subqueries and the values compared with them use columns of this side only.
fn uses_only(condition: &Expr, schema: &DFSchema) -> Result<bool> {
    let mut only = condition.column_refs().into_iter().all(|column| columns::has(schema, column));
    each_subquery(condition, &mut |plan| outer_columns(plan, &mut |column| only &= columns::has(schema, column)))?;
    Ok(only)
}

/// Whether the right side of a join may use columns of the left.
fn is_lateral(right: &LogicalPlan) -> bool {
    match right {
        LogicalPlan::Subquery(_) => true,
        LogicalPlan::SubqueryAlias(alias) => is_lateral(&alias.input),
        _ => false,
    }
}

fn lateral(join: &Join, names: &Names) -> Result<Option<LogicalPlan>> {
    let left = Arc::new(repeatable(join.left.as_ref().clone())?);
    let domain = Domain::new(Arc::clone(&left), &join.right, names)?;
    if domain.columns().is_empty() || !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        return Ok(None);
    }
    let pushed = push(&join.right, &domain)?;
    let mut conditions = columns::same(domain.columns(), &pushed.domain);
    conditions.extend(join.filter.clone());
    let plan = LogicalPlanBuilder::from(left);
    let plan = plan.join_on(pushed.plan, join.join_type, conditions)?.build()?;
    columns::only(plan, &join.schema, &[]).map(Some)
}

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::{Aggregate, Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder};

use super::{Names, columns};
use crate::shared_plan::SharedPlan;

/// The distinct values of the outer columns that a subquery uses.
pub(super) struct Domain<'a> {
    outer: Arc<LogicalPlan>,
    columns: Vec<Column>,
    names: &'a Names,
    /// Shared plans to which the domain was pushed, by the id that they had, so that their readers share rows again.
    pushed: RefCell<HashMap<usize, DomainPlan>>,
}

/// A plan that computes results for all values of a domain, whose columns are `domain`. It has the columns of the original plan under their
/// names, and may have others.
#[derive(Clone)]
pub(super) struct DomainPlan {
    pub(super) plan: LogicalPlan,
    pub(super) domain: Vec<Column>,
}

impl<'a> Domain<'a> {
    /// Collects the outer columns of `subquery`, whose values are in rows of `outer`. These rows are read a second time for them.
    pub(super) fn new(outer: Arc<LogicalPlan>, subquery: &LogicalPlan, names: &'a Names) -> Result<Self> {
        let mut columns = Vec::new();
        outer_columns(subquery, &mut |column| {
            if columns::has(outer.schema(), column) && !columns.contains(column) {
                columns.push(column.clone());
            }
        })?;
        Ok(Self { outer, columns, names, pushed: RefCell::default() })
    }

    /// The outer columns.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// A number for a unique name.
    pub(super) fn next_name(&self) -> usize {
        self.names.next()
    }

    /// The shared plan that had this id, with the domain.
    pub(super) fn pushed(&self, id: usize) -> Option<DomainPlan> {
        self.pushed.borrow().get(&id).cloned()
    }

    /// Remembers the shared plan that had this id, with the domain.
    pub(super) fn remember(&self, id: usize, pushed: DomainPlan) {
        self.pushed.borrow_mut().insert(id, pushed);
    }

    /// A plan of the distinct values, with unique names.
    pub(super) fn instance(&self) -> Result<(LogicalPlan, Vec<Column>)> {
        let relation = format!("__outer_{}", self.names.next());
        let own: Vec<String> = (0..self.columns.len()).map(|at| format!("{relation}_{at}")).collect();
        let values = self.columns.iter().zip(&own).map(|(column, name)| Expr::Column(column.clone()).alias(name));
        let plan = LogicalPlanBuilder::from(Arc::clone(&self.outer)).project(values)?.distinct()?;
        let plan = plan.alias(relation.as_str())?.build()?;
        Ok((plan, own.into_iter().map(|name| Column::new(Some(relation.as_str()), name)).collect()))
    }

    /// Whether a plan uses columns of the domain.
    pub(super) fn is_used_by(&self, plan: &LogicalPlan) -> Result<bool> {
        let mut is_used = false;
        outer_columns(plan, &mut |column| is_used |= self.columns.contains(column))?;
        Ok(is_used)
    }

    /// Whether an expression uses columns of the domain.
    pub(super) fn is_used_in(&self, expr: &Expr) -> Result<bool> {
        let mut is_used = false;
        outer_columns_in(expr, &mut |column| is_used |= self.columns.contains(column))?;
        Ok(is_used)
    }

    /// Replaces outer columns by columns of an instance.
    pub(super) fn bind(&self, expr: Expr, instance: &[Column]) -> Result<Expr> {
        let bound = expr.transform_up(|expr| match &expr {
            Expr::OuterReferenceColumn(_, column) => match self.columns.iter().position(|own| own == column) {
                Some(at) => Ok(Transformed::yes(Expr::Column(instance[at].clone()))),
                None => Ok(Transformed::no(expr)),
            },
            _ => Ok(Transformed::no(expr)),
        })?;
        Ok(bound.data)
    }
}

/// Makes a plan return the same rows each time it is read.
pub(super) fn repeatable(plan: LogicalPlan) -> Result<LogicalPlan> {
    Ok(if is_repeatable(&plan)? { plan } else { SharedPlan::plan(plan) })
}

/// Whether a plan returns the same rows each time. It may not if a random value or `LIMIT` selects them, or if values depend on the order
/// of rows, which differs between runs: numbers of rows with equal keys, lists, sums of floats.
fn is_repeatable(plan: &LogicalPlan) -> Result<bool> {
    if SharedPlan::from_plan(plan).is_some() {
        return Ok(true);
    }
    let mut is_volatile = false;
    plan.apply_expressions(|expr| {
        is_volatile |= expr.is_volatile();
        Ok(TreeNodeRecursion::Continue)
    })?;
    if is_volatile {
        return Ok(false);
    }
    match plan {
        LogicalPlan::Limit(_) | LogicalPlan::Window(_) | LogicalPlan::Distinct(Distinct::On(_)) => return Ok(false),
        LogicalPlan::Aggregate(aggregate) => {
            // The number of rows after LIMIT is repeatable even if the rows are not. An uncorrelated EXISTS becomes such a count.
            if is_row_count(aggregate)
                && let LogicalPlan::Limit(limit) = aggregate.input.as_ref()
            {
                return is_repeatable(&limit.input);
            }
            if !aggregate.aggr_expr.iter().all(|expr| is_order_free(expr, aggregate.input.schema())) {
                return Ok(false);
            }
        }
        _ => {}
    }
    for input in plan.inputs() {
        if !is_repeatable(input)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an aggregate is the same in whatever order its rows come.
fn is_order_free(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Alias(alias) => is_order_free(&alias.expr, schema),
        Expr::AggregateFunction(function) => match function.func.name() {
            "count" | "min" | "max" | "bool_and" | "bool_or" | "bit_and" | "bit_or" | "bit_xor" => true,
            "sum" | "avg" => function.params.args.iter().all(|argument| {
                argument.get_type(schema).is_ok_and(|data_type| data_type.is_integer() || data_type.is_decimal())
            }),
            _ => false,
        },
        _ => false,
    }
}

/// Whether an aggregate of all rows uses no column.
fn is_row_count(aggregate: &Aggregate) -> bool {
    aggregate.group_expr.is_empty() && aggregate.aggr_expr.iter().all(|expr| !expr.any_column_refs())
}

/// Calls `found` for outer columns in a plan. Subqueries in its expressions are left out, because DataFusion handles their outer columns.
pub(super) fn outer_columns(plan: &LogicalPlan, found: &mut impl FnMut(&Column)) -> Result<()> {
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            outer_columns_in(expr, found)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(())
}

pub(super) fn outer_columns_in(expr: &Expr, found: &mut impl FnMut(&Column)) -> Result<()> {
    expr.apply(|expr| {
        if let Expr::OuterReferenceColumn(_, column) = expr {
            found(column);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Whether a plan uses outer columns that are not in `schema`.
pub(super) fn reaches_beyond(plan: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
    let mut beyond = false;
    outer_columns(plan, &mut |column| beyond |= !columns::has(schema, column))?;
    Ok(beyond)
}

/// Whether a plan uses outer columns.
pub(super) fn is_correlated(plan: &LogicalPlan) -> Result<bool> {
    let mut is_correlated = false;
    outer_columns(plan, &mut |_| is_correlated = true)?;
    Ok(is_correlated)
}

//! Selects the plans that are worth sharing.
//!
//! A candidate is a whole query block, such as a query in WITH. The joins within a block have their conditions in a filter above them, so
//! they are no candidates: without it they would be products.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result};
use datafusion::datasource::cte_worktable::CteWorkTable;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};

/// Whether a plan may be shared and is expensive enough.
pub(super) fn is_candidate(plan: &LogicalPlan) -> Result<bool> {
    if !is_block(plan) {
        return Ok(false);
    }
    let mut seen = Contents::default();
    seen.add(plan, false)?;
    Ok(seen.is_expensive && !seen.is_bound)
}

fn is_block(plan: &LogicalPlan) -> bool {
    matches!(
        plan,
        LogicalPlan::Projection(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Distinct(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::RecursiveQuery(_)
    )
}

#[derive(Default)]
struct Contents {
    is_expensive: bool,
    /// Whether its rows depend on the place where it is used: on an outer query, a step of a recursive query, or the moment.
    is_bound: bool,
    /// The columns that subqueries within the plan can refer to.
    scope: Vec<DFSchemaRef>,
}

impl Contents {
    fn add(&mut self, plan: &LogicalPlan, is_recursive: bool) -> Result<()> {
        match plan {
            LogicalPlan::Join(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Distinct(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::RecursiveQuery(_) => self.is_expensive = true,
            LogicalPlan::Sort(sort) if sort.fetch.is_some() => self.is_expensive = true,
            LogicalPlan::Limit(limit) if matches!(limit.input.as_ref(), LogicalPlan::Sort(_)) => {
                self.is_expensive = true;
            }
            LogicalPlan::TableScan(scan) => self.is_bound |= reads_step(scan) && !is_recursive,
            LogicalPlan::Dml(_) | LogicalPlan::Ddl(_) | LogicalPlan::Copy(_) | LogicalPlan::Statement(_) => {
                self.is_bound = true;
            }
            _ => {}
        }
        plan.apply_expressions(|expr| {
            self.is_bound |= expr.is_volatile();
            expr.apply(|part| {
                if let Expr::OuterReferenceColumn(_, column) = part {
                    self.is_bound |= !self.scope.iter().any(|schema| schema.has_column(column));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        let is_recursive = is_recursive || matches!(plan, LogicalPlan::RecursiveQuery(_));
        let inputs = plan.inputs();
        let outside = self.scope.len();
        self.scope.extend(inputs.iter().map(|input| Arc::clone(input.schema())));
        plan.apply_subqueries(|subquery| {
            self.add(subquery, is_recursive)?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        self.scope.truncate(outside);
        inputs.into_iter().try_for_each(|input| self.add(input, is_recursive))
    }
}

/// Whether a scan reads the rows of the last step of a recursive query.
fn reads_step(scan: &TableScan) -> bool {
    source_as_provider(&scan.source).is_ok_and(|provider| provider.is::<CteWorkTable>())
}

//! Rewrites subqueries to joins that DataFusion 55 evaluates wrongly or refuses: `NOT IN` with nulls, predicates outside of `WHERE`,
//! aggregates of empty groups, correlated subqueries with several rows, with `LIMIT`, with inequalities, in set operations or windows.
//!
//! The method is described in "Unnesting Arbitrary Queries" (Neumann and Kemper, 2015). The domain of a subquery is the set of distinct
//! values of the outer columns that it uses. The domain is joined to the subquery's plan and carried upwards through all its operators,
//! which then compute results for all outer values at once; the results are joined back to the outer plan. Predicates keep three-valued
//! logic.
//!
//! Subqueries that DataFusion evaluates correctly stay, because its plans are better: see `simple`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `simple` | recognises subqueries that DataFusion evaluates correctly |
//! | `nodes` | finds subqueries in the nodes of a plan |
//! | `attach` | joins the value of a subquery to the plan that uses it |
//! | `membership` | plans `IN`, `ANY` and `ALL` with three-valued logic |
//! | `domain` | collects the distinct outer values |
//! | `push` | carries the domain through a subquery's plan |
//! | `push::join` | carries the domain through joins and set operations |
//! | `columns` | selects and names columns of plans |
//! | `one_row` | raises an error for a second row of a scalar subquery |

mod attach;
mod columns;
mod domain;
mod membership;
mod nodes;
mod one_row;
mod push;
mod simple;
mod subqueries;

use std::cell::Cell;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::AnalyzerRule;

use crate::shared_plan::without_single_readers;

#[cfg(feature = "remote")]
pub(crate) use self::one_row::one_row_function;

/// Replaces subqueries by joins. The rule runs before type coercion, so that DataFusion coerces the new comparisons.
#[derive(Debug)]
pub(crate) struct Unnesting;

impl AnalyzerRule for Unnesting {
    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        let joins_scalars = !options.optimizer.enable_physical_uncorrelated_scalar_subquery;
        unnest(plan, &Names { last: Cell::default(), joins_scalars })
    }

    fn name(&self) -> &'static str {
        "lath_unnesting"
    }
}

/// Numbers for the names of generated relations, and the setting of a rewrite.
struct Names {
    last: Cell<usize>,
    /// Whether no operator computes scalar subqueries by itself. DataFusion (55) then joins the ones in WHERE and SELECT alone.
    joins_scalars: bool,
}

impl Names {
    fn next(&self) -> usize {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }
}

fn unnest(plan: LogicalPlan, names: &Names) -> Result<LogicalPlan> {
    without_single_readers(plan.transform_up(|node| nodes::rewrite(node, names))?.data)
}

//! Shared by rules that rewrite expressions by type: a walk over a plan, and the comparison operators.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};

/// Rewrites the expressions of one node of a plan. Its output columns keep their names.
pub(super) fn rewrite_expressions(
    plan: LogicalPlan,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let mut schema = merge_schema(&plan.inputs());
    match &plan {
        // Filters of a scan may use columns that it does not return.
        LogicalPlan::TableScan(scan) if !scan.filters.is_empty() => {
            schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
        }
        LogicalPlan::Dml(change) => {
            schema.merge(&DFSchema::try_from_qualified_schema(change.table_name.clone(), &change.target.schema())?);
        }
        _ => {}
    }
    let names = match plan {
        LogicalPlan::Window(_) => NamePreserver::new_for_projection(),
        _ => NamePreserver::new(&plan),
    };
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let rewritten = rewrite(expr, &schema)?;
        Ok(if rewritten.transformed { rewritten.update_data(|expr| name.restore(expr)) } else { rewritten })
    })
}

/// Whether an operator compares values and returns a boolean or null.
pub(super) fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

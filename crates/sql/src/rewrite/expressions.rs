//! Shared by rules that rewrite expressions by type: a walk over a plan, the comparison operators, and the parts of CASE.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::Case;
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

/// The expressions of a CASE that are compared with each other, if it has an operand, and its results.
pub(super) fn case_parts(case: &mut Case) -> (Vec<&mut Expr>, Vec<&mut Expr>) {
    let (mut compared, mut results) = (Vec::new(), Vec::new());
    let has_operand = case.expr.is_some();
    compared.extend(case.expr.as_deref_mut());
    for (when, then) in &mut case.when_then_expr {
        if has_operand {
            compared.push(when.as_mut());
        }
        results.push(then.as_mut());
    }
    results.extend(case.else_expr.as_deref_mut());
    (compared, results)
}

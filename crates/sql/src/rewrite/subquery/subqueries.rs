//! Finds subqueries within an expression.

use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::{Expr, Subquery};

/// The subquery of a subquery expression.
pub(super) fn subquery(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::SetComparison(SetComparison { subquery, .. })
        | Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    }
}

/// Whether there is a subquery anywhere in an expression.
pub(super) fn contains_subquery(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(subquery(expr).is_some())).unwrap_or(true)
}

//! Rewrites `IN` with columns in its list to comparisons.
//!
//! DataFusion 55 evaluates a list once, without rows, if all its expressions allow that. `CASE` does, and its result without rows is then
//! used for every row.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, visit_expressions};
use datafusion::sql::sqlparser::parser::ParserError;

use crate::rewrite::joins::{combined, negated, pair};
use crate::syntax::is_volatile;

pub(crate) fn rewrite(expr: &mut Expr) -> Result<(), ParserError> {
    let Expr::InList { expr: value, list, negated: is_negated } = expr else { return Ok(()) };
    if list.iter().all(is_constant) || is_volatile(value) {
        return Ok(());
    }
    let equal = |element: &Expr| pair((**value).clone(), BinaryOperator::Eq, element.clone());
    let Some(any) = combined(list.iter().map(equal).collect(), BinaryOperator::Or) else { return Ok(()) };
    *expr = Expr::Nested(Box::new(if *is_negated { negated(any) } else { any }));
    Ok(())
}

fn is_constant(expr: &Expr) -> bool {
    let column = |expr: &Expr| match expr {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::CompoundFieldAccess { .. }
        | Expr::Subquery(_)
        | Expr::Exists { .. }
        | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(expr, column).is_continue()
}

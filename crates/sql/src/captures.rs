//! Finds names of an expression that would mean something else within a subquery or a lambda.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, visit_expressions};

use crate::dialect::normal;

/// A column of an expression, named without its table, whose name is one of others.
pub(crate) fn column_among(expr: &Expr, is_other: impl Fn(&str) -> bool) -> Option<String> {
    let found = visit_expressions(expr, |inner: &Expr| match inner {
        Expr::Identifier(name) if is_other(&normal(name)) => ControlFlow::Break(normal(name)),
        _ => ControlFlow::Continue(()),
    });
    found.break_value()
}

/// The parameters of an expression if it is a lambda.
pub(crate) fn lambda_parameters(expr: &Expr) -> Option<Vec<String>> {
    let Expr::Lambda(lambda) = expr else { return None };
    Some(lambda.params.iter().map(|parameter| normal(&parameter.name)).collect())
}

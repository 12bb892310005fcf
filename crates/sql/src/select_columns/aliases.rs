//! Names of the select list: `SELECT price * 2 AS double, double + 1 AS more FROM t WHERE double > 20`.
//!
//! A column of the tables comes first.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArguments, Ident, Query, Select, SelectItem, VisitMut, VisitorMut, visit_expressions,
};

use super::FromColumn;
use crate::dialect::normal;

/// Whether a name of the list may be used elsewhere.
pub(super) fn are_used(select: &Select) -> bool {
    let mut names: HashSet<String> = HashSet::new();
    for item in &select.projection {
        if let SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) = item
            && uses(expr, &names)
        {
            return true;
        }
        if let SelectItem::ExprWithAlias { expr, alias } = item
            && !is_same_column(expr, alias)
        {
            names.insert(normal(alias));
        }
    }
    let clauses = [&select.selection, &select.having];
    clauses.into_iter().flatten().any(|clause| uses(clause, &names))
}

fn is_same_column(expr: &Expr, alias: &Ident) -> bool {
    match expr {
        Expr::Identifier(name) => normal(name) == normal(alias),
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|name| normal(name) == normal(alias)),
        _ => false,
    }
}

fn uses(expr: &Expr, names: &HashSet<String>) -> bool {
    if names.is_empty() {
        return false;
    }
    let is_name = |expr: &Expr| match expr {
        Expr::Identifier(name) if names.contains(&normal(name)) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(&vec![expr.clone()], is_name).is_break()
}

/// Replaces names of the list by their expressions.
pub(super) fn replace(select: &mut Select, columns: &[FromColumn]) -> Result<()> {
    let is_column = |name: &str| columns.iter().any(|column| column.name == name);
    let mut known: Vec<(String, Expr)> = Vec::new();
    for item in &mut select.projection {
        if let SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) = item {
            Names::replace(expr, &known)?;
        }
        if let SelectItem::ExprWithAlias { expr, alias } = item {
            let name = normal(alias);
            if !is_column(&name) {
                known.push((name, Expr::Nested(Box::new(expr.clone()))));
            }
        }
    }
    if let Some(condition) = &mut select.selection {
        Names::replace(condition, &known)?;
    }
    if let Some(condition) = &mut select.having {
        Names::replace(condition, &known)?;
    }
    Ok(())
}

struct Names<'n> {
    known: &'n [(String, Expr)],
    /// The number of subqueries around an expression, whose names are others.
    depth: usize,
}

impl Names<'_> {
    fn replace(expr: &mut Expr, known: &[(String, Expr)]) -> Result<()> {
        if known.is_empty() {
            return Ok(());
        }
        match expr.visit(&mut Names { known, depth: 0 }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(name) => {
                plan_err!(
                    "{name} differs each time that it is computed; name it in a subquery: FROM (SELECT … AS {name})"
                )
            }
        }
    }
}

impl VisitorMut for Names<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<String> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<String> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    // Runs after the parts of an expression, so that a replacement is not visited again.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        if let Expr::Identifier(name) = expr
            && self.depth == 0
            && let Some((name, value)) = self.known.iter().rev().find(|(known, _)| *known == normal(name))
        {
            if is_volatile(value) {
                return ControlFlow::Break(name.clone());
            }
            *expr = value.clone();
        }
        ControlFlow::Continue(())
    }
}

fn is_volatile(expr: &Expr) -> bool {
    let volatile = |expr: &Expr| match expr {
        Expr::Function(Function { name, args: FunctionArguments::List(_), .. })
            if matches!(name.to_string().to_lowercase().as_str(), "random" | "rand" | "uuid" | "nextval") =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    visit_expressions(&vec![expr.clone()], volatile).is_break()
}

//! Names of the select list: `SELECT price * 2 AS double, double + 1 AS more FROM t WHERE double > 20`.
//!
//! A column of the tables comes first.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, VisitMut, VisitorMut, visit_expressions,
};

use super::FromColumn;
use crate::captures::{column_among, lambda_parameters};
use crate::dialect::normal;
use crate::syntax::is_volatile;

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

/// The subqueries of a select that may use names of its list.
pub(super) fn inner_selects(select: &Select) -> Vec<Select> {
    let mut copy = select.clone();
    let mut inner = InnerSelects { found: Vec::new() };
    let _ = copy.projection.visit(&mut inner);
    let _ = copy.selection.visit(&mut inner);
    let _ = copy.having.visit(&mut inner);
    inner.found
}

struct InnerSelects {
    found: Vec<Select>,
}

impl VisitorMut for InnerSelects {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.found.push(select.clone());
        ControlFlow::Continue(())
    }
}

/// The names of the columns of subqueries, by their texts.
pub(super) type InnerColumns = HashMap<String, HashSet<String>>;

/// Replaces names of the list by their expressions.
pub(super) fn replace(select: &mut Select, columns: &[FromColumn], inner: &InnerColumns) -> Result<()> {
    let is_column = |name: &str| columns.iter().any(|column| column.name == name);
    let mut known: Vec<(String, Expr)> = Vec::new();
    for item in &mut select.projection {
        if let SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) = item {
            Names::replace(expr, &known, inner)?;
        }
        if let SelectItem::ExprWithAlias { expr, alias } = item {
            let name = normal(alias);
            if !is_column(&name) {
                known.push((name, Expr::Nested(Box::new(expr.clone()))));
            }
        }
    }
    if let Some(condition) = &mut select.selection {
        Names::replace(condition, &known, inner)?;
    }
    if let Some(condition) = &mut select.having {
        Names::replace(condition, &known, inner)?;
    }
    Ok(())
}

struct Names<'n> {
    known: &'n [(String, Expr)],
    inner: &'n InnerColumns,
    /// The number of queries around an expression.
    queries: usize,
    /// The columns of the selects around an expression, which come first; `None` if they are not known.
    selects: Vec<Option<&'n HashSet<String>>>,
    /// The parameters of the lambdas around an expression.
    parameters: Vec<Vec<String>>,
}

impl Names<'_> {
    fn replace(expr: &mut Expr, known: &[(String, Expr)], inner: &InnerColumns) -> Result<()> {
        if known.is_empty() {
            return Ok(());
        }
        let mut names = Names { known, inner, queries: 0, selects: Vec::new(), parameters: Vec::new() };
        match expr.visit(&mut names) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break((name, why)) => {
                plan_err!("{name} {why}; name it in a subquery: FROM (SELECT … AS {name})")
            }
        }
    }

    /// A column of a value that is another one at the place of an expression.
    fn captured(&self, value: &Expr) -> Option<String> {
        let is_other = |name: &str| {
            self.selects.iter().flatten().any(|columns| columns.contains(name))
                || self.parameters.iter().flatten().any(|parameter| parameter == name)
        };
        column_among(value, is_other)
    }

    /// Whether no subquery around an expression has a column of the name.
    fn is_free(&self, name: &str) -> bool {
        self.queries == self.selects.len()
            && self.selects.iter().all(|columns| columns.is_some_and(|columns| !columns.contains(name)))
    }
}

impl VisitorMut for Names<'_> {
    /// A name, and why it cannot be replaced.
    type Break = (String, String);

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        self.parameters.extend(lambda_parameters(expr));
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        self.selects.push(self.inner.get(&select.to_string()));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Self::Break> {
        self.selects.pop();
        ControlFlow::Continue(())
    }

    // Runs after the parts of an expression, so that a replacement is not visited again.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if lambda_parameters(expr).is_some() {
            self.parameters.pop();
        }
        if let Expr::Identifier(name) = expr
            && let Some((name, value)) = self.known.iter().rev().find(|(known, _)| *known == normal(name))
            && self.is_free(name)
            && !self.parameters.iter().flatten().any(|parameter| parameter == name)
        {
            if is_volatile(value) {
                return ControlFlow::Break((name.clone(), "differs each time that it is computed".to_owned()));
            }
            if let Some(column) = self.captured(value) {
                let why =
                    format!("has the column {column}, which is another one in the subquery or lambda that uses it");
                return ControlFlow::Break((name.clone(), why));
            }
            *expr = value.clone();
        }
        ControlFlow::Continue(())
    }
}
